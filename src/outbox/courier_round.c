/* outbox/courier_round.c - see courier_round.h. */
#include "outbox/courier_round.h"

#include "base/base64.h"
#include "base/log.h"
#include "gateway/signature.h"
#include "view/view_event.h"

#define BATCH_MAX 50
#define EVENTS_MAX 500              /* looked at in one round */
#define TRY_MS (15 * TIME_SECOND)   /* for an answer */
#define ROUND_MS (5 * TIME_SECOND)  /* no message is begun after this */
#define LEASE_MS (30 * TIME_SECOND) /* longer than a round and its last message */

struct round {
    const struct courier_round *with;
    struct arena arena;
    Time now;
    struct webhook_endpoint endpoint;
    struct webhook_due *due;
    size_t count;
    struct webhook_try tries[BATCH_MAX];
    size_t sent;
    struct webhook_health health;
};

Str courier_id(struct arena *a, const struct event *e)
{
    return str_printf(a, "evt_%lld", (long long)e->id.v);
}

Str courier_body(struct arena *a, const struct event *e, bool with_keys)
{
    char at[TIME_TEXT_LEN + 1];
    Str data = view_event_data(a, e, with_keys);
    time_format(e->created_at, at);
    return str_printf(a, "{\"type\":\"%s\",\"timestamp\":\"%s\",\"data\":%.*s}", event_type_names[e->type], at,
                      STR_FMT(data));
}

static Str sign(struct arena *a, Str secret, Str id, Str timestamp, Str body)
{
    uint8_t mac[MAC_BYTES_MAX];
    const Str parts[] = {id, STR("."), timestamp, STR("."), body};
    struct mac_key *key = mac_key_new(MAC_SHA256, secret);
    mac_sum(key, parts, sizeof parts / sizeof *parts, mac);
    mac_key_free(key);
    Str text = base64_encode(a, BASE64_PADDED, (Str){(const char *)mac, mac_bytes(MAC_SHA256)});
    return str_printf(a, "v1,%.*s", STR_FMT(text));
}

/* Both secrets, while the old one still counts. */
static Str signatures(struct arena *a, const struct webhook_endpoint *p, Str id, Str timestamp, Str body, Time now)
{
    Str s = sign(a, p->secret, id, timestamp, body);
    if (!p->old_secret.len || p->old_until.ms <= now.ms) return s;
    Str old = sign(a, p->old_secret, id, timestamp, body);
    return str_printf(a, "%.*s %.*s", STR_FMT(s), STR_FMT(old));
}

/* As text that any database takes: valid UTF-8 without NUL. */
static Str clean(struct arena *a, Str bytes)
{
    struct buf b;
    buf_init(&b, a, bytes.len * 3 + 1);
    for (size_t i = 0; i < bytes.len;) {
        size_t n = utf8_step(bytes.ptr + i, bytes.len - i);
        if (n && bytes.ptr[i])
            buf_append(&b, (Str){bytes.ptr + i, n});
        else
            buf_lit(&b, "\xef\xbf\xbd");
        i += n ? n : 1;
    }
    return buf_str(&b);
}

static void send_one(struct round *r, const struct webhook_due *due, struct webhook_try *ret)
{
    struct arena *a = &r->arena;
    const struct webhook_endpoint *p = &r->endpoint;
    Time now = time_now();
    int64_t began = time_monotonic_ns();
    Str id = courier_id(a, &due->event), timestamp = str_printf(a, "%lld", (long long)(now.ms / 1000));
    Str body = courier_body(a, &due->event, p->include_keys);
    struct http_call call = {.method = "POST", .url = p->url, .body = body};
    call_header(&call, STR("Content-Type"), STR("application/json"));
    call_header(&call, STR("webhook-id"), id);
    call_header(&call, STR("webhook-timestamp"), timestamp);
    call_header(&call, STR("webhook-signature"), signatures(a, p, id, timestamp, body, now));
    struct outbound_job job = {.call = &call,
                               .arena = a,
                               .is_webhook = true,
                               .allows_private = r->with->options->allows_private,
                               .cuts_reply = true,
                               .reply_bytes_max = WEBHOOK_ANSWER_MAX,
                               .timeout_ms = TRY_MS};
    outbound_call(r->with->outbound, &job);
    *ret = (struct webhook_try){.number = due->delivery.tries + 1,
                                .at = now,
                                .took_ms = (time_monotonic_ns() - began) / 1000000,
                                .status = job.failure ? 0 : job.reply.status,
                                .error = str_from(job.failure),
                                .answer = job.failure ? STR("") : clean(a, job.reply.body)};
}

static enum err take(void *arg, struct db *db)
{
    struct round *r = arg;
    r->count = 0;
    enum err e = webhook_endpoint_lease(db, r->with->endpoint, r->now, LEASE_MS, &r->endpoint);
    if (e == ERR_NOT_FOUND) return OK;
    if (!e) e = webhook_endpoint_follow(db, &r->endpoint, r->now, EVENTS_MAX);
    if (!e) e = webhook_delivery_due(db, r->endpoint.id, r->now, BATCH_MAX, &r->due, &r->count);
    return e;
}

static enum err record(void *arg, struct db *db)
{
    struct round *r = arg;
    enum err e = OK;
    for (size_t i = 0; !e && i < r->sent; i++)
        e = webhook_delivery_record(db, &r->due[i].delivery, &r->tries[i], r->health.is_gone, r->now);
    return e ? e : webhook_endpoint_release(db, &r->endpoint, &r->health, r->now);
}

static void count(struct round *r, const struct webhook_due *due, const struct webhook_try *t)
{
    struct courier_stats *s = r->with->stats;
    if (webhook_try_is_good(t)) {
        r->health.succeeded++;
        atomic_fetch_add_explicit(&s->delivered, 1, memory_order_relaxed);
        return;
    }
    r->health.failed++;
    r->health.is_gone = t->status == 410;
    atomic_fetch_add_explicit(&s->failed, 1, memory_order_relaxed);
    if (r->health.is_gone || !webhook_delay_ms(due->delivery.attempts + 1))
        atomic_fetch_add_explicit(&s->given_up, 1, memory_order_relaxed);
    log_event(LOG_WARN, "webhook_failed", LOGI("endpoint", r->endpoint.id.v), LOGI("delivery", due->delivery.id.v),
              LOGI("try", t->number), LOGI("status", t->status), LOGS("why", t->error));
}

/* In order, up to the first failure. A message that was cut off by our own end was not tried. */
static void send_all(struct round *r)
{
    int64_t until = time_monotonic_ns() + ROUND_MS * 1000000;
    while (r->sent < r->count && !r->health.failed && time_monotonic_ns() < until) {
        const struct webhook_due *due = &r->due[r->sent];
        struct webhook_try *t = &r->tries[r->sent];
        if (atomic_load(r->with->is_stopping)) return;
        send_one(r, due, t);
        if (!t->status && atomic_load(r->with->is_stopping)) return;
        r->sent++;
        count(r, due, t);
    }
}

bool courier_round(const struct courier_round *with)
{
    struct round round = {.with = with, .now = time_now()};
    struct database *d = with->options->database;
    enum err e = tx_call(d, TX_WRITE, take, &round, &round.arena);
    bool is_mine = !e && id_is(round.endpoint.id);
    if (is_mine) {
        send_all(&round);
        round.now = time_now();
        e = tx_call(d, TX_WRITE, record, &round, &round.arena);
    }
    if (e)
        log_event(LOG_WARN, "webhooks_not_recorded", LOGI("endpoint", with->endpoint.v),
                  LOGC("code", err_info(e)->code));
    bool has_more = is_mine && !e && !round.health.failed && round.count > 0;
    arena_done(&round.arena);
    return has_more;
}
