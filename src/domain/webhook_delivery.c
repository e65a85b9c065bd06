/* domain/webhook_delivery.c - see webhook_delivery.h. */
#include "domain/webhook_delivery.h"

#include "base/random.h"
#include "db/rows.h"

const char *const hook_status_names[] = {"pending", "delivered", "failed", NULL};

bool webhook_try_is_good(const struct webhook_try *t)
{
    return t->status >= 200 && t->status < 300;
}

int64_t webhook_delay_ms(int64_t attempts)
{
    static const int64_t delays[] = {5 * TIME_SECOND, 1 * TIME_MINUTE, 5 * TIME_MINUTE, 30 * TIME_MINUTE,
                                     2 * TIME_HOUR,   5 * TIME_HOUR,   10 * TIME_HOUR,  14 * TIME_HOUR,
                                     20 * TIME_HOUR,  24 * TIME_HOUR};

    return random_delay_ms(delays, sizeof delays / sizeof *delays, attempts);
}

enum err webhook_delivery_add(struct db *db, Id endpoint, Id event, enum event_type type, Time now, Id *ret)
{
    static const char insert[] = "INSERT INTO webhook_delivery (endpoint_id, event_id, type, due_at, created_at)"
                                 " VALUES ($1, $2, $3, $4, $4)";
    static const char insert_known[] = "INSERT INTO webhook_delivery (endpoint_id, event_id, type, due_at, created_at)"
                                       " VALUES ($1, $2, $3, $4, $4) RETURNING id";

    struct stmt *st = db_prepare(db, ret ? insert_known : insert);
    bind_id(st, endpoint);
    bind_id(st, event);
    bind_choice(st, event_type_names, type);
    bind_time(st, now);
    if (!ret) return db_run(st);
    *ret = (Id){0};
    return db_insert(st, ret);
}

#define COLUMNS                                                                                                        \
    "d.id, d.endpoint_id, d.event_id, d.type, d.status, d.attempts, d.tries, d.due_at, d.answer, d.created_at,"        \
    " d.done_at"

static void read_row(struct stmt *st, struct webhook_delivery *d)
{
    d->id = col_id(st);
    d->endpoint_id = col_id(st);
    d->event_id = col_id(st);
    d->type = col_choice(st, event_type_names);
    d->status = col_choice(st, hook_status_names);
    d->attempts = col_int(st);
    d->tries = col_int(st);
    d->due_at = col_time(st);
    d->answer = col_text(st);
    d->created_at = col_time(st);
    d->done_at = col_time(st);
}
DB_READER(read_row);

static void read_due(struct stmt *st, struct webhook_due *d)
{
    read_row(st, &d->delivery);
    event_read(st, &d->event);
}
DB_READER(read_due);

enum err webhook_delivery_due(struct db *db, Id endpoint, Time now, int64_t limit, struct webhook_due **ret,
                              size_t *ret_count)
{
    static const char list[] =
        "SELECT " COLUMNS ", " EVENT_COLUMNS " FROM webhook_delivery d JOIN event e ON e.id = d.event_id"
        " WHERE d.endpoint_id = $1 AND d.status = 'pending' AND d.due_at <= $2 ORDER BY d.due_at, d.id LIMIT $3";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, endpoint);
    bind_time(st, now);
    bind_int(st, limit);
    enum err e = db_rows(st, read_due, limit, ret, ret_count);
    for (size_t i = 0; !e && i < *ret_count; i++) e = event_open(db, &(*ret)[i].event);
    return e;
}

static enum err add_try(struct db *db, Id delivery, const struct webhook_try *t)
{
    static const char insert[] = "INSERT INTO webhook_try (delivery_id, number, at, took_ms, status, error)"
                                 " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (delivery_id, number) DO NOTHING";

    struct stmt *st = db_prepare(db, insert);
    bind_id(st, delivery);
    bind_int(st, t->number);
    bind_time(st, t->at);
    bind_int(st, t->took_ms);
    bind_int(st, t->status);
    bind_text(st, t->error);
    return db_run(st);
}

enum err webhook_delivery_record(struct db *db, const struct webhook_delivery *d, const struct webhook_try *t,
                                 bool for_good, Time now)
{
    static const char update[] = "UPDATE webhook_delivery SET status = $2, attempts = attempts + 1, tries = $3,"
                                 " due_at = $4, answer = $5, done_at = $6 WHERE id = $1";

    enum hook_status status = HOOK_DELIVERED;
    int64_t delay = 0;
    if (!webhook_try_is_good(t)) {
        delay = for_good ? 0 : webhook_delay_ms(d->attempts + 1);
        status = delay ? HOOK_PENDING : HOOK_FAILED;
    }
    enum err e = add_try(db, d->id, t);
    if (e) return e;
    struct stmt *st = db_prepare(db, update);
    bind_id(st, d->id);
    bind_choice(st, hook_status_names, status);
    bind_int(st, t->number);
    bind_time(st, time_add(now, delay));
    bind_text(st, t->answer);
    bind_opt_time(st, status == HOOK_PENDING ? (Time){0} : now);
    return db_run(st);
}

enum err webhook_delivery_drop(struct db *db, Id endpoint, Time now)
{
    static const char drop[] = "UPDATE webhook_delivery SET status = 'failed', done_at = $2"
                               " WHERE endpoint_id = $1 AND status = 'pending'";

    struct stmt *st = db_prepare(db, drop);
    bind_id(st, endpoint);
    bind_time(st, now);
    return db_run(st);
}

#define OF_LIVE " JOIN webhook_endpoint p ON p.id = d.endpoint_id AND p.deleted_at IS NULL"

enum err webhook_delivery_list(struct db *db, const struct hook_filter *f, Id before, int64_t limit,
                               struct webhook_delivery **ret, size_t *ret_count)
{
    /* An index for each way of asking: 0 and '' stand for any. */
    static const char of_one[] = "SELECT " COLUMNS " FROM webhook_delivery d" OF_LIVE " WHERE d.endpoint_id = $1"
                                 " AND d.id < $2 AND ($3 = '' OR d.status = $3) AND ($4 = '' OR d.type = $4)"
                                 " ORDER BY d.id DESC LIMIT $5";
    static const char of_all[] = "SELECT " COLUMNS " FROM webhook_delivery d" OF_LIVE " WHERE $1 = 0"
                                 " AND d.id < $2 AND ($3 = '' OR d.status = $3) AND ($4 = '' OR d.type = $4)"
                                 " ORDER BY d.id DESC LIMIT $5";

    struct stmt *st = db_prepare(db, id_is(f->endpoint) ? of_one : of_all);
    bind_id(st, f->endpoint);
    bind_id(st, id_is(before) ? before : (Id){ID_MAX});
    bind_text(st, f->has_status ? str_from(hook_status_names[f->status]) : STR(""));
    bind_text(st, f->has_type ? str_from(event_type_names[f->type]) : STR(""));
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}

enum err webhook_delivery_find(struct db *db, Id id, struct webhook_delivery *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM webhook_delivery d" OF_LIVE " WHERE d.id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return db_row(st, read_row, ret);
}

static void read_try(struct stmt *st, struct webhook_try *t)
{
    t->number = col_int(st);
    t->at = col_time(st);
    t->took_ms = col_int(st);
    t->status = col_int(st);
    t->error = col_text(st);
}
DB_READER(read_try);

enum err webhook_delivery_tries(struct db *db, Id id, struct webhook_try **ret, size_t *ret_count)
{
    static const char list[] =
        "SELECT number, at, took_ms, status, error FROM (SELECT number, at, took_ms, status, error"
        " FROM webhook_try WHERE delivery_id = $1 ORDER BY number DESC LIMIT 50) last"
        " ORDER BY number";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, id);
    return db_rows(st, read_try, ROWS_ALL, ret, ret_count);
}

enum err webhook_delivery_resend(struct db *db, Id id, Time now)
{
    static const char again[] = "UPDATE webhook_delivery SET status = 'pending', attempts = 0, due_at = $2,"
                                " done_at = NULL WHERE id = $1 AND status <> 'pending' RETURNING id";

    struct stmt *st = db_prepare(db, again);
    bind_id(st, id);
    bind_time(st, now);
    bool changed = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    return changed ? OK : ERR_INVALID_STATE;
}
