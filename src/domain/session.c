/* domain/session.c - see session.h. */
#include "domain/session.h"

#include "base/random.h"
#include "db/rows.h"
#include "domain/vault.h"

bool session_is_plausible(Str text)
{
    if (text.len != SESSION_TEXT_LEN) return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) return false;
    }
    return true;
}

static enum err keep_cart(struct db *db, Id account, Time now, Id *ret)
{
    static const char insert[] = "INSERT INTO token (account_id, kind, hash, hint, scopes, created_at)"
                                 " VALUES ($1, 'cart', $2, '', 0, $3) ON CONFLICT (account_id) WHERE kind = 'cart'"
                                 " DO UPDATE SET hint = excluded.hint RETURNING id";
    uint8_t nobody[TOKEN_HASH_BYTES]; /* of no text: nobody can present it */
    random_bytes(nobody, sizeof nobody);
    struct stmt *st = db_prepare(db, insert);
    bind_id(st, account);
    bind_blob(st, (Str){(const char *)nobody, sizeof nobody});
    bind_time(st, now);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    *ret = id;
    return OK;
}

enum err session_create(struct db *db, Id account, Str network, Time now, struct session *ret, Str *ret_text)
{
    static const char insert[] =
        "INSERT INTO token (account_id, kind, hash, hint, scopes, created_at, expires_at, network)"
        " VALUES ($1, 'shop', $2, '', 0, $3, $4, $5) RETURNING id";
    char *text = arena_alloc(db_arena(db), SESSION_TEXT_LEN);
    random_base62(text, SESSION_TEXT_LEN);
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash((Str){text, SESSION_TEXT_LEN}, hash);
    Time expires = time_add(now, SESSION_DAYS * TIME_DAY);

    struct stmt *st = db_prepare(db, insert);
    bind_opt_id(st, account);
    bind_blob(st, (Str){(const char *)hash, sizeof hash});
    bind_time(st, now);
    bind_time(st, expires);
    bind_text(st, network);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    Id cart = id;
    if (!e && id_is(account)) e = keep_cart(db, account, now, &cart);
    if (e) return e;
    *ret = (struct session){.id = id, .account = account, .cart = cart, .expires_at = expires};
    *ret_text = (Str){text, SESSION_TEXT_LEN};
    return OK;
}

static enum err move_end(struct db *db, struct session *s, Time now)
{
    static const char move[] = "UPDATE token SET expires_at = $2 WHERE id = $1";
    if (s->expires_at.ms - now.ms > (SESSION_DAYS - 1) * TIME_DAY) return OK;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    s->expires_at = time_add(now, SESSION_DAYS * TIME_DAY);
    struct stmt *st = db_prepare(db, move);
    bind_id(st, s->id);
    bind_time(st, s->expires_at);
    return db_run(st);
}

enum err session_find(struct db *db, const uint8_t hash[TOKEN_HASH_BYTES], Time now, struct session *ret)
{
    static const char find[] =
        "SELECT t.id, t.account_id, t.expires_at, COALESCE(a.role, ''), a.name, a.email, a.is_active, a.is_unproven,"
        " COALESCE(c.id, t.id),"
        " (SELECT CAST(COALESCE(SUM(l.quantity), 0) AS BIGINT) FROM cart_line l WHERE l.token_id = COALESCE(c.id, "
        "t.id))"
        " FROM token t LEFT JOIN account a ON a.id = t.account_id"
        " LEFT JOIN token c ON c.account_id = t.account_id AND c.kind = 'cart'"
        " WHERE t.hash = $1 AND t.kind = 'shop'";
    struct stmt *st = db_prepare(db, find);
    bind_blob(st, (Str){(const char *)hash, TOKEN_HASH_BYTES});
    struct session s = {0};
    bool found = db_step(st), is_active = false;
    if (found) {
        s.id = col_id(st);
        s.account = col_id(st);
        s.expires_at = col_time(st);
        s.role = col_choice(st, role_names);
        s.name = col_text(st);
        s.email = col_text(st);
        is_active = col_bool(st);
        s.is_unproven = col_bool(st);
        s.cart = col_id(st);
        s.cart_units = col_int(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    if (!found || s.expires_at.ms <= now.ms || (id_is(s.account) && !is_active)) return ERR_NOT_FOUND;
    e = move_end(db, &s, now);
    if (e) return e;
    *ret = s;
    return OK;
}

enum err session_end(struct db *db, Id session)
{
    static const char end[] = "DELETE FROM token WHERE id = $1 AND kind = 'shop'";
    struct stmt *st = db_prepare(db, end);
    bind_id(st, session);
    return db_run(st);
}

static void read_row(struct stmt *st, struct token *t)
{
    t->account = col_id(st);
    t->id = col_id(st);
    t->created_at = col_time(st);
    t->expires_at = col_time(st);
}
DB_READER(read_row);

enum err session_list(struct db *db, Id account, int64_t limit, struct token **ret, size_t *ret_count)
{
    static const char list[] = "SELECT account_id, id, created_at, expires_at FROM token"
                               " WHERE account_id = $1 AND kind = 'shop' ORDER BY id DESC LIMIT $2";
    struct stmt *st = db_prepare(db, list);
    bind_id(st, account);
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}

Str session_csrf(struct arena *a, const uint8_t hash[TOKEN_HASH_BYTES])
{
    uint8_t made[VAULT_HASH_BYTES];
    vault_hash(VAULT_CSRF, (Str){(const char *)hash, TOKEN_HASH_BYTES}, made);
    return hex_encode(a, made, 16);
}
