/* domain/coupon.c - see coupon.h. Changes by staff are in coupon_admin.c.
 *
 * coupon.uses counts the uses that are not released, and is guarded twice: by the WHERE of its update and by a CHECK.
 * Redeeming locks the coupon's row until the transaction ends, so the count per customer cannot change in the meantime
 * either. */
#include "domain/coupon.h"

#include "db/rows.h"
#include "domain/coupon_row.h"

const char *const coupon_kind_names[] = {"percent", "fixed", NULL};

bool coupon_code_normalise(struct arena *a, Str code, Str *ret)
{
    code = str_trim(code);
    if (code.len == 0 || code.len > COUPON_CODE_MAX) return false;
    for (size_t i = 0; i < code.len; i++) {
        char c = code.ptr[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!ok) return false;
    }
    *ret = str_upper(a, code);
    return true;
}

void coupon_columns_read(struct stmt *st, struct coupon *ret)
{
    ret->id = col_id(st);
    ret->code = col_text(st);
    ret->kind = col_choice(st, coupon_kind_names);
    ret->value = col_int(st);
    ret->min_total = col_money(st);
    ret->starts_at = col_time(st);
    ret->expires_at = col_time(st);
    ret->max_uses = col_int(st);
    ret->max_uses_per_customer = col_int(st);
    ret->is_active = col_bool(st);
    ret->uses = col_int(st);
    ret->created_at = col_time(st);
    ret->version = col_int(st);
}
DB_READER(coupon_columns_read);

enum err coupon_row_read(struct stmt *st, struct coupon *ret)
{
    return db_row(st, coupon_columns_read, ret);
}

enum err coupon_find_code(struct db *db, Str code, struct coupon *ret)
{
    static const char find[] = "SELECT " COUPON_COLUMNS " FROM coupon c WHERE c.code = $1";
    Str upper;
    if (!coupon_code_normalise(db_arena(db), code, &upper)) return ERR_COUPON_INVALID;
    struct stmt *st = db_prepare(db, find);
    bind_text(st, upper);
    enum err e = coupon_row_read(st, ret);
    return e == ERR_NOT_FOUND ? ERR_COUPON_INVALID : e;
}

enum err coupon_find(struct db *db, Id id, struct coupon *ret)
{
    static const char find[] = "SELECT " COUPON_COLUMNS " FROM coupon c WHERE c.id = $1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return coupon_row_read(st, ret);
}

static void read_id(struct stmt *st, Id *id)
{
    *id = col_id(st);
}
DB_READER(read_id);

enum err coupon_products(struct db *db, Id coupon, Id **ret, size_t *ret_count)
{
    static const char find[] = "SELECT product_id FROM coupon_product WHERE coupon_id = $1 ORDER BY product_id";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, coupon);
    return db_rows(st, read_id, ROWS_ALL, ret, ret_count);
}

/* The customer's uses that count: those of cancelled orders were given back. */
static enum err uses_of_customer(struct db *db, Id coupon, Id account, int64_t *ret)
{
    static const char count[] = "SELECT COUNT(*) FROM coupon_use"
                                " WHERE coupon_id = $1 AND account_id = $2 AND released_at IS NULL";
    struct stmt *st = db_prepare(db, count);
    bind_id(st, coupon);
    bind_id(st, account);
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;
    *ret = n;
    return OK;
}

static bool has_id(const Id *ids, size_t count, Id id)
{
    for (size_t i = 0; i < count; i++)
        if (id_eq(ids[i], id)) return true;
    return false;
}

bool coupon_discount(const struct coupon *c, Money applicable, Money *ret)
{
    Money off = {c->value};
    if (c->kind == COUPON_PERCENT && !money_percent(applicable, c->value, &off)) return false;
    *ret = money_cmp(off, applicable) > 0 ? applicable : off;
    return true;
}

enum err coupon_evaluate(struct db *db, const struct coupon *c, Id account, const struct coupon_line *lines,
                         size_t count, Time now, Money *ret_discount)
{
    if (!c->is_active) return ERR_COUPON_INVALID;
    if (time_is(c->starts_at) && now.ms < c->starts_at.ms) return ERR_COUPON_INVALID;
    if (time_is(c->expires_at) && now.ms >= c->expires_at.ms) return ERR_COUPON_INVALID;
    if (c->max_uses && c->uses >= c->max_uses) return ERR_COUPON_EXHAUSTED;
    if (c->max_uses_per_customer) {
        int64_t used;
        enum err e = uses_of_customer(db, c->id, account, &used);
        if (e) return e;
        if (used >= c->max_uses_per_customer) return ERR_COUPON_USED;
    }

    Id *products;
    size_t product_count;
    enum err e = coupon_products(db, c->id, &products, &product_count);
    if (e) return e;
    Money total = {0}, applicable = {0};
    bool applies = product_count == 0;
    for (size_t i = 0; i < count; i++) {
        if (!money_add(total, lines[i].subtotal, &total)) return ERR_FIELD_RANGE;
        if (product_count && !has_id(products, product_count, lines[i].product_id)) continue;
        applies = true;
        applicable.minor += lines[i].subtotal.minor; /* at most total */
    }
    if (!applies) return ERR_COUPON_NOT_APPLICABLE;
    if (money_cmp(total, c->min_total) < 0) return ERR_COUPON_MIN_TOTAL;
    return coupon_discount(c, applicable, ret_discount) ? OK : ERR_FIELD_RANGE;
}

/* Counts one more use, if the limit over all customers allows it; the row stays locked until the transaction ends. */
static enum err count_use(struct db *db, Id coupon, int64_t *ret_per_customer)
{
    static const char count[] = "UPDATE coupon SET uses = uses + 1 WHERE id = $1"
                                " AND (max_uses IS NULL OR uses < max_uses) RETURNING max_uses_per_customer";
    struct stmt *st = db_prepare(db, count);
    bind_id(st, coupon);
    bool counted = db_step(st);
    int64_t per_customer = counted ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;
    if (!counted) return ERR_COUPON_EXHAUSTED;
    *ret_per_customer = per_customer;
    return OK;
}

static enum err uncount_use(struct db *db, Id coupon)
{
    static const char uncount[] = "UPDATE coupon SET uses = uses - 1 WHERE id = $1";
    struct stmt *st = db_prepare(db, uncount);
    bind_id(st, coupon);
    return db_run(st);
}

enum err coupon_redeem(struct db *db, const struct coupon *c, Id account)
{
    int64_t per_customer, used;
    enum err e = count_use(db, c->id, &per_customer);
    if (e || !per_customer) return e;
    e = uses_of_customer(db, c->id, account, &used);
    if (e) return e;
    return used >= per_customer ? ERR_COUPON_USED : OK;
}

enum err coupon_record(struct db *db, const struct coupon *c, Id account, Id order, Time now)
{
    static const char record[] = "INSERT INTO coupon_use (order_id, coupon_id, account_id, created_at)"
                                 " VALUES ($1, $2, $3, $4)";
    struct stmt *st = db_prepare(db, record);
    bind_id(st, order);
    bind_id(st, c->id);
    bind_id(st, account);
    bind_time(st, now);
    return db_run(st);
}

enum err coupon_release(struct db *db, Id order, Time now)
{
    static const char release[] = "UPDATE coupon_use SET released_at = $2 WHERE order_id = $1 AND released_at IS NULL"
                                  " RETURNING coupon_id";
    struct stmt *st = db_prepare(db, release);
    bind_id(st, order);
    bind_time(st, now);
    Id coupon = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    return id_is(coupon) ? uncount_use(db, coupon) : OK;
}

/* The coupon and the customer of a use that was given back; 0: there is none. */
static enum err find_released(struct db *db, Id order, Id *ret_coupon, Id *ret_account)
{
    static const char find[] = "SELECT coupon_id, account_id FROM coupon_use"
                               " WHERE order_id = $1 AND released_at IS NOT NULL";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, order);
    bool found = db_step(st);
    Id coupon = found ? col_id(st) : (Id){0}, account = found ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    *ret_coupon = coupon;
    *ret_account = account;
    return OK;
}

enum err coupon_is_released(struct db *db, Id order, bool *ret)
{
    Id coupon, account;
    enum err e = find_released(db, order, &coupon, &account);
    if (!e) *ret = id_is(coupon);
    return e;
}

enum err coupon_reclaim(struct db *db, Id order, Time now)
{
    static const char reclaim[] = "UPDATE coupon_use SET released_at = NULL, created_at = $2"
                                  " WHERE order_id = $1 AND released_at IS NOT NULL";
    Id coupon, account;
    enum err e = find_released(db, order, &coupon, &account);
    if (e || !id_is(coupon)) return e;

    int64_t per_customer, used = 0;
    e = count_use(db, coupon, &per_customer);
    if (!e && per_customer) e = uses_of_customer(db, coupon, account, &used);
    if (e) return e;
    if (per_customer && used >= per_customer) {
        e = uncount_use(db, coupon);
        return e ? e : ERR_COUPON_USED;
    }
    struct stmt *st = db_prepare(db, reclaim);
    bind_id(st, order);
    bind_time(st, now);
    return db_run(st);
}
