/* domain/coupon.c - see coupon.h. Changes by staff are in coupon_admin.c.
 *
 * Where a coupon has a limit over all customers, coupon.uses counts the uses that are not released, and is guarded
 * twice: by the WHERE of its update and by a CHECK. Redeeming locks the coupon's row until the transaction ends, so the
 * count per customer cannot change in the meantime either.
 *
 * Without such a limit nothing is counted in the row, which all customers share: they would wait for each other. A use
 * keeps the row from being changed, which others can do at the same time, and locks the customer if each may use the
 * coupon so many times only. */
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
    static const char find[] = "SELECT " COUPON_COLUMNS_COUNTED " FROM coupon c WHERE c.id = $1";
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

/* What is known of a coupon while one of its uses is taken or given back. */
struct hold {
    bool is_counted; /* it has a limit over all customers: coupon.uses counts, and the row is locked */
    int64_t per_customer;
};

/* Counts one more use, if the limit over all customers allows it; the row stays locked until the transaction ends. */
static enum err count_use(struct db *db, Id coupon, struct hold *ret)
{
    static const char count[] = "UPDATE coupon SET uses = uses + 1 WHERE id = $1 AND uses < max_uses"
                                " RETURNING max_uses_per_customer";
    struct stmt *st = db_prepare(db, count);
    bind_id(st, coupon);
    bool counted = db_step(st);
    int64_t per_customer = counted ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;
    if (!counted) return ERR_COUPON_EXHAUSTED;
    *ret = (struct hold){true, per_customer};
    return OK;
}

static enum err uncount_use(struct db *db, Id coupon)
{
    static const char uncount[] = "UPDATE coupon SET uses = uses - 1 WHERE id = $1 AND max_uses IS NOT NULL";
    struct stmt *st = db_prepare(db, uncount);
    bind_id(st, coupon);
    return db_run(st);
}

/* Keeps a coupon without a limit over all customers from getting one until the transaction ends. False: it has one. */
static enum err hold_unlimited(struct db *db, Id coupon, bool *ret_held, struct hold *ret)
{
#define UNLIMITED "SELECT max_uses_per_customer FROM coupon WHERE id = $1 AND max_uses IS NULL"
    static const char sqlite[] = UNLIMITED;
    static const char postgres[] = UNLIMITED " FOR SHARE";
    static const char postgres_now[] = UNLIMITED " FOR SHARE SKIP LOCKED";
#undef UNLIMITED
    bool is_grouped = db_is_grouped(db);
    struct stmt *st = db_prepare(db, db_sql(db, sqlite, is_grouped ? postgres_now : postgres));
    bind_id(st, coupon);
    bool held = db_step(st);
    if (held) *ret = (struct hold){false, col_int(st)};
    enum err e = db_done(st);
    *ret_held = held;
    return !e && !held && is_grouped ? ERR_RUN_ALONE : e;
}

/* Until the transaction ends no other order of this customer counts how often a coupon was used. */
static enum err lock_customer(struct db *db, Id coupon, Id account)
{
#define LOCK "SELECT id FROM account WHERE id = $1 FOR NO KEY UPDATE"
    static const char postgres[] = LOCK;
    static const char postgres_now[] = LOCK " SKIP LOCKED";
#undef LOCK
    if (!db_is_postgres(db)) return OK;
    bool is_grouped = db_is_grouped(db);
    int64_t both[] = {coupon.v, account.v};
    if (!db_enlist(db, (Str){(const char *)both, sizeof both})) return ERR_RUN_ALONE;
    struct stmt *st = db_prepare(db, is_grouped ? postgres_now : postgres);
    bind_id(st, account);
    bool locked = db_step(st);
    enum err e = db_done(st);
    return e ? e : locked ? OK : is_grouped ? ERR_RUN_LATER : ERR_NOT_FOUND;
}

/* One more use by this customer. What was counted is in *ret also when each customer may not use it that often. */
static enum err take_use(struct db *db, Id coupon, Id account, struct hold *ret)
{
    bool held;
    *ret = (struct hold){0};
    enum err e = hold_unlimited(db, coupon, &held, ret);
    if (!e && !held) e = count_use(db, coupon, ret);
    if (e == ERR_COUPON_EXHAUSTED && db_is_postgres(db)) { /* or staff have lifted the limit meanwhile */
        e = hold_unlimited(db, coupon, &held, ret);
        if (!e && !held) e = count_use(db, coupon, ret);
    }
    if (e || !ret->per_customer) return e;
    int64_t used = 0;
    if (!ret->is_counted) e = lock_customer(db, coupon, account);
    if (!e) e = uses_of_customer(db, coupon, account, &used);
    return e ? e : used >= ret->per_customer ? ERR_COUPON_USED : OK;
}

bool coupon_is_shared(const struct coupon *c)
{
    return c->max_uses > 0;
}

enum err coupon_redeem(struct db *db, const struct coupon *c, Id account)
{
    struct hold hold;
    return take_use(db, c->id, account, &hold);
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
    bool held;
    struct hold hold;
    if (e || !id_is(coupon)) return e;
    e = hold_unlimited(db, coupon, &held, &hold);
    return e || held ? e : uncount_use(db, coupon);
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

    struct hold hold;
    e = take_use(db, coupon, account, &hold);
    if (e == ERR_COUPON_USED && hold.is_counted) {
        enum err undone = uncount_use(db, coupon);
        return undone ? undone : e;
    }
    if (e) return e;
    struct stmt *st = db_prepare(db, reclaim);
    bind_id(st, order);
    bind_time(st, now);
    return db_run(st);
}
