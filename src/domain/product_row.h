/* domain/product_row.h - how a product's row is read, for the two files that read whole products (catalog.c for
 * customers, product.c for staff). */
#pragma once

#include "domain/catalog.h"

/* Of a product `p`; the last column says whether it has a code left in the pools that `pools` (a condition on a serial
 * `s`) selects. */
#define PRODUCT_COLUMNS_WITH(pools)                                                                                    \
    "p.id, p.slug, p.name, p.description, p.price, p.delivery_type, p.is_active, p.position, p.license_days,"          \
    " p.key_prefix, p.download_url, p.download_limit, p.download_days, p.file_name, p.file_key, p.file_bytes,"         \
    " p.created_at, p.updated_at, p.version,"                                                                          \
    " CASE WHEN p.delivery_type = 'serial_code' AND EXISTS (SELECT 1 FROM serial s WHERE s.product_id = p.id"          \
    " AND s.taken_by IS NULL AND " pools ") THEN 1 ELSE 0 END"
/* With its shared pool alone: for callers that read the variants too. */
#define PRODUCT_COLUMNS PRODUCT_COLUMNS_WITH("s.variant_id = 0")

/* Of a variant `v` of a product `p`; the last column says whether its own pool has a code left. */
#define VARIANT_COLUMNS                                                                                                \
    "v.product_id, v.id, v.name, v.price, v.is_default, v.is_active, v.license_days,"                                  \
    " CASE WHEN p.delivery_type = 'serial_code' AND EXISTS (SELECT 1 FROM serial s WHERE s.product_id = v.product_id"  \
    " AND s.variant_id = v.id AND s.taken_by IS NULL) THEN 1 ELSE 0 END"

/* Both read one row. in_stock of the product is that of the product alone until product_take_variants. */
void product_row_read(struct stmt *st, struct product *ret);
void variant_row_read(struct stmt *st, Id *ret_product, struct variant *ret);

/* Gives the product its variants (the first is the default) and what follows from them: its price, and what is in
 * stock. */
void product_take_variants(struct product *p, struct variant *variants, size_t count);
