/* api/checkout.c - see checkout.h. */
#include "api/checkout.h"

#include "domain/account.h"
#include "domain/cart.h"
#include "domain/mail.h"
#include "domain/order_ref.h"
#include "domain/receipt.h"
#include "serve/app.h"
#include "serve/limit.h"

/* The cart's lines as they are sold now: prices are the cart's, everything else is current. */
static enum err lines_of(struct request *req, const struct cart *cart, struct order_line **ret)
{
    struct order_line *lines = arena_array(req->arena, struct order_line, cart->count);
    for (size_t i = 0; i < cart->count; i++) {
        const struct cart_line *l = &cart->lines[i];
        enum err e = catalog_offer(req->db, l->product_id, l->variant_id, VARIANT_REQUIRED, &lines[i].offer);
        if (e == ERR_PRODUCT_NOT_FOUND || e == ERR_FIELD_NOT_FOUND || e == ERR_FIELD_REQUIRED ||
            e == ERR_FIELD_CONFLICT) {
            request_error_str(req, "product", l->name);
            return request_bad_field(req, "items", ERR_FIELD_NOT_FOUND);
        }
        if (e) return e;
        lines[i].unit_price = l->unit_price;
        lines[i].quantity = l->quantity;
    }
    *ret = lines;
    return OK;
}

/* A gift sends mail, and who has registered somebody else's address could have one after the other sent there. */
static enum err limit_free(struct request *req)
{
    struct account a;
    if (!mail_is_enabled() || !req->app->options.rate_auth) return OK;
    enum err e = account_find(req->db, req->account, &a);
    if (e || !a.is_unproven) return e;
    struct limit_result r = limiter_charge_day(req->app->limiter, 'f', a.email, GIFTS_A_DAY, time_monotonic_ns());
    return r.allowed ? OK : ERR_RATE_LIMITED;
}

static enum err pay_now(struct request *req, struct checkout *c, const struct order_draft *draft)
{
    struct order_shortfall shortfall;
    enum err e = order_place(req->db, draft, req->now, &c->order, &shortfall);
    if (e == ERR_INSUFFICIENT_BALANCE) {
        request_error_money(req, "required", shortfall.required);
        request_error_money(req, "available", shortfall.available);
    }
    return e ? e : receipt_order(req->db, c->order.id, req->now);
}

static Str page_of(struct request *req, Id order)
{
    return str_printf(req->arena, "%s/order/%.*s", req->app->shop_url, STR_FMT(ref_make(req->arena, REF_ORDER, order)));
}

static enum err pay_later(struct request *req, const struct checkout_wish *in, struct checkout *c,
                          const struct order_draft *draft)
{
    enum err e = order_create(req->db, draft, req->now, &c->order);
    if (e) return e;
    Str page = in->returns_to_page ? page_of(req, c->order.id) : (Str){0};
    struct payment want = {.account_id = req->account,
                           .order_id = c->order.id,
                           .amount = c->order.total,
                           .success_url = page.len ? page : in->success_url,
                           .cancel_url = page.len ? page : in->cancel_url};
    return pay_begin(req, &c->pay, &want);
}

enum err checkout_begin(struct request *req, const struct checkout_wish *in, struct checkout *c)
{
    struct order_line *lines = NULL;
    struct cart cart;
    *c = (struct checkout){0};
    bool by_wallet = str_eq(in->pay_with, STR(PAID_WITH_WALLET));
    enum err e = by_wallet ? OK : pay_gateway(req->db, in->pay_with, &c->pay.gateway);
    if (e == ERR_FIELD_VALUE) return request_bad_field(req, "pay_with", e);
    if (!e) e = cart_lock(req->db, req->token_id, req->account, req->now, &cart);
    if (!e) e = lines_of(req, &cart, &lines);
    if (e) return e;
    if (by_wallet && in->is_guest && cart.total.minor) return request_bad_field(req, "pay_with", ERR_FIELD_VALUE);
    if (!cart.total.minor && !in->is_guest) e = limit_free(req);
    if (e) return e;
    struct order_draft draft = {.account = req->account,
                                .channel = CHANNEL_CART,
                                .lines = lines,
                                .line_count = cart.count,
                                .units_max = req->settings->order_units_max,
                                .reserve_minutes = req->settings->reserve_minutes,
                                .reserve_max = req->settings->reserve_codes_max,
                                .coupon = cart.has_coupon ? &cart.coupon : NULL};
    e = by_wallet || cart.total.minor == 0 ? pay_now(req, c, &draft) : pay_later(req, in, c, &draft);
    return e ? e : cart_clear(req->db, req->token_id, req->now);
}

enum err checkout_undo(struct request *req, struct pay *pay)
{
    return cart_refill(req->db, req->token_id, checkout_of(pay)->order.id, req->now);
}
