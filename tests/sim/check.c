/* tests/sim/check.c - see check.h. No header of the server is included here: what must hold is written down again, from
 * the schema and the rules of the store. */
#include "check.h"

#include <string.h>

#include "check_rows.h"

/* I3, I5, I8 */
static void check_deliveries(struct checker *c)
{
    while (check_step(c, Q_DELIVERIES)) {
        int64_t at = check_id(c, Q_DELIVERIES, 0), unit = check_number(c, Q_DELIVERIES, 1),
                license = check_id(c, Q_DELIVERIES, 2), serial = check_id(c, Q_DELIVERIES, 3);
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
    while (check_step(c, Q_COUPON_USES)) {
        int64_t coupon = check_number(c, Q_COUPON_USES, 0) & 63, account = check_number(c, Q_COUPON_USES, 1) & 63;
        c->coupon_uses[coupon]++;
        c->coupon_by[coupon][account]++;
    }
    while (check_step(c, Q_COUPONS)) {
        int64_t id = check_number(c, Q_COUPONS, 0) & 63, uses = check_number(c, Q_COUPONS, 1),
                most = check_number(c, Q_COUPONS, 2), each = check_number(c, Q_COUPONS, 3);
        if (uses != c->coupon_uses[id] || (most && uses > most))
            bad(c, "I6: coupon %lld says %lld uses of %lld, there are %lld", (long long)id, (long long)uses,
                (long long)most, (long long)c->coupon_uses[id]);
        for (int a = 0; each && a < 64; a++)
            if (c->coupon_by[id][a] > each) bad(c, "I6: account %d used coupon %lld too often", a, (long long)id);
    }
}

bool checker_run(struct checker *c, const struct facts *facts, bool thorough, char *why, size_t bytes)
{
    vfs_reset_shm(c->disk);
    c->facts = facts;
    c->why = why;
    c->bytes = bytes;
    c->is_bad = false;
    check_step(c, Q_BEGIN);
    rows_read(c);
    check_deliveries(c);
    check_ledger(c);
    check_orders(c);
    check_payments(c);
    check_coupons(c);
    check_told(c);
    while (thorough && check_step(c, Q_INTEGRITY))
        if (strcmp(check_text(c, Q_INTEGRITY, 0), "ok") != 0) bad(c, "integrity: %s", check_text(c, Q_INTEGRITY, 0));
    bool good = !c->is_bad;
    for (int i = 0; i < QUERIES; i++) sqlite3_reset(c->queries[i]);
    if (!sqlite3_get_autocommit(c->db)) {
        c->is_bad = false;
        check_step(c, Q_END);
    }
    return good;
}
