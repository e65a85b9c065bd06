/* gateway/link.c - see link.h. */
#include "gateway/link.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/timestamp.h"

#define TOKENS_MAX 16
#define TOKEN_BYTES_MAX 4096
#define TOKEN_MARGIN_S 60 /* a token is not used in its last minute */

#define CERTIFICATES_MAX 16
#define CERTIFICATE_BYTES_MAX (64 * 1024)
#define CERTIFICATE_PATH_MAX 192
#define CERTIFICATE_KEPT_NS (INT64_C(24) * 3600 * 1000000000)
#define CERTIFICATE_MISSING_NS                                                                                         \
    (INT64_C(60) * 1000000000) /* an address where nothing was is not asked again so soon                              \
                                */
#define CERTIFICATE_TIMEOUT_MS 5000

struct kept_token {
    uint8_t owner[16]; /* of which credentials at which address */
    int64_t ends_ns;   /* 0: the place is free */
    size_t len;
    char text[TOKEN_BYTES_MAX];
};

struct kept_certificate {
    uint8_t place[16]; /* address and path */
    int64_t ends_ns;
    char *pem; /* NULL: there is none at this place */
    size_t len;
};

struct gateway_link {
    struct outbound *outbound;
    Str self_url;
    pthread_mutex_t lock;
    pthread_cond_t fetched;
    struct kept_token tokens[TOKENS_MAX];
    struct kept_certificate certificates[CERTIFICATES_MAX];
    bool is_fetching; /* one certificate at a time: strangers can make us ask for any */
    uint8_t fetching[16];
};

struct gateway_link *link_new(struct outbound *outbound)
{
    struct gateway_link *l = calloc(1, sizeof *l);
    if (!l) abort();
    l->outbound = outbound;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->fetched, NULL);
    return l;
}

void link_free(struct gateway_link *l)
{
    if (!l) return;
    for (size_t i = 0; i < CERTIFICATES_MAX; i++) free(l->certificates[i].pem);
    sodium_memzero(l->tokens, sizeof l->tokens);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->fetched);
    free(l);
}

void link_set_self(struct gateway_link *l, Str url)
{
    pthread_mutex_lock(&l->lock);
    l->self_url = url;
    pthread_mutex_unlock(&l->lock);
}

static void digest(uint8_t ret[16], Str a, Str b, Str c)
{
    crypto_generichash_state s;
    crypto_generichash_init(&s, NULL, 0, 16);
    const Str parts[] = {a, b, c};
    for (size_t i = 0; i < 3; i++) {
        uint64_t n = parts[i].len;
        crypto_generichash_update(&s, (const unsigned char *)&n, sizeof n);
        crypto_generichash_update(&s, (const unsigned char *)parts[i].ptr, parts[i].len);
    }
    crypto_generichash_final(&s, ret, 16);
}

/* One exchange. The status is 0 when no answer came; *failure then says why. */
static struct http_reply exchange(struct gateway_link *l, const struct gateway_config *config,
                                  const struct http_call *call, struct gateway_op *op, struct arena *a)
{
    struct outbound_job job = {
        .call = call, .base_url = gateway_base_url(config), .timeout_ms = op->timeout_ms, .arena = a};
    outbound_call(l->outbound, &job);
    op->retry_after_s = job.retry_after_s;
    op->failure = job.failure;
    op->body = job.reply.body;
    if (!job.failure && (job.reply.status < 200 || job.reply.status > 299))
        op->failure = str_cstr(a, str_printf(a, "answered %d", job.reply.status));
    if (op->failure)
        log_event(LOG_WARN, "gateway_call_failed", LOGS("gateway", config->label), LOGC("why", op->failure));
    return job.reply;
}

static bool token_find(struct gateway_link *l, const uint8_t owner[16], struct arena *a, Str *ret)
{
    bool found = false;
    int64_t now = time_monotonic_ns();
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < TOKENS_MAX && !found; i++) {
        const struct kept_token *t = &l->tokens[i];
        if (t->ends_ns <= now || memcmp(t->owner, owner, 16) != 0) continue;
        *ret = str_dup(a, (Str){t->text, t->len});
        found = true;
    }
    pthread_mutex_unlock(&l->lock);
    return found;
}

/* In the place of the same owner's, or of the one that ends first. */
static void token_keep(struct gateway_link *l, const uint8_t owner[16], Str text, int64_t seconds)
{
    if (text.len > TOKEN_BYTES_MAX || seconds <= TOKEN_MARGIN_S) return;
    pthread_mutex_lock(&l->lock);
    struct kept_token *at = &l->tokens[0];
    for (size_t i = 0; i < TOKENS_MAX; i++) {
        struct kept_token *t = &l->tokens[i];
        if (t->ends_ns < at->ends_ns) at = t;
        if (memcmp(t->owner, owner, 16) == 0) {
            at = t;
            break;
        }
    }
    memcpy(at->owner, owner, 16);
    memcpy(at->text, text.ptr, text.len);
    at->len = text.len;
    at->ends_ns = time_monotonic_ns() + (seconds - TOKEN_MARGIN_S) * INT64_C(1000000000);
    pthread_mutex_unlock(&l->lock);
}

static void token_forget(struct gateway_link *l, const uint8_t owner[16])
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < TOKENS_MAX; i++)
        if (memcmp(l->tokens[i].owner, owner, 16) == 0) l->tokens[i].ends_ns = 0;
    pthread_mutex_unlock(&l->lock);
}

static enum reply authorize(struct gateway_link *l, const struct gateway *g, struct gateway_config *config,
                            const uint8_t owner[16], struct gateway_op *op, struct arena *a)
{
    struct http_call call;
    int64_t seconds = 0;
    if (token_find(l, owner, a, &config->access_token)) return REPLY_OK;
    if (!g->auth_call(a, config, &call)) return REPLY_REFUSED;
    struct http_reply reply = exchange(l, config, &call, op, a);
    enum reply r = g->auth_read(a, &reply, &config->access_token, &seconds);
    if (r == REPLY_OK) token_keep(l, owner, config->access_token, seconds);
    return r;
}

static bool describe(const struct gateway *g, const struct gateway_config *config, const struct gateway_op *op,
                     bool finding, struct arena *a, struct http_call *ret)
{
    switch (op->kind) {
    case OP_CREATE: return finding ? g->find_call(a, config, &op->pay, ret) : g->create_call(a, config, &op->pay, ret);
    case OP_CAPTURE: return g->capture_call && g->capture_call(a, config, op->group_ref, op->reference, ret);
    case OP_REFUND: return g->refund_call(a, config, &op->refund, ret);
    case OP_CONFIRM: return g->confirm_call && g->confirm_call(a, config, &op->claim, ret);
    case OP_ASK: return g->ask_call(a, config, op->group_ref, ret);
    }
    return false;
}

static enum reply understand(const struct gateway *g, const struct gateway_config *config, struct gateway_op *op,
                             bool finding, struct arena *a, const struct http_reply *reply)
{
    switch (op->kind) {
    case OP_CREATE: return finding ? g->find_read(a, reply, &op->pay, &op->page) : g->create_read(a, reply, &op->page);
    case OP_CAPTURE: return g->capture_read(a, config, reply, &op->event);
    case OP_REFUND: return g->refund_read(a, reply, &op->refunded);
    case OP_CONFIRM: return g->confirm_read(a, config, &op->claim, reply, &op->event);
    case OP_ASK: return g->ask_read(a, config, reply, &op->event);
    }
    return REPLY_REFUSED;
}

static enum reply attempt(struct gateway_link *l, const struct gateway *g, const struct gateway_config *config,
                          struct gateway_op *op, bool finding, struct arena *a)
{
    struct http_call call;
    op->failure = "the call can not be made";
    if (!describe(g, config, op, finding, a, &call)) return REPLY_REFUSED;
    struct http_reply reply = exchange(l, config, &call, op, a);
    enum reply r = understand(g, config, op, finding, a, &reply);
    if (r == REPLY_OK) op->failure = NULL;
    if (r != REPLY_OK && !op->failure) op->failure = "the answer can not be understood";
    return r;
}

/* With a fresh access token once, should the kept one not be taken any more. */
static enum reply attempt_authorized(struct gateway_link *l, const struct gateway *g, struct gateway_config *config,
                                     struct gateway_op *op, bool finding, struct arena *a)
{
    if (!g->auth_call) return attempt(l, g, config, op, finding, a);
    uint8_t owner[16];
    digest(owner, config->api_key, config->api_secret, gateway_base_url(config));
    enum reply r = REPLY_UNAUTHORIZED;
    for (int i = 0; i < 2 && r == REPLY_UNAUTHORIZED; i++) {
        if (i) token_forget(l, owner);
        r = authorize(l, g, config, owner, op, a);
        if (r != REPLY_OK) return r;
        r = attempt(l, g, config, op, finding, a);
    }
    return r;
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
    if (op->kind == OP_CREATE && op->may_exist && g->find_call) {
        enum reply r = attempt_authorized(l, g, &config, op, true, a);
        if (r != REPLY_REFUSED) return r; /* found, or it can not be told */
    }
    return attempt_authorized(l, g, &config, op, false, a);
}

#define CONFIRM_TIMEOUT_MS 10000

enum err link_confirm(struct gateway_link *l, const struct gateway_config *config, struct payment_event *event,
                      struct arena *a)
{
    if (!gateway_of(config->provider)->confirms || event->kind == EVENT_IGNORED || event->review) return OK;
    if (!config->api_key.len) {
        event->review = "it can not be confirmed without an API key";
        return OK;
    }
    struct gateway_op op = {.kind = OP_CONFIRM, .claim = *event, .timeout_ms = CONFIRM_TIMEOUT_MS};
    switch (link_run(l, config, &op, a)) {
    case REPLY_OK: *event = op.event; return OK;
    case REPLY_REFUSED:
        event->review = "the gateway's API does not confirm it";
        event->has_amount = event->has_refunded_total = false; /* nothing that it claims is kept as if it were known */
        return OK;
    case REPLY_RETRY:
    case REPLY_UNAUTHORIZED: break;
    }
    return ERR_UNAVAILABLE;
}

/* ---- certificates ---- */

/* 1: there it is. 0: it is known that nothing is there. -1: not known. */
static int certificate_look(struct gateway_link *l, const uint8_t place[16], struct arena *a, Str *ret)
{
    int64_t now = time_monotonic_ns();
    for (size_t i = 0; i < CERTIFICATES_MAX; i++) {
        const struct kept_certificate *c = &l->certificates[i];
        if (c->ends_ns <= now || memcmp(c->place, place, 16) != 0) continue;
        if (!c->pem) return 0;
        *ret = str_dup(a, (Str){c->pem, c->len});
        return 1;
    }
    return -1;
}

static void certificate_keep(struct gateway_link *l, const uint8_t place[16], Str pem)
{
    struct kept_certificate *at = &l->certificates[0];
    for (size_t i = 1; i < CERTIFICATES_MAX; i++)
        if (l->certificates[i].ends_ns < at->ends_ns) at = &l->certificates[i];
    free(at->pem);
    *at = (struct kept_certificate){.ends_ns =
                                        time_monotonic_ns() + (pem.len ? CERTIFICATE_KEPT_NS : CERTIFICATE_MISSING_NS)};
    memcpy(at->place, place, 16);
    if (!pem.len) return;
    at->pem = malloc(pem.len);
    if (!at->pem) abort();
    memcpy(at->pem, pem.ptr, pem.len);
    at->len = pem.len;
}

static enum verdict certificate_fetch(struct gateway_link *l, const struct gateway_config *config, Str path,
                                      struct arena *a, Str *ret)
{
    Str base = gateway_base_url(config);
    struct http_call call = {.method = "GET", .url = str_printf(a, "%.*s%.*s", STR_FMT(base), STR_FMT(path))};
    struct outbound_job job = {.call = &call,
                               .base_url = base,
                               .timeout_ms = CERTIFICATE_TIMEOUT_MS,
                               .reply_bytes_max = CERTIFICATE_BYTES_MAX,
                               .arena = a};
    outbound_call(l->outbound, &job);
    if (!job.failure && job.reply.status == 200 && job.reply.body.len) {
        *ret = job.reply.body;
        return VERDICT_OK;
    }
    return !job.failure && reply_of_status(job.reply.status) == REPLY_REFUSED ? VERDICT_BAD : VERDICT_UNAVAILABLE;
}

/* Waits while the same one is being fetched. True: it is ours to fetch. */
static bool certificate_turn(struct gateway_link *l, const uint8_t place[16])
{
    while (l->is_fetching && memcmp(l->fetching, place, 16) == 0) pthread_cond_wait(&l->fetched, &l->lock);
    return !l->is_fetching;
}

enum verdict link_certificate(void *ctx, const struct gateway_config *config, Str path, struct arena *a, Str *ret_pem)
{
    struct gateway_link *l = ctx;
    uint8_t place[16];
    if (path.len > CERTIFICATE_PATH_MAX) return VERDICT_BAD;
    digest(place, gateway_base_url(config), path, (Str){0});
    pthread_mutex_lock(&l->lock);
    bool ours = false;
    int known = certificate_look(l, place, a, ret_pem);
    if (known < 0) {
        ours = certificate_turn(l, place);
        known = certificate_look(l, place, a, ret_pem);
        ours = ours && known < 0;
        if (ours) {
            l->is_fetching = true;
            memcpy(l->fetching, place, 16);
        }
    }
    pthread_mutex_unlock(&l->lock);
    if (known >= 0) return known ? VERDICT_OK : VERDICT_BAD;
    if (!ours) return VERDICT_UNAVAILABLE; /* busy with another: the sender will try again */

    enum verdict v = certificate_fetch(l, config, path, a, ret_pem);
    pthread_mutex_lock(&l->lock);
    if (v != VERDICT_UNAVAILABLE) certificate_keep(l, place, v == VERDICT_OK ? *ret_pem : (Str){0});
    l->is_fetching = false;
    pthread_cond_broadcast(&l->fetched);
    pthread_mutex_unlock(&l->lock);
    return v;
}
