/* db/sqlite_cache.c - see sqlite_cache.h. The functions hand everything on; `highest` and `aside` may say too much,
 * never too little. */
#include "db/sqlite_cache.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "base/memory.h"

#define PENDING_BYTE 0x40000000 /* of every SQLite file: the page with it is never used */

struct cache {
    sqlite3_pcache *own;  /* SQLite's */
    unsigned highest;     /* no page has a higher number, but those set aside */
    unsigned aside_under; /* the number of the page with the pending byte */
    int aside;            /* pages that have this number at present */
};

static sqlite3_pcache_methods2 own;

static struct cache *of(sqlite3_pcache *p)
{
    return (struct cache *)p;
}

static sqlite3_pcache *cache_create(int page_bytes, int extra_bytes, int purgeable)
{
    struct cache *c = memory_try_zeroed(1, sizeof *c);
    if (!c) return NULL;
    c->aside_under = (unsigned)(PENDING_BYTE / page_bytes + 1);
    c->own = own.xCreate(page_bytes, extra_bytes, purgeable);
    if (!c->own) {
        free(c);
        return NULL;
    }
    return (sqlite3_pcache *)c;
}

static void cache_size(sqlite3_pcache *p, int pages)
{
    own.xCachesize(of(p)->own, pages);
}

static int cache_count(sqlite3_pcache *p)
{
    return own.xPagecount(of(p)->own);
}

static sqlite3_pcache_page *cache_fetch(sqlite3_pcache *p, unsigned number, int create)
{
    struct cache *c = of(p);
    if (create && number > c->highest) c->highest = number;
    return own.xFetch(c->own, number, create);
}

static void cache_unpin(sqlite3_pcache *p, sqlite3_pcache_page *page, int discard)
{
    own.xUnpin(of(p)->own, page, discard);
}

static void cache_rekey(sqlite3_pcache *p, sqlite3_pcache_page *page, unsigned from, unsigned to)
{
    struct cache *c = of(p);
    if (from == c->aside_under && c->aside > 0) c->aside--;
    if (to == c->aside_under)
        c->aside++;
    else if (to > c->highest)
        c->highest = to;
    own.xRekey(c->own, page, from, to);
}

/* Drops all pages from this number on. */
static void cache_truncate(sqlite3_pcache *p, unsigned from)
{
    struct cache *c = of(p);
    if (from > c->highest && c->aside == 0) return;
    own.xTruncate(c->own, from);
    if (from <= c->highest) c->highest = from ? from - 1 : 0;
    if (from <= c->aside_under) c->aside = 0;
}

static void cache_destroy(sqlite3_pcache *p)
{
    own.xDestroy(of(p)->own);
    free(of(p));
}

static void cache_shrink(sqlite3_pcache *p)
{
    own.xShrink(of(p)->own);
}

void sqlite_cache_install(void)
{
    if (sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &own) != SQLITE_OK) return;
    sqlite3_pcache_methods2 ours = own;
    ours.xCreate = cache_create;
    ours.xCachesize = cache_size;
    ours.xPagecount = cache_count;
    ours.xFetch = cache_fetch;
    ours.xUnpin = cache_unpin;
    ours.xRekey = cache_rekey;
    ours.xTruncate = cache_truncate;
    ours.xDestroy = cache_destroy;
    ours.xShrink = cache_shrink;
    sqlite3_config(SQLITE_CONFIG_PCACHE2, &ours);
}
