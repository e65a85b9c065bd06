/* tests/sim/provider.c - see provider.h. The wrapped functions take the place of outbound/outbound.h. */
#include "provider.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timestamp.h"
#include "outbound/outbound.h"
#include "schedule.h"
#include "seed.h"
#include "wire.h"

#define MS INT64_C(1000000) /* in ns */

static struct paying *present;
static struct random moods;

void provider_make(struct paying *p)
{
    *p = (struct paying){0};
    for (int i = 0; i < SESSIONS; i++) p->sessions[i].made_at = NOT_YET;
}

void provider_use(struct paying *p, const size_t *steps, uint64_t seed)
{
    present = p;
    if (p) p->steps = steps;
    random_seed(&moods, seed);
}

static size_t now_step(void)
{
    return *present->steps;
}

static void cut_time(size_t *at, size_t step)
{
    if (*at != NOT_YET) *at = *at > step ? NOT_YET : 0;
}

void provider_cut(struct paying *p, size_t step)
{
    for (int i = 0; i < SESSIONS; i++) {
        struct session *s = &p->sessions[i];
        cut_time(&s->made_at, step);
        cut_time(&s->paid_at, step);
        cut_time(&s->closed_at, step);
        for (int n = 0; n < REFUNDS; n++) cut_time(&s->refunds[n].made_at, step);
        for (int n = 0; n < HOOKS; n++) {
            cut_time(&s->hooks[n].heard_at, step);
            s->hooks[n].is_open = false;
            s->hooks[n].times = s->hooks[n].heard_at == 0;
        }
    }
}

struct session *provider_find(struct paying *p, const char *key)
{
    for (int i = 0; i < SESSIONS; i++)
        if (p->sessions[i].made_at != NOT_YET && strcmp(p->sessions[i].key, key) == 0) return &p->sessions[i];
    return NULL;
}

bool provider_pay(struct paying *p, struct session *s, int64_t amount)
{
    if (s->closed_at != NOT_YET || s->paid_at != NOT_YET) return false;
    s->paid_at = *p->steps;
    s->paid = amount;
    return true;
}

int64_t provider_refunded(const struct session *s, size_t step)
{
    int64_t sum = 0;
    for (int i = 0; i < REFUNDS; i++)
        if (s->refunds[i].made_at != NOT_YET && s->refunds[i].made_at <= step) sum += s->refunds[i].amount;
    return sum;
}

static int number_of(const struct paying *p, const struct session *s)
{
    return (int)(s - p->sessions);
}

/* ---- calls of the store ---- */

static bool form_value(Str body, const char *name, char *ret, size_t bytes)
{
    char start[REF_MAX];
    size_t n = (size_t)snprintf(start, sizeof start, "%s=", name);
    for (size_t i = 0; i + n <= body.len; i++) {
        if (memcmp(body.ptr + i, start, n) != 0 || (i && body.ptr[i - 1] != '&')) continue;
        size_t end = i + n;
        while (end < body.len && body.ptr[end] != '&') end++;
        snprintf(ret, bytes, "%.*s", (int)(end - i - n), body.ptr + i + n);
        return true;
    }
    return false;
}

static void header(const struct http_call *call, const char *name, char *ret, size_t bytes)
{
    for (size_t i = 0; i < call->header_count; i++)
        if (str_eq_nocase(call->headers[i].name, str_from(name)))
            snprintf(ret, bytes, "%.*s", STR_FMT(call->headers[i].value));
}

static struct http_reply say(struct arena *a, int status, const char *text)
{
    return (struct http_reply){status, str_printf(a, "%s", text)};
}

static void session_json(const struct session *s, char *ret, size_t bytes)
{
    int n = number_of(present, s);
    bool paid = s->paid_at != NOT_YET;
    char intent[32] = "null";
    if (paid) snprintf(intent, sizeof intent, "\"pi_%d\"", n);
    snprintf(
        ret, bytes,
        "{\"id\":\"cs_%d\",\"object\":\"checkout.session\",\"url\":\"https://pay.example/cs_%d\",\"status\":\"%s\","
        "\"payment_status\":\"%s\",\"payment_intent\":%s,\"amount_total\":%lld,\"currency\":\"usd\","
        "\"client_reference_id\":\"%s\",\"livemode\":false,\"metadata\":{\"order_id\":\"%s\"}}",
        n, n,
        paid                      ? "complete"
        : s->closed_at != NOT_YET ? "expired"
                                  : "open",
        paid ? "paid" : "unpaid", intent, (long long)(paid ? s->paid : s->amount), s->order_ref, s->order_ref);
}

static struct http_reply make_session(struct arena *a, const struct http_call *call)
{
    char key[REF_MAX] = "", amount[REF_MAX] = "0", text[1024];
    header(call, "Idempotency-Key", key, sizeof key);
    struct session *s = provider_find(present, key);
    for (int i = 0; !s && i < SESSIONS; i++) {
        struct session *free_one = &present->sessions[i];
        if (free_one->made_at != NOT_YET) continue;
        s = free_one;
        *s = (struct session){.made_at = now_step(), .paid_at = NOT_YET, .closed_at = NOT_YET};
        for (int n = 0; n < REFUNDS; n++) s->refunds[n].made_at = NOT_YET;
        for (int n = 0; n < HOOKS; n++) s->hooks[n].heard_at = NOT_YET;
        snprintf(s->key, sizeof s->key, "%s", key);
        form_value(call->body, "client_reference_id", s->order_ref, sizeof s->order_ref);
        form_value(call->body, "line_items[0][price_data][unit_amount]", amount, sizeof amount);
        s->amount = strtoll(amount, NULL, 10);
    }
    if (!s) return say(a, 500, "{}");
    session_json(s, text, sizeof text);
    return say(a, 200, text);
}

static struct http_reply make_refund(struct arena *a, const struct http_call *call)
{
    char key[REF_MAX] = "", intent[REF_MAX] = "pi_-1", amount[REF_MAX] = "0", text[512];
    header(call, "Idempotency-Key", key, sizeof key);
    form_value(call->body, "payment_intent", intent, sizeof intent);
    form_value(call->body, "amount", amount, sizeof amount);
    long n = strtol(intent + 3, NULL, 10);
    int64_t wanted = strtoll(amount, NULL, 10);
    if (n < 0 || n >= SESSIONS || present->sessions[n].paid_at == NOT_YET)
        return say(a, 404, "{\"error\":{\"code\":\"resource_missing\"}}");
    struct session *s = &present->sessions[n];
    int at = 0;
    while (at < REFUNDS && s->refunds[at].made_at != NOT_YET && strcmp(s->refunds[at].key, key) != 0) at++;
    if (at == REFUNDS) return say(a, 500, "{}");
    if (s->refunds[at].made_at == NOT_YET) {
        if (wanted <= 0 || wanted > s->paid - provider_refunded(s, SIZE_MAX))
            return say(a, 400, "{\"error\":{\"code\":\"charge_already_refunded\"}}");
        s->refunds[at].made_at = now_step();
        s->refunds[at].amount = wanted;
        snprintf(s->refunds[at].key, sizeof s->refunds[at].key, "%s", key);
        s->hooks[HOOK_REFUNDED].times = 0;
    }
    snprintf(text, sizeof text,
             "{\"id\":\"re_%ld_%d\",\"object\":\"refund\",\"amount\":%lld,\"currency\":\"usd\",\"payment_intent\":\"pi_"
             "%ld\","
             "\"status\":\"succeeded\",\"metadata\":{\"reference\":\"%s\"}}",
             n, at, (long long)s->refunds[at].amount, n, s->refunds[at].key);
    return say(a, 200, text);
}

static struct http_reply list_refunds(struct arena *a, Str query)
{
    char intent[REF_MAX] = "pi_-1", text[2048] = "{\"data\":[";
    form_value(query, "payment_intent", intent, sizeof intent);
    long n = strtol(intent + 3, NULL, 10);
    size_t used = strlen(text);
    for (int i = 0; n >= 0 && n < SESSIONS && i < REFUNDS; i++) {
        const struct session *s = &present->sessions[n];
        if (s->made_at == NOT_YET || s->refunds[i].made_at == NOT_YET) continue;
        used +=
            (size_t)snprintf(text + used, sizeof text - used,
                             "%s{\"id\":\"re_%ld_%d\",\"amount\":%lld,\"currency\":\"usd\",\"status\":\"succeeded\","
                             "\"metadata\":{\"reference\":\"%s\"}}",
                             i ? "," : "", n, i, (long long)s->refunds[i].amount, s->refunds[i].key);
    }
    snprintf(text + used, sizeof text - used, "],\"has_more\":false}");
    return say(a, 200, text);
}

static struct http_reply about_session(struct arena *a, Str name, bool expires)
{
    char text[1024];
    long n = strtol(name.ptr + 3, NULL, 10); /* cs_… */
    if (n < 0 || n >= SESSIONS || present->sessions[n].made_at == NOT_YET) return say(a, 404, "{\"error\":{}}");
    struct session *s = &present->sessions[n];
    if (expires && s->paid_at != NOT_YET) return say(a, 400, "{\"error\":{\"message\":\"only open ones\"}}");
    if (expires && s->closed_at == NOT_YET) s->closed_at = now_step();
    session_json(s, text, sizeof text);
    return say(a, 200, text);
}

static struct http_reply serve(struct arena *a, const struct http_call *call)
{
    static const Str sessions = S("/v1/checkout/sessions"), refunds = S("/v1/refunds");
    const char *path = call->url.len > 8 ? memchr(call->url.ptr + 8, '/', call->url.len - 8) : NULL;
    if (!path) return say(a, 500, "{}");
    Str rest = {path, call->url.len - (size_t)(path - call->url.ptr)};
    bool posts = strcmp(call->method, "POST") == 0;
    if (posts && str_eq(rest, sessions)) return make_session(a, call);
    if (posts && str_eq(rest, refunds)) return make_refund(a, call);
    if (str_starts(rest, STR("/v1/refunds?limit=100&payment_intent=")))
        return list_refunds(a, (Str){rest.ptr + refunds.len + 1, rest.len - refunds.len - 1});
    if (str_starts(rest, sessions) && rest.len > sessions.len + 4)
        return about_session(a, (Str){rest.ptr + sessions.len + 1, rest.len - sessions.len - 1},
                             str_ends(rest, STR("/expire")));
    return say(a, 500, "{}"); /* the books are closed */
}

struct outbound {
    bool is_cancelled;
};

struct outbound *__wrap_outbound_start(const struct outbound_options *options);
void __wrap_outbound_cancel(struct outbound *o);
void __wrap_outbound_stop(struct outbound *o);
void __wrap_outbound_submit(struct outbound *o, struct outbound_job *job);
void __wrap_outbound_call(struct outbound *o, struct outbound_job *job);

struct outbound *__wrap_outbound_start(const struct outbound_options *options)
{
    (void)options;
    return calloc(1, sizeof(struct outbound));
}

void __wrap_outbound_cancel(struct outbound *o)
{
    o->is_cancelled = true;
    sched_wake(o);
}

void __wrap_outbound_stop(struct outbound *o)
{
    free(o);
}

/* Time passes; false: the call was cancelled meanwhile. */
static bool pass(struct outbound *o, int64_t ms)
{
    int64_t until = clock_ns() + ms * MS;
    while (!o->is_cancelled && clock_ns() < until) sched_wait(o, until);
    return !o->is_cancelled;
}

void __wrap_outbound_call(struct outbound *o, struct outbound_job *job)
{
    enum { LATE = 6, UNHEARD, DEAF, WRONG, BROKEN, MOODS };
    uint32_t mood = random_under(&moods, MOODS);
    int64_t timeout = job->timeout_ms ? job->timeout_ms : OUTBOUND_TIMEOUT_MS;
    int64_t there = random_under(&moods, 60), back = random_under(&moods, 60);
    if (mood == LATE) back = random_under(&moods, (uint32_t)timeout + 3000);
    job->reply = (struct http_reply){0};
    job->failure = "nobody answers";
    if (!pass(o, there) || !present || !job->call || mood == DEAF) return;
    struct http_reply reply = mood == BROKEN ? say(job->arena, 500, "{\"error\":{}}") : serve(job->arena, job->call);
    if (!pass(o, back < timeout ? back : timeout) || back >= timeout || mood == UNHEARD) return;
    if (mood == WRONG) reply.body = STR("<html>It works!</html>");
    job->reply = reply;
    job->failure = NULL;
}

void __wrap_outbound_submit(struct outbound *o, struct outbound_job *job)
{
    __wrap_outbound_call(o, job);
    job->done(job);
}

/* ---- events to the store ---- */

void provider_event(const struct paying *p, const struct session *s, enum hook hook, char *ret)
{
    snprintf(ret, 32, "evt_%d_%d", number_of(p, s), (int)hook);
}

struct told {
    struct session *session;
    enum hook hook;
};

static void heard_event(void *client, const struct wire_answer *a)
{
    struct told *t = client;
    struct session *s = t->session;
    s->hooks[t->hook].is_open = false;
    if (a->status / 100 == 2) {
        s->hooks[t->hook].times++;
        if (s->hooks[t->hook].heard_at == NOT_YET) s->hooks[t->hook].heard_at = now_step();
    }
    free(t);
}

static void event_json(const struct session *s, enum hook hook, char *ret, size_t bytes)
{
    static const char *const types[HOOKS] = {"payment_intent.payment_failed", "payment_intent.succeeded",
                                             "checkout.session.completed", "charge.refunded"};
    int n = number_of(present, s);
    char event[32], object[1024];
    provider_event(present, s, hook, event);
    if (hook == HOOK_SESSION)
        session_json(s, object, sizeof object);
    else if (hook == HOOK_REFUNDED)
        snprintf(object, sizeof object,
                 "{\"id\":\"ch_%d\",\"object\":\"charge\",\"payment_intent\":\"pi_%d\",\"amount\":%lld,\"amount_"
                 "refunded\":%lld,"
                 "\"currency\":\"usd\",\"metadata\":{\"order_id\":\"%s\"}}",
                 n, n, (long long)s->paid, (long long)provider_refunded(s, SIZE_MAX), s->order_ref);
    else
        snprintf(object, sizeof object,
                 "{\"id\":\"pi_%d\",\"object\":\"payment_intent\",\"amount\":%lld,\"amount_received\":%lld,"
                 "\"currency\":\"usd\","
                 "\"metadata\":{\"order_id\":\"%s\"}}",
                 n, (long long)s->paid, (long long)(hook == HOOK_INTENT ? s->paid : 0), s->order_ref);
    snprintf(ret, bytes,
             "{\"id\":\"%s\",\"object\":\"event\",\"created\":%" PRId64
             ",\"livemode\":false,\"type\":\"%s\",\"data\":{\"object\":%s}}",
             event, INT64_C(1790000000) + n, types[hook], object);
}

static void send_event(struct session *s, enum hook hook)
{
    char body[2048], stamp[32], request[4096], mac_text[2 * crypto_auth_hmacsha256_BYTES + 1];
    uint8_t mac[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    event_json(s, hook, body, sizeof body);
    snprintf(stamp, sizeof stamp, "%lld", (long long)(time_now().ms / 1000));
    crypto_auth_hmacsha256_init(&state, (const uint8_t *)PROVIDER_SECRET, strlen(PROVIDER_SECRET));
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)stamp, strlen(stamp));
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)".", 1);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)body, strlen(body));
    crypto_auth_hmacsha256_final(&state, mac);
    sodium_bin2hex(mac_text, sizeof mac_text, mac, sizeof mac);
    int n = snprintf(request, sizeof request,
                     "POST /webhook/card_gateway_a HTTP/1.1\r\nHost: shop.example\r\nStripe-Signature: t=%s,v1=%s\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     stamp, mac_text, strlen(body), body);
    struct told *t = calloc(1, sizeof *t);
    if (!t || n < 0 || (size_t)n >= sizeof request) abort();
    *t = (struct told){s, hook};
    s->hooks[hook].is_open = true;
    wire_send(request, (size_t)n, heard_event, t);
}

bool provider_tell(struct paying *p, uint64_t choice)
{
    for (int n = 0; n < SESSIONS * HOOKS; n++) {
        size_t i = (choice + (uint64_t)n * 7) % (SESSIONS * HOOKS);
        struct session *s = &p->sessions[i / HOOKS];
        enum hook hook = (enum hook)(i % HOOKS);
        bool is_due = s->made_at != NOT_YET && s->paid_at != NOT_YET &&
                      (hook != HOOK_REFUNDED || provider_refunded(s, SIZE_MAX) > 0) &&
                      (hook != HOOK_FAILED || i % 3 == 0);
        if (!is_due || s->hooks[hook].is_open || s->hooks[hook].times >= 2) continue;
        send_event(s, hook);
        return true;
    }
    return false;
}
