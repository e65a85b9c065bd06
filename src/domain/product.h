/* domain/product.h - products and variants as staff see and change them.
 *
 * Every change bumps the product's version (also a change of its variants) and tells the catalogue's caches. Only
 * products that nothing depends on are deleted: one that was ever sold, granted, put into a coupon or filled with
 * codes, or that is in a cart, is switched off instead. All functions that change something need TX_WRITE. */
#pragma once

#include "domain/catalog.h"

/* With all variants, active or not: the default first, then by id. ERR_NOT_FOUND. */
enum err product_find(struct db *db, Id id, struct product *ret);
enum err product_find_slug(struct db *db, Str slug, struct product *ret);
/* By position, then id, behind (after_position, after_id); after_id 0: from the start. Without variants, but
 * in_stock counts the pools of those that are on sale. */
enum err product_list(struct db *db, int64_t after_position, Id after_id, int64_t limit, struct product **ret,
                      size_t *ret_count);

/* Takes name, slug (empty: made from the name, with a number if that is taken), description, own_price, delivery_type,
 * is_active, position, license_days, key_prefix, download_url, download_limit, download_days. ERR_SLUG_TAKEN. */
enum err product_create(struct db *db, const struct product *p, Time now, struct product *ret);
/* p is the product as it should be (the same fields), with the version at which it was read: ERR_PRECONDITION_FAILED
 * when the version has changed, ERR_SLUG_TAKEN, ERR_NOT_FOUND. */
enum err product_update(struct db *db, const struct product *p, Time now, struct product *ret);
/* Sets the file that is delivered; empty names remove it. */
enum err product_set_file(struct db *db, Id id, Str file_name, Str file_key, int64_t file_bytes, Time now,
                          struct product *ret);
/* Deleted, or switched off (*ret_deleted false). Carts lose the product only when it is deleted. ERR_NOT_FOUND. */
enum err product_delete(struct db *db, Id id, Time now, bool *ret_deleted);

/* Variants. A product with active variants has exactly one default among them: the first one, until another is chosen;
 * when the default is deleted or switched off, the oldest active one replaces it. */
enum err variant_find(struct db *db, Id id, Id *ret_product, struct variant *ret);
/* Takes name, price, is_default, is_active, license_days. ERR_NOT_FOUND: no such product. */
enum err variant_create(struct db *db, Id product, const struct variant *v, Time now, struct variant *ret);
enum err variant_update(struct db *db, const struct variant *v, Time now, struct variant *ret);
enum err variant_delete(struct db *db, Id id, Time now, bool *ret_deleted);
