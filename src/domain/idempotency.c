/* domain/idempotency.c - see idempotency.h. */
#include "domain/idempotency.h"

#include "domain/vault.h"

static void bind_key(struct stmt *st, const struct idempotency *i)
{
    bind_id(st, i->account);
    bind_text(st, i->route);
    bind_text(st, i->key);
}

/* Location and body travel in one sealed text; a Location has no line end. */
static Str answer_seal(struct arena *a, const struct idempotency *i, const struct kept_answer *answer)
{
    struct buf plain;
    buf_init(&plain, a, SIZE_MAX);
    buf_append(&plain, answer->location);
    buf_char(&plain, '\n');
    buf_append(&plain, answer->body);
    return vault_seal(a, i->key, buf_str(&plain));
}

enum err idempotency_find(struct db *db, const struct idempotency *i, struct kept_answer *ret)
{
    static const char find[] = "SELECT request_hash, status, answer FROM idempotency"
                               " WHERE account_id = $1 AND route = $2 AND key = $3";
    struct stmt *st = db_prepare(db, find);
    bind_key(st, i);
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
        if (!kept.status) return ERR_CONFLICT; /* claimed by a request of several transactions that has not ended */
        if (!vault_unseal(db_arena(db), i->key, sealed, &plain)) return ERR_INTERNAL;
        if (!str_cut(plain, '\n', &kept.location, &kept.body)) return ERR_INTERNAL;
    }
    *ret = kept;
    return OK;
}

enum err idempotency_claim(struct db *db, const struct idempotency *i, Time now, struct kept_answer *ret)
{
    static const char claim[] = "INSERT INTO idempotency (account_id, route, key, request_hash, created_at)"
                                " VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING RETURNING 1";
    if (!db_is_postgres(db)) return idempotency_find(db, i, ret);
    struct stmt *st = db_prepare(db, claim);
    bind_key(st, i);
    bind_blob(st, (Str){(const char *)i->request_hash, REQUEST_HASH_BYTES});
    bind_time(st, now);
    bool claimed = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    if (claimed) {
        *ret = (struct kept_answer){0};
        return OK;
    }
    return idempotency_find(db, i, ret);
}

enum err idempotency_store(struct db *db, const struct idempotency *i, Time now, const struct kept_answer *answer)
{
    static const char store[] =
        "INSERT INTO idempotency (account_id, route, key, request_hash, status, answer, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (account_id, route, key)"
        " DO UPDATE SET status = excluded.status, answer = excluded.answer";
    Str sealed = answer_seal(db_arena(db), i, answer);
    struct stmt *st = db_prepare(db, store);
    bind_key(st, i);
    bind_blob(st, (Str){(const char *)i->request_hash, REQUEST_HASH_BYTES});
    bind_int(st, answer->status);
    bind_blob(st, sealed);
    bind_time(st, now);
    return db_run(st);
}

enum err idempotency_forget(struct db *db, const struct idempotency *i)
{
    static const char forget[] = "DELETE FROM idempotency WHERE account_id = $1 AND route = $2 AND key = $3";
    struct stmt *st = db_prepare(db, forget);
    bind_key(st, i);
    return db_run(st);
}

enum err idempotency_expire(struct db *db, Time now, int64_t limit)
{
    static const char expire[] =
        "DELETE FROM idempotency WHERE (account_id, route, key) IN"
        " (SELECT account_id, route, key FROM idempotency WHERE created_at < $1 ORDER BY created_at LIMIT $2)";
    struct stmt *st = db_prepare(db, expire);
    bind_time(st, time_add(now, -IDEMPOTENCY_DAYS * TIME_DAY));
    bind_int(st, limit);
    return db_run(st);
}
