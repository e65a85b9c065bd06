/* domain/catalog.h - products and variants, as customers may see them and as orders price them. */
#pragma once

#include "db/db.h"

enum delivery_type { DELIVERY_LICENSE_KEY, DELIVERY_SERIAL_CODE, DELIVERY_DOWNLOAD_URL };
extern const char *const delivery_type_names[];

struct variant {
    Id id;
    Str name;
    Money price;
    bool is_default, is_active, in_stock;
    int64_t license_days; /* 0: the product's */
};

struct image; /* domain/image.h */

struct product {
    Id id;
    Str slug, name, description;
    Money price;     /* of its default variant where it has variants */
    Money own_price; /* its price without variants: for staff */
    enum delivery_type delivery_type;
    bool is_active, in_stock;
    int64_t position, license_days;
    Str key_prefix, download_url;
    int64_t download_limit, download_days;
    Str file_name, file_key;
    int64_t file_bytes;
    Time created_at, updated_at;
    int64_t version;
    struct variant *variants; /* active ones only, for customers; the default first, then by id */
    size_t variant_count;
    struct image *images; /* filled in by image_attach */
    size_t image_count;
};

/* Active products with their active variants, by position, then id. */
enum err catalog_list(struct db *db, struct product **ret, size_t *ret_count);
/* ERR_PRODUCT_NOT_FOUND for unknown and inactive ones alike. */
enum err catalog_find_slug(struct db *db, Str slug, struct product *ret);

/* What is bought: a product and, where it has variants, one of them, at the current price. */
struct offer {
    Id product_id;
    Id variant_id; /* 0: the product has no variants */
    Str name, variant_name;
    Money price;
    enum delivery_type delivery_type;
    int64_t license_days; /* 0: for ever */
    Str key_prefix, download_url, file_key, file_name;
    int64_t download_limit, download_days;
};

/* What a missing variant means. */
enum variant_rule {
    VARIANT_REQUIRED, /* cart: an error where there are variants */
    VARIANT_DEFAULT,  /* v1 orders: the default one */
};

/* ERR_PRODUCT_NOT_FOUND: unknown or inactive product. ERR_FIELD_REQUIRED: a variant must be named. ERR_FIELD_NOT_FOUND:
 * not an active variant of this product. ERR_FIELD_CONFLICT: a variant was named and the product has none. */
enum err catalog_offer(struct db *db, Id product, Id variant, enum variant_rule rule, struct offer *ret);
/* In a group: it will be asked for soon (db_ahead). */
void catalog_offer_ahead(struct db *db, Id product, Id variant);

/* Call in the transaction of every change that a customer could see: caches watch this number. */
enum err catalog_touch(struct db *db);
enum err catalog_revision(struct db *db, int64_t *ret);
