/* gateway/paypal.c - PayPal: orders that the customer approves and we then capture.
 *
 * We make an order (group_ref); its capture is what is paid (payment_ref). A webhook is only a hint (paypal_signature.h
 * says why): each claim is checked through the API and only the answer counts. Amounts are decimal texts in major
 * units. */
#include "gateway/amount.h"
#include "gateway/payload.h"
#include "gateway/paypal_book.h"
#include "gateway/paypal_dispute.h"
#include "gateway/paypal_signature.h"
#include "gateway/provider_call.h"

/* Currencies that PayPal counts without decimals, whatever ISO 4217 says. */
static int decimals(Str currency)
{
    if (str_eq(currency, STR("HUF")) || str_eq(currency, STR("TWD"))) return 0;
    return currency_exponent(currency);
}

static const char *problem(const struct gateway_config *config, const char **ret_field)
{
    *ret_field = "webhook_id";
    if (!config->webhook_id.len) return "The id of the webhook is needed";
    if (str_eq(config->webhook_id, STR("WEBHOOK_ID")))
        return "WEBHOOK_ID is the simulator's: anybody can get it signed";
    *ret_field = "api_secret";
    if (!config->api_key.len != !config->api_secret.len) return "The client id and the client secret go together";
    *ret_field = "ca_bundle";
    if (!config->ca_bundle.len)
        return "The certificates of the authority that issues PayPal's message certificates are needed";
    return NULL;
}

static enum verdict verify(const struct gateway_config *config, const struct webhook *hook,
                           const struct certificates *certs, struct arena *a, Time now)
{
    struct paypal_headers h = {
        .id = webhook_header(hook, "paypal-transmission-id"),
        .time = webhook_header(hook, "paypal-transmission-time"),
        .sig = webhook_header(hook, "paypal-transmission-sig"),
        .cert_url = webhook_header(hook, "paypal-cert-url"),
        .algo = webhook_header(hook, "paypal-auth-algo"),
    };
    Str path, pem;
    if (!h.id.len || h.id.len > REF_BYTES_MAX || !h.time.len || !h.sig.len) return VERDICT_MALFORMED;
    if (!paypal_cert_path(h.cert_url, config->is_live, &path)) return VERDICT_MALFORMED;
    const char *field;
    if (problem(config, &field)) return VERDICT_UNAVAILABLE;
    enum verdict v = certs->find(certs->ctx, certs->network, config, path, a, &pem);
    if (v != VERDICT_OK) return v;
    const char *name =
        config->is_live ? "messageverificationcerts.paypal.com" : "messageverificationcerts.sandbox.paypal.com";
    return paypal_signature_check(a, &h, config->webhook_id, hook->raw, pem, config->ca_bundle, name, now);
}

static const struct json *link_of(const struct json *obj, Str rel)
{
    for (const struct json *l = payload_first(json_get(obj, "links")); l; l = l->next)
        if (str_eq(json_text(l, "rel"), rel)) return l;
    return NULL;
}

/* The id in "https://api.paypal.com/v2/payments/captures/0JF852973C016714D" when it stands behind `folder`. */
static Str id_behind(Str href, Str folder)
{
    for (size_t i = 0; i + folder.len <= href.len; i++) {
        if (memcmp(href.ptr + i, folder.ptr, folder.len) != 0) continue;
        Str id = {href.ptr + i + folder.len, href.len - i - folder.len};
        return ref_is_safe(id) ? id : (Str){0};
    }
    return (Str){0};
}

static void read_capture(struct arena *a, const struct json *capture, struct payment_event *e)
{
    e->payment_ref = payload_ref(capture, "id");
    e->group_ref = payload_ref(payload_at(capture, "supplementary_data", "related_ids"), "order_id");
    e->order_ref = payload_ref(capture, "custom_id");
    e->has_amount = paypal_amount(a, json_get(capture, "amount"), &e->currency, &e->amount);
}

static void read_refund(struct arena *a, const struct json *refund, struct payment_event *e)
{
    Str other;
    e->refund_ref = payload_ref(refund, "id");
    e->payment_ref = id_behind(json_text(link_of(refund, STR("up")), "href"), STR("/v2/payments/captures/"));
    e->order_ref = payload_ref(refund, "custom_id");
    e->has_amount = paypal_amount(a, json_get(refund, "amount"), &e->currency, &e->amount);
    const struct json *total = payload_at(refund, "seller_payable_breakdown", "total_refunded_amount");
    e->has_refunded_total = paypal_amount(a, total, &other, &e->refunded_total) && str_eq(other, e->currency);
}

static void read_resource(struct arena *a, const struct json *resource, struct payment_event *e)
{
    Str type = e->type;
    if (str_eq(type, STR("PAYMENT.CAPTURE.COMPLETED"))) {
        e->kind = EVENT_SUCCEEDED;
        read_capture(a, resource, e);
    } else if (str_eq(type, STR("PAYMENT.CAPTURE.DENIED")) || str_eq(type, STR("PAYMENT.CAPTURE.DECLINED"))) {
        e->kind = EVENT_EXPIRED; /* an order is captured only once: this one will not be paid */
        read_capture(a, resource, e);
    } else if (str_eq(type, STR("PAYMENT.CAPTURE.PENDING"))) {
        e->kind = EVENT_PENDING;
        read_capture(a, resource, e);
    } else if (str_eq(type, STR("PAYMENT.CAPTURE.REFUNDED")) || str_eq(type, STR("PAYMENT.CAPTURE.REVERSED"))) {
        e->kind = str_eq(type, STR("PAYMENT.CAPTURE.REFUNDED")) ? EVENT_REFUNDED : EVENT_REVERSED;
        read_refund(a, resource, e);
    } else if (str_eq(type, STR("CUSTOMER.DISPUTE.CREATED")) || str_eq(type, STR("CUSTOMER.DISPUTE.RESOLVED"))) {
        paypal_read_dispute(a, resource, e);
    } else if (str_eq(type, STR("CHECKOUT.ORDER.APPROVED"))) {
        e->kind = EVENT_APPROVED;
        e->group_ref = payload_ref(resource, "id");
        e->order_ref = payload_ref(payload_first(json_get(resource, "purchase_units")), "custom_id");
    }
}

static bool parse(struct arena *a, const struct gateway_config *config, const struct webhook *hook,
                  struct payment_event *ret)
{
    (void)config;
    const struct json *root;
    if (json_read(a, hook->raw, &root, NULL) != OK) return false;
    struct payment_event e = {
        .event_id = payload_ref(root, "id"),
        .delivery_id = webhook_header(hook, "paypal-transmission-id"),
        .type = payload_ref(root, "event_type"),
        .occurred_at = payload_time(root, "create_time"),
    };
    if (!e.event_id.len || !e.type.len) return false;
    read_resource(a, json_get(root, "resource"), &e);
    *ret = e;
    return true;
}

static bool auth_call(struct arena *a, const struct gateway_config *config, struct http_call *ret)
{
    *ret = (struct http_call){.method = "POST", .body = STR("grant_type=client_credentials")};
    call_url(a, config, ret, STR("/v1/oauth2/token"));
    call_basic_auth(a, ret, config->api_key, config->api_secret);
    call_header(ret, STR("Content-Type"), STR("application/x-www-form-urlencoded"));
    return true;
}

static enum reply auth_read(struct arena *a, const struct http_reply *answer, Str *ret_token, int64_t *ret_seconds)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    Str token = json_text(root, "access_token");
    int64_t seconds;
    if (!token.len || !json_int64(json_get(root, "expires_in"), &seconds) || seconds < 0) return REPLY_RETRY;
    *ret_token = token;
    *ret_seconds = seconds;
    return REPLY_OK;
}

static void start(struct arena *a, const struct gateway_config *config, const char *method, Str path,
                  struct http_call *ret)
{
    *ret = (struct http_call){.method = method};
    call_url(a, config, ret, path);
    call_token_auth(a, ret, STR("Bearer"), config->access_token);
}

/* A POST that can be repeated: PayPal treats the same request id as the same request. */
static void start_once(struct arena *a, const struct gateway_config *config, Str path, Str request_id,
                       struct http_call *ret)
{
    start(a, config, "POST", path, ret);
    call_header(ret, STR("PayPal-Request-Id"), request_id);
    call_header(ret, STR("Prefer"), STR("return=representation"));
}

static void write_amount(struct json_writer *w, Str currency, Str value)
{
    json_open(w, "amount");
    json_kv_str(w, "currency_code", currency);
    json_kv_str(w, "value", value);
    json_end_object(w);
}

static bool create_call(struct arena *a, const struct gateway_config *config, const struct pay_request *in,
                        struct http_call *ret)
{
    Str value;
    if (!amount_to_text(a, in->amount, in->currency, decimals(in->currency), &value)) return false;
    struct json_body body;
    struct json_writer *w = json_body_begin(&body, a);
    json_kv_cstr(w, "intent", "CAPTURE");
    json_key(w, "purchase_units");
    json_begin_array(w);
    json_begin_object(w);
    json_kv_str(w, "custom_id", in->order_ref);
    json_kv_str(w, "invoice_id", in->reference);
    json_kv_str(w, "description", in->description);
    write_amount(w, in->currency, value);
    json_end_object(w);
    json_end_array(w);
    json_open(w, "payment_source");
    json_open(w, "paypal");
    json_open(w, "experience_context");
    json_kv_cstr(w, "shipping_preference", "NO_SHIPPING");
    json_kv_cstr(w, "user_action", "PAY_NOW");
    if (in->success_url.len) json_kv_str(w, "return_url", in->success_url);
    if (in->cancel_url.len) json_kv_str(w, "cancel_url", in->cancel_url);
    json_end_object(w);
    json_end_object(w);
    json_end_object(w);
    start_once(a, config, STR("/v2/checkout/orders"), in->reference, ret);
    return call_json(ret, &body);
}

static enum reply create_read(struct arena *a, const struct http_reply *answer, struct pay_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    const struct json *link = link_of(root, STR("payer-action"));
    if (!link) link = link_of(root, STR("approve"));
    struct pay_page page = {.group_ref = payload_ref(root, "id"), .url = json_text(link, "href")};
    return page_read(page, ret);
}

static bool refund_call(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                        struct http_call *ret)
{
    Str value;
    if (!ref_is_safe(in->payment_ref)) return false;
    if (!amount_to_text(a, in->amount, in->currency, decimals(in->currency), &value)) return false;
    struct json_body body;
    struct json_writer *w = json_body_begin(&body, a);
    json_kv_str(w, "custom_id", in->reference);
    write_amount(w, in->currency, value);
    Str path = str_printf(a, "/v2/payments/captures/%.*s/refund", STR_FMT(in->payment_ref));
    start_once(a, config, path, in->reference, ret);
    return call_json(ret, &body);
}

static enum reply refund_read(struct arena *a, const struct http_reply *answer, struct refund_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    return refund_read_json(root, (Str){0}, ret);
}

/* A capture's status; a refunded capture is still a success: refunds have events of their own. */
static enum payment_event_kind capture_kind(Str status)
{
    if (str_eq(status, STR("COMPLETED")) || str_eq(status, STR("PARTIALLY_REFUNDED")) ||
        str_eq(status, STR("REFUNDED")))
        return EVENT_SUCCEEDED;
    if (str_eq(status, STR("DECLINED")) || str_eq(status, STR("FAILED"))) return EVENT_EXPIRED;
    return EVENT_PENDING;
}

static enum reply order_state(struct arena *a, const struct json *order, struct payment_event *ret)
{
    const struct json *unit = payload_first(json_get(order, "purchase_units"));
    const struct json *capture = payload_first(payload_at(unit, "payments", "captures"));
    Str status = json_text(order, "status");
    struct payment_event e = {.kind = EVENT_PENDING, .type = STR("checkout.order")};
    if (capture) {
        read_capture(a, capture, &e);
        e.kind = capture_kind(json_text(capture, "status"));
    } else if (str_eq(status, STR("APPROVED"))) {
        e.kind = EVENT_APPROVED;
    } else if (str_eq(status, STR("VOIDED"))) {
        e.kind = EVENT_EXPIRED;
    }
    e.group_ref = payload_ref(order, "id");
    if (!e.order_ref.len) e.order_ref = payload_ref(unit, "custom_id");
    if (!e.group_ref.len) return REPLY_RETRY;
    *ret = e;
    return REPLY_OK;
}

static bool capture_call(struct arena *a, const struct gateway_config *config, Str group_ref, Str reference,
                         struct http_call *ret)
{
    if (!ref_is_safe(group_ref)) return false;
    struct json_body body;
    json_body_begin(&body, a);
    start_once(a, config, str_printf(a, "/v2/checkout/orders/%.*s/capture", STR_FMT(group_ref)),
               str_printf(a, "%.*s-capture", STR_FMT(reference)), ret);
    return call_json(ret, &body);
}

static enum reply capture_read(struct arena *a, const struct gateway_config *config, const struct http_reply *answer,
                               struct payment_event *ret)
{
    (void)config;
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    return r == REPLY_OK ? order_state(a, root, ret) : r;
}

static bool ask_call(struct arena *a, const struct gateway_config *config, Str group_ref, struct http_call *ret)
{
    if (!ref_is_safe(group_ref)) return false;
    start(a, config, "GET", str_printf(a, "/v2/checkout/orders/%.*s", STR_FMT(group_ref)), ret);
    return true;
}

static bool confirm_call(struct arena *a, const struct gateway_config *config, const struct payment_event *claim,
                         struct http_call *ret)
{
    static const struct {
        enum payment_event_kind kind;
        Str folder;
    } folders[] = {
        {EVENT_SUCCEEDED, S("/v2/payments/captures/")},      {EVENT_EXPIRED, S("/v2/payments/captures/")},
        {EVENT_PENDING, S("/v2/payments/captures/")},        {EVENT_APPROVED, S("/v2/checkout/orders/")},
        {EVENT_REFUNDED, S("/v2/payments/refunds/")},        {EVENT_DISPUTED, S("/v1/customer/disputes/")},
        {EVENT_DISPUTE_CLOSED, S("/v1/customer/disputes/")}, {EVENT_REVERSED, S("/v2/payments/refunds/")},
    };
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (claim->kind != folders[i].kind) continue;
        bool about = claim->kind == EVENT_REFUNDED || claim->kind == EVENT_REVERSED || claim->kind == EVENT_DISPUTED ||
                     claim->kind == EVENT_DISPUTE_CLOSED;
        Str id = claim->kind == EVENT_APPROVED ? claim->group_ref : about ? claim->refund_ref : claim->payment_ref;
        if (!ref_is_safe(id)) return false;
        start(a, config, "GET", str_printf(a, "%.*s%.*s", STR_FMT(folders[i].folder), STR_FMT(id)), ret);
        return true;
    }
    return false;
}

static enum reply confirm_read(struct arena *a, const struct gateway_config *config, const struct payment_event *claim,
                               const struct http_reply *answer, struct payment_event *ret)
{
    (void)config;
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    struct payment_event e = {.kind = claim->kind};
    Str status = json_text(root, "status"), asked = claim->refund_ref, got;
    switch (claim->kind) {
    case EVENT_APPROVED:
        r = order_state(a, root, &e);
        asked = claim->group_ref;
        got = e.group_ref;
        break;
    case EVENT_REFUNDED:
    case EVENT_REVERSED:
        read_refund(a, root, &e);
        if (str_eq(status, STR("FAILED")) || str_eq(status, STR("CANCELLED"))) e.kind = EVENT_REFUND_FAILED;
        if (str_eq(status, STR("PENDING"))) e.kind = EVENT_PENDING;
        got = e.refund_ref;
        break;
    case EVENT_DISPUTED:
    case EVENT_DISPUTE_CLOSED:
        paypal_read_dispute(a, root, &e);
        got = e.refund_ref;
        break;
    default:
        read_capture(a, root, &e);
        e.kind = capture_kind(status);
        asked = claim->payment_ref;
        got = e.payment_ref;
    }
    if (r != REPLY_OK) return r;
    if (!str_eq(asked, got)) return REPLY_RETRY; /* an answer to another question */
    event_of_claim(claim, &e);
    *ret = e;
    return REPLY_OK;
}

const struct gateway gateway_paypal = {
    .name = S("paypal"),
    .provider = PROVIDER_PAYPAL,
    .confirms = true,
    .problem = problem,
    .verify = verify,
    .parse = parse,
    .auth_call = auth_call,
    .auth_read = auth_read,
    .create_call = create_call,
    .create_read = create_read,
    .refund_call = refund_call,
    .refund_read = refund_read,
    .refund_key_ms = 45 * TIME_DAY,
    .capture_call = capture_call,
    .capture_read = capture_read,
    .confirm_call = confirm_call,
    .confirm_read = confirm_read,
    .has_book = {true, true, true},
    .book_call = paypal_book_call,
    .book_read = paypal_book_read,
    .ask_call = ask_call,
    .ask_read = capture_read,
};
