/* domain/order_read.c - finding and listing orders, see order.h. */
#include "domain/order_row.h"

#include <assert.h>

#include "domain/filing.h"

const char *const order_status_names[] = {"pending", "confirmed", "cancelled", "refunded", NULL};
const char *const order_channel_names[] = {"api", "cart", NULL};

void order_read_row(struct stmt *st, struct order *ret)
{
    ret->id = col_id(st);
    ret->account_id = col_id(st);
    ret->status = col_choice(st, order_status_names);
    ret->channel = col_choice(st, order_channel_names);
    ret->paid_with = col_text(st);
    ret->subtotal = col_money(st);
    ret->discount = col_money(st);
    ret->total = col_money(st);
    ret->refunded_amount = col_money(st);
    ret->coupon_code = col_text(st);
    ret->on_hold = col_bool(st);
    ret->created_at = col_time(st);
    ret->confirmed_at = col_time(st);
    ret->closed_at = col_time(st);
    ret->reserved_until = col_time(st);
}

#define ITEM_COLUMNS                                                                                                   \
    "i.id, i.order_id, i.product_id, i.variant_id, i.name, i.variant_name, i.delivery_type, i.quantity, i.unit_price," \
    " i.subtotal"

static void read_item(struct stmt *st, struct order_item *ret)
{
    ret->id = col_id(st);
    ret->order_id = col_id(st);
    ret->product_id = col_id(st);
    ret->variant_id = col_id(st);
    ret->name = col_text(st);
    ret->variant_name = col_text(st);
    ret->delivery_type = col_choice(st, delivery_type_names);
    ret->quantity = col_int(st);
    ret->unit_price = col_money(st);
    ret->subtotal = col_money(st);
}

/* The items of all orders of the list, which goes from the highest id to the lowest. */
static enum err read_items(struct db *db, struct order *orders, size_t count)
{
    static const char count_items[] = "SELECT COUNT(*) FROM order_item i JOIN orders o ON o.id = i.order_id"
                                      " WHERE o.account_id = $1 AND i.order_id BETWEEN $2 AND $3";
    static const char list[] = "SELECT " ITEM_COLUMNS " FROM order_item i JOIN orders o ON o.id = i.order_id"
                               " WHERE o.account_id = $1 AND i.order_id BETWEEN $2 AND $3"
                               " ORDER BY i.order_id DESC, i.id";

    if (count == 0) return OK;
    struct stmt *st = db_prepare(db, count_items);
    bind_id(st, orders[0].account_id);
    bind_id(st, orders[count - 1].id);
    bind_id(st, orders[0].id);
    int64_t most = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;

    struct order_item *items = arena_array(db_arena(db), struct order_item, (size_t)most);
    size_t n = 0, at = 0;
    st = db_prepare(db, list);
    bind_id(st, orders[0].account_id);
    bind_id(st, orders[count - 1].id);
    bind_id(st, orders[0].id);
    while (n < (size_t)most && db_step(st)) {
        struct order_item *item = &items[n++];
        read_item(st, item);
        while (orders[at].id.v > item->order_id.v) at++;     /* stops at the last order at the latest */
        if (!id_eq(orders[at].id, item->order_id)) continue; /* placed before some of these, and seen only now */
        if (orders[at].item_count++ == 0) orders[at].items = item;
    }
    return db_done(st);
}

static enum err read_deliveries(struct db *db, struct order *o)
{
    struct delivery *units;
    size_t count;
    enum err e = delivery_list(db, o->id, &units, &count);
    if (e) return e;
    size_t at = 0;
    for (size_t i = 0; i < o->item_count; i++) {
        struct order_item *item = &o->items[i];
        item->deliveries = units + at;
        while (at < count && id_eq(units[at].order_item_id, item->id)) at++;
        item->delivery_count = (size_t)(units + at - item->deliveries);
    }
    return OK;
}

enum err order_find(struct db *db, Id account, Id order, struct order *ret)
{
    static const char find[] =
        "SELECT " ORDER_COLUMNS ", (SELECT email FROM account WHERE account.id = orders.account_id)"
        " FROM orders WHERE id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, order);
    struct order o = {0};
    bool found = db_step(st);
    if (found) {
        order_read_row(st, &o);
        o.email = col_text(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    if (!found || (id_is(account) && !id_eq(o.account_id, account))) return ERR_NOT_FOUND;
    e = read_items(db, &o, 1);
    if (e) return e;
    e = read_deliveries(db, &o);
    if (e) return e;
    *ret = o;
    return OK;
}

enum err order_list(struct db *db, Id account, Id before, int64_t limit, struct order **ret, size_t *ret_count)
{
    struct order *orders = arena_array(db_arena(db), struct order, (size_t)limit);
    size_t n = 0;
    Str ids;
    if (!id_is(before)) before = (Id){ID_MAX};
    enum err e = filing_page(db, FILING_ORDERS, account, before, limit, &ids);
    if (e) return e;
    struct stmt *st = db_prepare(db, FILING_PAGE(db, "SELECT " ORDER_COLUMNS " FROM orders", "account_id", "id"));
    bind_id(st, account);
    filing_bind(st, db, ids, before, limit);
    while (n < (size_t)limit && db_step(st)) order_read_row(st, &orders[n++]);
    e = db_done(st);
    if (e) return e;
    e = read_items(db, orders, n);
    if (e) return e;
    *ret = orders;
    *ret_count = n;
    return OK;
}
