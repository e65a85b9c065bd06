/* domain/coupon_row.h - how a coupon's row is read, for coupon.c and coupon_admin.c. */
#pragma once

#include "domain/coupon.h"

#define COUPON_COLUMNS                                                                                                 \
    "c.id, c.code, c.kind, c.value, c.min_total, c.starts_at, c.expires_at, c.max_uses, c.max_uses_per_customer,"      \
    " c.is_active, c.uses, c.created_at, c.version"

/* The columns of the present row. */
void coupon_columns_read(struct stmt *st, struct coupon *ret);
/* Steps, reads the row and ends the statement. ERR_NOT_FOUND without a row. */
enum err coupon_row_read(struct stmt *st, struct coupon *ret);
