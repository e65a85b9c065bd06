/* gateway/certificates.c - see certificates.h. */
#include "gateway/certificates.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/timestamp.h"

#define CERTIFICATE_BYTES_MAX (64 * 1024)
#define CERTIFICATE_PATH_MAX 192
#define KEPT_NS (INT64_C(24) * 3600 * 1000000000)
#define STALE_NS (7 * KEPT_NS) /* more, while it cannot be fetched again */
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

/* One whose day is over. */
static bool look_stale(struct certificate_store *s, const struct cache_key *place, struct arena *a, Str *ret)
{
    int64_t now = time_monotonic_ns();
    for (size_t i = 0; i < CERTIFICATES_MAX; i++) {
        const struct kept_certificate *c = &s->kept[i];
        if (!c->pem || c->ends_ns + STALE_NS <= now || !cache_key_is(&c->place, place)) continue;
        *ret = str_dup(a, (Str){c->pem, c->len});
        return true;
    }
    return false;
}

/* Which of two gives way: an address without a certificate first, then the one that ends earlier. */
static bool goes_before(const struct kept_certificate *a, const struct kept_certificate *b)
{
    return !a->pem != !b->pem ? !a->pem : a->ends_ns < b->ends_ns;
}

static void keep(struct certificate_store *s, const struct cache_key *place, Str pem)
{
    struct kept_certificate *at = &s->kept[0];
    for (size_t i = 1; i < CERTIFICATES_MAX; i++)
        if (goes_before(&s->kept[i], at)) at = &s->kept[i];
    for (size_t i = 0; i < CERTIFICATES_MAX; i++)
        if (s->kept[i].ends_ns && cache_key_is(&s->kept[i].place, place)) at = &s->kept[i];
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
static int await(struct certificate_store *s, struct certificate_fetch *f, struct arena *a, Str *ret)
{
    struct cache_key place = f->place;
    if (f->waiting == CERTIFICATE_WAITERS_MAX) return -1;
    f->waiting++;
    for (int64_t ended = f->ended; f->ended == ended;) pthread_cond_wait(&s->fetched, &s->lock);
    f->waiting--;
    return look(s, &place, a, ret);
}

/* The fetch of this certificate; NULL: nobody fetches it. *ret_free: where this network may begin it, or NULL. */
static struct certificate_fetch *fetch_of(struct certificate_store *s, const struct cache_key *place,
                                          const struct cache_key *network, struct certificate_fetch **ret_free)
{
    bool is_waiting = false;
    *ret_free = NULL;
    for (size_t i = 0; i < CERTIFICATE_FETCHES_MAX; i++) {
        struct certificate_fetch *f = &s->fetches[i];
        if (f->is_busy && cache_key_is(&f->place, place)) return f;
        if (f->is_busy && cache_key_is(&f->network, network)) is_waiting = true;
        if (!f->is_busy) *ret_free = f;
    }
    if (is_waiting) *ret_free = NULL;
    return NULL;
}

static enum verdict fetch_at(struct certificate_store *s, struct certificate_fetch *f,
                             const struct gateway_config *config, Str path, struct arena *a, Str *ret)
{
    pthread_mutex_unlock(&s->lock);
    enum verdict v = fetch(s, config, path, a, ret);
    pthread_mutex_lock(&s->lock);
    if (v != VERDICT_UNAVAILABLE) keep(s, &f->place, v == VERDICT_OK ? *ret : (Str){0});
    f->is_busy = false;
    f->ended++;
    pthread_cond_broadcast(&s->fetched);
    return v;
}

enum verdict certificate_find(void *ctx, Str network, const struct gateway_config *config, Str path, struct arena *a,
                              Str *ret_pem)
{
    struct certificate_store *s = ctx;
    struct certificate_fetch *theirs, *ours;
    if (path.len > CERTIFICATE_PATH_MAX) return VERDICT_BAD;
    struct cache_key place = cache_key_of(gateway_base_url(config), path, (Str){0});
    struct cache_key from = cache_key_of(network, (Str){0}, (Str){0});
    enum verdict v = VERDICT_UNAVAILABLE; /* the sender will try again */
    pthread_mutex_lock(&s->lock);
    int known = look(s, &place, a, ret_pem);
    if (known < 0 && (theirs = fetch_of(s, &place, &from, &ours))) {
        known = await(s, theirs, a, ret_pem);
    } else if (known < 0 && ours) {
        ours->is_busy = true;
        ours->place = place;
        ours->network = from;
        v = fetch_at(s, ours, config, path, a, ret_pem);
    }
    if (known >= 0) v = known ? VERDICT_OK : VERDICT_BAD;
    if (v == VERDICT_UNAVAILABLE && look_stale(s, &place, a, ret_pem)) v = VERDICT_OK;
    pthread_mutex_unlock(&s->lock);
    return v;
}
