/* serve/catalog_cache.c - see catalog_cache.h. */
#include "serve/catalog_cache.h"

#include <assert.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "domain/image.h"
#include "domain/settings.h"
#include "view/view_store.h"

#define LIST_BYTES_MAX ((size_t)256 * 1024 * 1024)

struct catalog_cache {
    pthread_mutex_t lock; /* over `present`, for a moment */
    pthread_mutex_t building;
    struct catalog_snapshot *present; /* may be NULL; held by the cache itself */
};

struct catalog_cache *catalog_cache_new(void)
{
    struct catalog_cache *cache = memory_zeroed(1, sizeof *cache);
    pthread_mutex_init(&cache->lock, NULL);
    pthread_mutex_init(&cache->building, NULL);
    return cache;
}

void catalog_cache_free(struct catalog_cache *cache)
{
    if (cache->present) catalog_snapshot_release(cache->present);
    pthread_mutex_destroy(&cache->lock);
    pthread_mutex_destroy(&cache->building);
    free(cache);
}

void catalog_snapshot_release(struct catalog_snapshot *s)
{
    if (atomic_fetch_sub_explicit(&s->holders, 1, memory_order_acq_rel) > 1) return;
    arena_done(&s->arena);
    free(s);
}

Str catalog_etag(struct arena *a, Str bytes)
{
    uint8_t hash[16];
    crypto_generichash(hash, sizeof hash, (const uint8_t *)bytes.ptr, bytes.len, NULL, 0);
    Str hex = hex_encode(a, hash, sizeof hash);
    return str_printf(a, "\"%.*s\"", STR_FMT(hex));
}

/* {"status":"success","data":[…]} */
static Str whole_list(struct arena *a, const struct catalog_item *items, size_t count, bool v1)
{
    struct buf b;
    struct json_writer w;
    buf_init(&b, a, LIST_BYTES_MAX);
    json_writer_init(&w, &b, 0);
    json_begin_object(&w);
    json_kv_cstr(&w, "status", "success");
    json_key(&w, "data");
    json_begin_array(&w);
    for (size_t i = 0; i < count; i++) json_raw(&w, v1 ? items[i].v1_json : items[i].json);
    json_end_array(&w);
    json_end_object(&w);
    assert(!b.full);
    return buf_str(&b);
}

/* The product alone, and in its envelope. */
static Str item_json(struct arena *a, const struct product *p, const struct settings *settings, bool v1,
                     Str *ret_answer)
{
    struct buf b;
    struct json_writer w;
    buf_init(&b, a, LIST_BYTES_MAX);
    json_writer_init(&w, &b, settings->exponent);
    json_begin_object(&w);
    json_kv_cstr(&w, "status", "success");
    json_key(&w, "data");
    size_t start = b.len;
    view_product(&w, p, str_from(settings->currency), v1);
    size_t end = b.len;
    json_end_object(&w);
    assert(!b.full);
    *ret_answer = buf_str(&b);
    return (Str){b.ptr + start, end - start};
}

static int str_cmp(Str a, Str b)
{
    int c = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return c ? c : (a.len > b.len) - (a.len < b.len);
}

static int slug_cmp(const void *a, const void *b, void *items)
{
    const struct catalog_item *list = items;
    return str_cmp(list[*(const size_t *)a].slug, list[*(const size_t *)b].slug);
}

static enum err build(struct db *db, const struct settings *settings, int64_t revision, struct catalog_snapshot **ret)
{
    struct product *products;
    size_t count;
    enum err e = catalog_list(db, &products, &count);
    if (!e) e = image_attach(db, products, count);
    if (e) return e;

    struct catalog_snapshot *s = memory_zeroed(1, sizeof *s);
    atomic_init(&s->holders, 1);
    s->revision = revision;
    s->settings_revision = settings->revision;
    s->built_ns = time_monotonic_ns();
    s->count = count;
    s->items = arena_array(&s->arena, struct catalog_item, count);
    s->by_slug = arena_array(&s->arena, size_t, count);
    for (size_t i = 0; i < count; i++) {
        struct catalog_item *item = &s->items[i];
        item->id = products[i].id;
        item->position = products[i].position;
        item->slug = str_dup(&s->arena, products[i].slug);
        Str unused;
        item->json = item_json(&s->arena, &products[i], settings, false, &item->answer);
        item->v1_json = item_json(&s->arena, &products[i], settings, true, &unused);
        item->etag = catalog_etag(&s->arena, item->json);
        s->by_slug[i] = i;
    }
    qsort_r(s->by_slug, count, sizeof *s->by_slug, slug_cmp, s->items);
    s->list = whole_list(&s->arena, s->items, count, false);
    s->v1_list = whole_list(&s->arena, s->items, count, true);
    s->list_etag = catalog_etag(&s->arena, s->list);
    *ret = s;
    return OK;
}

/* The present snapshot with one more holder, if it is new enough. */
static struct catalog_snapshot *hold_present(struct catalog_cache *cache, int64_t revision, int64_t settings_revision)
{
    pthread_mutex_lock(&cache->lock);
    struct catalog_snapshot *s = cache->present;
    bool fits = s && s->revision >= revision && s->settings_revision >= settings_revision;
    if (fits) atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
    pthread_mutex_unlock(&cache->lock);
    return fits ? s : NULL;
}

static bool is_old(const struct catalog_snapshot *s, const struct db *db)
{
    return db_is_postgres(db) && time_monotonic_ns() - s->built_ns >= CATALOG_POSTGRES_KEEPS_NS;
}

static void put_present(struct catalog_cache *cache, struct catalog_snapshot *s)
{
    atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
    pthread_mutex_lock(&cache->lock);
    struct catalog_snapshot *old = cache->present;
    cache->present = s;
    pthread_mutex_unlock(&cache->lock);
    if (old) catalog_snapshot_release(old);
}

/* Under `building`. */
static enum err build_present(struct catalog_cache *cache, struct db *db, const struct settings *settings,
                              int64_t revision, struct catalog_snapshot **ret)
{
    struct catalog_snapshot *s = hold_present(cache, revision, settings->revision); /* built while this thread waited */
    if (s && !is_old(s, db)) {
        *ret = s;
        return OK;
    }
    if (s) catalog_snapshot_release(s);
    enum err e = build(db, settings, revision, ret);
    if (!e) put_present(cache, *ret);
    return e;
}

enum err catalog_cache_get(struct catalog_cache *cache, struct db *db, const struct settings *settings,
                           struct catalog_snapshot **ret)
{
    int64_t revision;
    enum err e = catalog_revision(db, &revision);
    if (e) return e;
    struct catalog_snapshot *s = hold_present(cache, revision, settings->revision);
    if (!s && db_is_on_loop(db)) return ERR_RUN_ALONE;
    if (s && (!is_old(s, db) || pthread_mutex_trylock(&cache->building) != 0)) {
        *ret = s;
        return OK;
    }
    if (s)
        catalog_snapshot_release(s);
    else
        pthread_mutex_lock(&cache->building);
    e = build_present(cache, db, settings, revision, ret);
    pthread_mutex_unlock(&cache->building);
    return e;
}

const struct catalog_item *catalog_snapshot_find(const struct catalog_snapshot *s, Str slug)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct catalog_item *item = &s->items[s->by_slug[mid]];
        int c = str_cmp(item->slug, slug);
        if (c == 0) return item;
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

size_t catalog_snapshot_after(const struct catalog_snapshot *s, int64_t position, Id id)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct catalog_item *item = &s->items[mid];
        bool is_behind = item->position > position || (item->position == position && item->id.v > id.v);
        if (is_behind)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}
