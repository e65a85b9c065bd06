/* domain/image.h - pictures of products, kept by their content. Changes need TX_WRITE and tell the catalogue's caches.
 */
#pragma once

#include "domain/catalog.h"

#define IMAGE_BYTES_MAX (8 * 1024 * 1024)
#define IMAGES_MAX 20 /* of one product */
#define IMAGE_ALT_MAX 200

struct image {
    Id id, product_id;
    Str url; /* path: /media/{hash}.{type} */
    Str alt;
    int64_t position;
};

/* "png", "jpg", "webp" or "avif", by the first bytes; NULL for anything else. */
const char *image_type(Str bytes);
/* PNG, JPEG, WebP or AVIF, recognised by the bytes: ERR_FIELD_FORMAT for anything else. ERR_NOT_FOUND: no such product;
 * ERR_FIELD_TOO_MANY past IMAGES_MAX. The image goes last. */
enum err image_add(struct db *db, Id product, Str bytes, Str alt, struct image *ret);
enum err image_find(struct db *db, Id id, struct image *ret);
/* Of one product, in order. */
enum err image_list(struct db *db, Id product, struct image **ret, size_t *ret_count);
/* The first of each product: product_id, url and alt. */
enum err image_list_first(struct db *db, struct image **ret, size_t *ret_count);
/* Gives each of these products its images, in order. */
enum err image_attach(struct db *db, struct product *products, size_t count);
/* Sets alt and position. ERR_NOT_FOUND. */
enum err image_update(struct db *db, const struct image *image);
enum err image_delete(struct db *db, Id id);

/* The shop's logo: keeps the bytes and makes them the logo; empty bytes take it away. ERR_FIELD_FORMAT as above. */
enum err logo_set(struct db *db, Str bytes);

/* The bytes under "{hash}.{type}". ERR_NOT_FOUND. */
enum err media_find(struct db *db, Str name, const char **ret_content_type, Str *ret);
