/* domain/clock_back.c - see clock_back.h. $1 is now, $2 what a clock of today cannot have noted. */
#include "domain/clock_back.h"

#include "base/log.h"

#define ERRANDS "outbox WHERE status = 'waiting' AND due_at > $2 AND set_at > $2"
/* One that was never tried is due at once; of the others the last try says when the wait began. */
#define DELIVERIES                                                                                                     \
    "webhook_delivery WHERE status = 'pending' AND due_at > $2 AND (attempts = 0 OR EXISTS (SELECT 1 FROM webhook_try" \
    " t WHERE t.delivery_id = webhook_delivery.id AND t.number = webhook_delivery.tries AND t.at > $2))"
/* Both last for seconds. */
#define ENDPOINTS "webhook_endpoint WHERE leased_until > $2 OR paused_until > $2"
/* In this order the index is the way, whatever PostgreSQL believes about the others. */
#define RESERVATIONS                                                                                                   \
    "(SELECT id, reserved_until, created_at FROM orders WHERE reserved_until IS NOT NULL"                              \
    " ORDER BY reserved_until DESC, id DESC LIMIT 10000) o WHERE o.created_at > $2 AND o.reserved_until > "            \
    "o.created_at"

static struct stmt *prepare(struct db *db, const char *sql, Time now)
{
    struct stmt *st = db_prepare(db, sql);
    bind_time(st, now);
    bind_time(st, time_add(now, TIME_SLACK));
    return st;
}

static enum err find(struct db *db, Time now, bool *ret)
{
#define FIND(rows) "EXISTS (SELECT 1 FROM " rows ")"
    static const char sql[] = "SELECT 1 WHERE $1 > 0 AND (" FIND(ERRANDS) " OR " FIND(DELIVERIES) " OR " FIND(
        ENDPOINTS) " OR " FIND(RESERVATIONS) ")";
#undef FIND
    struct stmt *st = prepare(db, sql, now);
    *ret = db_step(st);
    return db_done(st);
}

enum err clock_back_amend(struct db *db, Time now)
{
    static const char *const updates[] = {
        "UPDATE outbox SET due_at = $1 + (due_at - set_at), set_at = $1 WHERE id IN (SELECT id FROM " ERRANDS ")",
        "UPDATE webhook_delivery SET due_at = $1 WHERE id IN (SELECT id FROM " DELIVERIES ")",
        "UPDATE webhook_endpoint SET leased_until = CASE WHEN leased_until > $2 THEN 0 ELSE leased_until END,"
        " paused_until = CASE WHEN paused_until > $2 THEN 0 ELSE paused_until END WHERE $1 > 0"
        " AND id IN (SELECT id FROM " ENDPOINTS ")",
        "UPDATE orders SET reserved_until = $1 + (reserved_until - created_at) WHERE id IN (SELECT id"
        " FROM " RESERVATIONS ")",
    };
    bool is_found = false;
    enum err e = find(db, now, &is_found);
    if (e || !is_found) return e;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    int64_t ahead_ms = time_latest().ms - now.ms; /* 0: it was put right before this server began */
    log_event(LOG_WARN, "clock_set_back", LOGI("ahead_s", ahead_ms > 0 ? ahead_ms / TIME_SECOND : 0));
    for (size_t i = 0; !e && i < sizeof updates / sizeof *updates; i++) e = db_run(prepare(db, updates[i], now));
    return e;
}
