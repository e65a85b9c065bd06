/* gateway/razorpay.c - Razorpay: payment links, webhooks signed over the body alone.
 *
 * We make a payment link (group_ref); the customer makes a payment (payment_ref). A success is reported two or three
 * times (payment.captured, order.paid, payment_link.paid): the payment counts, not the event. The body has no event id,
 * and the header's is not signed: the body's hash is the id. Amounts are minor units by ISO 4217. */
#include "gateway/amount.h"
#include "gateway/payload.h"
#include "gateway/provider_call.h"
#include "gateway/signature.h"

#include <sodium.h>

static const char *problem(const struct gateway_config *config, const char **ret_field)
{
    *ret_field = "secrets";
    if (!config->secret_count) return "The secret of the webhook is needed";
    *ret_field = "api_secret";
    if (!config->api_key.len != !config->api_secret.len) return "The key id and the key secret go together";
    return NULL;
}

static enum verdict verify(const struct gateway_config *config, const struct webhook *hook,
                           const struct certificates *certs, struct arena *a, Time now)
{
    (void)certs, (void)a, (void)now;
    return plain_verify(MAC_SHA256, config, webhook_header(hook, "X-Razorpay-Signature"), hook->raw);
}

static bool amount(const struct json *obj, const char *key, Str currency, Money *ret)
{
    int64_t minor;
    if (!currency.len || !json_int64(json_get(obj, key), &minor) || minor < 0) return false;
    *ret = (Money){minor};
    return true;
}

/* `notes` is [] when there are none. */
static Str note(const struct json *entity)
{
    return payload_ref(json_get(entity, "notes"), "order_id");
}

static void read_payment(struct arena *a, const struct json *payload, struct payment_event *e)
{
    const struct json *payment = payload_at(payload, "payment", "entity");
    const struct json *link = payload_at(payload, "payment_link", "entity");
    const struct json *order = payload_at(payload, "order", "entity");
    currency_read(a, json_text(payment, "currency"), &e->currency);
    e->payment_ref = payload_ref(payment, "id");
    e->group_ref = payload_ref(link, "id");
    e->order_ref = note(payment);
    if (!e->order_ref.len) e->order_ref = note(link);
    if (!e->order_ref.len) e->order_ref = note(order);
    e->has_amount = amount(payment, "amount", e->currency, &e->amount);
}

static void read_refund(const struct json *payload, struct payment_event *e)
{
    const struct json *refund = payload_at(payload, "refund", "entity");
    e->refund_ref = payload_ref(refund, "id");
    if (!e->payment_ref.len) e->payment_ref = payload_ref(refund, "payment_id");
    e->has_refunded_total =
        amount(payload_at(payload, "payment", "entity"), "amount_refunded", e->currency, &e->refunded_total);
}

static void read_dispute(struct arena *a, const struct json *payload, struct payment_event *e)
{
    const struct json *dispute = payload_at(payload, "dispute", "entity");
    e->refund_ref = payload_ref(dispute, "id");
    if (!e->payment_ref.len) e->payment_ref = payload_ref(dispute, "payment_id");
    if (!e->currency.len) currency_read(a, json_text(dispute, "currency"), &e->currency);
    e->has_amount = amount(dispute, "amount", e->currency, &e->amount);
    e->due_at = payload_seconds(dispute, "respond_by");
    if (e->kind != EVENT_DISPUTE_CLOSED) return;
    /* What was really taken, where the event says so. A dispute that was closed without a verdict took nothing. */
    Money deducted;
    bool says = amount(dispute, "amount_deducted", e->currency, &deducted) && deducted.minor > 0;
    bool is_lost = str_eq(e->type, STR("payment.dispute.lost"));
    e->outcome = says || is_lost                               ? DISPUTE_LOST
                 : str_eq(e->type, STR("payment.dispute.won")) ? DISPUTE_WON
                                                               : DISPUTE_WITHDRAWN;
    if (says) e->amount = deducted;
}

static enum payment_event_kind kind_of(Str type)
{
    static const struct {
        Str type;
        enum payment_event_kind kind;
    } kinds[] = {
        {S("payment.captured"), EVENT_SUCCEEDED},
        {S("order.paid"), EVENT_SUCCEEDED},
        {S("payment_link.paid"), EVENT_SUCCEEDED},
        {S("payment.failed"), EVENT_FAILED},
        {S("payment_link.expired"), EVENT_EXPIRED},
        {S("payment_link.cancelled"), EVENT_EXPIRED},
        {S("payment.authorized"), EVENT_PENDING},
        {S("refund.processed"), EVENT_REFUNDED},
        {S("refund.failed"), EVENT_REFUND_FAILED},
        {S("payment.dispute.created"), EVENT_DISPUTED},
        {S("payment.dispute.won"), EVENT_DISPUTE_CLOSED},
        {S("payment.dispute.lost"), EVENT_DISPUTE_CLOSED},
        {S("payment.dispute.closed"), EVENT_DISPUTE_CLOSED},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (str_eq(type, kinds[i].type)) return kinds[i].kind;
    return EVENT_IGNORED;
}

static bool parse(struct arena *a, const struct gateway_config *config, const struct webhook *hook,
                  struct payment_event *ret)
{
    (void)config;
    const struct json *root;
    if (json_read(a, hook->raw, &root, NULL) != OK) return false;
    struct payment_event e = {.type = payload_ref(root, "event"), .occurred_at = payload_seconds(root, "created_at")};
    if (!e.type.len) return false;
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)hook->raw.ptr, hook->raw.len);
    e.event_id = hex_encode(a, hash, sizeof hash);
    e.kind = kind_of(e.type);

    const struct json *payload = json_get(root, "payload");
    if (e.kind != EVENT_IGNORED) read_payment(a, payload, &e);
    if (e.kind == EVENT_REFUNDED || e.kind == EVENT_REFUND_FAILED) read_refund(payload, &e);
    if (e.kind == EVENT_DISPUTED || e.kind == EVENT_DISPUTE_CLOSED) read_dispute(a, payload, &e);
    *ret = e;
    return true;
}

static void start(struct arena *a, const struct gateway_config *config, const char *method, Str path,
                  struct http_call *ret)
{
    *ret = (struct http_call){.method = method};
    call_url(a, config, ret, path);
    call_basic_auth(a, ret, config->api_key, config->api_secret);
}

static bool create_call(struct arena *a, const struct gateway_config *config, const struct pay_request *in,
                        struct http_call *ret)
{
    struct json_body body;
    struct json_writer *w = json_body_begin(&body, a);
    json_kv_int(w, "amount", in->amount.minor);
    json_kv_str(w, "currency", in->currency);
    json_kv_str(w, "reference_id", in->reference);
    json_kv_str(w, "description", in->description);
    if (in->email.len) {
        json_open(w, "customer");
        json_kv_str(w, "email", in->email);
        json_end_object(w);
    }
    json_open(w, "notify");
    json_kv_bool(w, "sms", false);
    json_kv_bool(w, "email", false);
    json_end_object(w);
    json_open(w, "notes");
    json_kv_str(w, "order_id", in->order_ref);
    json_kv_str(w, "reference", in->reference);
    json_end_object(w);
    if (in->expires_at.ms) json_kv_int(w, "expire_by", in->expires_at.ms / TIME_SECOND);
    if (in->success_url.len) {
        json_kv_str(w, "callback_url", in->success_url);
        json_kv_cstr(w, "callback_method", "get");
    }
    start(a, config, "POST", STR("/v1/payment_links"), ret);
    return call_json(ret, &body);
}

static enum reply page_of(const struct json *link, struct pay_page *ret)
{
    struct pay_page page = {
        .group_ref = payload_ref(link, "id"),
        .url = json_text(link, "short_url"),
        .expires_at = payload_seconds(link, "expire_by"),
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
    struct buf path;
    buf_init(&path, a, CALL_BODY_MAX);
    buf_lit(&path, "/v1/payment_links?reference_id=");
    buf_url_encoded(&path, in->reference);
    start(a, config, "GET", buf_str(&path), ret);
    return !path.full;
}

static enum reply find_read(struct arena *a, const struct http_reply *answer, const struct pay_request *in,
                            struct pay_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    const struct json *links = json_get(root, "payment_links");
    for (const struct json *link = payload_first(links); link; link = link->next)
        if (str_eq(json_text(link, "reference_id"), in->reference)) return page_of(link, ret);
    return REPLY_REFUSED;
}

static bool refund_call(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                        struct http_call *ret)
{
    if (!ref_is_safe(in->payment_ref)) return false;
    struct json_body body;
    struct json_writer *w = json_body_begin(&body, a);
    json_kv_int(w, "amount", in->amount.minor);
    json_kv_str(w, "receipt", in->reference);
    start(a, config, "POST", str_printf(a, "/v1/payments/%.*s/refund", STR_FMT(in->payment_ref)), ret);
    call_header(ret, STR("X-Refund-Idempotency"), in->reference);
    return call_json(ret, &body);
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
    if (!ref_is_safe(in->payment_ref)) return false;
    start(a, config, "GET", str_printf(a, "/v1/payments/%.*s/refunds?count=100", STR_FMT(in->payment_ref)), ret);
    return true;
}

static enum reply refund_find_read(struct arena *a, const struct http_reply *answer, const struct refund_request *in,
                                   struct refund_page *ret)
{
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    const struct json *refunds = json_get(root, "items");
    for (const struct json *refund = payload_first(refunds); refund; refund = refund->next)
        if (str_eq(json_text(refund, "receipt"), in->reference)) return refund_read_json(refund, (Str){0}, ret);
    return REPLY_REFUSED;
}

static bool close_call(struct arena *a, const struct gateway_config *config, Str group_ref, Str reference,
                       struct http_call *ret)
{
    (void)reference;
    if (!ref_is_safe(group_ref)) return false;
    start(a, config, "POST", str_printf(a, "/v1/payment_links/%.*s/cancel", STR_FMT(group_ref)), ret);
    return true;
}

#define BOOK_PAGE 100

static bool book_call(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                      struct http_call *ret)
{
    static const char *const paths[BOOK_COUNT] = {"payments", "refunds", "disputes"};
    /* The list of disputes takes no dates, and parameters that are not known are refused. */
    Str dates = in->book == BOOK_DISPUTES ? STR("")
                                          : str_printf(a, "from=%lld&to=%lld&", (long long)(in->since.ms / TIME_SECOND),
                                                       (long long)(in->until.ms / TIME_SECOND));
    start(a, config, "GET",
          str_printf(a, "/v1/%s?%.*scount=%d&skip=%.*s", paths[in->book], STR_FMT(dates), BOOK_PAGE,
                     STR_FMT(in->next.len ? in->next : STR("0"))),
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
    int64_t count = 0, skipped = 0;
    for (const struct json *l = payload_first(json_get(root, "items")); l; l = l->next) {
        struct book_entry e = {.ref = payload_ref(l, "id"), .payment_ref = payload_ref(l, "payment_id")};
        Str status = json_text(l, "status");
        count++;
        if (in->book == BOOK_CHARGES) {
            if (!str_eq(status, STR("captured")) && !str_eq(status, STR("refunded"))) continue;
            e.payment_ref = e.ref;
            e.order_ref = note(l);
        }
        if (in->book == BOOK_REFUNDS && str_eq(status, STR("failed"))) continue;
        e.is_decided = str_eq(status, STR("won")) || str_eq(status, STR("lost")) || str_eq(status, STR("closed"));
        if (!currency_read(a, json_text(l, "currency"), &e.currency)) continue;
        if (!e.payment_ref.len || !amount(l, "amount", e.currency, &e.amount)) continue;
        book_add(a, &lines, e);
    }
    str_to_int64(in->next, &skipped);
    if (count == BOOK_PAGE) lines.next = str_printf(a, "%lld", (long long)skipped + count);
    *ret = lines;
    return REPLY_OK;
}

static bool ask_call(struct arena *a, const struct gateway_config *config, Str group_ref, struct http_call *ret)
{
    if (!ref_is_safe(group_ref)) return false;
    start(a, config, "GET", str_printf(a, "/v1/payment_links/%.*s", STR_FMT(group_ref)), ret);
    return true;
}

static enum reply ask_read(struct arena *a, const struct gateway_config *config, const struct http_reply *answer,
                           struct payment_event *ret)
{
    (void)config;
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    Str status = json_text(root, "status");
    struct payment_event e = {
        .kind = EVENT_PENDING,
        .type = STR("payment_link"),
        .group_ref = payload_ref(root, "id"),
        .payment_ref = payload_ref(payload_first(json_get(root, "payments")), "payment_id"),
        .order_ref = note(root),
    };
    if (!e.group_ref.len) return REPLY_RETRY;
    if (str_eq(status, STR("paid"))) e.kind = EVENT_SUCCEEDED;
    if (str_eq(status, STR("cancelled")) || str_eq(status, STR("expired"))) e.kind = EVENT_EXPIRED;
    currency_read(a, json_text(root, "currency"), &e.currency);
    e.has_amount = amount(root, "amount_paid", e.currency, &e.amount);
    *ret = e;
    return REPLY_OK;
}

const struct gateway gateway_razorpay = {
    .name = S("razorpay"),
    .provider = PROVIDER_RAZORPAY,
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
    .refund_key_ms = TIME_DAY, /* not documented: as short as the shortest that is */
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
