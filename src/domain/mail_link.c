/* domain/mail_link.c - see mail_link.h. */
#include "domain/mail_link.h"

#include "base/random.h"
#include "domain/vault.h"

#define TOKEN_CHARS 40

static const char *const purpose_names[] = {
    [MAIL_LINK_RESET] = "reset", [MAIL_LINK_VERIFY] = "verify", [MAIL_LINK_EMAIL] = "email"};

static Str hash_of(struct arena *a, enum mail_link_purpose purpose, Str token)
{
    uint8_t *hash = arena_alloc(a, VAULT_HASH_BYTES);
    vault_hash(VAULT_RESET, str_printf(a, "%s %.*s", purpose_names[purpose], STR_FMT(token)), hash);
    return (Str){(const char *)hash, VAULT_HASH_BYTES};
}

static enum err made_of_late(struct db *db, Id account, enum mail_link_purpose purpose, Time now, int64_t *ret)
{
    static const char count[] =
        "SELECT COUNT(*) FROM mail_link WHERE account_id = $1 AND purpose = $2 AND created_at > $3";
    struct stmt *st = db_prepare(db, count);
    bind_id(st, account);
    bind_text(st, str_from(purpose_names[purpose]));
    bind_time(st, time_add(now, -TIME_HOUR));
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) *ret = n;
    return e;
}

static enum err make(struct db *db, Id account, enum mail_link_purpose purpose, Str email, Time now, int64_t valid_ms,
                     Str *ret_token)
{
    /* Others who make a link for this account wait until this one can be counted. */
    static const char lock[] = "UPDATE account SET is_active = is_active WHERE id = $1";
    static const char add[] = "INSERT INTO mail_link (hash, account_id, purpose, email, created_at, expires_at)"
                              " VALUES ($1, $2, $3, $4, $5, $6)";
    int64_t made;
    struct stmt *st = db_prepare(db, lock);
    bind_id(st, account);
    enum err e = db_run(st);
    if (e) return e;
    e = made_of_late(db, account, purpose, now, &made);
    if (e) return e;
    if (made >= MAIL_LINKS_AN_HOUR) {
        *ret_token = (Str){0};
        return OK;
    }
    char *token = arena_alloc(db_arena(db), TOKEN_CHARS);
    random_base62(token, TOKEN_CHARS);
    st = db_prepare(db, add);
    bind_blob(st, hash_of(db_arena(db), purpose, (Str){token, TOKEN_CHARS}));
    bind_id(st, account);
    bind_text(st, str_from(purpose_names[purpose]));
    bind_text(st, email);
    bind_time(st, now);
    bind_time(st, time_add(now, valid_ms));
    e = db_run(st);
    if (!e) *ret_token = (Str){token, TOKEN_CHARS};
    return e;
}

enum err mail_link_make(struct db *db, Id account, enum mail_link_purpose purpose, Time now, int64_t valid_ms,
                        Str *ret_token)
{
    return make(db, account, purpose, (Str){0}, now, valid_ms, ret_token);
}

enum err mail_link_make_email(struct db *db, Id account, Str email, Time now, int64_t valid_ms, Str *ret_token)
{
    return make(db, account, MAIL_LINK_EMAIL, email, now, valid_ms, ret_token);
}

static enum err account_of(struct stmt *st, Id *ret)
{
    Id account = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    if (!id_is(account)) return ERR_NOT_FOUND;
    *ret = account;
    return OK;
}

enum err mail_link_look(struct db *db, enum mail_link_purpose purpose, Str token, Time now, Id *ret_account)
{
    static const char look[] = "SELECT l.account_id FROM mail_link l JOIN account a ON a.id = l.account_id"
                               " WHERE l.hash = $1 AND l.is_open = 1 AND l.expires_at > $2 AND a.is_active = 1";
    struct stmt *st = db_prepare(db, look);
    bind_blob(st, hash_of(db_arena(db), purpose, token));
    bind_time(st, now);
    return account_of(st, ret_account);
}

/*
 * A used link keeps its row until it is purged, because it counts for the hour. It is closed, too: by its end alone it
 * would be good again when the clock is set back.
 */
enum err mail_link_take(struct db *db, enum mail_link_purpose purpose, Str token, Time now, Id *ret_account)
{
    static const char take[] = "UPDATE mail_link SET is_open = 0, expires_at = $2"
                               " WHERE hash = $1 AND is_open = 1 AND expires_at > $2"
                               " AND EXISTS (SELECT 1 FROM account a WHERE a.id = account_id AND a.is_active = 1)"
                               " RETURNING account_id";
    static const char end[] = "UPDATE mail_link SET is_open = 0, expires_at = $3"
                              " WHERE account_id = $1 AND purpose = $2 AND expires_at > $3";
    Id account;
    struct stmt *st = db_prepare(db, take);
    bind_blob(st, hash_of(db_arena(db), purpose, token));
    bind_time(st, now);
    enum err e = account_of(st, &account);
    if (e) return e;
    st = db_prepare(db, end);
    bind_id(st, account);
    bind_text(st, str_from(purpose_names[purpose]));
    bind_time(st, now);
    e = db_run(st);
    if (!e) *ret_account = account;
    return e;
}

enum err mail_link_purge(struct db *db, Time now, int64_t limit)
{
    static const char look[] = "SELECT 1 FROM mail_link WHERE expires_at < $1 ORDER BY expires_at LIMIT 1";
    static const char purge[] = "DELETE FROM mail_link WHERE hash IN " DB_FIRST(
        "hash", "mail_link WHERE expires_at < $1 ORDER BY expires_at", "$2", "1000");
    Time before = time_add(now, -TIME_DAY);
    struct stmt *st = db_prepare(db, look);
    bind_time(st, before);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (e || !found) return e;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    st = db_prepare(db, purge);
    bind_time(st, before);
    bind_int(st, limit);
    return db_run(st);
}

enum err mail_link_take_email(struct db *db, Str token, Time now, Id *ret_account, Str *ret_email)
{
    static const char find[] = "SELECT email FROM mail_link WHERE hash = $1";
    enum err e = mail_link_take(db, MAIL_LINK_EMAIL, token, now, ret_account);
    if (e) return e;
    struct stmt *st = db_prepare(db, find);
    bind_blob(st, hash_of(db_arena(db), MAIL_LINK_EMAIL, token));
    Str email = db_step(st) ? col_text(st) : (Str){0};
    e = db_done(st);
    if (!e) *ret_email = email;
    return e;
}

enum err mail_link_end_all(struct db *db, Id account, Time now)
{
    static const char end[] =
        "UPDATE mail_link SET is_open = 0, expires_at = $2 WHERE account_id = $1 AND expires_at > $2";
    struct stmt *st = db_prepare(db, end);
    bind_id(st, account);
    bind_time(st, now);
    return db_run(st);
}

enum err mail_link_end_changes(struct db *db, Id account, Time now)
{
    static const char end[] = "UPDATE mail_link SET is_open = 0, expires_at = $2"
                              " WHERE account_id = $1 AND purpose <> 'verify' AND expires_at > $2";
    struct stmt *st = db_prepare(db, end);
    bind_id(st, account);
    bind_time(st, now);
    return db_run(st);
}
