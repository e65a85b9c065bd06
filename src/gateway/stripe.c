/* gateway/stripe.c - Stripe: Checkout sessions, webhooks stamped with a time.
 *
 * We make a session (group_ref); the customer pays its payment intent (payment_ref). Events arrive in any order.
 * payment_intent.payment_failed is not final: the same intent may succeed on the next card. */
#include "gateway/amount.h"
#include "gateway/payload.h"
#include "gateway/provider_call.h"
#include "gateway/signature.h"

#define API_VERSION "2024-06-20"

/* Decimals in Stripe's count, where they are not those of ISO 4217. */
static int decimals(Str currency)
{
    if (str_eq(currency, STR("MGA"))) return 0;
    if (str_eq(currency, STR("UGX")) || str_eq(currency, STR("ISK"))) return 2;
    return currency_exponent(currency);
}

static const char *problem(const struct gateway_config *config, const char **ret_field)
{
    *ret_field = "secrets";
    return config->secret_count ? NULL : "The signing secret of the webhook endpoint (whsec_…) is needed";
}

static enum verdict verify(const struct gateway_config *config, const struct webhook *hook,
                           const struct certificates *certs, struct arena *a, Time now)
{
    (void)certs, (void)a;
    return stamped_verify(config, webhook_header(hook, "Stripe-Signature"), hook->raw, now);
}

/* An amount in Stripe's count beside `currency` in the same object. */
static bool amount(const struct json *obj, const char *key, Str currency, Money *ret)
{
    int64_t count, minor;
    if (!currency.len || !json_int64(json_get(obj, key), &count) || count < 0) return false;
    if (!amount_rescale(count, decimals(currency), currency_exponent(currency), &minor)) return false;
    *ret = (Money){minor};
    return true;
}

static void read_currency(struct arena *a, const struct json *obj, struct payment_event *e)
{
    currency_read(a, json_text(obj, "currency"), &e->currency);
}

static void read_intent_amount(struct arena *a, const struct json *obj, const char *key, struct payment_event *e)
{
    read_currency(a, obj, e);
    e->payment_ref = payload_ref(obj, "id");
    e->order_ref = payload_ref(json_get(obj, "metadata"), "order_id");
    e->has_amount = amount(obj, key, e->currency, &e->amount);
}

static void read_intent(struct arena *a, const struct json *obj, struct payment_event *e)
{
    read_intent_amount(a, obj, "amount", e);
}

static void read_paid_intent(struct arena *a, const struct json *obj, struct payment_event *e)
{
    read_intent_amount(a, obj, "amount_received", e);
}

static void read_session(struct arena *a, const struct json *obj, struct payment_event *e)
{
    read_currency(a, obj, e);
    e->group_ref = payload_ref(obj, "id");
    e->payment_ref = payload_id(obj, "payment_intent");
    e->order_ref = payload_ref(obj, "client_reference_id");
    if (!e->order_ref.len) e->order_ref = payload_ref(json_get(obj, "metadata"), "order_id");
    e->has_amount = amount(obj, "amount_total", e->currency, &e->amount);
}

static enum payment_event_kind session_kind(const struct json *obj)
{
    Str paid = json_text(obj, "payment_status"), status = json_text(obj, "status");
    if (str_eq(paid, STR("paid"))) return EVENT_SUCCEEDED;
    return str_eq(status, STR("expired")) ? EVENT_EXPIRED : EVENT_PENDING;
}

static void read_charge(struct arena *a, const struct json *obj, struct payment_event *e)
{
    read_currency(a, obj, e);
    e->payment_ref = payload_id(obj, "payment_intent");
    e->order_ref = payload_ref(json_get(obj, "metadata"), "order_id");
    e->refund_ref = payload_ref(payload_first(payload_at(obj, "refunds", "data")), "id");
    e->has_amount = amount(obj, "amount", e->currency, &e->amount);
    e->has_refunded_total = amount(obj, "amount_refunded", e->currency, &e->refunded_total);
}

/* Refunds and disputes: their own amount, and the intent that they are about. */
static void read_about(struct arena *a, const struct json *obj, struct payment_event *e)
{
    read_currency(a, obj, e);
    e->payment_ref = payload_id(obj, "payment_intent");
    e->order_ref = payload_ref(json_get(obj, "metadata"), "order_id");
    e->refund_ref = payload_ref(obj, "id");
    e->has_amount = amount(obj, "amount", e->currency, &e->amount);
}

/* What the dispute took out of the account and has not put back: a dispute may be lost in part. False: not stated, or
 * in another currency. */
static bool taken(struct arena *a, const struct json *dispute, Str currency, Money *ret)
{
    int64_t sum = 0, count, minor;
    const struct json *moves = json_get(dispute, "balance_transactions");
    if (!payload_first(moves)) return false;
    for (const struct json *m = payload_first(moves); m; m = m->next) {
        Str in = {0};
        if (!currency_read(a, json_text(m, "currency"), &in) || !str_eq(in, currency)) return false;
        if (!json_int64(json_get(m, "amount"), &count) || __builtin_sub_overflow(sum, count, &sum)) return false;
    }
    if (!amount_rescale(sum, decimals(currency), currency_exponent(currency), &minor)) return false;
    *ret = (Money){minor};
    return true;
}

static void read_dispute(struct arena *a, const struct json *obj, struct payment_event *e)
{
    Money lost;
    Str status = json_text(obj, "status");
    read_about(a, obj, e);
    e->due_at = payload_seconds(json_get(obj, "evidence_details"), "due_by");
    if (e->kind != EVENT_DISPUTE_CLOSED) return;
    if (str_eq(status, STR("won")) || str_eq(status, STR("warning_closed"))) {
        e->outcome = DISPUTE_WON; /* or an inquiry that has ended: nothing was taken */
    } else if (!str_eq(status, STR("lost"))) {
        e->review = "the dispute has ended, and Stripe does not say how";
    } else if (taken(a, obj, e->currency, &lost)) {
        e->outcome = lost.minor > 0 ? DISPUTE_LOST : DISPUTE_WON;
        if (lost.minor > 0) e->amount = lost;
    }
}

static const struct {
    Str type;
    enum payment_event_kind kind;
    void (*read)(struct arena *a, const struct json *obj, struct payment_event *e);
} messages[] = {
    {S("payment_intent.succeeded"), EVENT_SUCCEEDED, read_paid_intent},
    {S("payment_intent.payment_failed"), EVENT_FAILED, read_intent}, /* the page stays open */
    {S("payment_intent.canceled"), EVENT_EXPIRED, read_intent},
    {S("payment_intent.processing"), EVENT_PENDING, read_intent},
    {S("checkout.session.completed"), EVENT_PENDING, read_session}, /* unless it says that it is paid */
    {S("checkout.session.async_payment_succeeded"), EVENT_SUCCEEDED, read_session},
    {S("checkout.session.async_payment_failed"), EVENT_EXPIRED, read_session},
    {S("checkout.session.expired"), EVENT_EXPIRED, read_session},
    {S("charge.refunded"), EVENT_REFUNDED, read_charge},
    {S("charge.dispute.created"), EVENT_DISPUTED, read_dispute},
    {S("charge.dispute.closed"), EVENT_DISPUTE_CLOSED, read_dispute},
    {S("refund.failed"), EVENT_REFUND_FAILED, read_about},
};

static void read_object(struct arena *a, const struct json *obj, struct payment_event *e)
{
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        if (!str_eq(e->type, messages[i].type)) continue;
        e->kind = messages[i].kind;
        messages[i].read(a, obj, e);
    }
    if (str_eq(e->type, STR("checkout.session.completed"))) e->kind = session_kind(obj);
}

static bool parse(struct arena *a, const struct gateway_config *config, const struct webhook *hook,
                  struct payment_event *ret)
{
    (void)config;
    const struct json *root;
    if (json_read(a, hook->raw, &root, NULL) != OK) return false;
    struct payment_event e = {
        .event_id = payload_ref(root, "id"),
        .type = payload_ref(root, "type"),
        .occurred_at = payload_seconds(root, "created"),
        .mode = payload_flag(root, "livemode") ? EVENT_MODE_LIVE : EVENT_MODE_TEST,
    };
    if (!e.event_id.len || !e.type.len) return false;
    read_object(a, payload_at(root, "data", "object"), &e);
    *ret = e;
    return true;
}

static void start(struct arena *a, const struct gateway_config *config, const char *method, Str path,
                  struct http_call *ret)
{
    *ret = (struct http_call){.method = method};
    call_url(a, config, ret, path);
    call_token_auth(a, ret, STR("Bearer"), config->api_key);
    call_header(ret, STR("Stripe-Version"), STR(API_VERSION));
}

static bool count_of(Money m, Str currency, int64_t *ret)
{
    int exponent = currency_exponent(currency);
    return exponent >= 0 && amount_rescale(m.minor, exponent, decimals(currency), ret);
}

/* Stripe wants a session to end between 30 minutes and 24 hours after it was made; a minute is allowed for the call
 * itself. */
static int64_t session_end(const struct pay_request *in)
{
    int64_t least = in->now.ms + 31 * TIME_MINUTE, most = in->now.ms + TIME_DAY - TIME_MINUTE;
    int64_t at = in->expires_at.ms < least ? least : in->expires_at.ms > most ? most : in->expires_at.ms;
    return at / TIME_SECOND;
}

static bool create_call(struct arena *a, const struct gateway_config *config, const struct pay_request *in,
                        struct http_call *ret)
{
    int64_t count;
    if (!count_of(in->amount, in->currency, &count)) return false;
    struct buf form;
    buf_init(&form, a, CALL_BODY_MAX);
    form_pair(&form, STR("mode"), STR("payment"));
    form_pair(&form, STR("client_reference_id"), in->order_ref);
    form_pair(&form, STR("success_url"), in->success_url);
    if (in->cancel_url.len) form_pair(&form, STR("cancel_url"), in->cancel_url);
    if (in->email.len) form_pair(&form, STR("customer_email"), in->email);
    if (in->expires_at.ms) form_pair_int(&form, STR("expires_at"), session_end(in));
    form_pair_int(&form, STR("line_items[0][quantity]"), 1);
    form_pair(&form, STR("line_items[0][price_data][currency]"), str_lower(a, in->currency));
    form_pair_int(&form, STR("line_items[0][price_data][unit_amount]"), count);
    form_pair(&form, STR("line_items[0][price_data][product_data][name]"), in->description);
    form_pair(&form, STR("metadata[order_id]"), in->order_ref);
    form_pair(&form, STR("payment_intent_data[metadata][order_id]"), in->order_ref);
    form_pair(&form, STR("metadata[reference]"), in->reference);
    form_pair(&form, STR("payment_intent_data[metadata][reference]"), in->reference);

    start(a, config, "POST", STR("/v1/checkout/sessions"), ret);
    call_header(ret, STR("Idempotency-Key"), in->reference);
    return call_form(ret, &form);
}

static enum reply create_read(struct arena *a, const struct http_reply *answer, struct pay_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    struct pay_page page = {
        .group_ref = payload_ref(root, "id"),
        .payment_ref = payload_id(root, "payment_intent"),
        .url = json_text(root, "url"),
        .expires_at = payload_seconds(root, "expires_at"),
    };
    return page_read(page, ret);
}

static bool refund_call(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                        struct http_call *ret)
{
    int64_t count;
    if (!in->payment_ref.len || !count_of(in->amount, in->currency, &count)) return false;
    struct buf form;
    buf_init(&form, a, CALL_BODY_MAX);
    form_pair(&form, STR("payment_intent"), in->payment_ref);
    form_pair_int(&form, STR("amount"), count);
    form_pair(&form, STR("metadata[reference]"), in->reference); /* what refund_find looks for */

    start(a, config, "POST", STR("/v1/refunds"), ret);
    call_header(ret, STR("Idempotency-Key"), in->reference);
    return call_form(ret, &form);
}

static enum reply refund_read(struct arena *a, const struct http_reply *answer, struct refund_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    return refund_read_json(root, (Str){0}, ret);
}

static bool refund_find_call(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                             struct http_call *ret)
{
    struct buf path;
    buf_init(&path, a, CALL_BODY_MAX);
    buf_lit(&path, "/v1/refunds?limit=100&payment_intent=");
    buf_url_encoded(&path, in->payment_ref);
    start(a, config, "GET", buf_str(&path), ret);
    return in->payment_ref.len > 0; /* which is short: the path has room */
}

static enum reply refund_find_read(struct arena *a, const struct http_reply *answer, const struct refund_request *in,
                                   struct refund_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    const struct json *refunds = json_get(root, "data");
    for (const struct json *refund = payload_first(refunds); refund; refund = refund->next)
        if (str_eq(payload_ref(json_get(refund, "metadata"), "reference"), in->reference))
            return refund_read_json(refund, (Str){0}, ret);
    return REPLY_REFUSED;
}

static bool close_call(struct arena *a, const struct gateway_config *config, Str group_ref, Str reference,
                       struct http_call *ret)
{
    if (!ref_is_safe(group_ref)) return false;
    start(a, config, "POST", str_printf(a, "/v1/checkout/sessions/%.*s/expire", STR_FMT(group_ref)), ret);
    call_header(ret, STR("Idempotency-Key"), str_printf(a, "%.*s-close", STR_FMT(reference)));
    return true;
}

static bool book_call(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                      struct http_call *ret)
{
    static const char *const paths[BOOK_COUNT] = {"charges", "refunds", "disputes"};
    Str from = in->next.len ? str_printf(a, "&starting_after=%.*s", STR_FMT(in->next)) : STR("");
    start(a, config, "GET",
          str_printf(a, "/v1/%s?limit=100&created[gte]=%lld%.*s", paths[in->book],
                     (long long)(in->since.ms / TIME_SECOND), STR_FMT(from)),
          ret);
    return true;
}

static enum reply book_read(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                            const struct http_reply *answer, struct book_lines *ret)
{
    (void)config;
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    struct book_lines lines = {0};
    Str last = {0};
    for (const struct json *l = payload_first(json_get(root, "data")); l; l = l->next) {
        struct book_entry e = {.ref = payload_ref(l, "id"), .payment_ref = payload_id(l, "payment_intent")};
        Str status = json_text(l, "status");
        last = e.ref;
        if (in->book == BOOK_CHARGES && !payload_flag(l, "paid")) continue;
        if (in->book == BOOK_REFUNDS && (str_eq(status, STR("failed")) || str_eq(status, STR("canceled")))) continue;
        e.is_decided =
            str_eq(status, STR("won")) || str_eq(status, STR("lost")) || str_eq(status, STR("warning_closed"));
        if (!currency_read(a, json_text(l, "currency"), &e.currency)) continue;
        if (!e.payment_ref.len || !amount(l, "amount", e.currency, &e.amount)) continue;
        e.order_ref = payload_ref(json_get(l, "metadata"), "order_id");
        book_add(a, &lines, e);
    }
    if (payload_flag(root, "has_more") && ref_is_safe(last)) lines.next = last;
    *ret = lines;
    return REPLY_OK;
}

static bool ask_call(struct arena *a, const struct gateway_config *config, Str group_ref, struct http_call *ret)
{
    if (!ref_is_safe(group_ref)) return false;
    start(a, config, "GET", str_printf(a, "/v1/checkout/sessions/%.*s", STR_FMT(group_ref)), ret);
    return true;
}

static enum reply ask_read(struct arena *a, const struct gateway_config *config, const struct http_reply *answer,
                           struct payment_event *ret)
{
    (void)config;
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    struct payment_event e = {
        .kind = session_kind(root),
        .type = STR("checkout.session"),
        .mode = payload_flag(root, "livemode") ? EVENT_MODE_LIVE : EVENT_MODE_TEST,
    };
    read_session(a, root, &e);
    if (!e.group_ref.len) return REPLY_RETRY;
    *ret = e;
    return REPLY_OK;
}

const struct gateway gateway_stripe = {
    .name = S("stripe"),
    .provider = PROVIDER_STRIPE,
    .expires = true,
    .problem = problem,
    .verify = verify,
    .parse = parse,
    .create_call = create_call,
    .create_read = create_read,
    .refund_call = refund_call,
    .refund_read = refund_read,
    .refund_key_ms = TIME_DAY,
    .refund_find_call = refund_find_call,
    .refund_find_read = refund_find_read,
    .close_call = close_call,
    .has_book = {true, true, true},
    .names_refunds = true,
    .book_call = book_call,
    .book_read = book_read,
    .ask_call = ask_call,
    .ask_read = ask_read,
};
