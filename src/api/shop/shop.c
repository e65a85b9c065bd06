/* api/shop/shop.c - see shop.h. */
#include "api/shop/shop.h"

#include "api/shop/order_history.h"
#include "domain/gateway_config.h"
#include "domain/ledger.h"
#include "domain/order_ref.h"
#include "domain/payment.h"
#include "domain/settings.h"
#include "page/words.h"

enum err shop_go(struct request *req, Str path)
{
    req->status = 303;
    req->answer->location = path;
    request_ready(req, "text/plain", (Str){0});
    return OK;
}

bool shop_can_show(enum err e)
{
    int status = err_info(e)->status;
    return e == ERR_GATEWAY_FAILED || (status >= 400 && status < 500 && status != 404);
}

static enum word provider_word(enum provider p)
{
    switch (p) {
    case PROVIDER_STRIPE: return WORD_method_stripe;
    case PROVIDER_RAZORPAY: return WORD_method_razorpay;
    case PROVIDER_PAYPAL: return WORD_method_paypal;
    case PROVIDER_BTCPAY: return WORD_method_btcpay;
    default: return WORD_method_sandbox;
    }
}

enum err shop_methods(struct request *req, struct sheet *s, Money total, Str chosen, struct page_method_list *ret)
{
    struct gateway_config *gateways;
    size_t count, n = 0;
    enum err e = gateway_config_list(req->db, &gateways, &count);
    if (e) return e;
    struct page_method *methods = arena_array(req->arena, struct page_method, count + 1);
    struct wallet wallet = {0};
    bool can_spend = id_is(req->account) && total.minor;
    if (can_spend) e = wallet_find(req->db, req->account, &wallet);
    if (e) return e;
    if (can_spend && money_cmp(wallet.balance, total) >= 0)
        methods[n++] = (struct page_method){
            .value = STR(PAID_WITH_WALLET),
            .name = words_fill(&s->page, WORD_wallet_with, 0, (Str[]){page_money(&s->page, wallet.balance)}, 1)};
    for (size_t i = 0; i < count; i++)
        if (gateways[i].is_enabled)
            methods[n++] = (struct page_method){.value = gateways[i].label,
                                                .name = words_text(s->page.lang, provider_word(gateways[i].provider))};
    for (size_t i = 0; i < n; i++) methods[i].is_chosen = chosen.len ? str_eq(methods[i].value, chosen) : i == 0;
    *ret = (struct page_method_list){methods, n};
    return OK;
}

struct page_line_list shop_lines(struct request *req, const struct cart *cart)
{
    struct page_line *lines = arena_array(req->arena, struct page_line, cart->count);
    for (size_t i = 0; i < cart->count; i++) {
        const struct cart_line *l = &cart->lines[i];
        lines[i] = (struct page_line){.product_id = l->product_id.v,
                                      .variant_id = l->variant_id.v,
                                      .slug = l->slug,
                                      .name = l->name,
                                      .variant = l->variant_name,
                                      .quantity = l->quantity,
                                      .unit_price = l->unit_price,
                                      .subtotal = l->subtotal};
    }
    return (struct page_line_list){lines, cart->count};
}

static struct page_delivered_list delivered(struct request *req, const struct order_item *i)
{
    struct page_delivered *list = arena_array(req->arena, struct page_delivered, i->delivery_count);
    for (size_t n = 0; n < i->delivery_count; n++) {
        const struct delivery *d = &i->deliveries[n];
        bool is_link = d->type == DELIVERY_DOWNLOAD_URL;
        list[n] = (struct page_delivered){.kind = d->type == DELIVERY_LICENSE_KEY   ? WORD_kind_license_key
                                                  : d->type == DELIVERY_SERIAL_CODE ? WORD_kind_serial_code
                                                                                    : WORD_kind_download_url,
                                          .value = is_link ? (Str){0} : d->value,
                                          .link = is_link ? d->value : (Str){0},
                                          .is_revoked = d->is_revoked};
    }
    return (struct page_delivered_list){list, i->delivery_count};
}

static struct page_bought_list bought(struct request *req, const struct order *o)
{
    struct page_bought *list = arena_array(req->arena, struct page_bought, o->item_count);
    for (size_t n = 0; n < o->item_count; n++) {
        const struct order_item *i = &o->items[n];
        list[n] = (struct page_bought){.name = i->name,
                                       .variant = i->variant_name,
                                       .quantity = i->quantity,
                                       .unit_price = i->unit_price,
                                       .subtotal = i->subtotal,
                                       .deliveries = delivered(req, i)};
    }
    return (struct page_bought_list){list, o->item_count};
}

static const struct {
    enum word status, text;
} states[] = {
    [ORDER_PENDING] = {WORD_status_pending, WORD_order_pending_text},
    [ORDER_CONFIRMED] = {WORD_status_confirmed, WORD_order_confirmed_text},
    [ORDER_CANCELLED] = {WORD_status_cancelled, WORD_order_cancelled_text},
    [ORDER_REFUNDED] = {WORD_status_refunded, WORD_order_refunded_text},
};

/* As the checkout named it; of a gateway that is gone, its label. */
static Str way_to_pay(struct request *req, const struct sheet *s, Str paid_with)
{
    struct gateway_config gateway;
    if (str_eq(paid_with, STR(PAID_WITH_WALLET))) return words_text(s->page.lang, WORD_wallet);
    if (str_eq(paid_with, STR(PAID_WITH_NOTHING))) return words_text(s->page.lang, WORD_free);
    if (str_eq(paid_with, STR(PAID_BY_HAND))) return words_text(s->page.lang, WORD_method_manual);
    if (paid_with.len && gateway_config_find(req->db, paid_with, &gateway) == OK)
        return words_text(s->page.lang, provider_word(gateway.provider));
    return paid_with;
}

static enum err show_order(struct request *req, const struct order *o, Str pay, bool is_own, const struct trouble *t)
{
    struct sheet s;
    sheet_begin(req, &s, (Str){0});
    s.frame.title = words_fill(&s.page, WORD_order_number, 0, (Str[]){page_int(&s.page, o->id.v)}, 1);
    s.frame.description = words_text(s.page.lang, states[o->status].text);
    struct page_method_list methods = {0};
    struct page_happening_list history;
    struct page_claim_list claims;
    enum err e = is_own && o->status == ORDER_PENDING ? shop_methods(req, &s, o->total, (Str){0}, &methods) : OK;
    if (!e) e = shop_order_history(req, o->id, &history);
    if (!e) e = shop_order_claims(req, o->id, &claims);
    if (e) return e;
    Str again =
        o->status == ORDER_CANCELLED && req->settings->storefront ? ref_make(req->arena, REF_ORDER, o->id) : (Str){0};
    page_write_order(&s.page, &(const struct page_order){.frame = s.frame,
                                                         .number = o->id.v,
                                                         .status = states[o->status].status,
                                                         .text = states[o->status].text,
                                                         .placed = o->created_at,
                                                         .items = bought(req, o),
                                                         .subtotal = o->subtotal,
                                                         .discount = o->discount,
                                                         .total = o->total,
                                                         .refunded = o->refunded_amount,
                                                         .coupon = o->coupon_code,
                                                         .paid_with = way_to_pay(req, &s, o->paid_with),
                                                         .email = o->email,
                                                         .pay = pay,
                                                         .is_own = is_own,
                                                         .methods = methods,
                                                         .is_pending = o->status == ORDER_PENDING,
                                                         .again = again,
                                                         .problem = trouble_text(&s, t),
                                                         .kept_until = o->reserved_until,
                                                         .history = history,
                                                         .claims = claims});
    sheet_send(req, &s);
    return OK;
}

enum err shop_way_to_pay(struct request *req, const struct order *o, Str *ret)
{
    struct payment p;
    *ret = (Str){0};
    bool may = o->status == ORDER_PENDING;
    if (o->status == ORDER_CANCELLED) {
        enum err e = payment_find_order(req->db, o->id, &p);
        if (e && e != ERR_NOT_FOUND) return e;
        may = !e && p.status == PAYMENT_FAILED && !time_is(p.ended_at) && p.url.len;
    }
    if (may) *ret = str_printf(req->arena, "/pay/%.*s", STR_FMT(ref_make(req->arena, REF_ORDER, o->id)));
    return OK;
}

enum err shop_show_order(struct request *req, const struct order *o, Str pay)
{
    return show_order(req, o, pay, false, &(struct trouble){0});
}

enum err shop_show_own_order(struct request *req, const struct order *o, Str pay, const struct trouble *t)
{
    return show_order(req, o, pay, true, t);
}
