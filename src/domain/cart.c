/* domain/cart.c - see cart.h. */
#include "domain/cart.h"

#include <assert.h>

#include "domain/catalog.h"

#define PRICE_KEPT_MS (7 * TIME_DAY)

/* The stored cart: lines with their sums, and its coupon, not evaluated yet. */
static enum err load(struct db *db, Id token, Time now, struct cart *ret)
{
    static const char find_lines[] =
        "SELECT l.product_id, l.variant_id, p.name, p.slug, COALESCE(v.name, ''), l.quantity, l.unit_price,"
        " l.priced_at"
        " FROM cart_line l JOIN product p ON p.id = l.product_id LEFT JOIN variant v ON v.id = l.variant_id"
        " WHERE l.token_id = $1 ORDER BY l.id";
    static const char find_coupon[] = "SELECT coupon_id FROM cart WHERE token_id = $1";

    struct cart cart = {.lines = arena_array(db_arena(db), struct cart_line, CART_LINES_MAX)};
    bool fits = true, full = false;
    struct stmt *st = db_prepare(db, find_lines);
    bind_id(st, token);
    while (db_step(st)) {
        full = cart.count == CART_LINES_MAX;
        if (full) break;
        struct cart_line *l = &cart.lines[cart.count++];
        l->product_id = col_id(st);
        l->variant_id = col_id(st);
        l->name = col_text(st);
        l->slug = col_text(st);
        l->variant_name = col_text(st);
        l->quantity = col_int(st);
        l->unit_price = col_money(st);
        cart.has_old_price |= col_time(st).ms < now.ms - PRICE_KEPT_MS;
        fits &= money_times(l->unit_price, l->quantity, &l->subtotal);
        fits &= money_add(cart.subtotal, l->subtotal, &cart.subtotal);
    }
    enum err e = db_done(st);
    if (e) return e;
    if (full) return ERR_CART_FULL;
    if (!fits) return ERR_FIELD_RANGE;
    cart.total = cart.subtotal;

    st = db_prepare(db, find_coupon);
    bind_id(st, token);
    Id coupon = db_step(st) ? col_id(st) : (Id){0};
    e = db_done(st);
    if (e) return e;
    if (id_is(coupon)) {
        e = coupon_find(db, coupon, &cart.coupon);
        if (e) return e;
        cart.has_coupon = true;
    }
    *ret = cart;
    return OK;
}

/* Applies the coupon's discount, or says why it cannot be used. */
static enum err discount(struct db *db, struct cart *cart, const struct coupon *coupon, Id account, Time now)
{
    struct coupon_line *lines = arena_array(db_arena(db), struct coupon_line, cart->count);
    for (size_t i = 0; i < cart->count; i++)
        lines[i] = (struct coupon_line){cart->lines[i].product_id, cart->lines[i].subtotal};
    Money off;
    enum err e = coupon_evaluate(db, coupon, account, lines, cart->count, now, &off);
    if (e) return e;
    assert(off.minor >= 0 && off.minor <= cart->subtotal.minor);
    cart->has_coupon = true;
    cart->coupon = *coupon;
    cart->discount = off;
    cart->total = (Money){cart->subtotal.minor - off.minor};
    return OK;
}

static bool is_refusal(enum err e)
{
    return e == ERR_COUPON_INVALID || e == ERR_COUPON_EXHAUSTED || e == ERR_COUPON_USED ||
           e == ERR_COUPON_NOT_APPLICABLE || e == ERR_COUPON_MIN_TOTAL;
}

static enum err set_coupon(struct db *db, Id token, Id coupon)
{
    static const char set[] = "UPDATE cart SET coupon_id = $2 WHERE token_id = $1";
    struct stmt *st = db_prepare(db, set);
    bind_id(st, token);
    bind_opt_id(st, coupon);
    return db_run(st);
}

/* Lines that have not been touched for long take today's price; *ret_changed: the price of one has changed. */
static enum err renew_prices(struct db *db, Id token, Time now, bool *ret_changed)
{
    static const char find[] =
        "SELECT l.id, COALESCE(v.price, p.price) FROM cart_line l JOIN product p ON p.id = l.product_id"
        " LEFT JOIN variant v ON v.id = l.variant_id"
        " WHERE l.token_id = $1 AND l.priced_at < $2 AND l.unit_price <> COALESCE(v.price, p.price)";
    static const char renew[] = "UPDATE cart_line SET priced_at = $3, unit_price = COALESCE("
                                "(SELECT v.price FROM variant v WHERE v.id = cart_line.variant_id),"
                                " (SELECT p.price FROM product p WHERE p.id = cart_line.product_id))"
                                " WHERE token_id = $1 AND priced_at < $2";

    Time before = time_add(now, -PRICE_KEPT_MS);
    struct stmt *st = db_prepare(db, find);
    bind_id(st, token);
    bind_time(st, before);
    bool changed = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    st = db_prepare(db, renew);
    bind_id(st, token);
    bind_time(st, before);
    bind_time(st, now);
    e = db_run(st);
    if (!e) *ret_changed = changed;
    return e;
}

enum err cart_read(struct db *db, Id token, Id account, Time now, struct cart *ret)
{
    struct cart cart;
    enum err e = load(db, token, now, &cart);
    if (e) return e;
    if (cart.has_old_price) {
        bool changed;
        if (!db_can_write(db)) return ERR_NEEDS_WRITE;
        e = renew_prices(db, token, now, &changed);
        if (!e) e = load(db, token, now, &cart);
        if (e) return e;
    }
    if (cart.has_coupon) {
        struct coupon coupon = cart.coupon;
        e = discount(db, &cart, &coupon, account, now);
        if (is_refusal(e)) {
            if (!db_can_write(db)) return ERR_NEEDS_WRITE;
            cart.has_coupon = false;
            e = set_coupon(db, token, (Id){0});
        }
        if (e) return e;
    }
    *ret = cart;
    return OK;
}

/* Makes or finds the cart's row, and locks it until the transaction ends. */
static enum err hold(struct db *db, Id token, Time now)
{
    static const char upsert[] = "INSERT INTO cart (token_id, updated_at) VALUES ($1, $2)"
                                 " ON CONFLICT (token_id) DO UPDATE SET updated_at = excluded.updated_at";
    struct stmt *st = db_prepare(db, upsert);
    bind_id(st, token);
    bind_time(st, now);
    return db_run(st);
}

enum err cart_lock(struct db *db, Id token, Id account, Time now, struct cart *ret)
{
    struct cart cart;
    enum err e = hold(db, token, now);
    if (e) return e;
    e = load(db, token, now, &cart);
    if (e) return e;
    if (cart.count == 0) return ERR_CART_EMPTY;
    if (cart.has_old_price) {
        bool changed = false;
        e = renew_prices(db, token, now, &changed);
        if (e) return e;
        if (changed) return ERR_PRICE_CHANGED;
    }
    if (cart.has_coupon) {
        struct coupon coupon = cart.coupon;
        e = discount(db, &cart, &coupon, account, now);
        if (e) return e;
    }
    *ret = cart;
    return OK;
}

enum err cart_clear(struct db *db, Id token, Time now)
{
    static const char clear[] = "DELETE FROM cart_line WHERE token_id = $1";
    enum err e = hold(db, token, now);
    if (e) return e;
    struct stmt *st = db_prepare(db, clear);
    bind_id(st, token);
    e = db_run(st);
    if (e) return e;
    return set_coupon(db, token, (Id){0});
}

enum err cart_refill(struct db *db, Id token, Id order, Time now)
{
    static const char begin[] =
        "UPDATE cart SET updated_at = $3, coupon_id = (SELECT o.coupon_id FROM orders o WHERE o.id = $2)"
        " WHERE token_id = $1 AND NOT EXISTS (SELECT 1 FROM cart_line l WHERE l.token_id = $1)"
        " RETURNING token_id";
    static const char refill[] =
        "INSERT INTO cart_line (token_id, product_id, variant_id, quantity, unit_price, priced_at)"
        " SELECT CAST($1 AS BIGINT), product_id, variant_id, quantity, unit_price, CAST($3 AS BIGINT) FROM order_item"
        " WHERE order_id = $2 ORDER BY id";

    struct stmt *st = db_prepare(db, begin);
    bind_id(st, token);
    bind_id(st, order);
    bind_time(st, now);
    bool is_empty = db_step(st);
    enum err e = db_done(st);
    if (e || !is_empty) return e;
    st = db_prepare(db, refill);
    bind_id(st, token);
    bind_id(st, order);
    bind_time(st, now);
    return db_run(st);
}

enum err cart_move(struct db *db, Id from, Id to, Time now)
{
    static const char move[] =
        "INSERT INTO cart_line (token_id, product_id, variant_id, quantity, unit_price, priced_at)"
        " SELECT CAST($2 AS BIGINT), product_id, variant_id, quantity, unit_price, priced_at FROM "
        "cart_line f WHERE f.token_id = $1"
        " ORDER BY id LIMIT (SELECT 100 - COUNT(*) FROM cart_line t WHERE t.token_id = $2)"
        " ON CONFLICT (token_id, product_id, variant_id) DO UPDATE SET quantity ="
        " CASE WHEN cart_line.quantity + excluded.quantity > 1000 THEN 1000 ELSE "
        "cart_line.quantity + excluded.quantity END";
    static const char move_coupon[] =
        "UPDATE cart SET coupon_id = (SELECT f.coupon_id FROM cart f WHERE f.token_id = $1)"
        " WHERE token_id = $2 AND coupon_id IS NULL";
    static_assert(CART_QUANTITY_MAX == 1000 && CART_LINES_MAX == 100, "as the statement says");
    if (id_eq(from, to)) return OK;
    enum err e = hold(db, to, now);
    if (e) return e;
    struct stmt *st = db_prepare(db, move);
    bind_id(st, from);
    bind_id(st, to);
    e = db_run(st);
    if (e) return e;
    st = db_prepare(db, move_coupon);
    bind_id(st, from);
    bind_id(st, to);
    e = db_run(st);
    return e ? e : cart_clear(db, from, now);
}

enum err cart_add(struct db *db, Id token, Id account, Id product, Id variant, int64_t quantity, Time now,
                  struct cart *ret)
{
    static const char add[] =
        "INSERT INTO cart_line (token_id, product_id, variant_id, quantity, unit_price, priced_at)"
        " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (token_id, product_id, variant_id) DO UPDATE"
        " SET quantity = cart_line.quantity + excluded.quantity, unit_price = excluded.unit_price,"
        " priced_at = excluded.priced_at WHERE cart_line.quantity + excluded.quantity <= 1000 RETURNING id";
    static_assert(CART_QUANTITY_MAX == 1000, "as the statement says");

    assert(quantity >= 1 && quantity <= CART_QUANTITY_MAX);
    struct offer offer;
    enum err e = catalog_offer(db, product, variant, VARIANT_REQUIRED, &offer);
    if (e) return e;
    e = hold(db, token, now);
    if (e) return e;
    struct stmt *st = db_prepare(db, add);
    bind_id(st, token);
    bind_id(st, offer.product_id);
    bind_id(st, offer.variant_id);
    bind_int(st, quantity);
    bind_money(st, offer.price);
    bind_time(st, now);
    bool added = db_step(st);
    e = db_done(st);
    if (e) return e;
    if (!added) return ERR_LINE_LIMIT;
    return cart_read(db, token, account, now, ret);
}

static enum err remove_line(struct db *db, Id token, Id product, Id variant)
{
    static const char drop[] = "DELETE FROM cart_line WHERE token_id = $1 AND product_id = $2 AND variant_id = $3";
    struct stmt *st = db_prepare(db, drop);
    bind_id(st, token);
    bind_id(st, product);
    bind_id(st, variant);
    return db_run(st);
}

static enum err change_line(struct db *db, Id token, Id product, Id variant, int64_t quantity)
{
    static const char change[] = "UPDATE cart_line SET quantity = $4"
                                 " WHERE token_id = $1 AND product_id = $2 AND variant_id = $3 RETURNING id";
    struct stmt *st = db_prepare(db, change);
    bind_id(st, token);
    bind_id(st, product);
    bind_id(st, variant);
    bind_int(st, quantity);
    bool changed = db_step(st);
    enum err e = db_done(st);
    if (e || changed) return e;
    /* Tells a line that no cart can hold from one that is merely not in this cart. */
    struct offer offer;
    e = catalog_offer(db, product, variant, VARIANT_REQUIRED, &offer);
    return e ? e : ERR_NOT_FOUND;
}

enum err cart_set(struct db *db, Id token, Id account, Id product, Id variant, int64_t quantity, Time now,
                  struct cart *ret)
{
    assert(quantity >= 0 && quantity <= CART_QUANTITY_MAX);
    enum err e = hold(db, token, now);
    if (e) return e;
    e = quantity ? change_line(db, token, product, variant, quantity) : remove_line(db, token, product, variant);
    if (e) return e;
    return cart_read(db, token, account, now, ret);
}

enum err cart_apply_coupon(struct db *db, Id token, Id account, Str code, Time now, struct cart *ret)
{
    struct coupon coupon;
    enum err e = coupon_find_code(db, code, &coupon);
    if (e) return e;
    e = hold(db, token, now);
    if (e) return e;
    struct cart cart;
    e = load(db, token, now, &cart);
    if (e) return e;
    e = discount(db, &cart, &coupon, account, now);
    if (e) return e;
    e = set_coupon(db, token, coupon.id);
    if (e) return e;
    *ret = cart;
    return OK;
}

enum err cart_drop_coupon(struct db *db, Id token, Id account, Time now, struct cart *ret)
{
    enum err e = hold(db, token, now);
    if (e) return e;
    e = set_coupon(db, token, (Id){0});
    if (e) return e;
    return cart_read(db, token, account, now, ret);
}
