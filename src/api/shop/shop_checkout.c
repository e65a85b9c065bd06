/* api/shop/shop_checkout.c - from the cart to an order: what it costs, who buys, how to pay; and the order's own page.
 *
 * A guest gives an e-mail address, and the order belongs to the account of that address, which is made when there is
 * none. An address proves nothing: a guest sees the order only through its ref, and cannot spend the account's wallet.
 */
#include "api/checkout.h"
#include "api/proof.h"
#include "api/shop/shop.h"
#include "api/tables.h"
#include "base/random.h"
#include "domain/order_ref.h"
#include "domain/reservation.h"
#include "domain/session.h"
#include "page/words.h"
#include "serve/app.h"
#include "serve/form.h"
#include "serve/limit.h"
#include "serve/visit.h"

#define ONCE_CHARS 22
#define PENDING_REFRESH "5"
#define GUEST_KEPT_A_DAY 10 /* orders of guests in one network that keep codes */

struct checkout_form {
    Str pay_with, email;
};
static const struct field checkout_fields[] = {
    {"pay_with", FIELD_LINE, REQUIRED, offsetof(struct checkout_form, pay_with), .min = 1, .max = 40},
    {"email", FIELD_EMAIL, OPTIONAL, offsetof(struct checkout_form, email)},
    {0},
};
static const struct shape checkout_form = {checkout_fields, sizeof(struct checkout_form)};

static Str once_key(struct request *req)
{
    char *key = arena_alloc(req->arena, ONCE_CHARS);
    random_base62(key, ONCE_CHARS);
    return (Str){key, ONCE_CHARS};
}

static enum err show_checkout(struct request *req, struct trouble *t)
{
    struct cart cart = {0};
    struct sheet s;
    struct page_method_list methods;
    enum err e = req->session ? cart_read(req->db, req->token_id, req->account, req->now, &cart) : OK;
    if (e) return e;
    if (!cart.count) return shop_go(req, STR("/cart"));
    sheet_begin(req, &s, (Str){0});
    s.frame.title = words_text(s.page.lang, WORD_checkout_title);
    e = shop_methods(req, &s, cart.total, t->e ? form_field(req, "pay_with") : (Str){0}, &methods);
    if (e) return e;
    Str email = id_is(req->account) ? req->session->email : t->e ? form_field(req, "email") : (Str){0};
    page_write_checkout(&s.page, &(const struct page_checkout){
                                     .frame = s.frame,
                                     .lines = shop_lines(req, &cart),
                                     .subtotal = cart.subtotal,
                                     .discount = cart.discount,
                                     .total = cart.total,
                                     .coupon = cart.has_coupon ? cart.coupon.code : (Str){0},
                                     .methods = methods,
                                     .once = once_key(req),
                                     .email = email,
                                     .email_problem = trouble_field(&s, t, "email"),
                                     .pay_with_problem = trouble_field(&s, t, "pay_with"),
                                     .problem = trouble_text(&s, t),
                                 });
    sheet_send(req, &s);
    if (t->e) req->status = err_info(t->e)->status;
    return OK;
}
REQUEST_STEP(show_checkout);

static enum err get_checkout(struct request *req)
{
    return show_checkout(req, &(struct trouble){0});
}

/* The account that the order will belong to. */
static enum err buyer_of(struct request *req, Str email, Id *ret)
{
    struct account a;
    if (id_is(req->account)) {
        *ret = req->account;
        return OK;
    }
    if (!email.len) return request_bad_field(req, "email", ERR_FIELD_REQUIRED);
    enum err e = account_find_email(req->db, email, &a);
    if (e == ERR_NOT_FOUND) {
        struct account want = {
            .email = email, .role = ROLE_CUSTOMER, .language = str_from(lang_codes[visit_lang(req)])};
        e = account_create(req->db, &want, req->now, &a);
    }
    if (e) return e;
    if (!a.is_active) return request_bad_field(req, "email", ERR_FIELD_VALUE);
    *ret = a.id;
    return OK;
}

struct shop_purchase {
    struct checkout checkout; /* first */
    const struct checkout_form *in;
    Id buyer;
    bool is_counted; /* by a try of the same transaction that failed */
};

/* A guest's order that costs nothing sends mail to an address that anybody may type. */
static enum err limit_gifts(struct request *req, struct shop_purchase *p)
{
    struct app *app = req->app;
    if (p->checkout.order.total.minor || p->is_counted || !app->options.rate_auth) return OK;
    struct limit_result r = limiter_charge_day(app->limiter, 'f', p->in->email, GIFTS_A_DAY, time_monotonic_ns());
    p->is_counted = r.allowed;
    return r.allowed ? OK : ERR_RATE_LIMITED;
}

/* Another address is another guest, who may have as many codes kept: so they are counted by network, too. An order
 * beyond that is made without. */
static enum err limit_kept(struct request *req, struct shop_purchase *p)
{
    struct app *app = req->app;
    struct order *o = &p->checkout.order;
    if (!o->reserved_until.ms || p->is_counted || !app->options.rate_auth) return OK;
    p->is_counted =
        limiter_charge_day(app->limiter, 'K', req->exchange->network, GUEST_KEPT_A_DAY, time_monotonic_ns()).allowed;
    if (p->is_counted) return OK;
    o->reserved_until = (Time){0};
    return reservation_release(req->db, o->id);
}

static enum err answer(struct request *req, struct pay *pay)
{
    const struct order *o = &checkout_of(pay)->order;
    Str ref = ref_make(req->arena, REF_ORDER, o->id);
    bool is_pending = o->status == ORDER_PENDING;
    return shop_go(req, str_printf(req->arena, "/%s/%.*s", is_pending ? "pay" : "order", STR_FMT(ref)));
}

static enum err checkout_write(struct request *req, struct shop_purchase *p)
{
    bool is_guest = !id_is(req->account);
    if (!req->session) return ERR_CART_EMPTY;
    enum err e = buyer_of(req, p->in->email, &p->buyer);
    if (e) return e;
    struct checkout_wish wish = {.pay_with = p->in->pay_with, .returns_to_page = true, .is_guest = is_guest};
    Id visitor = req->account;
    req->account = p->buyer;
    e = checkout_begin(req, &wish, &p->checkout);
    req->account = visitor;
    if (!e && is_guest) e = limit_gifts(req, p);
    if (!e && is_guest) e = limit_kept(req, p);
    return e ? e : answer(req, &p->checkout.pay);
}
REQUEST_STEP(checkout_write);

static enum err post_checkout(struct request *req)
{
    void *in = NULL;
    struct shop_purchase *p = arena_new(req->arena, struct shop_purchase);
    enum err e = form_read(req, &checkout_form, &in);
    p->in = in;
    if (!e && !id_is(req->account)) e = stranger_limit(req);
    if (!e) e = request_step(req, TX_WRITE, checkout_write, p);
    if (!e) e = pay_finish(req, &p->checkout.pay, answer, checkout_undo);
    dispatcher_wake(req->app->dispatcher);
    if (!e || !shop_can_show(e)) return e;
    struct trouble t = trouble_of(req, e);
    return request_step(req, TX_READ, show_checkout, &t);
}

/* ---- the order's page, and the way to the gateway ---- */

static enum err order_of_ref(struct request *req, Id *ret)
{
    enum ref_kind kind;
    return ref_parse(req->params[0], &kind, ret) && kind == REF_ORDER ? OK : ERR_NOT_FOUND;
}

static enum err get_order(struct request *req)
{
    Id id;
    struct order o;
    enum err e = order_of_ref(req, &id);
    if (!e) e = order_find(req->db, (Id){0}, id, &o);
    if (e) return e;
    Str pay;
    e = shop_way_to_pay(req, &o, &pay);
    if (e) return e;
    if (o.status == ORDER_PENDING) request_add_header(req, "Refresh", STR(PENDING_REFRESH));
    return shop_show_order(req, &o, pay);
}

/* Everything of a cancelled order that is still sold goes into the visitor's cart, at today's prices. */
static enum err again_write(struct request *req, const struct order *o)
{
    struct cart cart;
    struct offer offer;
    size_t added = 0;
    enum err e = req->session ? OK : visit_begin(req, (Id){0});
    for (size_t i = 0; !e && i < o->item_count; i++) {
        const struct order_item *item = &o->items[i];
        enum err sold = catalog_offer(req->db, item->product_id, item->variant_id, VARIANT_REQUIRED, &offer);
        if (sold && err_info(sold)->status >= 500) return sold;
        if (sold) continue;
        e = cart_add(req->db, req->token_id, req->account, item->product_id, item->variant_id, item->quantity, req->now,
                     &cart);
        added += !e;
    }
    return e ? e : shop_go(req, added ? STR("/checkout") : STR("/"));
}

static enum err post_again(struct request *req)
{
    Id id;
    struct order o;
    enum err e = order_of_ref(req, &id);
    if (!e) e = order_find(req->db, (Id){0}, id, &o);
    if (!e && o.status != ORDER_CANCELLED) e = ERR_INVALID_STATE;
    return e ? e : again_write(req, &o);
}

/* A page instead of a redirect: browsers apply form-action, which is this site, to a form's redirects too. */
static enum err show_way(struct request *req, const struct payment *p, Str back)
{
    struct sheet s;
    bool may_be_paid =
        p->status == PAYMENT_OPEN || (p->status == PAYMENT_FAILED && !time_is(p->ended_at) && p->url.len);
    if (!may_be_paid) return shop_go(req, back);
    sheet_begin(req, &s, (Str){0});
    s.frame.title = words_text(s.page.lang, WORD_pay_title);
    request_add_header(req, "Refresh", p->url.len ? str_printf(req->arena, "0; url=%.*s", STR_FMT(p->url)) : STR("3"));
    page_write_pay(&s.page, &(const struct page_pay){.frame = s.frame, .link = p->url, .back = back});
    sheet_send(req, &s);
    return OK;
}

static enum err get_pay(struct request *req)
{
    enum ref_kind kind;
    Id id;
    struct payment p;
    if (!ref_parse(req->params[0], &kind, &id)) return ERR_NOT_FOUND;
    enum err e = kind == REF_ORDER ? payment_find_order(req->db, id, &p) : payment_find(req->db, id, &p);
    Str back =
        kind == REF_ORDER ? str_printf(req->arena, "/order/%.*s", STR_FMT(req->params[0])) : STR("/account/wallet");
    if (kind == REF_ORDER && e == ERR_NOT_FOUND) return shop_go(req, back);
    return e ? e : show_way(req, &p, back);
}

const struct route shop_checkout_routes[] = {
    {"GET", "/checkout", SCOPE_NONE, TX_READ, NULL, get_checkout, SHOP_PAGE},
    {"POST", "/checkout", SCOPE_NONE, TX_SELF, NULL, post_checkout, SHOP_FORM | IDEMPOTENT | CALLS_OUT | PROVEN_EMAIL,
     .accepts = FORM_TYPE},
    {"GET", "/order/{ref}", SCOPE_NONE, TX_READ, NULL, get_order, SHOP_PAGE | STAYS | SECRET_PATH},
    {"POST", "/order/{ref}/again", SCOPE_NONE, TX_WRITE, NULL, post_again, SHOP_FORM | SECRET_PATH,
     .accepts = FORM_TYPE},
    {"GET", "/pay/{ref}", SCOPE_NONE, TX_READ, NULL, get_pay, SHOP_PAGE | STAYS | SECRET_PATH},
    {0},
};
