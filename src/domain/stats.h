/* domain/stats.h - figures for the dashboard. TX_READ is enough. */
#pragma once

#include "db/db.h"

struct day_sales {
    Time day; /* its midnight, UTC */
    int64_t orders;
    Money total;
};

/* Confirmed (and since refunded) orders by the day of their confirmation: `days` rows up to today, oldest first, empty
 * days too. */
enum err stats_sales(struct db *db, Time now, int days, struct day_sales *ret);

struct open_work {
    int64_t withdrawals, tickets, pending_orders, orders_on_hold;
    int64_t webhooks; /* webhook events that are unmatched or wait for a person */
    int64_t reviews;  /* open */
    int64_t outbox;   /* calls and mails that failed for good */
};
enum err stats_open_work(struct db *db, struct open_work *ret);
