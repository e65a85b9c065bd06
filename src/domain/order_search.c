/* domain/order_search.c - see order_search.h. */
#include "domain/order_search.h"

#include "base/text.h"
#include "db/rows.h"
#include "domain/order_row.h"

#define SELECT_ORDERS                                                                                                  \
    "SELECT " ORDER_COLUMNS ", (SELECT email FROM account WHERE account.id = orders.account_id) FROM orders"

static void read_row(struct stmt *st, struct order *o)
{
    order_read_row(st, o);
    o->email = col_text(st);
}
DB_READER(read_row);

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
    struct stmt *st = db_prepare(db, search);
    bind_int(st, id_is(before) ? before.v : INT64_MAX);
    bind_text(st, filter->has_status ? str_from(order_status_names[filter->status]) : STR(""));
    bind_id(st, filter->account);
    bind_text(st, filter->q.len ? text_like_pattern(a, filter->q) : STR(""));
    bind_int(st, number);
    bind_int(st, limit);
    bind_text(st, filter->q);
    return db_rows(st, read_row, limit, ret, ret_count);
}

enum err order_list_after(struct db *db, Id after, int64_t limit, struct order **ret, size_t *ret_count)
{
    static const char list[] = SELECT_ORDERS " WHERE id > $1 ORDER BY id LIMIT $2";
    struct stmt *st = db_prepare(db, list);
    bind_id(st, after);
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}
