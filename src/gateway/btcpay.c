/* gateway/btcpay.c - BTCPay Server: invoices that are settled when the network has confirmed enough.
 *
 * We make an invoice and the customer pays the same invoice: group_ref and payment_ref are its id. Events carry no
 * amount, so the invoice is fetched (confirm) and only the answer counts. A repeated delivery has another deliveryId
 * and the same originalDeliveryId: the latter identifies the event. A create cannot be repeated: find looks for an
 * invoice before a second attempt. */
#include "gateway/amount.h"
#include "gateway/btcpay_book.h"
#include "gateway/payload.h"
#include "gateway/provider_call.h"
#include "gateway/signature.h"

static const char *problem(const struct gateway_config *config, const char **ret_field)
{
    *ret_field = "secrets";
    if (!config->secret_count) return "The secret of the webhook is needed";
    *ret_field = "base_url";
    if (config->api_key.len && !config->base_url.len) return "The address of the BTCPay server is needed";
    *ret_field = "store_id";
    if (config->api_key.len && !ref_is_safe(config->store_id)) return "The id of the store is needed";
    return NULL;
}

static enum verdict verify(const struct gateway_config *config, const struct webhook *hook,
                           const struct certificates *certs, struct arena *a, Time now)
{
    (void)certs, (void)a, (void)now;
    Str header = webhook_header(hook, "BTCPay-Sig"), prefix = STR("sha256=");
    if (!str_starts(header, prefix)) return VERDICT_MALFORMED;
    return plain_verify(MAC_SHA256, config, (Str){header.ptr + prefix.len, header.len - prefix.len}, hook->raw);
}

static enum payment_event_kind kind_of(Str type)
{
    if (str_eq(type, STR("InvoiceSettled"))) return EVENT_SUCCEEDED;
    if (str_eq(type, STR("InvoiceExpired")) || str_eq(type, STR("InvoiceInvalid"))) return EVENT_EXPIRED;
    if (str_eq(type, STR("InvoiceProcessing")) || str_eq(type, STR("InvoiceReceivedPayment")) ||
        str_eq(type, STR("InvoicePaymentSettled")))
        return EVENT_PENDING;
    return EVENT_IGNORED;
}

static bool parse(struct arena *a, const struct gateway_config *config, const struct webhook *hook,
                  struct payment_event *ret)
{
    const struct json *root;
    if (json_read(a, hook->raw, &root, NULL) != OK) return false;
    struct payment_event e = {
        .event_id = payload_ref(root, "originalDeliveryId"),
        .type = payload_ref(root, "type"),
        .occurred_at = payload_seconds(root, "timestamp"),
        .order_ref = payload_ref(json_get(root, "metadata"), "orderId"),
        .group_ref = payload_ref(root, "invoiceId"),
        .payment_ref = payload_ref(root, "invoiceId"),
    };
    if (!e.event_id.len) e.event_id = payload_ref(root, "deliveryId");
    if (!e.event_id.len || !e.type.len) return false;
    e.kind = kind_of(e.type);
    if (config->store_id.len && !str_eq(payload_ref(root, "storeId"), config->store_id))
        e.review = "the event belongs to another store";
    *ret = e;
    return true;
}

/* A call below the store's address. */
static void start(struct arena *a, const struct gateway_config *config, const char *method, Str tail,
                  struct http_call *ret)
{
    *ret = (struct http_call){.method = method};
    call_url(a, config, ret, str_printf(a, "/api/v1/stores/%.*s%.*s", STR_FMT(config->store_id), STR_FMT(tail)));
    call_token_auth(a, ret, STR("token"), config->api_key);
}

static bool create_call(struct arena *a, const struct gateway_config *config, const struct pay_request *in,
                        struct http_call *ret)
{
    Str value;
    if (!ref_is_safe(config->store_id)) return false;
    if (!amount_to_text(a, in->amount, in->currency, currency_exponent(in->currency), &value)) return false;
    struct json_body body;
    struct json_writer *w = json_body_begin(&body, a);
    json_kv_str(w, "amount", value); /* an invoice without an amount is paid in full by any payment */
    json_kv_str(w, "currency", in->currency);
    json_open(w, "metadata");
    json_kv_str(w, "orderId", in->order_ref);
    json_kv_str(w, "reference", in->reference);
    json_kv_str(w, "itemDesc", in->description);
    json_end_object(w);
    json_open(w, "checkout");
    if (in->expires_at.ms > in->now.ms)
        json_kv_int(w, "expirationMinutes", (in->expires_at.ms - in->now.ms + TIME_MINUTE - 1) / TIME_MINUTE);
    if (in->success_url.len) json_kv_str(w, "redirectURL", in->success_url);
    json_end_object(w);
    start(a, config, "POST", STR("/invoices"), ret);
    return call_json(ret, &body);
}

static enum reply page_of(const struct json *invoice, struct pay_page *ret)
{
    struct pay_page page = {
        .group_ref = payload_ref(invoice, "id"),
        .payment_ref = payload_ref(invoice, "id"),
        .url = json_text(invoice, "checkoutLink"),
        .expires_at = payload_seconds(invoice, "expirationTime"),
    };
    return page_read(page, ret);
}

static enum reply create_read(struct arena *a, const struct http_reply *answer, struct pay_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    return r == REPLY_OK ? page_of(root, ret) : r;
}

static bool find_call(struct arena *a, const struct gateway_config *config, const struct pay_request *in,
                      struct http_call *ret)
{
    if (!ref_is_safe(config->store_id)) return false;
    struct buf query;
    buf_init(&query, a, CALL_BODY_MAX);
    buf_lit(&query, "/invoices?orderId=");
    buf_url_encoded(&query, in->order_ref);
    start(a, config, "GET", buf_str(&query), ret);
    return !query.full;
}

static enum reply find_read(struct arena *a, const struct http_reply *answer, const struct pay_request *in,
                            struct pay_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    for (const struct json *invoice = payload_first(root); invoice; invoice = invoice->next)
        if (str_eq(payload_ref(json_get(invoice, "metadata"), "reference"), in->reference))
            return page_of(invoice, ret);
    return REPLY_REFUSED;
}

static bool refund_call(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                        struct http_call *ret)
{
    Str value;
    if (!ref_is_safe(config->store_id) || !ref_is_safe(in->group_ref)) return false;
    if (!amount_to_text(a, in->amount, in->currency, currency_exponent(in->currency), &value)) return false;
    struct json_body body;
    struct json_writer *w = json_body_begin(&body, a);
    json_kv_str(w, "name", in->reference);
    if (in->method.len) json_kv_str(w, "payoutMethodId", in->method); /* not known: the invoice's first */
    json_kv_cstr(w, "refundVariant", "Custom");
    json_kv_str(w, "customAmount", value);
    json_kv_str(w, "customCurrency", in->currency);
    start(a, config, "POST", str_printf(a, "/invoices/%.*s/refund", STR_FMT(in->group_ref)), ret);
    return call_json(ret, &body);
}

/* The call makes an offer, which customers claim with an address of their own. */
static enum reply refund_read(struct arena *a, const struct http_reply *answer, struct refund_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    return refund_read_json(root, json_text(root, "viewLink"), ret);
}

/* A refund has no idempotency key: an earlier attempt is found by its name. */
static bool refund_find_call(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                             struct http_call *ret)
{
    (void)in;
    if (!ref_is_safe(config->store_id)) return false;
    start(a, config, "GET", STR("/pull-payments?includeArchived=true"), ret);
    return true;
}

static enum reply refund_find_read(struct arena *a, const struct http_reply *answer, const struct refund_request *in,
                                   struct refund_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    for (const struct json *pull = payload_first(root); pull; pull = pull->next)
        if (str_eq(json_text(pull, "name"), in->reference))
            return refund_read_json(pull, json_text(pull, "viewLink"), ret);
    return REPLY_REFUSED;
}

static bool method_call(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                        struct http_call *ret)
{
    if (!ref_is_safe(config->store_id) || !ref_is_safe(in->group_ref)) return false;
    start(a, config, "GET", str_printf(a, "/invoices/%.*s/payment-methods", STR_FMT(in->group_ref)), ret);
    return true;
}

static bool is_zero(Str number)
{
    for (size_t i = 0; i < number.len; i++)
        if (number.ptr[i] >= '1' && number.ptr[i] <= '9') return false;
    return true;
}

/* The method by which money came in. A payment through an LNURL is paid back through Lightning. */
static enum reply method_read(struct arena *a, const struct http_reply *answer, Str *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    for (const struct json *m = payload_first(root); m; m = m->next) {
        const struct json *paid = json_get(m, "paymentMethodPaid");
        Str id = payload_ref(m, "paymentMethodId"), coin, kind;
        if (!paid || is_zero(paid->text) || !ref_is_safe(id)) continue;
        bool is_lnurl = str_cut(id, '-', &coin, &kind) && str_eq(kind, STR("LNURL"));
        *ret = is_lnurl ? str_printf(a, "%.*s-LN", STR_FMT(coin)) : id;
        return REPLY_OK;
    }
    return REPLY_OK;
}

/* Coins can still arrive: then a person looks at the payment. */
static bool close_call(struct arena *a, const struct gateway_config *config, Str group_ref, Str reference,
                       struct http_call *ret)
{
    (void)reference;
    if (!ref_is_safe(config->store_id) || !ref_is_safe(group_ref)) return false;
    struct json_body body;
    json_kv_cstr(json_body_begin(&body, a), "status", "Invalid");
    start(a, config, "POST", str_printf(a, "/invoices/%.*s/status", STR_FMT(group_ref)), ret);
    return call_json(ret, &body);
}

static bool ask_call(struct arena *a, const struct gateway_config *config, Str group_ref, struct http_call *ret)
{
    if (!ref_is_safe(config->store_id) || !ref_is_safe(group_ref)) return false;
    start(a, config, "GET", str_printf(a, "/invoices/%.*s", STR_FMT(group_ref)), ret);
    return true;
}

static void invoice_state(const struct json *invoice, struct payment_event *e)
{
    Str status = json_text(invoice, "status"), extra = json_text(invoice, "additionalStatus");
    bool is_late = str_eq(extra, STR("PaidLate")), is_partial = str_eq(extra, STR("PaidPartial"));
    if (str_eq(status, STR("Settled"))) {
        e->kind = EVENT_SUCCEEDED;
        if (is_late) e->review = "paid after the invoice had ended";
        if (str_eq(extra, STR("Marked"))) e->review = "marked as settled by hand";
    } else if (str_eq(status, STR("Expired"))) {
        e->kind = EVENT_EXPIRED;
        if (is_late) e->review = "paid after the invoice had ended";
        if (is_partial) e->review = "ended partly paid";
    } else if (str_eq(status, STR("Invalid"))) {
        e->kind = EVENT_EXPIRED;
    } else {
        e->kind = EVENT_PENDING;
    }
}

static enum reply ask_read(struct arena *a, const struct gateway_config *config, const struct http_reply *answer,
                           struct payment_event *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    struct payment_event e = {
        .type = STR("invoice"),
        .group_ref = payload_ref(root, "id"),
        .payment_ref = payload_ref(root, "id"),
        .order_ref = payload_ref(json_get(root, "metadata"), "orderId"),
    };
    if (!e.group_ref.len) return REPLY_RETRY;
    if (currency_read(a, json_text(root, "currency"), &e.currency))
        e.has_amount = btcpay_paid_amount(root, e.currency, &e.amount);
    invoice_state(root, &e);
    if (!str_eq(payload_ref(root, "storeId"), config->store_id)) e.review = "the invoice belongs to another store";
    *ret = e;
    return REPLY_OK;
}

static bool confirm_call(struct arena *a, const struct gateway_config *config, const struct payment_event *claim,
                         struct http_call *ret)
{
    return ask_call(a, config, claim->group_ref, ret);
}

static enum reply confirm_read(struct arena *a, const struct gateway_config *config, const struct payment_event *claim,
                               const struct http_reply *answer, struct payment_event *ret)
{
    struct payment_event e;
    enum reply r = ask_read(a, config, answer, &e);
    if (r != REPLY_OK) return r;
    if (!str_eq(e.group_ref, claim->group_ref)) return REPLY_RETRY; /* an answer to another question */
    event_of_claim(claim, &e);
    *ret = e;
    return REPLY_OK;
}

const struct gateway gateway_btcpay = {
    .name = S("btcpay"),
    .provider = PROVIDER_BTCPAY,
    .confirms = true,
    .expires = true,
    .problem = problem,
    .verify = verify,
    .parse = parse,
    .create_call = create_call,
    .create_read = create_read,
    .find_call = find_call,
    .find_read = find_read,
    .refund_call = refund_call,
    .refund_read = refund_read,
    .refund_find_call = refund_find_call,
    .refund_find_read = refund_find_read,
    .method_call = method_call,
    .method_read = method_read,
    .confirm_call = confirm_call,
    .confirm_read = confirm_read,
    .close_call = close_call,
    .has_book = {[BOOK_CHARGES] = true, [BOOK_REFUNDS] = true},
    .names_refunds = true,
    .book_call = btcpay_book_call,
    .book_read = btcpay_book_read,
    .ask_call = ask_call,
    .ask_read = ask_read,
};
