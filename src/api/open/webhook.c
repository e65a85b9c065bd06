/* api/open/webhook.c - POST /webhook/{gateway}: what payment gateways tell us.
 *
 * The signature comes first, on the bytes as they were sent; nothing is read from them before. Then the message is
 * read, confirmed where its gateway has to be asked, and takes effect in one transaction together with its own row.
 * Every genuine message is answered 200, even one that does not concern us; a gateway is made to try again only when
 * that may help. */
#include "api/tables.h"
#include "base/log.h"
#include "domain/payment_apply.h"
#include "serve/app.h"
#include "serve/metrics.h"
#include "serve/request.h"

#define WEBHOOK_BYTES_MAX (256 * 1024)

struct incoming {
    struct gateway_config *gateways; /* that the address may stand for */
    size_t count;
    const struct gateway_config *gateway; /* whose signature it has */
    struct payment_event event;
    struct payment_outcome outcome;
};

static enum err read_gateways(struct request *req, struct incoming *in)
{
    return gateway_config_named(req->db, req->params[0], &in->gateways, &in->count);
}
REQUEST_STEP(read_gateways);

/* The first gateway whose signature this is. When there is none, a gateway that could not check outweighs those that
 * refused: the sender should try again. */
static enum verdict verify(struct request *req, struct incoming *in, const struct webhook *hook)
{
    struct certificates certs = link_certificates(req->app->link, req->exchange->network);
    enum verdict worst = VERDICT_BAD;
    for (size_t i = 0; i < in->count; i++) {
        const struct gateway_config *config = &in->gateways[i];
        enum verdict v = gateway_of(config->provider)->verify(config, hook, &certs, req->arena, req->now);
        if (v == VERDICT_OK) in->gateway = config;
        if (v == VERDICT_OK) return v;
        if (v == VERDICT_UNAVAILABLE) worst = v;
    }
    return worst;
}

static enum err receive(struct request *req, struct incoming *in)
{
    return payment_receive(req->db, in->gateway, &in->event, req->raw_body, req->now, &in->outcome);
}
REQUEST_STEP(receive);

static enum err refuse(struct request *req)
{
    metrics_event(req->app->metrics, METRIC_SIGNATURE_REFUSED);
    return ERR_SIGNATURE_INVALID;
}

static enum err post_webhook(struct request *req)
{
    struct incoming *in = arena_new(req->arena, struct incoming);
    enum err e = request_step(req, TX_READ, read_gateways, in);
    if (e) return e;
    if (!in->count) return ERR_NOT_FOUND;
    const struct http_head *head = &req->exchange->head;
    struct webhook hook = {.headers = head->headers, .header_count = head->header_count, .raw = req->raw_body};
    switch (verify(req, in, &hook)) {
    case VERDICT_OK: break;
    case VERDICT_UNAVAILABLE: return ERR_UNAVAILABLE;
    default: return refuse(req);
    }
    if (!gateway_of(in->gateway->provider)->parse(req->arena, in->gateway, &hook, &in->event))
        return ERR_MALFORMED_JSON;
    e = link_confirm(req->app->link, in->gateway, &in->event, req->arena);
    if (!e) e = request_step(req, TX_WRITE, receive, in);
    if (e == ERR_SIGNATURE_INVALID) return refuse(req);
    if (e) return e;
    log_event(LOG_INFO, "webhook", LOGS("gateway", in->gateway->label), LOGS("type", in->event.type),
              LOGC("status", webhook_status_names[in->outcome.status]), LOGC("reason", in->outcome.reason),
              LOGI("event", in->outcome.event.v), LOGI("payment", in->outcome.payment.v));
    metrics_webhook(req->app->metrics, in->outcome.status);
    dispatcher_wake(req->app->dispatcher);
    return OK;
}

const struct route webhook_routes[] = {
    {"POST", "/webhook/{gateway}", SCOPE_NONE, TX_SELF, NULL, post_webhook, RAW_BODY | ANY_ACCEPT | CALLS_OUT | URGENT,
     .limit = LIMIT_NONE, .body_bytes_max = WEBHOOK_BYTES_MAX},
    {0},
};
