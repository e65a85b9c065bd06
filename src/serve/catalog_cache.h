/* serve/catalog_cache.h - the catalogue as ready-made JSON, kept in memory, shared by all threads.
 *
 * A snapshot is what customers see at one revision of the catalogue; it never changes and is freed when its last holder
 * releases it. A request reads the revision in its own transaction, so an answer is never older than that, whichever
 * node made the change. One thread at a time builds a snapshot, never a loop's. While it is at work, who needs the new
 * revision waits; where only the time has come to make it again, the others use the one that is there. */
#pragma once

#include "domain/catalog.h"
#include "serve/request.h"

#define CATALOG_ETAG_BYTES 34 /* 16 bytes as hex, in quotes */

/* On PostgreSQL two orders that take the last two codes of a pool at the same time each still see the other's code, and
 * neither reports that the pool is empty. So there what was made of the catalogue is made again once it is this old. */
#define CATALOG_POSTGRES_KEEPS_NS (INT64_C(2) * 1000 * 1000 * 1000)

struct catalog_item {
    Id id;
    int64_t position;
    Str slug;
    Str answer;  /* the whole answer for this product, */
    Str json;    /* and the product in it */
    Str v1_json; /* the same with product_id */
    Str etag;
};

struct catalog_snapshot {
    _Atomic int holders;
    int64_t revision, settings_revision;
    int64_t built_ns;
    struct arena arena;         /* all below lives here */
    struct catalog_item *items; /* by position, then id */
    size_t count;
    size_t *by_slug;   /* indexes into items */
    Str list, v1_list; /* whole answers */
    Str list_etag;
};

struct catalog_cache;
struct catalog_cache *catalog_cache_new(void);
void catalog_cache_free(struct catalog_cache *cache);

/* The present catalogue; the caller releases it. TX_READ is enough. ERR_RUN_ALONE: see db_is_on_loop. */
enum err catalog_cache_get(struct catalog_cache *cache, struct db *db, const struct settings *settings,
                           struct catalog_snapshot **ret);
void catalog_snapshot_release(struct catalog_snapshot *s);

/* NULL when it is not there. */
const struct catalog_item *catalog_snapshot_find(const struct catalog_snapshot *s, Str slug);
/* The index of the first item behind (position, id). */
size_t catalog_snapshot_after(const struct catalog_snapshot *s, int64_t position, Id id);

/* A strong entity tag for these bytes. */
Str catalog_etag(struct arena *a, Str bytes);
