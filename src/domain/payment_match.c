/* domain/payment_match.c - see payment_match.h. */
#include "domain/payment_match.h"

static enum err find_by(struct db *db, const char *sql, Id gateway, Str ref, Id *ret)
{
    *ret = (Id){0};
    if (!ref.len) return OK;
    struct stmt *st = db_prepare(db, sql);
    bind_id(st, gateway);
    bind_text(st, ref);
    if (db_step(st)) *ret = col_id(st);
    return db_done(st);
}

/* Of an order's several payments at this gateway, the one that the gateway has not named yet, else the latest. */
static enum err find_by_order_ref(struct db *db, Id gateway, Str ref, Id *ret)
{
    static const char by_order[] = "SELECT id FROM payment WHERE gateway_id = $1 AND order_id = $2"
                                   " ORDER BY CASE WHEN payment_ref IS NULL THEN 0 ELSE 1 END, id DESC LIMIT 1";
    static const char by_id[] = "SELECT id FROM payment WHERE gateway_id = $1 AND id = $2 AND order_id IS NULL";

    bool is_topup;
    Id id;
    *ret = (Id){0};
    if (!ref.len || !payment_order_ref_parse(ref, &is_topup, &id)) return OK;
    struct stmt *st = db_prepare(db, is_topup ? by_id : by_order);
    bind_id(st, gateway);
    bind_id(st, id);
    if (db_step(st)) *ret = col_id(st);
    return db_done(st);
}

/* Whether both belong to the same order: an order may have several payments at one gateway, and our own reference in an
 * event is the order's. */
static enum err is_same_order(struct db *db, Id one, Id other, bool *ret)
{
    static const char find[] = "SELECT 1 FROM payment a JOIN payment b ON b.order_id = a.order_id"
                               " WHERE a.id = $1 AND b.id = $2";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, one);
    bind_id(st, other);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret = found;
    return e;
}

enum err payment_match(struct db *db, Id gateway, const struct payment_event *e, Id *ret, bool *ret_clash)
{
    static const char by_payment[] = "SELECT id FROM payment WHERE gateway_id = $1 AND payment_ref = $2";
    static const char by_group[] = "SELECT id FROM payment WHERE gateway_id = $1 AND group_ref = $2";

    Id by_ref, group, order;
    enum err err = find_by(db, by_payment, gateway, e->payment_ref, &by_ref);
    if (!err) err = find_by(db, by_group, gateway, e->group_ref, &group);
    if (!err) err = find_by_order_ref(db, gateway, e->order_ref, &order);
    if (err) return err;
    Id named = id_is(by_ref) ? by_ref : group;
    bool same = true;
    if (id_is(by_ref) && id_is(group) && !id_eq(by_ref, group)) err = is_same_order(db, by_ref, group, &same);
    if (!err && same && id_is(named) && id_is(order) && !id_eq(named, order))
        err = is_same_order(db, named, order, &same);
    if (err) return err;
    *ret_clash = !same;
    *ret = id_is(named) ? named : order;
    return OK;
}
