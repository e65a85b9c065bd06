/* domain/reservation.c - see reservation.h. */
#include "domain/reservation.h"

#include "domain/serial.h"

#define EXPIRED_AT_ONCE 100

static int64_t codes_needed(const struct delivery_job *jobs, size_t count)
{
    int64_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (jobs[i].type == DELIVERY_SERIAL_CODE) n += jobs[i].quantity;
    return n;
}

/* Two orders of one customer at once are counted one after the other. */
static enum err lock_customer(struct db *db, Id account)
{
    static const char postgres[] =
        "SELECT CAST(1 AS BIGINT) FROM (SELECT pg_advisory_xact_lock(hashtextextended('reservation', $1))) AS lock";

    if (!db_is_postgres(db)) return OK;
    struct stmt *st = db_prepare(db, postgres);
    bind_id(st, account);
    db_step(st);
    return db_done(st);
}

static enum err codes_kept(struct db *db, Id account, int64_t *ret)
{
    static const char count[] =
        "SELECT CAST(COALESCE(SUM((SELECT SUM(CASE WHEN i.delivery_type = 'serial_code'"
        " THEN i.quantity ELSE 0 END) FROM order_item i WHERE i.order_id = o.id)), 0) AS BIGINT)"
        " FROM orders o WHERE o.account_id = $1 AND o.reserved_until IS NOT NULL";

    struct stmt *st = db_prepare(db, count);
    bind_id(st, account);
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) *ret = n;
    return e;
}

static enum err set_until(struct db *db, Id order, Time until)
{
    static const char set[] = "UPDATE orders SET reserved_until = $2 WHERE id = $1";

    struct stmt *st = db_prepare(db, set);
    bind_id(st, order);
    bind_opt_time(st, until);
    return db_run(st);
}

enum err reservation_make(struct db *db, const struct reservation *want, const struct delivery_job *jobs, size_t count,
                          Time now, bool *ret_made)
{
    int64_t kept = 0, need = codes_needed(jobs, count);
    *ret_made = false;
    if (need == 0 || need > want->most) return OK;
    enum err e = lock_customer(db, want->account);
    if (!e) e = codes_kept(db, want->account, &kept);
    if (e || kept > want->most - need) return e;
    for (size_t i = 0; !e && i < count; i++) {
        const struct delivery_job *j = &jobs[i];
        if (j->type != DELIVERY_SERIAL_CODE) continue;
        e = serial_reserve(db, j->product, j->variant, j->order_item, (size_t)j->quantity, now);
    }
    if (!e) e = set_until(db, want->order, want->until);
    if (!e) *ret_made = true;
    return e;
}

enum err reservation_release(struct db *db, Id order)
{
    enum err e = serial_unreserve(db, order);
    return e ? e : set_until(db, order, (Time){0});
}

/* Locks the order, and looks again now that nobody else can change it. */
static enum err lock_expired(struct db *db, Id order, Time now, bool *ret)
{
    static const char lock[] = "UPDATE orders SET status = status WHERE id = $1 AND reserved_until <= $2 RETURNING id";

    struct stmt *st = db_prepare(db, lock);
    bind_id(st, order);
    bind_time(st, now);
    *ret = db_step(st);
    return db_done(st);
}

enum err reservation_expire(struct db *db, Time now)
{
    static const char list[] = "SELECT id FROM orders WHERE reserved_until IS NOT NULL AND reserved_until <= $1"
                               " ORDER BY reserved_until, id LIMIT 100";

    Id ids[EXPIRED_AT_ONCE];
    size_t count = 0;
    struct stmt *st = db_prepare(db, list);
    bind_time(st, now);
    while (count < EXPIRED_AT_ONCE && db_step(st)) ids[count++] = col_id(st);
    enum err e = db_done(st);
    if (e || count == 0) return e;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    /* All orders before any code: a transaction that confirms one of them holds the order and wants codes. */
    bool is_over[EXPIRED_AT_ONCE];
    for (size_t i = 0; !e && i < count; i++) e = lock_expired(db, ids[i], now, &is_over[i]);
    for (size_t i = 0; !e && i < count; i++)
        if (is_over[i]) e = reservation_release(db, ids[i]);
    return e;
}
