/* gateway/sandbox.c - the sandbox's adapter; domain/sandbox_message.h explains the sandbox itself. Amounts are minor
 * units by ISO 4217; signatures are stamped with a time. */
#include "gateway/sandbox.h"

#include "gateway/amount.h"
#include "gateway/payload.h"
#include "gateway/provider_call.h"
#include "gateway/signature.h"

static const struct {
    Str type;
    enum payment_event_kind kind;
} types[] = {
    {S("payment.succeeded"), EVENT_SUCCEEDED},
    {S("payment.failed"), EVENT_FAILED},
    {S("payment.pending"), EVENT_PENDING},
    {S("payment.refunded"), EVENT_REFUNDED},
    {S("refund.failed"), EVENT_REFUND_FAILED},
    {S("dispute.opened"), EVENT_DISPUTED},
    {S("payment.expired"), EVENT_EXPIRED},
    {S("dispute.closed"), EVENT_DISPUTE_CLOSED},
    {{0}, EVENT_IGNORED},
};

Str sandbox_body(struct arena *a, const struct sandbox_message *m)
{
    struct json_body body;
    struct json_writer *w = json_body_begin(&body, a);
    Str type = {0};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].kind == m->kind) type = types[i].type;
    json_kv_str(w, "id", m->event_id);
    json_kv_str(w, "type", type);
    json_kv_int(w, "created", m->at.ms / TIME_SECOND);
    json_open(w, "data");
    json_kv_str(w, "payment", m->payment_ref);
    json_kv_str(w, "order_ref", m->order_ref);
    json_kv_int(w, "amount", m->amount.minor);
    json_kv_str(w, "currency", m->currency);
    if (m->refund_ref.len) json_kv_str(w, "refund", m->refund_ref);
    if (m->kind == EVENT_REFUNDED) json_kv_int(w, "refunded_total", m->refunded_total.minor);
    if (m->kind == EVENT_DISPUTE_CLOSED) json_kv_cstr(w, "outcome", dispute_outcome_names[m->outcome]);
    json_end_object(w);
    json_end_object(w);
    return buf_str(&body.bytes);
}

static const char *problem(const struct gateway_config *config, const char **ret_field)
{
    *ret_field = "secrets";
    return config->secret_count ? NULL : "The sandbox needs a secret to sign with";
}

static enum verdict verify(const struct gateway_config *config, const struct webhook *hook,
                           const struct certificates *certs, struct arena *a, Time now)
{
    (void)certs, (void)a;
    return stamped_verify(config, webhook_header(hook, SANDBOX_SIGNATURE), hook->raw, now);
}

static bool amount(const struct json *obj, const char *key, Money *ret)
{
    int64_t minor;
    if (!json_int64(json_get(obj, key), &minor) || minor < 0) return false;
    *ret = (Money){minor};
    return true;
}

static void read_data(struct arena *a, const struct json *data, struct payment_event *e)
{
    e->payment_ref = payload_ref(data, "payment");
    e->group_ref = e->payment_ref;
    e->order_ref = payload_ref(data, "order_ref");
    e->refund_ref = payload_ref(data, "refund");
    Str outcome = json_text(data, "outcome");
    for (int i = 0; dispute_outcome_names[i]; i++)
        if (str_eq(outcome, str_from(dispute_outcome_names[i]))) e->outcome = (enum dispute_outcome)i;
    if (!currency_read(a, json_text(data, "currency"), &e->currency)) return;
    e->has_amount = amount(data, "amount", &e->amount);
    e->has_refunded_total = amount(data, "refunded_total", &e->refunded_total);
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
        .mode = EVENT_MODE_TEST,
    };
    if (!e.event_id.len || !e.type.len) return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_eq(e.type, types[i].type)) e.kind = types[i].kind;
    read_data(a, json_get(root, "data"), &e);
    *ret = e;
    return true;
}

static void start(struct arena *a, const struct gateway_config *config, const char *method, Str path,
                  struct http_call *ret)
{
    *ret = (struct http_call){.method = method};
    call_url(a, config, ret, str_printf(a, "/sandbox/api/payments%.*s", STR_FMT(path)));
    call_token_auth(a, ret, STR("Sandbox"), config->api_key);
}

static bool create_call(struct arena *a, const struct gateway_config *config, const struct pay_request *in,
                        struct http_call *ret)
{
    struct json_body body;
    struct json_writer *w = json_body_begin(&body, a);
    json_kv_str(w, "reference", in->reference);
    json_kv_str(w, "order_ref", in->order_ref);
    json_kv_str(w, "description", in->description);
    json_kv_int(w, "amount", in->amount.minor);
    json_kv_str(w, "currency", in->currency);
    if (in->success_url.len) json_kv_str(w, "success_url", in->success_url);
    if (in->cancel_url.len) json_kv_str(w, "cancel_url", in->cancel_url);
    start(a, config, "POST", STR(""), ret);
    call_header(ret, STR("Idempotency-Key"), in->reference);
    return call_json(ret, &body);
}

static enum reply create_read(struct arena *a, const struct http_reply *answer, struct pay_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    const struct json *data = json_get(root, "data");
    struct pay_page page = {
        .group_ref = payload_ref(data, "id"), .payment_ref = payload_ref(data, "id"), .url = json_text(data, "url")};
    return page_read(page, ret);
}

static bool refund_call(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                        struct http_call *ret)
{
    if (!ref_is_safe(in->payment_ref)) return false;
    struct json_body body;
    struct json_writer *w = json_body_begin(&body, a);
    json_kv_int(w, "amount", in->amount.minor);
    start(a, config, "POST", str_printf(a, "/%.*s/refund", STR_FMT(in->payment_ref)), ret);
    call_header(ret, STR("Idempotency-Key"), in->reference);
    return call_json(ret, &body);
}

static enum reply refund_read(struct arena *a, const struct http_reply *answer, struct refund_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    return refund_read_json(json_get(root, "data"), (Str){0}, ret);
}

static bool close_call(struct arena *a, const struct gateway_config *config, Str group_ref, Str reference,
                       struct http_call *ret)
{
    (void)reference;
    if (!ref_is_safe(group_ref)) return false;
    start(a, config, "POST", str_printf(a, "/%.*s/close", STR_FMT(group_ref)), ret);
    return true;
}

static bool ask_call(struct arena *a, const struct gateway_config *config, Str group_ref, struct http_call *ret)
{
    if (!ref_is_safe(group_ref)) return false;
    start(a, config, "GET", str_printf(a, "/%.*s", STR_FMT(group_ref)), ret);
    return true;
}

static enum reply ask_read(struct arena *a, const struct gateway_config *config, const struct http_reply *answer,
                           struct payment_event *ret)
{
    (void)config;
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    const struct json *data = json_get(root, "data");
    struct payment_event e = {.kind = EVENT_PENDING, .type = STR("payment"), .mode = EVENT_MODE_TEST};
    read_data(a, data, &e);
    if (!e.payment_ref.len) return REPLY_RETRY;
    if (str_eq(json_text(data, "status"), STR("paid"))) e.kind = EVENT_SUCCEEDED;
    if (str_eq(json_text(data, "status"), STR("failed"))) e.kind = EVENT_FAILED;
    if (str_eq(json_text(data, "status"), STR("expired")) || str_eq(json_text(data, "status"), STR("closed")))
        e.kind = EVENT_EXPIRED;
    *ret = e;
    return REPLY_OK;
}

const struct gateway gateway_sandbox = {
    .name = S("sandbox"),
    .provider = PROVIDER_SANDBOX,
    .problem = problem,
    .verify = verify,
    .parse = parse,
    .create_call = create_call,
    .create_read = create_read,
    .refund_call = refund_call,
    .refund_read = refund_read,
    .refund_key_ms = INT64_MAX,
    .close_call = close_call,
    .ask_call = ask_call,
    .ask_read = ask_read,
};
