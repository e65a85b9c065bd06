/* domain/idempotency.c - see idempotency.h. */
#include "domain/idempotency.h"

#include <assert.h>

#include "domain/vault.h"

void idempotency_init(const struct idempotency_scope *scope, Str target, Str body, struct idempotency *ret)
{
    uint8_t hash[VAULT_HASH_BYTES];
    char account[8];
    for (size_t n = 0; n < sizeof account; n++) account[n] = (char)((uint64_t)scope->account.v >> (8 * n));
    const Str key[] = {
        STR("idempotency"),      {account, sizeof account}, id_is(scope->account) ? (Str){0} : scope->network,
        str_from(scope->method), str_from(scope->path),     scope->key};
    vault_hash_parts(VAULT_FINGERPRINT, key, sizeof key / sizeof *key, hash);
    memcpy(ret->key_hash, hash, sizeof ret->key_hash);
    ret->account = scope->account;

    const Str request[] = {target, body};
    vault_hash_parts(VAULT_FINGERPRINT, request, sizeof request / sizeof *request, ret->request_hash);
}

static Str key_hash(const struct idempotency *i)
{
    return (Str){(const char *)i->key_hash, sizeof i->key_hash};
}

/* Location and body travel in one sealed text; a Location has no line end. */
static Str answer_seal(struct arena *a, const struct idempotency *i, const struct kept_answer *answer)
{
    struct buf plain;
    buf_init(&plain, a, SIZE_MAX);
    buf_append(&plain, answer->location);
    buf_char(&plain, '\n');
    buf_append(&plain, answer->body);
    return vault_seal(a, key_hash(i), buf_str(&plain));
}

#define HERE "SELECT request_hash, status, answer FROM idempotency WHERE account_id = $1 AND key_hash = $2"
#define GONE "SELECT request_hash, status, answer FROM idempotency WHERE account_id = -$1 AND key_hash = $2"

enum err idempotency_find(struct db *db, const struct idempotency *i, struct kept_answer *ret)
{
    static const char find[] = HERE " UNION ALL " GONE " LIMIT 1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, i->account);
    bind_blob(st, key_hash(i));
    struct kept_answer kept = {0};
    Str hash = {0}, sealed = {0};
    bool found = db_step(st);
    if (found) {
        hash = col_blob(st);
        kept.status = (int)col_int(st);
        sealed = col_blob(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    if (found) {
        Str plain;
        if (!str_eq(hash, (Str){(const char *)i->request_hash, REQUEST_HASH_BYTES})) return ERR_IDEMPOTENCY_KEY_REUSED;
        if (!kept.status) return ERR_CONFLICT; /* claimed by a request of several transactions that is still running */
        if (!sealed.len) return ERR_ANSWER_NOT_KEPT;
        if (!vault_unseal(db_arena(db), key_hash(i), sealed, &plain)) return ERR_INTERNAL;
        if (!str_cut(plain, '\n', &kept.location, &kept.body)) return ERR_INTERNAL;
        e = db_confirm_read(db);
    }
    *ret = kept;
    return e;
}

enum err idempotency_join(struct db *db, const struct idempotency *i)
{
    return db_enlist(db, key_hash(i)) ? OK : ERR_RUN_ALONE;
}

/* After the claim, which may have waited for the one that moved the row aside: only a new statement sees it. */
static enum err was_moved_aside(struct db *db, const struct idempotency *i)
{
    static const char postgres[] = "SELECT request_hash FROM idempotency WHERE account_id = $1 AND key_hash = $2";
    if (!id_is(i->account)) return OK;
    struct stmt *st = db_prepare(db, postgres);
    bind_int(st, -i->account.v);
    bind_blob(st, key_hash(i));
    bool found = db_step(st);
    Str hash = found ? col_blob(st) : (Str){0};
    enum err e = db_done(st);
    if (e || !found) return e;
    bool is_same = str_eq(hash, (Str){(const char *)i->request_hash, REQUEST_HASH_BYTES});
    return is_same ? ERR_ANSWER_NOT_KEPT : ERR_IDEMPOTENCY_KEY_REUSED;
}

enum err idempotency_claim(struct db *db, const struct idempotency *i, Time now, struct kept_answer *ret)
{
    static const char claim[] = "INSERT INTO idempotency (account_id, key_hash, request_hash, created_at)"
                                " VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING 1";
    if (!db_is_postgres(db)) return idempotency_find(db, i, ret);
    if (db_is_grouped(db)) {
        enum err e = idempotency_join(db, i);
        if (!e) e = idempotency_find(db, i, ret);
        return e == ERR_CONFLICT ? ERR_RUN_ALONE : e;
    }
    struct stmt *st = db_prepare(db, claim);
    bind_id(st, i->account);
    bind_blob(st, key_hash(i));
    bind_blob(st, (Str){(const char *)i->request_hash, REQUEST_HASH_BYTES});
    bind_time(st, now);
    bool claimed = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    if (claimed) {
        *ret = (struct kept_answer){0};
        return was_moved_aside(db, i);
    }
    return idempotency_find(db, i, ret);
}

/* The newest long answer stays, whatever its length. */
static enum err drop_long(struct db *db, Id account)
{
    static const char drop[] =
        "UPDATE idempotency SET answer = NULL, long_of = NULL, account_id = -account_id WHERE id IN (SELECT id FROM"
        " (SELECT id, row_number() OVER (ORDER BY id DESC) AS place, sum(length(answer)) OVER (ORDER BY id DESC) AS "
        "bytes"
        " FROM idempotency WHERE long_of = $1) AS kept WHERE place > $2 OR (place > 1 AND bytes > $3))";
    struct stmt *st = db_prepare(db, drop);
    bind_id(st, account);
    bind_int(st, KEPT_LONG_COUNT);
    bind_int(st, KEPT_LONG_BYTES);
    return db_run(st);
}

/* The oldest answers of a slice make room: their rows move to -account, out of what is counted from then on. Nobody can
 * choose whose turn it is, nor fill one slice alone, because the hash is keyed. A claim that still runs stays. */
static enum err drop_short(struct db *db, const struct idempotency *i)
{
#define SLICE " account_id = $1 AND key_hash BETWEEN $2 AND $3 "
    static const char drop[] =
        "UPDATE idempotency SET answer = NULL, account_id = -account_id WHERE" SLICE "AND status <> 0 AND id <="
        " (SELECT id FROM idempotency WHERE" SLICE "ORDER BY id DESC LIMIT 1 OFFSET $4)";
#undef SLICE
    static_assert(KEPT_SLICES == 64, "six bits of the hash");
    if (!id_is(i->account) || i->key_hash[1] % KEPT_SLICES) return OK;
    char first[KEY_HASH_BYTES], last[KEY_HASH_BYTES];
    memset(first, 0, sizeof first);
    memset(last, 0xff, sizeof last);
    first[0] = (char)(i->key_hash[0] & 0xfc);
    last[0] = (char)(i->key_hash[0] | 3);
    struct stmt *st = db_prepare(db, drop);
    bind_id(st, i->account);
    bind_blob(st, (Str){first, sizeof first});
    bind_blob(st, (Str){last, sizeof last});
    bind_int(st, KEPT_SHORT_COUNT / KEPT_SLICES);
    return db_run(st);
}

enum err idempotency_store(struct db *db, const struct idempotency *i, Time now, const struct kept_answer *answer)
{
#define STORE                                                                                                          \
    "INSERT INTO idempotency (account_id, key_hash, request_hash, status, answer, created_at, long_of)"                \
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"
    /* Nobody in a group has claimed the key: who meets it here was late, and is undone with the group. */
    static const char store_first[] = STORE;
    static const char store[] = STORE " ON CONFLICT (account_id, key_hash) DO UPDATE SET status = excluded.status,"
                                      " answer = excluded.answer, long_of = excluded.long_of";
#undef STORE
    Str sealed = answer_seal(db_arena(db), i, answer);
    bool is_grouped = db_is_grouped(db);
    struct stmt *st = db_prepare(db, is_grouped ? store_first : store);
    bind_id(st, i->account);
    bind_blob(st, key_hash(i));
    bind_blob(st, (Str){(const char *)i->request_hash, REQUEST_HASH_BYTES});
    bind_int(st, answer->status);
    bind_blob(st, sealed);
    bind_time(st, now);
    bool is_long = sealed.len > KEPT_LONG;
    bind_opt_id(st, is_long ? i->account : (Id){0});
    enum err e = db_run(st);
    if (e) return e;
    return is_long ? drop_long(db, i->account) : drop_short(db, i);
}

enum err idempotency_forget(struct db *db, const struct idempotency *i)
{
    static const char forget[] = "DELETE FROM idempotency WHERE account_id = $1 AND key_hash = $2";
    struct stmt *st = db_prepare(db, forget);
    bind_id(st, i->account);
    bind_blob(st, key_hash(i));
    return db_run(st);
}

enum err idempotency_expire(struct db *db, Time now, int64_t limit)
{
    static const char oldest[] = "SELECT created_at FROM idempotency ORDER BY id LIMIT 1";
    static const char expire[] = "DELETE FROM idempotency WHERE created_at < $1 AND id IN " DB_FIRST(
        "id", "idempotency ORDER BY id", "$2", "2000");
    Time limit_at = time_add(now, -IDEMPOTENCY_DAYS * TIME_DAY);
    struct stmt *st = db_prepare(db, oldest);
    bool is_due = db_step(st) && col_time(st).ms < limit_at.ms;
    enum err e = db_done(st);
    if (e || !is_due) return e;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;

    st = db_prepare(db, expire);
    bind_time(st, limit_at);
    bind_int(st, limit);
    return db_run(st);
}
