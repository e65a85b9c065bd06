/* gateway/link.c - see link.h. */
#include "gateway/link.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "gateway/access_tokens.h"
#include "gateway/certificates.h"
#include "gateway/lane.h"

#define FULL_WAIT_MS TIME_SECOND
#define OPEN_WAIT_MS (5 * TIME_SECOND)

struct gateway_link {
    struct outbound *outbound;
    pthread_mutex_t lock; /* of self_url */
    Str self_url;
    struct access_tokens tokens;
    struct certificate_store certificates;
    struct lanes lanes;
};

struct gateway_link *link_new(struct outbound *outbound)
{
    struct gateway_link *l = memory_zeroed(1, sizeof *l);
    l->outbound = outbound;
    pthread_mutex_init(&l->lock, NULL);
    access_tokens_init(&l->tokens);
    certificates_init(&l->certificates, outbound);
    lanes_init(&l->lanes);
    return l;
}

void link_free(struct gateway_link *l)
{
    if (!l) return;
    access_tokens_done(&l->tokens);
    certificates_done(&l->certificates);
    lanes_done(&l->lanes);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

int link_left_alone(struct gateway_link *l)
{
    return lanes_open(&l->lanes);
}

void link_set_self(struct gateway_link *l, Str url)
{
    pthread_mutex_lock(&l->lock);
    l->self_url = url;
    pthread_mutex_unlock(&l->lock);
}

static void send_job(struct gateway_link *l, const struct gateway_config *config, struct outbound_job *job,
                     struct gateway_op *op)
{
    enum lane_verdict v = lane_enter(&l->lanes, config, op->in_background);
    if (v == LANE_FREE) {
        outbound_call(l->outbound, job);
        bool has_answered = !job->failure && job->reply.status < 500;
        lane_leave(&l->lanes, config, op->in_background, has_answered);
        return;
    }
    op->wait_ms = v == LANE_FULL ? FULL_WAIT_MS : OPEN_WAIT_MS;
    job->failure = v == LANE_FULL ? "too many calls are under way" : "the gateway has not answered lately";
}

/* One exchange. The status is 0 when no answer came; *failure then says why. */
static struct http_reply exchange(struct gateway_link *l, const struct gateway_config *config,
                                  const struct http_call *call, struct gateway_op *op, struct arena *a)
{
    struct outbound_job job = {
        .call = call, .base_url = gateway_base_url(config), .timeout_ms = op->timeout_ms, .arena = a};
    send_job(l, config, &job, op);
    op->retry_after_s = job.retry_after_s;
    op->failure = job.failure;
    op->body = job.reply.body;
    if (!job.failure && (job.reply.status < 200 || job.reply.status > 299))
        op->failure = str_cstr(a, str_printf(a, "answered %d", job.reply.status));
    if (op->failure && !op->wait_ms)
        log_event(LOG_WARN, "gateway_call_failed", LOGS("gateway", config->label), LOGC("why", op->failure));
    return job.reply;
}

struct certificates link_certificates(struct gateway_link *l, Str network)
{
    return (struct certificates){&l->certificates, network, certificate_find};
}

static enum reply authorize(struct gateway_link *l, const struct gateway *g, struct gateway_config *config,
                            const struct cache_key *owner, struct gateway_op *op, struct arena *a)
{
    struct http_call call;
    int64_t seconds = 0;
    if (access_token_find(&l->tokens, owner, a, &config->access_token)) return REPLY_OK;
    if (!g->auth_call(a, config, &call)) return REPLY_REFUSED;
    struct http_reply reply = exchange(l, config, &call, op, a);
    enum reply r = g->auth_read(a, &reply, &config->access_token, &seconds);
    if (r == REPLY_OK)
        access_token_keep(&l->tokens, owner, config->access_token, seconds);
    else if (!op->failure)
        op->failure = "the answer cannot be understood";
    return r;
}

/* An operation's own call, or one of those that precede it. */
enum op_step { STEP_ACT, STEP_FIND, STEP_METHOD };

static bool describe(const struct gateway *g, const struct gateway_config *config, const struct gateway_op *op,
                     enum op_step step, struct arena *a, struct http_call *ret)
{
    if (step == STEP_METHOD) return g->method_call(a, config, &op->refund, ret);
    bool finding = step == STEP_FIND;
    switch (op->kind) {
    case OP_CREATE:
        if (finding) return g->find_call(a, config, &op->pay, ret);
        if (!g->create_call(a, config, &op->pay, ret)) return false;
        if (op->stored.len) ret->body = op->stored;
        return true;
    case OP_CAPTURE: return g->capture_call && g->capture_call(a, config, op->group_ref, op->reference, ret);
    case OP_REFUND:
        return finding ? g->refund_find_call(a, config, &op->refund, ret) : g->refund_call(a, config, &op->refund, ret);
    case OP_CONFIRM: return g->confirm_call && g->confirm_call(a, config, &op->claim, ret);
    case OP_ASK: return g->ask_call(a, config, op->group_ref, ret);
    case OP_BOOK: return g->book_call && g->book_call(a, config, &op->book, ret);
    case OP_CLOSE: return g->close_call && g->close_call(a, config, op->group_ref, op->reference, ret);
    }
    return false;
}

static enum reply understand(const struct gateway *g, const struct gateway_config *config, struct gateway_op *op,
                             enum op_step step, struct arena *a, const struct http_reply *reply)
{
    if (step == STEP_METHOD) return g->method_read(a, reply, &op->refund.method);
    bool finding = step == STEP_FIND;
    switch (op->kind) {
    case OP_CREATE: return finding ? g->find_read(a, reply, &op->pay, &op->page) : g->create_read(a, reply, &op->page);
    case OP_CAPTURE: return g->capture_read(a, config, reply, &op->event);
    case OP_REFUND:
        return finding ? g->refund_find_read(a, reply, &op->refund, &op->refunded)
                       : g->refund_read(a, reply, &op->refunded);
    case OP_CONFIRM: return g->confirm_read(a, config, &op->claim, reply, &op->event);
    case OP_ASK: return g->ask_read(a, config, reply, &op->event);
    case OP_BOOK: return g->book_read(a, config, &op->book, reply, &op->lines);
    case OP_CLOSE: return reply_of_status(reply->status);
    }
    return REPLY_REFUSED;
}

static enum reply attempt(struct gateway_link *l, const struct gateway *g, const struct gateway_config *config,
                          struct gateway_op *op, enum op_step step, struct arena *a)
{
    struct http_call call;
    op->failure = "the call cannot be made";
    if (!describe(g, config, op, step, a, &call)) return REPLY_REFUSED;
    struct http_reply reply = exchange(l, config, &call, op, a);
    enum reply r = understand(g, config, op, step, a, &reply);
    if (r == REPLY_OK) op->failure = NULL;
    if (r != REPLY_OK && !op->failure) op->failure = "the answer cannot be understood";
    return r;
}

/* Tried once more with a fresh access token when the kept one is no longer accepted. */
static enum reply attempt_authorized(struct gateway_link *l, const struct gateway *g, struct gateway_config *config,
                                     struct gateway_op *op, enum op_step step, struct arena *a)
{
    if (!g->auth_call) return attempt(l, g, config, op, step, a);
    struct cache_key owner = cache_key_of(config->api_key, config->api_secret, gateway_base_url(config));
    enum reply r = REPLY_UNAUTHORIZED;
    for (int i = 0; i < 2 && r == REPLY_UNAUTHORIZED; i++) {
        if (i) access_token_forget(&l->tokens, &owner);
        r = authorize(l, g, config, &owner, op, a);
        if (r != REPLY_OK) return r;
        r = attempt(l, g, config, op, step, a);
    }
    return r;
}

static bool can_find(const struct gateway *g, const struct gateway_op *op)
{
    if (!op->may_exist) return false;
    return op->kind == OP_CREATE ? g->find_call != NULL : op->kind == OP_REFUND && g->refund_find_call;
}

enum reply link_run(struct gateway_link *l, const struct gateway_config *given, struct gateway_op *op, struct arena *a)
{
    const struct gateway *g = gateway_of(given->provider);
    struct gateway_config config = *given;
    if (config.provider == PROVIDER_SANDBOX && !config.base_url.len) {
        pthread_mutex_lock(&l->lock);
        config.base_url = l->self_url;
        pthread_mutex_unlock(&l->lock);
    }
    op->failure = "no API key is configured";
    if (!config.api_key.len) return REPLY_REFUSED;
    if (can_find(g, op)) {
        enum reply r = attempt_authorized(l, g, &config, op, STEP_FIND, a);
        if (r != REPLY_REFUSED) return r; /* found, or not known */
    }
    if (op->kind == OP_REFUND && g->method_call) {
        enum reply r = attempt_authorized(l, g, &config, op, STEP_METHOD, a);
        if (r != REPLY_OK) return r;
    }
    enum reply r = attempt_authorized(l, g, &config, op, STEP_ACT, a);
    /* Refused because another attempt has made it in the meantime? */
    if (r != REPLY_REFUSED || op->kind != OP_CREATE || !g->find_call) return r;
    const char *failure = op->failure;
    if (attempt_authorized(l, g, &config, op, STEP_FIND, a) == REPLY_OK) return REPLY_OK;
    op->failure = failure;
    return REPLY_REFUSED;
}

Str link_create_body(struct arena *a, const struct gateway_config *config, const struct pay_request *pay)
{
    struct http_call call;
    return gateway_of(config->provider)->create_call(a, config, pay, &call) ? call.body : (Str){0};
}

#define CONFIRM_TIMEOUT_MS 10000

enum err link_confirm(struct gateway_link *l, const struct gateway_config *config, struct payment_event *event,
                      struct arena *a)
{
    if (!gateway_of(config->provider)->confirms || event->kind == EVENT_IGNORED || event->review) return OK;
    if (!config->api_key.len) {
        event->review = "the event cannot be confirmed without an API key";
        return OK;
    }
    struct gateway_op op = {.kind = OP_CONFIRM, .claim = *event, .timeout_ms = CONFIRM_TIMEOUT_MS};
    switch (link_run(l, config, &op, a)) {
    case REPLY_OK: *event = op.event; return OK;
    case REPLY_REFUSED:
        event->review = "the gateway's API does not confirm the event";
        event->has_amount = event->has_refunded_total = false; /* none of its claims are kept as facts */
        return OK;
    case REPLY_RETRY:
    case REPLY_UNAUTHORIZED: break;
    }
    return ERR_UNAVAILABLE;
}
