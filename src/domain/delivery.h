/* domain/delivery.h - what a buyer gets for each unit that was paid for.
 *
 * One row per unit, made in the transaction that confirms the order; (order item, unit) is unique, so a unit cannot be
 * delivered twice. Three kinds: a licence key that we make, a serial code from the product's pool, and a download link.
 */
#pragma once

#include "domain/catalog.h"

struct delivery {
    Id order_item_id;
    int64_t unit; /* 1 … quantity */
    enum delivery_type type;
    Str value; /* the key, the code, or the path of the download */
    Id license_id, serial_id;
    int64_t fetch_count, fetch_max; /* downloads; max 0: no limit */
    Time expires_at;                /* downloads; 0: never */
    bool is_revoked;
    Time created_at;
};

/* An order item whose units must be delivered. */
struct delivery_job {
    Id account, order_item, product, variant;
    enum delivery_type type;
    int64_t quantity;
    int64_t reserved; /* of these, serial codes reserved for it */
    int64_t license_days;
    Str key_prefix;
    bool has_download; /* the product has a file or an address */
    int64_t download_limit, download_days;
};

/* Delivers every unit; *ret has job->quantity of them. ERR_OUT_OF_STOCK when the pool has too few codes or there is
 * nothing to download: the transaction must be rolled back. TX_WRITE. */
enum err delivery_make(struct db *db, const struct delivery_job *job, Time now, struct delivery **ret);

/* The jobs for an order's items, from the products as they are now, even those no longer sold. */
enum err delivery_jobs(struct db *db, Id order, struct delivery_job **ret, size_t *ret_count);
/* Whether all of these could be delivered now, else ERR_OUT_OF_STOCK. Reserves nothing. TX_READ is enough. */
enum err delivery_check(struct db *db, const struct delivery_job *jobs, size_t count);

/* Of one order, by item and unit. */
enum err delivery_list(struct db *db, Id order, struct delivery **ret, size_t *ret_count);

/* Another key or code for one unit of an order; the old one is no longer valid. ERR_NOT_FOUND: no such unit;
 * ERR_INVALID_STATE: it was closed, or it is a download; ERR_OUT_OF_STOCK: the pool is empty. TX_WRITE. */
enum err delivery_replace(struct db *db, Id order, Id order_item, int64_t unit, Time now);

/* What the buyer gets: the key, the code, or the address of the download (`base_url` and its path). For answers and
 * mail. */
Str delivery_text(struct arena *a, const char *base_url, const struct delivery *d);

/* The order was refunded: its licences and serials are marked, its downloads closed. */
enum err delivery_revoke(struct db *db, Id order, Time now);
