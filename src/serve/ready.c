/* serve/ready.c - see ready.h. */
#include "serve/ready.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/memory.h"
#include "domain/catalog.h"
#include "domain/session.h"
#include "domain/settings.h"
#include "page/words.h"
#include "serve/app.h"
#include "serve/catalog_cache.h"
#include "serve/visit.h"

#define PLACES 512
#define KEY_BYTES_MAX 300
#define PAGE_BYTES_MAX ((size_t)256 * 1024)
#define HOLES_MAX 4       /* forms on a page */
#define UNITS_KEPT_MAX 20 /* fuller carts are rare: their pages are made each time */

struct place {
    char key[KEY_BYTES_MAX];
    size_t key_len;
    int64_t catalog, settings; /* revisions */
    int64_t made_ns;
    char *plain, *gzip;
    size_t plain_len, gzip_len;
    char etag[CATALOG_ETAG_BYTES + 1];
    size_t holes[HOLES_MAX], hole_count; /* where plain has the csrf of its visitor */
};

/* The catalogue's revision, as PostgreSQL last said. */
struct known {
    int64_t revision; /* 0: not known */
    int64_t told;     /* db_told of the transaction that read it */
    int64_t read_ns;  /* or a little before */
};

struct ready_cache {
    pthread_mutex_t mutex;
    struct known known;
    struct place places[PLACES];
};

struct ready_cache *ready_cache_new(void)
{
    struct ready_cache *cache = memory_zeroed(1, sizeof *cache);
    assert(cache);
    pthread_mutex_init(&cache->mutex, NULL);
    return cache;
}

static void place_clear(struct place *p)
{
    free(p->plain);
    free(p->gzip);
    *p = (struct place){0};
}

void ready_cache_free(struct ready_cache *cache)
{
    if (!cache) return;
    for (size_t i = 0; i < PLACES; i++) place_clear(&cache->places[i]);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

/* Address, language, and what of the session the page shows. Empty: too long to keep, or one of too many: a search, a
 * full cart. */
static Str key_of(struct request *req)
{
    Str target = req->target;
    const struct session *v = req->session;
    if (target.len > KEY_BYTES_MAX - 16 || req->exchange->head.query.len > 12) return (Str){0};
    if (v && v->cart_units > UNITS_KEPT_MAX) return (Str){0};
    const char *who = !v ? "nobody" : id_is(v->account) ? "member" : "guest";
    return str_printf(req->arena, "%s %s %d %.*s", lang_codes[visit_lang(req)], who, v ? (int)v->cart_units : 0,
                      STR_FMT(target));
}

static struct place *place_of(struct ready_cache *cache, Str key)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < key.len; i++) h = (h ^ (unsigned char)key.ptr[i]) * UINT64_C(1099511628211);
    return &cache->places[h % PLACES];
}

/* Both codings with their tags, or 304. */
static void answer(struct request *req, Str plain, Str gzip, Str etag)
{
    Str gzip_etag = str_printf(req->arena, "%.*s-gz\"", (int)etag.len - 1, etag.ptr);
    sheet_headers(req, visit_lang(req));
    request_add_header(req, "Cache-Control", STR("public, no-cache"));
    request_coded(req, "text/html; charset=utf-8", plain, etag, gzip, gzip_etag);
}

/* A page of one session, or one that is too long to keep. Never compressed: what an attacker adds to it would tell its
 * csrf by the length. */
static void answer_session(struct request *req, Str page)
{
    sheet_headers(req, visit_lang(req));
    request_add_header(req, "Cache-Control", STR("no-store"));
    request_ready(req, "text/html; charset=utf-8", page);
}

/* The page with the csrf of this session; this session's alone, because every hole is written over. */
static Str filled(struct request *req, const struct place *p)
{
    char *page = arena_take(req->arena, p->plain_len);
    memcpy(page, p->plain, p->plain_len);
    for (size_t i = 0; i < p->hole_count; i++) memcpy(page + p->holes[i], req->csrf.ptr, req->csrf.len);
    return (Str){page, p->plain_len};
}

/* What is sent of a place. */
struct copy {
    Str plain, gzip, etag;
};

static bool place_fits(const struct place *p, const struct request *req, Str key, int64_t revision)
{
    if (!str_eq((Str){p->key, p->key_len}, key)) return false;
    if (p->catalog != revision || p->settings != req->settings->revision) return false;
    return database_is_sqlite(req->app->database) || time_monotonic_ns() - p->made_ns < CATALOG_POSTGRES_KEEPS_NS;
}

/* The kept page at this revision, or, with 0, at the one that is known; false: there is none, or none is known. */
static bool copy_place(struct request *req, Str key, int64_t revision, struct copy *ret)
{
    struct ready_cache *cache = req->app->ready;
    pthread_mutex_lock(&cache->mutex);
    const struct known *k = &cache->known;
    if (!revision && k->told == atomic_load(&database_stats(req->app->database)->told) &&
        time_monotonic_ns() - k->read_ns < READY_TRUSTS_NS)
        revision = k->revision;
    const struct place *p = place_of(cache, key);
    bool fits = revision && place_fits(p, req, key, revision);
    if (fits && req->session) {
        ret->plain = filled(req, p);
    } else if (fits) {
        ret->plain = str_dup(req->arena, (Str){p->plain, p->plain_len});
        ret->gzip = str_dup(req->arena, (Str){p->gzip, p->gzip_len});
        ret->etag = str_dup(req->arena, str_from(p->etag));
    }
    pthread_mutex_unlock(&cache->mutex);
    return fits;
}

static void send_copy(struct request *req, const struct copy *copy)
{
    if (req->session)
        answer_session(req, copy->plain);
    else
        answer(req, copy->plain, copy->gzip, copy->etag);
}

bool ready_answer_at_once(struct request *req)
{
    if (database_is_sqlite(req->app->database) || !req->settings->storefront || visit_has_cookie(req)) return false;
    struct copy copy;
    Str key = key_of(req);
    if (!key.len || !copy_place(req, key, 0, &copy)) return false;
    send_copy(req, &copy);
    return true;
}

/* Reads the revision, and lets it be known. */
static enum err ask_revision(struct request *req)
{
    struct ready_cache *cache = req->app->ready;
    struct known k = {.told = db_told(req->db), .read_ns = req->exchange->started_ns};
    enum err e = catalog_revision(req->db, &k.revision);
    if (e) return e;
    req->ready_revision = k.revision; /* whatever is read from here on is at least as new */
    if (!db_is_postgres(req->db)) return OK;
    pthread_mutex_lock(&cache->mutex);
    if (k.revision >= cache->known.revision) cache->known = k;
    pthread_mutex_unlock(&cache->mutex);
    return OK;
}

enum err ready_answer(struct request *req, bool *ret_found)
{
    Str key = key_of(req);
    struct copy copy;
    *ret_found = false;
    if (!key.len) return db_is_grouped(req->db) ? ERR_RUN_ALONE : OK;
    bool found = db_is_postgres(req->db) && copy_place(req, key, 0, &copy);
    if (!found) {
        enum err e = ask_revision(req);
        if (e) return e;
        found = copy_place(req, key, req->ready_revision, &copy);
    }
    if (found) send_copy(req, &copy);
    *ret_found = found;
    return !found && db_is_grouped(req->db) ? ERR_RUN_ALONE : OK; /* a group is for look-ups by key */
}

/* Empty when zlib fails. */
static Str gzipped(struct arena *a, Str plain)
{
    z_stream z = {0};
    if (deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) return (Str){0};
    size_t bytes_max = deflateBound(&z, plain.len);
    char *out = arena_take(a, bytes_max);
    z.next_in = (Bytef *)(uintptr_t)plain.ptr;
    z.avail_in = (uInt)plain.len;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)bytes_max;
    bool done = deflate(&z, Z_FINISH) == Z_STREAM_END;
    size_t len = z.total_out;
    deflateEnd(&z);
    return done ? (Str){out, len} : (Str){0};
}

static char *copy_of(Str s)
{
    char *copy = memory_take(s.len ? s.len : 1);
    assert(copy);
    if (s.len) memcpy(copy, s.ptr, s.len);
    return copy;
}

/* Where the page has the csrf; false: in more places than are kept. */
static bool find_holes(struct place *p, Str csrf)
{
    const char *at = p->plain;
    while (csrf.len && (at = memmem(at, p->plain_len - (size_t)(at - p->plain), csrf.ptr, csrf.len))) {
        if (p->hole_count == HOLES_MAX) return false;
        p->holes[p->hole_count++] = (size_t)(at - p->plain);
        at += csrf.len;
    }
    return true;
}

/* Takes the page as it is, the session's csrf blotted out. */
static void keep(struct request *req, Str key, Str plain, Str gzip, Str etag)
{
    struct ready_cache *cache = req->app->ready;
    struct place made = {.catalog = req->ready_revision,
                         .settings = req->settings->revision,
                         .made_ns = time_monotonic_ns(),
                         .plain = copy_of(plain),
                         .gzip = copy_of(gzip),
                         .plain_len = plain.len,
                         .gzip_len = gzip.len,
                         .key_len = key.len};
    assert(key.len <= sizeof made.key && etag.len < sizeof made.etag);
    if (!find_holes(&made, req->csrf)) {
        place_clear(&made);
        return;
    }
    for (size_t i = 0; i < made.hole_count; i++) memset(made.plain + made.holes[i], '.', req->csrf.len);
    memcpy(made.key, key.ptr, key.len);
    if (etag.len) memcpy(made.etag, etag.ptr, etag.len);
    pthread_mutex_lock(&cache->mutex);
    struct place *p = place_of(cache, key);
    struct place old = *p;
    *p = made;
    pthread_mutex_unlock(&cache->mutex);
    place_clear(&old);
}

enum err ready_send(struct request *req, struct sheet *s)
{
    Str plain = buf_str(&s->out), key = key_of(req), gzip = {0}, etag = {0};
    if (plain.len > PAGE_BYTES_MAX) {
        answer_session(req, plain);
        return OK;
    }
    if (!req->session) {
        gzip = gzipped(req->arena, plain);
        etag = catalog_etag(req->arena, plain);
    }
    if (key.len && req->ready_revision) keep(req, key, plain, gzip, etag);
    if (req->session)
        answer_session(req, plain);
    else
        answer(req, plain, gzip, etag);
    return OK;
}
