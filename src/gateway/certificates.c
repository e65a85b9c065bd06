/* gateway/certificates.c - see certificates.h. */
#include "gateway/certificates.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/timestamp.h"

#define CERTIFICATE_BYTES_MAX (64 * 1024)
#define CERTIFICATE_PATH_MAX 192
#define KEPT_NS (INT64_C(24) * 3600 * 1000000000)
#define MISSING_NS (INT64_C(60) * 1000000000)
#define FETCH_TIMEOUT_MS 5000

void certificates_init(struct certificate_store *s, struct outbound *outbound)
{
    s->outbound = outbound;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->fetched, NULL);
}

void certificates_done(struct certificate_store *s)
{
    for (size_t i = 0; i < CERTIFICATES_MAX; i++) free(s->kept[i].pem);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->fetched);
}

/* 1: found. 0: known to be missing. -1: not known. */
static int look(struct certificate_store *s, const struct cache_key *place, struct arena *a, Str *ret)
{
    int64_t now = time_monotonic_ns();
    for (size_t i = 0; i < CERTIFICATES_MAX; i++) {
        const struct kept_certificate *c = &s->kept[i];
        if (c->ends_ns <= now || !cache_key_is(&c->place, place)) continue;
        if (!c->pem) return 0;
        *ret = str_dup(a, (Str){c->pem, c->len});
        return 1;
    }
    return -1;
}

static void keep(struct certificate_store *s, const struct cache_key *place, Str pem)
{
    struct kept_certificate *at = &s->kept[0];
    for (size_t i = 1; i < CERTIFICATES_MAX; i++)
        if (s->kept[i].ends_ns < at->ends_ns) at = &s->kept[i];
    free(at->pem);
    *at = (struct kept_certificate){.ends_ns = time_monotonic_ns() + (pem.len ? KEPT_NS : MISSING_NS)};
    at->place = *place;
    if (!pem.len) return;
    at->pem = memory_take(pem.len);
    memcpy(at->pem, pem.ptr, pem.len);
    at->len = pem.len;
}

static enum verdict fetch(struct certificate_store *s, const struct gateway_config *config, Str path, struct arena *a,
                          Str *ret)
{
    Str base = gateway_base_url(config);
    struct http_call call = {.method = "GET", .url = str_printf(a, "%.*s%.*s", STR_FMT(base), STR_FMT(path))};
    struct outbound_job job = {.call = &call,
                               .base_url = base,
                               .timeout_ms = FETCH_TIMEOUT_MS,
                               .reply_bytes_max = CERTIFICATE_BYTES_MAX,
                               .arena = a};
    outbound_call(s->outbound, &job);
    if (!job.failure && job.reply.status == 200 && job.reply.body.len) {
        *ret = job.reply.body;
        return VERDICT_OK;
    }
    return !job.failure && reply_of_status(job.reply.status) == REPLY_REFUSED ? VERDICT_BAD : VERDICT_UNAVAILABLE;
}

/* What another thread fetches just now, once it has: as look. A fetch that failed is not repeated for each that waited.
 */
static int await(struct certificate_store *s, const struct cache_key *place, struct arena *a, Str *ret)
{
    if (!cache_key_is(&s->fetching, place) || s->waiting == CERTIFICATE_WAITERS_MAX) return -1;
    s->waiting++;
    for (int64_t fetches = s->fetches; s->fetches == fetches;) pthread_cond_wait(&s->fetched, &s->lock);
    s->waiting--;
    return look(s, place, a, ret);
}

enum verdict certificate_find(void *ctx, const struct gateway_config *config, Str path, struct arena *a, Str *ret_pem)
{
    struct certificate_store *s = ctx;
    if (path.len > CERTIFICATE_PATH_MAX) return VERDICT_BAD;
    struct cache_key place = cache_key_of(gateway_base_url(config), path, (Str){0});
    pthread_mutex_lock(&s->lock);
    int known = look(s, &place, a, ret_pem);
    bool ours = known < 0 && !s->is_fetching;
    if (ours) {
        s->is_fetching = true;
        s->fetching = place;
    } else if (known < 0) {
        known = await(s, &place, a, ret_pem);
    }
    pthread_mutex_unlock(&s->lock);
    if (known >= 0) return known ? VERDICT_OK : VERDICT_BAD;
    if (!ours) return VERDICT_UNAVAILABLE; /* the sender will try again */

    enum verdict v = fetch(s, config, path, a, ret_pem);
    pthread_mutex_lock(&s->lock);
    if (v != VERDICT_UNAVAILABLE) keep(s, &place, v == VERDICT_OK ? *ret_pem : (Str){0});
    s->is_fetching = false;
    s->fetches++;
    pthread_cond_broadcast(&s->fetched);
    pthread_mutex_unlock(&s->lock);
    return v;
}
