/* domain/outbox.c - see outbox.h. */
#include "domain/outbox.h"

#include <assert.h>

#include "base/log.h"
#include "base/random.h"
#include "domain/vault.h"

#define CLAIMS_MAX 5

const char *const outbox_kind_names[] = {"create", "capture", "refund", "ask",       "close",
                                         "mail",   "sandbox", "reset",  "reconcile", NULL};

static Str context(enum outbox_kind kind)
{
    switch (kind) {
    case OUTBOX_CREATE: return STR("outbox:create");
    case OUTBOX_MAIL: return STR("outbox:mail");
    case OUTBOX_RESET: return STR("outbox:reset");
    case OUTBOX_RECONCILE: return STR("outbox:reconcile");
    default: return STR("outbox:sandbox");
    }
}

enum err outbox_add(struct db *db, const struct outbox_item *item, Time due_at, Time now, Id *ret_id)
{
    static const char insert[] = "INSERT INTO outbox (kind, payment_id, refund_id, amount, payload, due_at, created_at,"
                                 " set_at)"
                                 " VALUES ($1, $2, $3, $4, $5, $6, $7, $7) RETURNING id";

    struct stmt *st = db_prepare(db, insert);
    bind_choice(st, outbox_kind_names, item->kind);
    bind_opt_id(st, item->payment);
    bind_opt_id(st, item->refund);
    if (item->amount.minor)
        bind_money(st, item->amount);
    else
        bind_null(st);
    if (item->payload.len)
        bind_blob(st, vault_seal(db_arena(db), context(item->kind), item->payload));
    else
        bind_null(st);
    bind_time(st, due_at);
    bind_time(st, now);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (!e && ret_id) *ret_id = id;
    return e;
}

bool outbox_read_row(struct arena *a, struct stmt *st, struct outbox_item *ret)
{
    ret->id = col_id(st);
    ret->kind = col_choice(st, outbox_kind_names);
    ret->payment = col_id(st);
    ret->refund = col_id(st);
    ret->amount = col_money(st);
    Str sealed = col_blob(st);
    ret->attempts = col_int(st);
    ret->created_at = col_time(st);
    return !sealed.len || vault_unseal(a, context(ret->kind), sealed, &ret->payload);
}

#define ENDLESS "it was begun several times and never finished"
#define UNREADABLE "its content cannot be opened with this master key"

struct poison {
    Id id;
    enum outbox_kind kind;
    const char *why;
};

static enum err set_aside(struct db *db, const struct poison *p, Time now)
{
    log_event(LOG_ERROR, "outbox_set_aside", LOGC("kind", outbox_kind_names[p->kind]), LOGI("id", p->id.v),
              LOGC("why", p->why));
    return outbox_fail(db, p->id, str_from(p->why), now);
}

enum err outbox_claim(struct db *db, Time now, int64_t lease_ms, int64_t limit, struct outbox_item **ret,
                      size_t *ret_count)
{
    /* A worker that waited for a row which another took checks the row again: its due time has moved. */
    static const char claim[] =
        "UPDATE outbox SET due_at = $2, set_at = $1, attempts = attempts + 1, claims = claims + 1"
        " WHERE status = 'waiting' AND due_at <= $1 AND id IN"
        " (SELECT id FROM outbox WHERE status = 'waiting' AND due_at <= $1 ORDER BY due_at LIMIT $3)"
        " RETURNING id, kind, payment_id, refund_id, amount, payload, attempts, created_at, claims";

    assert(limit > 0 && lease_ms > 0);
    struct outbox_item *items = arena_array(db_arena(db), struct outbox_item, (size_t)limit);
    size_t count = 0;
    struct stmt *st = db_prepare(db, claim);
    bind_time(st, now);
    bind_time(st, time_add(now, lease_ms));
    bind_int(st, limit);
    struct poison *poison = arena_array(db_arena(db), struct poison, (size_t)limit);
    size_t poisoned = 0;
    while (db_step(st)) {
        struct outbox_item *item = &items[count];
        bool can_be_read = outbox_read_row(db_arena(db), st, item);
        bool is_endless = col_int(st) > CLAIMS_MAX;
        if (can_be_read && !is_endless)
            count++;
        else
            poison[poisoned++] = (struct poison){item->id, item->kind, is_endless ? ENDLESS : UNREADABLE};
    }
    enum err e = db_done(st);
    for (size_t i = 0; !e && i < poisoned; i++) e = set_aside(db, &poison[i], now);
    if (e) return e;
    *ret = items;
    *ret_count = count;
    return OK;
}

enum err outbox_next(struct db *db, Time *ret)
{
    static const char next[] = "SELECT due_at FROM outbox WHERE status = 'waiting' ORDER BY due_at LIMIT 1";

    struct stmt *st = db_prepare(db, next);
    Time t = db_step(st) ? col_time(st) : (Time){0};
    enum err e = db_done(st);
    if (!e) *ret = t;
    return e;
}

enum err outbox_done(struct db *db, Id id, Time now)
{
    static const char done[] = "UPDATE outbox SET status = 'done', done_at = $2, payload = NULL, last_error = ''"
                               " WHERE id = $1 AND status = 'waiting'";

    struct stmt *st = db_prepare(db, done);
    bind_id(st, id);
    bind_time(st, now);
    return db_run(st);
}

/* A waiting row that becomes due later: $2 is the time now, $3 when it is due, $4 what is noted about it. */
static enum err put_off(struct db *db, const char *sql, Id id, Time now, int64_t wait_ms, Str why)
{
    struct stmt *st = db_prepare(db, sql);
    bind_id(st, id);
    bind_time(st, now);
    bind_time(st, time_add(now, wait_ms));
    bind_text(st, why);
    return db_run(st);
}

enum err outbox_retry(struct db *db, Id id, Time now, int64_t wait_ms, Str error)
{
    static const char retry[] = "UPDATE outbox SET set_at = $2, due_at = $3, last_error = $4, claims = 0"
                                " WHERE id = $1 AND status = 'waiting'";
    return put_off(db, retry, id, now, wait_ms, error);
}

enum err outbox_postpone(struct db *db, Id id, Time now, int64_t wait_ms, Str why)
{
    static const char postpone[] =
        "UPDATE outbox SET set_at = $2, due_at = $3, attempts = attempts - 1, last_error = $4, claims = 0"
        " WHERE id = $1 AND status = 'waiting' AND attempts > 0";
    return put_off(db, postpone, id, now, wait_ms, why);
}

enum err outbox_fail(struct db *db, Id id, Str error, Time now)
{
    static const char fail[] = "UPDATE outbox SET status = 'failed', done_at = $2, last_error = $3, claims = 0"
                               " WHERE id = $1 AND status = 'waiting'";
    struct stmt *st = db_prepare(db, fail);
    bind_id(st, id);
    bind_time(st, now);
    bind_text(st, error);
    return db_run(st);
}

enum err outbox_find(struct db *db, enum outbox_kind kind, Id payment, Id *ret)
{
    static const char find[] =
        "SELECT id FROM outbox WHERE payment_id = $1 AND kind = $2 AND status = 'waiting' LIMIT 1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, payment);
    bind_choice(st, outbox_kind_names, kind);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (!e) *ret = id;
    return e;
}

int64_t outbox_delay_ms(int64_t attempts)
{
    static const int64_t delays[] = {2 * TIME_SECOND,  10 * TIME_SECOND, 30 * TIME_SECOND, 2 * TIME_MINUTE,
                                     10 * TIME_MINUTE, 30 * TIME_MINUTE, 2 * TIME_HOUR,    6 * TIME_HOUR,
                                     12 * TIME_HOUR,   24 * TIME_HOUR};

    return random_delay_ms(delays, sizeof delays / sizeof *delays, attempts);
}
