/* domain/order_search.c - see order_search.h. */
#include "domain/order_search.h"

#include "base/text.h"
#include "domain/order_row.h"

#define SELECT_ORDERS                                                                                                  \
    "SELECT " ORDER_COLUMNS ", (SELECT email FROM account WHERE account.id = orders.account_id) FROM orders"

static enum err read_rows(struct stmt *st, int64_t limit, struct order *orders, struct order **ret, size_t *ret_count)
{
    size_t n = 0;
    while (n < (size_t)limit && db_step(st)) {
        order_read_row(st, &orders[n]);
        orders[n++].email = col_text(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret = orders;
    *ret_count = n;
    return OK;
}

enum err order_search(struct db *db, const struct order_filter *filter, Id before, int64_t limit, struct order **ret,
                      size_t *ret_count)
{
    static const char search[] = SELECT_ORDERS
        " WHERE id < $1 AND ($2 = '' OR status = $2) AND ($3 = 0 OR account_id = $3)"
        " AND ($4 = '' OR id = $5 OR account_id IN (SELECT id FROM account WHERE email LIKE $4 ESCAPE '\\')"
        " OR id IN (SELECT order_id FROM payment WHERE reference = $7 OR group_ref = $7 OR payment_ref = $7))"
        " ORDER BY id DESC LIMIT $6";
    struct arena *a = db_arena(db);
    int64_t number = 0;
    str_to_int64(filter->q, &number);
    struct order *orders = arena_array(a, struct order, (size_t)limit);
    struct stmt *st = db_prepare(db, search);
    bind_int(st, id_is(before) ? before.v : INT64_MAX);
    bind_text(st, filter->has_status ? str_from(order_status_names[filter->status]) : STR(""));
    bind_id(st, filter->account);
    bind_text(st, filter->q.len ? text_like_pattern(a, filter->q) : STR(""));
    bind_int(st, number);
    bind_int(st, limit);
    bind_text(st, filter->q);
    return read_rows(st, limit, orders, ret, ret_count);
}

enum err order_list_after(struct db *db, Id after, int64_t limit, struct order **ret, size_t *ret_count)
{
    static const char list[] = SELECT_ORDERS " WHERE id > $1 ORDER BY id LIMIT $2";
    struct order *orders = arena_array(db_arena(db), struct order, (size_t)limit);
    struct stmt *st = db_prepare(db, list);
    bind_id(st, after);
    bind_int(st, limit);
    return read_rows(st, limit, orders, ret, ret_count);
}
