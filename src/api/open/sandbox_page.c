/* api/open/sandbox_page.c - the sandbox as its two sides see it: an API for the merchant, a page for the payer.
 *
 * None of it exists unless the gateway called `sandbox` is switched on. The merchant is this same server, calling over
 * HTTP with the sandbox's API key, as it would call any provider. The page has no script and asks for no money: it says
 * so, and offers buttons that make the sandbox send its webhooks. Its secret address keeps others out. */
#include "api/tables.h"
#include "base/text.h"
#include "domain/sandbox_play.h"
#include "domain/vault.h"
#include "gateway/amount.h"
#include "page/template.h"
#include "serve/app.h"
#include "serve/render.h"

#define LATE_MS (10 * TIME_SECOND)

static enum err switched_on(struct request *req, struct gateway_config *ret)
{
    enum err e = gateway_config_find(req->db, STR("sandbox"), ret);
    if (!e && !ret->is_enabled) return ERR_NOT_FOUND;
    return e;
}

/* The merchant's side. */

static enum err merchant(struct request *req)
{
    struct gateway_config config;
    uint8_t given[VAULT_HASH_BYTES], ours[VAULT_HASH_BYTES];
    Str scheme, key = {0}, value = request_header(req, "Authorization");
    enum err e = switched_on(req, &config);
    if (e) return e;
    if (!str_cut(value, ' ', &scheme, &key) || !str_eq_nocase(scheme, STR("Sandbox"))) return ERR_TOKEN_MISSING;
    vault_hash(VAULT_FINGERPRINT, key, given);
    vault_hash(VAULT_FINGERPRINT, config.api_key, ours);
    return config.api_key.len && vault_equal(given, ours, sizeof ours) ? OK : ERR_TOKEN_INVALID;
}

static void view(struct request *req, const struct sandbox_payment *p)
{
    struct json_writer *w = &req->out;
    json_begin_object(w);
    json_kv_str(w, "id", p->ref);
    json_kv_str(w, "payment", p->ref);
    json_kv_str(w, "order_ref", p->order_ref);
    bool is_paid = p->status == SANDBOX_PAID;
    json_kv_int(w, "amount", is_paid ? p->received.minor : p->amount.minor);
    json_kv_str(w, "currency", is_paid ? p->paid_currency : p->currency);
    json_kv_int(w, "refunded", p->refunded.minor);
    json_kv_cstr(w, "status", sandbox_status_names[p->status]);
    json_kv_str(w, "url", str_printf(req->arena, "%s/sandbox/pay/%.*s", req->app->shop_url, STR_FMT(p->ref)));
    json_end_object(w);
}

struct create_body {
    Str reference, order_ref, description, currency, success_url, cancel_url;
    int64_t amount;
};
static const struct field create_fields[] = {
    {"reference", FIELD_LINE, REQUIRED, offsetof(struct create_body, reference), .min = 1, .max = 100},
    {"order_ref", FIELD_LINE, REQUIRED, offsetof(struct create_body, order_ref), .min = 1, .max = 100},
    {"description", FIELD_LINE, REQUIRED, offsetof(struct create_body, description), .min = 1, .max = 400},
    {"amount", FIELD_INT, REQUIRED, offsetof(struct create_body, amount), .min = 1, .max = INT64_MAX},
    {"currency", FIELD_LINE, REQUIRED, offsetof(struct create_body, currency), .min = 3, .max = 3},
    {"success_url", FIELD_URL, OPTIONAL, offsetof(struct create_body, success_url)},
    {"cancel_url", FIELD_URL, OPTIONAL, offsetof(struct create_body, cancel_url)},
    {0},
};
static const struct shape create_shape = {create_fields, sizeof(struct create_body)};

static enum err post_payment(struct request *req)
{
    const struct create_body *in = req->body;
    struct sandbox_payment p, want = {.reference = in->reference,
                                      .order_ref = in->order_ref,
                                      .description = in->description,
                                      .amount = {in->amount},
                                      .success_url = in->success_url,
                                      .cancel_url = in->cancel_url};
    enum err e = merchant(req);
    if (e) return e;
    if (!currency_read(req->arena, in->currency, &want.currency))
        return request_bad_field(req, "currency", ERR_FIELD_VALUE);
    bool is_lost = false;
    e = sandbox_create(req->db, &want, req->now, &p);
    if (!e) e = sandbox_loses_create(req->db, &is_lost);
    if (e) return e;
    req->status = is_lost ? 500 : 201; /* made all the same */
    view(req, &p);
    return OK;
}

static enum err get_payment(struct request *req)
{
    struct sandbox_payment p;
    enum err e = merchant(req);
    if (!e) e = sandbox_find(req->db, req->params[0], &p);
    if (!e) view(req, &p);
    return e;
}

struct sandbox_refund_body {
    int64_t amount;
};
static const struct field refund_fields[] = {
    {"amount", FIELD_INT, REQUIRED, offsetof(struct sandbox_refund_body, amount), .min = 1, .max = INT64_MAX},
    {0},
};
static const struct shape refund_shape = {refund_fields, sizeof(struct sandbox_refund_body)};

static enum err post_refund(struct request *req)
{
    const struct sandbox_refund_body *in = req->body;
    struct sandbox_sending at_once = {0};
    struct sandbox_payment p;
    Str refund;
    enum err e = merchant(req);
    if (!e) e = sandbox_lock(req->db, req->params[0], &p);
    if (!e && p.mood == SANDBOX_REFUSES_REFUNDS) return request_bad_field(req, "amount", ERR_FIELD_VALUE);
    if (!e)
        e = sandbox_give_back(req->db, req->params[0], (Money){in->amount}, request_header(req, "Idempotency-Key"),
                              &at_once, req->now, &refund);
    if (e) return e;
    req->status = 201;
    if (p.mood == SANDBOX_LOSES_ANSWER) { /* once: done, and not reported */
        req->status = 500;
        p.mood = SANDBOX_WILLING;
        e = sandbox_save(req->db, &p);
        if (e) return e;
    }
    json_begin_object(&req->out);
    json_kv_str(&req->out, "id", refund);
    json_end_object(&req->out);
    return OK;
}

/* A provider's final refusal is a 4xx that does not invite a retry. */
static enum err post_close(struct request *req)
{
    struct sandbox_payment p;
    enum err e = merchant(req);
    if (!e) e = sandbox_close(req->db, req->params[0], &p);
    if (e == ERR_INVALID_STATE) return request_bad_field(req, "status", ERR_FIELD_VALUE);
    if (!e) view(req, &p);
    return e;
}

static enum err play(struct request *req, Str action, const struct sandbox_sending *how)
{
    enum err e = sandbox_play(req->db, req->params[0], action, how, req->now);
    return e == ERR_FIELD_VALUE ? request_bad_field(req, "action", e) : e;
}

/* The buttons of the page, for tests. */
struct play_body {
    Str action;
    bool twice, silent;
    int64_t late_s;
};
static const struct field play_fields[] = {
    {"action", FIELD_LINE, REQUIRED, offsetof(struct play_body, action), .min = 1, .max = 40},
    {"twice", FIELD_BOOL, OPTIONAL, offsetof(struct play_body, twice)},
    {"silent", FIELD_BOOL, OPTIONAL, offsetof(struct play_body, silent)},
    {"late_s", FIELD_INT, OPTIONAL, offsetof(struct play_body, late_s), .max = 3600},
    {0},
};
static const struct shape play_shape = {play_fields, sizeof(struct play_body)};

static enum err post_play(struct request *req)
{
    const struct play_body *in = req->body;
    struct sandbox_sending how = {.twice = in->twice, .silent = in->silent, .late_ms = in->late_s * TIME_SECOND};
    struct sandbox_payment p;
    enum err e = merchant(req);
    if (!e) e = play(req, in->action, &how);
    if (!e) e = sandbox_find(req->db, req->params[0], &p);
    if (!e) view(req, &p);
    return e;
}

/* The payer's side. */

static Str money_text(struct arena *a, Money m, Str currency)
{
    char text[MONEY_TEXT_MAX];
    size_t n = money_format(m, currency_exponent(currency), text);
    return str_printf(a, "%.*s %.*s", (int)n, text, STR_FMT(currency));
}

static void write_page(struct request *req, const struct sandbox_payment *p)
{
    struct buf b;
    buf_init(&b, req->arena, SIZE_MAX);
    struct page page = {.arena = req->arena, .out = &b, .currency = p->currency};
    page_write_sandbox(&page,
                       &(const struct page_sandbox){
                           .description = p->description,
                           .amount = money_text(req->arena, p->amount, p->currency),
                           .refunded = p->refunded.minor ? money_text(req->arena, p->refunded, p->currency) : (Str){0},
                           .status = str_from(sandbox_status_names[p->status]),
                           .reference = p->ref,
                           .is_paid = p->status == SANDBOX_PAID,
                           .is_closed = p->status == SANDBOX_CLOSED,
                           .is_disputed = p->dispute_ref.len > 0,
                           .can_refund = p->refunded.minor < p->received.minor,
                           .success_url = p->success_url,
                           .cancel_url = p->cancel_url,
                       });
    request_add_header(
        req, "Content-Security-Policy",
        STR("default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"));
    request_add_header(req, "Referrer-Policy", STR("no-referrer"));
    request_ready(req, "text/html; charset=utf-8", buf_str(&b));
}

static enum err get_page(struct request *req)
{
    struct gateway_config config;
    struct sandbox_payment p;
    enum err e = switched_on(req, &config);
    if (!e) e = sandbox_find(req->db, req->params[0], &p);
    if (!e) write_page(req, &p);
    return e;
}

struct page_form {
    Str action, twice, late, silent;
};
static const struct field page_fields[] = {
    {"action", FIELD_LINE, REQUIRED, offsetof(struct page_form, action), .min = 1, .max = 40},
    {"twice", FIELD_LINE, OPTIONAL, offsetof(struct page_form, twice), .max = 1},
    {"late", FIELD_LINE, OPTIONAL, offsetof(struct page_form, late), .max = 1},
    {"silent", FIELD_LINE, OPTIONAL, offsetof(struct page_form, silent), .max = 1},
    {0},
};
static const struct shape page_shape = {page_fields, sizeof(struct page_form)};

static enum err act(struct request *req, const struct page_form *form)
{
    struct sandbox_sending how = {
        .twice = form->twice.len > 0, .silent = form->silent.len > 0, .late_ms = form->late.len > 0 ? LATE_MS : 0};
    return play(req, form->action, &how);
}

static enum err page_write(struct request *req)
{
    struct gateway_config config;
    const void *form;
    enum err e = shape_read_query(&page_shape, req->raw_body, UNKNOWN_REFUSED, 0, req->arena, &form, &req->errors);
    if (!e) e = switched_on(req, &config);
    if (!e) e = act(req, form);
    if (e) return e;
    req->status = 303;
    req->answer->location = str_printf(req->arena, "/sandbox/pay/%.*s", STR_FMT(req->params[0]));
    request_ready(req, "text/plain; charset=utf-8", STR("Done.\n"));
    return OK;
}

static enum err post_page(struct request *req)
{
    enum err e = request_tx(req, TX_WRITE, page_write);
    if (!e) dispatcher_wake(req->app->dispatcher);
    return e;
}

const struct route sandbox_page_routes[] = {
    {"POST", "/sandbox/api/payments", SCOPE_NONE, TX_WRITE, &create_shape, post_payment, HIDDEN, .limit = LIMIT_NONE},
    {"GET", "/sandbox/api/payments/{ref}", SCOPE_NONE, TX_READ, NULL, get_payment, HIDDEN, .limit = LIMIT_NONE},
    {"POST", "/sandbox/api/payments/{ref}/refund", SCOPE_NONE, TX_WRITE, &refund_shape, post_refund, HIDDEN,
     .limit = LIMIT_NONE},
    {"POST", "/sandbox/api/payments/{ref}/close", SCOPE_NONE, TX_WRITE, NULL, post_close, HIDDEN, .limit = LIMIT_NONE},
    {"POST", "/sandbox/api/payments/{ref}/play", SCOPE_NONE, TX_WRITE, &play_shape, post_play, HIDDEN,
     .limit = LIMIT_NONE},
    {"GET", "/sandbox/pay/{ref}", SCOPE_NONE, TX_READ, NULL, get_page, HIDDEN | ANY_ACCEPT},
    {"POST", "/sandbox/pay/{ref}", SCOPE_NONE, TX_SELF, NULL, post_page, HIDDEN | ANY_ACCEPT | RAW_BODY},
    {0},
};
