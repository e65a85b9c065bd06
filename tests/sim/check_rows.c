/* tests/sim/check_rows.c - what the checker reads, with queries of its own. */
#include "check_rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[QUERIES] = {
    [Q_BEGIN] = "BEGIN",
    [Q_LEDGER] = "SELECT id, kind = 'wallet', owner_id, balance, credit_limit, kind FROM ledger_account",
    [Q_TRANSFERS] = "SELECT debit_id, credit_id, amount, reference_id, kind FROM transfer",
    [Q_ORDERS] = ("SELECT id, account_id, subtotal, discount, total, refunded_amount, coupon_id, status, paid_with"
                  " FROM orders"),
    [Q_ITEMS] = "SELECT id, order_id, product_id, quantity, unit_price, subtotal FROM order_item",
    [Q_DELIVERIES] = "SELECT order_item_id, unit, license_id, serial_id FROM delivery",
    [Q_SERIALS] = "SELECT id, product_id, taken_by, status FROM serial",
    [Q_LICENSES] = "SELECT id, account_id, order_item_id, hardware_id FROM license",
    [Q_WITHDRAWALS] = "SELECT id, account_id, amount, status FROM withdrawal",
    [Q_COUPONS] = "SELECT id, uses, max_uses, max_uses_per_customer FROM coupon",
    [Q_COUPON_USES] = "SELECT coupon_id, account_id FROM coupon_use WHERE released_at IS NULL",
    [Q_KEYS] =
        "SELECT COUNT(*) + (SELECT COUNT(*) FROM orders WHERE key_hash IS NOT NULL), SUM(status = 0) FROM idempotency",
    [Q_PAYMENTS] =
        ("SELECT id, order_id, account_id, amount, received, waiting, credited, refunded_total, returned, paid_order,"
         " status, reference FROM payment"),
    [Q_REFUNDS] = "SELECT payment_id, order_id, amount, status = 'done', status FROM refund",
    [Q_EVENTS] = "SELECT event_id FROM webhook_event",
    [Q_INTEGRITY] = "PRAGMA integrity_check",
    [Q_END] = "COMMIT",
};

void bad(struct checker *c, const char *fmt, ...)
{
    if (c->is_bad) return;
    c->is_bad = true;
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->why, c->bytes, fmt, args);
    va_end(args);
}

struct checker *checker_open(struct disk *d, const char *name)
{
    char path[64];
    struct checker *c = calloc(1, sizeof *c);
    if (!c) abort();
    c->disk = d;
    vfs_mount(name, d);
    snprintf(path, sizeof path, "/%s", name);
    int rc = sqlite3_open_v2(path, &c->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, "sim");
    if (rc == SQLITE_OK) rc = sqlite3_exec(c->db, "PRAGMA cache_size = -8192", NULL, NULL, NULL);
    for (int i = 0; rc == SQLITE_OK && i < QUERIES; i++)
        rc = sqlite3_prepare_v3(c->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &c->queries[i], NULL);
    if (rc == SQLITE_OK) return c;
    checker_close(c);
    return NULL;
}

void checker_close(struct checker *c)
{
    if (!c) return;
    for (int i = 0; i < QUERIES; i++) sqlite3_finalize(c->queries[i]);
    sqlite3_close(c->db);
    free(c);
}

bool check_step(struct checker *c, enum query q)
{
    if (c->is_bad) return false;
    int rc = sqlite3_step(c->queries[q]);
    if (rc == SQLITE_ROW) return true;
    if (rc != SQLITE_DONE) bad(c, "I4: the database cannot be read: %s (%s)", sqlite3_errmsg(c->db), texts[q]);
    sqlite3_reset(c->queries[q]);
    return false;
}

int64_t check_number(struct checker *c, enum query q, int column)
{
    return sqlite3_column_int64(c->queries[q], column);
}

int64_t check_id(struct checker *c, enum query q, int column)
{
    int64_t v = check_number(c, q, column);
    if (v >= 0 && v < ROWS_MAX) return v;
    bad(c, "I4: a row has the id %lld", (long long)v);
    return 0;
}

const char *check_text(struct checker *c, enum query q, int column)
{
    const char *t = (const char *)sqlite3_column_text(c->queries[q], column);
    return t ? t : "";
}

static void read_ledger(struct checker *c)
{
    memset(c->wallets, 0, sizeof c->wallets);
    while (check_step(c, Q_LEDGER)) {
        struct wallet *w = &c->wallets[check_id(c, Q_LEDGER, 0)];
        w->is_there = true;
        w->is_wallet = check_number(c, Q_LEDGER, 1);
        w->owner = check_number(c, Q_LEDGER, 2);
        w->balance = check_number(c, Q_LEDGER, 3);
        w->limit = check_number(c, Q_LEDGER, 4);
        w->kind = *check_text(c, Q_LEDGER, 5);
    }
}

static void read_orders(struct checker *c)
{
    memset(c->orders, 0, sizeof c->orders);
    memset(c->items, 0, sizeof c->items);
    while (check_step(c, Q_ORDERS)) {
        struct order *o = &c->orders[check_id(c, Q_ORDERS, 0)];
        o->is_there = true;
        o->account = check_number(c, Q_ORDERS, 1);
        o->subtotal = check_number(c, Q_ORDERS, 2);
        o->discount = check_number(c, Q_ORDERS, 3);
        o->total = check_number(c, Q_ORDERS, 4);
        o->refunded = check_number(c, Q_ORDERS, 5);
        o->coupon = check_number(c, Q_ORDERS, 6);
        const char *status = check_text(c, Q_ORDERS, 7);
        o->status = *status == 'c' ? status[1] : *status; /* pending, cOnfirmed, cAncelled, refunded */
        o->is_paid = o->status == 'o' || o->status == 'r';
        o->paid_with = *check_text(c, Q_ORDERS, 8);
    }
    while (check_step(c, Q_ITEMS)) {
        struct item *i = &c->items[check_id(c, Q_ITEMS, 0)];
        *i = (struct item){true, check_id(c, Q_ITEMS, 1), check_number(c, Q_ITEMS, 2), check_number(c, Q_ITEMS, 3), 0};
        struct order *o = &c->orders[i->order];
        if (!o->is_there) bad(c, "I5: an item is of order %lld, which is not there", (long long)i->order);
        if (check_number(c, Q_ITEMS, 4) * i->quantity != check_number(c, Q_ITEMS, 5))
            bad(c, "I8: an item of order %lld has a wrong subtotal", (long long)i->order);
        o->items_total += check_number(c, Q_ITEMS, 5);
        o->units += i->quantity;
    }
}

/* Money that came through the gateway: from clearing to received, and from there to an order, a wallet, or back. */
static void read_gateway_transfer(struct checker *c, const char *kind, const struct wallet *from,
                                  const struct wallet *to, int64_t of, int64_t amount)
{
    struct payment *p = &c->payments[of];
    bool is_topup = strcmp(kind, "topup") == 0;
    if (strcmp(kind, "received") == 0) p->came += from->kind == 'c' ? amount : -amount;
    if (is_topup && from->kind == 'r') p->to_wallet += amount;
    if (is_topup && from->kind == 'w') p->back_from_wallet += amount;
    if (is_topup && (from->kind == 'w' ? from : to)->owner != p->account)
        bad(c, "I8: the money of payment %lld went to another wallet", (long long)of);
    if (strcmp(kind, "returned") == 0) p->back += from->kind == 'r' ? amount : -amount;
    if (strcmp(kind, "refund_failed") == 0) p->again += amount;
}

static void read_payments(struct checker *c)
{
    memset(c->payments, 0, sizeof c->payments);
    while (check_step(c, Q_PAYMENTS)) {
        struct payment *p = &c->payments[check_id(c, Q_PAYMENTS, 0)];
        p->is_there = true;
        p->order = check_id(c, Q_PAYMENTS, 1);
        p->account = check_number(c, Q_PAYMENTS, 2);
        p->amount = check_number(c, Q_PAYMENTS, 3);
        p->received = check_number(c, Q_PAYMENTS, 4);
        p->waiting = check_number(c, Q_PAYMENTS, 5);
        p->credited = check_number(c, Q_PAYMENTS, 6);
        p->refunded = check_number(c, Q_PAYMENTS, 7);
        p->returned = check_number(c, Q_PAYMENTS, 8);
        p->paid_order = check_number(c, Q_PAYMENTS, 9);
        p->status = *check_text(c, Q_PAYMENTS, 10);
        snprintf(p->reference, sizeof p->reference, "%s", check_text(c, Q_PAYMENTS, 11));
    }
    while (check_step(c, Q_REFUNDS)) {
        struct order *o = &c->orders[check_id(c, Q_REFUNDS, 1)];
        if (check_number(c, Q_REFUNDS, 3)) c->payments[check_id(c, Q_REFUNDS, 0)].done += check_number(c, Q_REFUNDS, 2);
        if (*check_text(c, Q_REFUNDS, 4) != 'f') o->giving_back += check_number(c, Q_REFUNDS, 2);
    }
    c->event_count = 0;
    while (check_step(c, Q_EVENTS) && c->event_count < ROWS_MAX)
        snprintf(c->events[c->event_count++], sizeof c->events[0], "%s", check_text(c, Q_EVENTS, 0));
}

static void read_transfers(struct checker *c)
{
    while (check_step(c, Q_TRANSFERS)) {
        int64_t from = check_id(c, Q_TRANSFERS, 0), to = check_id(c, Q_TRANSFERS, 1),
                amount = check_number(c, Q_TRANSFERS, 2), of = check_id(c, Q_TRANSFERS, 3);
        const char *kind = check_text(c, Q_TRANSFERS, 4);
        struct wallet *a = &c->wallets[from], *b = &c->wallets[to];
        if (!a->is_there || !b->is_there || amount <= 0)
            bad(c, "I1: a transfer is between accounts that are not there");
        a->sum -= amount;
        b->sum += amount;
        struct order *o = &c->orders[of];
        if (strcmp(kind, "order") == 0 || strcmp(kind, "payment") == 0) {
            if (b->kind != 's') bad(c, "I8: the money of order %lld did not go to sales", (long long)of);
            if (!o->is_there) bad(c, "I8: order %lld was paid and is not there", (long long)of);
            if (*kind == 'o' && a->owner != o->account) bad(c, "I8: order %lld was paid by another", (long long)of);
            o->paid += amount;
            o->paid_times++;
        } else if (strcmp(kind, "refund") == 0) {
            o->back += amount;
        } else if (strcmp(kind, "withdrawal") == 0) {
            c->withdrawals[of].held += amount;
        } else if (strcmp(kind, "withdrawal_approved") == 0) {
            c->withdrawals[of].out += amount;
        } else if (strcmp(kind, "withdrawal_rejected") == 0) {
            c->withdrawals[of].back += amount;
        } else {
            read_gateway_transfer(c, kind, a, b, of, amount);
        }
    }
}

static void read_withdrawals(struct checker *c)
{
    memset(c->withdrawals, 0, sizeof c->withdrawals);
    while (check_step(c, Q_WITHDRAWALS)) {
        struct withdrawal *w = &c->withdrawals[check_id(c, Q_WITHDRAWALS, 0)];
        w->is_there = true;
        w->account = check_number(c, Q_WITHDRAWALS, 1);
        w->amount = check_number(c, Q_WITHDRAWALS, 2);
        w->status = *check_text(c, Q_WITHDRAWALS, 3);
    }
}

static void read_serials(struct checker *c)
{
    memset(c->taken_by, 0, sizeof c->taken_by);
    memset(c->serial_given, 0, sizeof c->serial_given);
    memset(c->license_there, 0, sizeof c->license_there);
    memset(c->license_given, 0, sizeof c->license_given);
    c->bound_count = 0;
    while (check_step(c, Q_SERIALS)) c->taken_by[check_id(c, Q_SERIALS, 0)] = check_number(c, Q_SERIALS, 2);
    while (check_step(c, Q_LICENSES)) {
        c->license_there[check_id(c, Q_LICENSES, 0)] = true;
        const char *machine = check_text(c, Q_LICENSES, 3);
        if (!*machine || c->bound_count == ROWS_MAX) continue;
        c->bound[c->bound_count].account = check_number(c, Q_LICENSES, 1);
        c->bound[c->bound_count].is_known = false;
        snprintf(c->bound[c->bound_count++].machine, sizeof c->bound[0].machine, "%s", machine);
    }
}

void rows_read(struct checker *c)
{
    read_ledger(c);
    read_orders(c);
    read_withdrawals(c);
    read_serials(c);
    read_payments(c);
    read_transfers(c);
    c->keys = c->keys_open = 0;
    while (check_step(c, Q_KEYS)) {
        c->keys_open = check_number(c, Q_KEYS, 1);
        c->keys = check_number(c, Q_KEYS, 0) - c->keys_open;
    }
}
