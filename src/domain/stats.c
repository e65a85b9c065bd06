/* domain/stats.c - see stats.h. */
#include "domain/stats.h"

enum err stats_sales(struct db *db, Time now, int days, struct day_sales *ret)
{
    static const char by_day[] =
        "SELECT confirmed_at / 86400000, COUNT(*), CAST(SUM(total - refunded_amount) AS BIGINT) FROM orders"
        " WHERE status IN ('confirmed', 'refunded') AND confirmed_at >= $1 AND confirmed_at < $2 GROUP BY confirmed_at "
        "/ 86400000";
    int64_t today = now.ms / TIME_DAY, first = today - days + 1;
    for (int i = 0; i < days; i++) ret[i] = (struct day_sales){.day = {(first + i) * TIME_DAY}};
    struct stmt *st = db_prepare(db, by_day);
    bind_int(st, first * TIME_DAY);
    bind_int(st, (today + 1) * TIME_DAY);
    while (db_step(st)) {
        int64_t day = col_int(st), orders = col_int(st);
        Money total = col_money(st);
        ret[day - first].orders = orders;
        ret[day - first].total = total;
    }
    return db_done(st);
}

enum err stats_open_work(struct db *db, struct open_work *ret)
{
    static const char count[] = "SELECT (SELECT COUNT(*) FROM withdrawal WHERE status = 'pending'),"
                                " (SELECT COUNT(*) FROM ticket WHERE status = 'open'),"
                                " (SELECT COUNT(*) FROM orders WHERE status = 'pending'),"
                                " (SELECT COUNT(*) FROM orders WHERE on_hold = 1),"
                                " (SELECT COUNT(*) FROM webhook_event WHERE status IN ('unmatched', 'review')),"
                                " (SELECT COUNT(*) FROM review WHERE status = 'open'),"
                                " (SELECT COUNT(*) FROM outbox WHERE status <> 'done' AND status = 'failed')";
    struct open_work w = {0};
    struct stmt *st = db_prepare(db, count);
    if (db_step(st)) {
        w.withdrawals = col_int(st);
        w.tickets = col_int(st);
        w.pending_orders = col_int(st);
        w.orders_on_hold = col_int(st);
        w.webhooks = col_int(st);
        w.reviews = col_int(st);
        w.outbox = col_int(st);
    }
    enum err e = db_done(st);
    if (!e) *ret = w;
    return e;
}
