/* tests/sim/check_rows.h - the rows that the checker has read, as it sees them. For check*.c. */
#pragma once

#include <sqlite3.h>

#include "check.h"

#define ROWS_MAX 512 /* of a table; ids are small: the store is new */

enum query {
    Q_BEGIN,
    Q_LEDGER,
    Q_TRANSFERS,
    Q_ORDERS,
    Q_ITEMS,
    Q_DELIVERIES,
    Q_SERIALS,
    Q_LICENSES,
    Q_WITHDRAWALS,
    Q_COUPONS,
    Q_COUPON_USES,
    Q_KEYS,
    Q_PAYMENTS,
    Q_REFUNDS,
    Q_EVENTS,
    Q_INTEGRITY,
    Q_END,
    QUERIES
};

struct wallet {
    bool is_there, is_wallet;
    int64_t owner, balance, limit, sum;
    char kind;
};

struct order {
    bool is_there, is_paid, is_known;
    int64_t account, subtotal, discount, total, refunded, items_total, units, paid, paid_times, back;
    int64_t giving_back; /* by refunds that were made or are asked for */
    int64_t coupon;
    char status, paid_with;
};

struct item {
    bool is_there;
    int64_t order, product, quantity;
    int64_t units; /* delivered: a bit for each */
};

struct withdrawal {
    bool is_there, is_known;
    int64_t account, amount, held, out, back;
    char status;
};

struct payment {
    bool is_there, is_known;
    int64_t order, account, amount, received, waiting, credited, refunded, returned, paid_order;
    int64_t came, to_wallet, back, back_from_wallet, again, done; /* by the ledger, and by refunds */
    char status;
    char reference[80];
};

struct checker {
    struct disk *disk;
    sqlite3 *db;
    sqlite3_stmt *queries[QUERIES];
    const struct facts *facts;
    char *why;
    size_t bytes;
    bool is_bad;
    /* What was read. */
    struct wallet wallets[ROWS_MAX];
    struct order orders[ROWS_MAX];
    struct item items[ROWS_MAX];
    struct withdrawal withdrawals[ROWS_MAX];
    int64_t taken_by[ROWS_MAX]; /* of a serial; 0: nobody */
    bool serial_given[ROWS_MAX], license_there[ROWS_MAX], license_given[ROWS_MAX];
    int bound_count;
    struct {
        int64_t account;
        char machine[32];
        bool is_known;
    } bound[ROWS_MAX];
    int64_t coupon_uses[64], coupon_by[64][64]; /* by coupon, and by account */
    int64_t keys, keys_open;
    struct payment payments[ROWS_MAX];
    int event_count;
    char events[ROWS_MAX][32];
};

/* Something is wrong; the first sentence counts. */
__attribute__((format(printf, 2, 3))) void bad(struct checker *c, const char *fmt, ...);
/* Runs a query to its next row. */
bool check_step(struct checker *c, enum query q);
int64_t check_number(struct checker *c, enum query q, int column);
/* An id, which is an index here. */
int64_t check_id(struct checker *c, enum query q, int column);
const char *check_text(struct checker *c, enum query q, int column);

/* check_rows.c */
void rows_read(struct checker *c);
/* check_told.c: everything that was acknowledged is there once, and nothing that nobody asked for. */
void check_told(struct checker *c);
