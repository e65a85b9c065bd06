/* tests/sim/check.c - see check.h. No header of the server is included here: what must hold is written down again, from
 * the schema and the rules of the store. */
#include "check.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    [Q_KEYS] = "SELECT COUNT(*), SUM(status = 0) FROM idempotency",
    [Q_PAYMENTS] =
        ("SELECT id, order_id, account_id, amount, received, waiting, credited, refunded_total, returned, paid_order,"
         " status, reference FROM payment"),
    [Q_REFUNDS] = "SELECT payment_id, order_id, amount, status = 'done', status FROM refund",
    [Q_EVENTS] = "SELECT event_id FROM webhook_event",
    [Q_INTEGRITY] = "PRAGMA integrity_check",
    [Q_END] = "COMMIT",
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

__attribute__((format(printf, 2, 3))) static void bad(struct checker *c, const char *fmt, ...)
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

static bool step(struct checker *c, enum query q)
{
    if (c->is_bad) return false;
    int rc = sqlite3_step(c->queries[q]);
    if (rc == SQLITE_ROW) return true;
    if (rc != SQLITE_DONE) bad(c, "I4: the database cannot be read: %s (%s)", sqlite3_errmsg(c->db), texts[q]);
    sqlite3_reset(c->queries[q]);
    return false;
}

static int64_t number(struct checker *c, enum query q, int column)
{
    return sqlite3_column_int64(c->queries[q], column);
}

/* An id, which is an index here. */
static int64_t id_of(struct checker *c, enum query q, int column)
{
    int64_t v = number(c, q, column);
    if (v >= 0 && v < ROWS_MAX) return v;
    bad(c, "I4: a row has the id %lld", (long long)v);
    return 0;
}

static const char *text(struct checker *c, enum query q, int column)
{
    const char *t = (const char *)sqlite3_column_text(c->queries[q], column);
    return t ? t : "";
}

/* ---- reading ---- */

static void read_ledger(struct checker *c)
{
    memset(c->wallets, 0, sizeof c->wallets);
    while (step(c, Q_LEDGER)) {
        struct wallet *w = &c->wallets[id_of(c, Q_LEDGER, 0)];
        w->is_there = true;
        w->is_wallet = number(c, Q_LEDGER, 1);
        w->owner = number(c, Q_LEDGER, 2);
        w->balance = number(c, Q_LEDGER, 3);
        w->limit = number(c, Q_LEDGER, 4);
        w->kind = *text(c, Q_LEDGER, 5);
    }
}

static void read_orders(struct checker *c)
{
    memset(c->orders, 0, sizeof c->orders);
    memset(c->items, 0, sizeof c->items);
    while (step(c, Q_ORDERS)) {
        struct order *o = &c->orders[id_of(c, Q_ORDERS, 0)];
        o->is_there = true;
        o->account = number(c, Q_ORDERS, 1);
        o->subtotal = number(c, Q_ORDERS, 2);
        o->discount = number(c, Q_ORDERS, 3);
        o->total = number(c, Q_ORDERS, 4);
        o->refunded = number(c, Q_ORDERS, 5);
        o->coupon = number(c, Q_ORDERS, 6);
        const char *status = text(c, Q_ORDERS, 7);
        o->status = *status == 'c' ? status[1] : *status; /* pending, cOnfirmed, cAncelled, refunded */
        o->is_paid = o->status == 'o' || o->status == 'r';
        o->paid_with = *text(c, Q_ORDERS, 8);
    }
    while (step(c, Q_ITEMS)) {
        struct item *i = &c->items[id_of(c, Q_ITEMS, 0)];
        *i = (struct item){true, id_of(c, Q_ITEMS, 1), number(c, Q_ITEMS, 2), number(c, Q_ITEMS, 3), 0};
        struct order *o = &c->orders[i->order];
        if (!o->is_there) bad(c, "I5: an item is of order %lld, which is not there", (long long)i->order);
        if (number(c, Q_ITEMS, 4) * i->quantity != number(c, Q_ITEMS, 5))
            bad(c, "I8: an item of order %lld has a wrong subtotal", (long long)i->order);
        o->items_total += number(c, Q_ITEMS, 5);
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
    while (step(c, Q_PAYMENTS)) {
        struct payment *p = &c->payments[id_of(c, Q_PAYMENTS, 0)];
        p->is_there = true;
        p->order = id_of(c, Q_PAYMENTS, 1);
        p->account = number(c, Q_PAYMENTS, 2);
        p->amount = number(c, Q_PAYMENTS, 3);
        p->received = number(c, Q_PAYMENTS, 4);
        p->waiting = number(c, Q_PAYMENTS, 5);
        p->credited = number(c, Q_PAYMENTS, 6);
        p->refunded = number(c, Q_PAYMENTS, 7);
        p->returned = number(c, Q_PAYMENTS, 8);
        p->paid_order = number(c, Q_PAYMENTS, 9);
        p->status = *text(c, Q_PAYMENTS, 10);
        snprintf(p->reference, sizeof p->reference, "%s", text(c, Q_PAYMENTS, 11));
    }
    while (step(c, Q_REFUNDS)) {
        struct order *o = &c->orders[id_of(c, Q_REFUNDS, 1)];
        if (number(c, Q_REFUNDS, 3)) c->payments[id_of(c, Q_REFUNDS, 0)].done += number(c, Q_REFUNDS, 2);
        if (*text(c, Q_REFUNDS, 4) != 'f') o->giving_back += number(c, Q_REFUNDS, 2);
    }
    c->event_count = 0;
    while (step(c, Q_EVENTS) && c->event_count < ROWS_MAX)
        snprintf(c->events[c->event_count++], sizeof c->events[0], "%s", text(c, Q_EVENTS, 0));
}

static void read_transfers(struct checker *c)
{
    while (step(c, Q_TRANSFERS)) {
        int64_t from = id_of(c, Q_TRANSFERS, 0), to = id_of(c, Q_TRANSFERS, 1), amount = number(c, Q_TRANSFERS, 2),
                of = id_of(c, Q_TRANSFERS, 3);
        const char *kind = text(c, Q_TRANSFERS, 4);
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
    while (step(c, Q_WITHDRAWALS)) {
        struct withdrawal *w = &c->withdrawals[id_of(c, Q_WITHDRAWALS, 0)];
        w->is_there = true;
        w->account = number(c, Q_WITHDRAWALS, 1);
        w->amount = number(c, Q_WITHDRAWALS, 2);
        w->status = *text(c, Q_WITHDRAWALS, 3);
    }
}

static void read_serials(struct checker *c)
{
    memset(c->taken_by, 0, sizeof c->taken_by);
    memset(c->serial_given, 0, sizeof c->serial_given);
    memset(c->license_there, 0, sizeof c->license_there);
    memset(c->license_given, 0, sizeof c->license_given);
    c->bound_count = 0;
    while (step(c, Q_SERIALS)) c->taken_by[id_of(c, Q_SERIALS, 0)] = number(c, Q_SERIALS, 2);
    while (step(c, Q_LICENSES)) {
        c->license_there[id_of(c, Q_LICENSES, 0)] = true;
        const char *machine = text(c, Q_LICENSES, 3);
        if (!*machine || c->bound_count == ROWS_MAX) continue;
        c->bound[c->bound_count].account = number(c, Q_LICENSES, 1);
        c->bound[c->bound_count].is_known = false;
        snprintf(c->bound[c->bound_count++].machine, sizeof c->bound[0].machine, "%s", machine);
    }
}

/* ---- what must hold ---- */

/* I3, I5, I8 */
static void check_deliveries(struct checker *c)
{
    while (step(c, Q_DELIVERIES)) {
        int64_t at = id_of(c, Q_DELIVERIES, 0), unit = number(c, Q_DELIVERIES, 1), license = id_of(c, Q_DELIVERIES, 2),
                serial = id_of(c, Q_DELIVERIES, 3);
        struct item *i = &c->items[at];
        if (!i->is_there || unit < 1 || unit > i->quantity || unit > 60 || i->units & (INT64_C(1) << unit)) {
            bad(c, "I5: unit %lld of item %lld was delivered", (long long)unit, (long long)at);
            continue;
        }
        i->units |= INT64_C(1) << unit;
        if (!c->orders[i->order].is_paid) bad(c, "I8: order %lld was delivered and is not paid", (long long)i->order);
        if (license && (!c->license_there[license] || c->license_given[license]))
            bad(c, "I5: licence %lld was delivered twice or is not there", (long long)license);
        if (serial && c->serial_given[serial]) bad(c, "I3: serial %lld was sold twice", (long long)serial);
        if (serial && c->taken_by[serial] != at)
            bad(c, "I3: serial %lld was delivered with item %lld and is taken by %lld", (long long)serial,
                (long long)at, (long long)c->taken_by[serial]);
        if (license) c->license_given[license] = true;
        if (serial) c->serial_given[serial] = true;
    }
    for (int64_t s = 0; s < ROWS_MAX; s++) {
        if (!c->taken_by[s] || c->serial_given[s]) continue;
        int64_t item = c->taken_by[s];
        bool waits =
            item > 0 && item < ROWS_MAX && c->items[item].is_there && c->orders[c->items[item].order].status == 'p';
        if (!waits)
            bad(c, "I3: serial %lld is taken by item %lld, which did not get it", (long long)s, (long long)item);
    }
    for (int64_t n = 0; n < ROWS_MAX; n++) {
        const struct item *i = &c->items[n];
        if (!i->is_there || !c->orders[i->order].is_paid) continue;
        if (i->units != (INT64_C(1) << (i->quantity + 1)) - 2)
            bad(c, "I5: of order %lld not every unit was delivered once", (long long)i->order);
    }
}

/* I1, I2 */
static void check_ledger(struct checker *c)
{
    int64_t all = 0;
    for (int i = 0; i < ROWS_MAX; i++) {
        const struct wallet *w = &c->wallets[i];
        if (!w->is_there) continue;
        all += w->is_wallet ? w->balance : w->sum;
        if (w->is_wallet && w->balance != w->sum)
            bad(c, "I2: the wallet of account %lld says %lld, its entries say %lld", (long long)w->owner,
                (long long)w->balance, (long long)w->sum);
        if (w->is_wallet && w->balance < -w->limit)
            bad(c, "I2: the wallet of account %lld is at %lld", (long long)w->owner, (long long)w->balance);
    }
    if (all) bad(c, "I1: the ledger sums to %lld", (long long)all);
}

/* I8 */
static void check_orders(struct checker *c)
{
    for (int64_t n = 0; n < ROWS_MAX; n++) {
        const struct order *o = &c->orders[n];
        if (!o->is_there) continue;
        int64_t wanted = o->is_paid && o->total > 0;
        if (o->items_total != o->subtotal || o->total != o->subtotal - o->discount || !o->units)
            bad(c, "I8: order %lld does not add up", (long long)n);
        if (o->paid_times != wanted || (wanted && o->paid != o->total))
            bad(c, "I8: order %lld over %lld was paid %lld times, with %lld", (long long)n, (long long)o->total,
                (long long)o->paid_times, (long long)o->paid);
        if (o->back != o->refunded || o->back > o->total)
            bad(c, "I8: of order %lld %lld went back, and it says %lld", (long long)n, (long long)o->back,
                (long long)o->refunded);
        if (o->giving_back > o->total) bad(c, "I7: more of order %lld is given back than was paid", (long long)n);
        if (o->total > 0 && (o->status == 'r') != (o->back == o->total))
            bad(c, "I8: order %lld is '%c' and %lld of %lld went back", (long long)n, o->status, (long long)o->back,
                (long long)o->total);
    }
    for (int64_t n = 0; n < ROWS_MAX; n++) {
        const struct withdrawal *w = &c->withdrawals[n];
        bool back = w->status == 'r' || w->status == 'c';
        if (!w->is_there && (w->held || w->out || w->back))
            bad(c, "I2: money moved for withdrawal %lld, which is not there", (long long)n);
        if (w->is_there &&
            (w->held != w->amount || w->out != (w->status == 'a' ? w->amount : 0) || w->back != (back ? w->amount : 0)))
            bad(c, "I2: the money of withdrawal %lld ('%c') went elsewhere", (long long)n, w->status);
    }
}

/* I8: what came through the gateway is what orders and wallets got, what went back and what waits. */
static void check_payments(struct checker *c)
{
    for (int64_t n = 0; n < ROWS_MAX; n++) {
        const struct payment *p = &c->payments[n];
        if (!p->is_there) {
            if (p->came || p->to_wallet || p->back || p->back_from_wallet)
                bad(c, "I8: money moved for payment %lld, which is not there", (long long)n);
            continue;
        }
        const struct order *sale = p->paid_order ? &c->orders[p->order] : NULL;
        int64_t back = p->back - p->again + p->back_from_wallet + (sale ? sale->refunded : 0);
        int64_t waits = p->came + p->again - p->back - p->to_wallet - (sale ? sale->total : 0);
        if (p->received != p->came || p->credited != p->to_wallet || p->waiting != waits || waits < 0)
            bad(c, "I8: payment %lld says %lld came, %lld in the wallet, %lld waits; booked: %lld, %lld, %lld",
                (long long)n, (long long)p->received, (long long)p->credited, (long long)p->waiting, (long long)p->came,
                (long long)p->to_wallet, (long long)waits);
        if (p->returned != back || p->refunded != p->done)
            bad(c, "I8: payment %lld says %lld went back, booked %lld; refunded %lld, its refunds %lld", (long long)n,
                (long long)p->returned, (long long)back, (long long)p->refunded, (long long)p->done);
        if (sale && (!sale->is_paid || p->received < sale->total || p->status != 's'))
            bad(c, "I8: order %lld was delivered for payment %lld, which is '%c'", (long long)p->order, (long long)n,
                p->status);
        if (p->credited > p->received) bad(c, "I8: payment %lld was credited twice", (long long)n);
    }
}

/* I6 */
static void check_coupons(struct checker *c)
{
    memset(c->coupon_uses, 0, sizeof c->coupon_uses);
    memset(c->coupon_by, 0, sizeof c->coupon_by);
    while (step(c, Q_COUPON_USES)) {
        int64_t coupon = number(c, Q_COUPON_USES, 0) & 63, account = number(c, Q_COUPON_USES, 1) & 63;
        c->coupon_uses[coupon]++;
        c->coupon_by[coupon][account]++;
    }
    while (step(c, Q_COUPONS)) {
        int64_t id = number(c, Q_COUPONS, 0) & 63, uses = number(c, Q_COUPONS, 1), most = number(c, Q_COUPONS, 2),
                each = number(c, Q_COUPONS, 3);
        if (uses != c->coupon_uses[id] || (most && uses > most))
            bad(c, "I6: coupon %lld says %lld uses of %lld, there are %lld", (long long)id, (long long)uses,
                (long long)most, (long long)c->coupon_uses[id]);
        for (int a = 0; each && a < 64; a++)
            if (c->coupon_by[id][a] > each) bad(c, "I6: account %d used coupon %lld too often", a, (long long)id);
    }
}

/* ---- what clients were told ---- */

static void check_pending(struct checker *c, const struct fact *f)
{
    struct order *o = &c->orders[f->id];
    if (!o->is_there || o->account != f->account || o->total != f->amount || o->is_known)
        bad(c, "I4: order %lld over %lld was acknowledged, and is not there as it was", (long long)f->id,
            (long long)f->amount);
    o->is_known = true;
}

static void check_order_fact(struct checker *c, const struct fact *f)
{
    struct order *o = &c->orders[f->id];
    if (!o->is_there || !o->is_paid || o->account != f->account || o->total != f->amount ||
        (f->quantity && o->units != f->quantity))
        bad(c, "I4: order %lld over %lld was acknowledged to account %lld, and is not there as it was",
            (long long)f->id, (long long)f->amount, (long long)f->account);
    if (o->is_known) bad(c, "I7: order %lld answers two requests", (long long)f->id);
    o->is_known = true;
}

static struct payment *find_payment(struct checker *c, const char *reference)
{
    for (int i = 0; i < ROWS_MAX; i++)
        if (c->payments[i].is_there && strcmp(c->payments[i].reference, reference) == 0) return &c->payments[i];
    return NULL;
}

/* What the provider knows of. */
static void check_charge(struct checker *c, const struct fact *f)
{
    struct payment *p = find_payment(c, f->text);
    if (!p) {
        bad(c, "I4: the provider was paid for %s, which is not there", f->text);
        return;
    }
    if (p->received != f->amount && (p->received || f->is_sure))
        bad(c, "I4: the provider has %lld for %s, %lld was received", (long long)f->amount, f->text,
            (long long)p->received);
    if (p->refunded > f->quantity)
        bad(c, "I4: the provider gave %lld back for %s, the store says %lld", (long long)f->quantity, f->text,
            (long long)p->refunded);
    p->is_known = true;
}

static void check_topup(struct checker *c, const struct fact *f)
{
    const struct payment *p = find_payment(c, f->text);
    if (!p || p->account != f->account || p->amount != f->amount || p->order)
        bad(c, "I4: the top-up %s was acknowledged, and is not there as it was", f->text);
}

static void check_event(struct checker *c, const struct fact *f)
{
    int found = 0;
    for (int i = 0; i < c->event_count; i++) found += strcmp(c->events[i], f->text) == 0;
    if (found != 1) bad(c, "I4: event %s was acknowledged and is there %d times", f->text, found);
}

static void check_fact(struct checker *c, const struct fact *f)
{
    if (f->id < 0 || f->id >= ROWS_MAX) {
        bad(c, "I4: an answer has the id %lld", (long long)f->id);
        return;
    }
    struct withdrawal *w = &c->withdrawals[f->id];
    switch (f->kind) {
    case FACT_ORDER: check_order_fact(c, f); return;
    case FACT_WITHDRAWAL:
        if (!w->is_there || w->account != f->account || w->amount != f->amount || w->is_known)
            bad(c, "I4: withdrawal %lld was acknowledged, and is not there as it was", (long long)f->id);
        w->is_known = true;
        return;
    case FACT_APPROVED:
    case FACT_REJECTED:
        if (w->status != (f->kind == FACT_APPROVED ? 'a' : 'r'))
            bad(c, "I4: the decision about withdrawal %lld was acknowledged, it is '%c'", (long long)f->id, w->status);
        return;
    case FACT_REFUNDED:
        if (c->orders[f->id].status != 'r')
            bad(c, "I4: the refund of order %lld was acknowledged, it is '%c'", (long long)f->id,
                c->orders[f->id].status);
        return;
    case FACT_BOUND: {
        int found = 0;
        for (int i = 0; i < c->bound_count; i++)
            found += strcmp(c->bound[i].machine, f->text) == 0 && c->bound[i].account == f->account;
        if (found != 1) bad(c, "I4: %d licences are bound to %s, which was acknowledged", found, f->text);
        return;
    }
    case FACT_GIVES_BACK:
        if (c->orders[f->id].giving_back != c->orders[f->id].total)
            bad(c, "I4: the refund of order %lld was acknowledged, %lld of %lld is on its way", (long long)f->id,
                (long long)c->orders[f->id].giving_back, (long long)c->orders[f->id].total);
        return;
    case FACT_PENDING: check_pending(c, f); return;
    case FACT_TOPUP: check_topup(c, f); return;
    case FACT_EVENT: check_event(c, f); return;
    case FACT_CHARGED:
    case FACT_CART:
    case FACT_KINDS: return;
    }
}

/* What nobody was told of can only be what somebody has asked for. */
static void check_strangers(struct checker *c)
{
    int64_t orders[64] = {0}, withdrawals[64] = {0}, keyed = 0, asked = 0;
    for (size_t i = 0; i < c->facts->count; i++) {
        const struct fact *f = &c->facts->list[i];
        bool has_key = f->kind != FACT_BOUND && f->kind != FACT_CHARGED && f->kind != FACT_EVENT;
        if (has_key) *(f->is_sure ? &keyed : &asked) += 1;
        if (f->is_sure) continue;
        if (f->kind == FACT_ORDER || f->kind == FACT_PENDING) orders[f->account & 63]++;
        if (f->kind == FACT_WITHDRAWAL) withdrawals[f->account & 63]++;
    }
    for (int64_t n = 0; n < ROWS_MAX; n++) {
        const struct order *o = &c->orders[n];
        if (o->is_there && !o->is_known && orders[o->account & 63]-- <= 0)
            bad(c, "I7: order %lld of account %lld was made twice, or nobody asked for it", (long long)n,
                (long long)o->account);
        const struct withdrawal *w = &c->withdrawals[n];
        if (w->is_there && !w->is_known && withdrawals[w->account & 63]-- <= 0)
            bad(c, "I7: withdrawal %lld was made twice, or nobody asked for it", (long long)n);
    }
    for (int64_t n = 0; n < ROWS_MAX; n++)
        if (c->payments[n].received && !c->payments[n].is_known)
            bad(c, "I8: payment %lld received money that nobody paid", (long long)n);
    if (c->keys_open || c->keys < keyed || c->keys > keyed + asked)
        bad(c, "I7: %lld keys have their answers, %lld without; %lld were acknowledged, %lld more asked for",
            (long long)c->keys, (long long)c->keys_open, (long long)keyed, (long long)asked);
}

bool checker_run(struct checker *c, const struct facts *facts, bool thorough, char *why, size_t bytes)
{
    vfs_reset_shm(c->disk);
    c->facts = facts;
    c->why = why;
    c->bytes = bytes;
    c->is_bad = false;
    step(c, Q_BEGIN);
    read_ledger(c);
    read_orders(c);
    read_withdrawals(c);
    read_serials(c);
    read_payments(c);
    read_transfers(c);
    check_deliveries(c);
    check_ledger(c);
    check_orders(c);
    check_payments(c);
    check_coupons(c);
    c->keys = c->keys_open = 0;
    while (step(c, Q_KEYS)) {
        c->keys_open = number(c, Q_KEYS, 1);
        c->keys = number(c, Q_KEYS, 0) - c->keys_open;
    }
    for (size_t i = 0; i < facts->count; i++)
        if (facts->list[i].kind == FACT_CHARGED)
            check_charge(c, &facts->list[i]);
        else if (facts->list[i].is_sure)
            check_fact(c, &facts->list[i]);
    check_strangers(c);
    while (thorough && step(c, Q_INTEGRITY))
        if (strcmp(text(c, Q_INTEGRITY, 0), "ok") != 0) bad(c, "integrity: %s", text(c, Q_INTEGRITY, 0));
    bool good = !c->is_bad;
    for (int i = 0; i < QUERIES; i++) sqlite3_reset(c->queries[i]);
    if (!sqlite3_get_autocommit(c->db)) {
        c->is_bad = false;
        step(c, Q_END);
    }
    return good;
}
