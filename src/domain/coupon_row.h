/* domain/coupon_row.h - how a coupon's row is read, for coupon.c and coupon_admin.c. */
#pragma once

#include "domain/coupon.h"

#define COUPON_COLUMNS_WITH(uses)                                                                                      \
    "c.id, c.code, c.kind, c.value, c.min_total, c.starts_at, c.expires_at, c.max_uses, c.max_uses_per_customer,"      \
    " c.is_active, " uses ", c.created_at, c.version"
/* Uses of a coupon without a limit over all customers are not counted in its row: for orders, which do not need them.
 */
#define COUPON_COLUMNS COUPON_COLUMNS_WITH("c.uses")
#define COUPON_USES "(SELECT COUNT(*) FROM coupon_use u WHERE u.coupon_id = c.id AND u.released_at IS NULL)"
/* For people. */
#define COUPON_COLUMNS_COUNTED COUPON_COLUMNS_WITH("CASE WHEN c.max_uses IS NULL THEN " COUPON_USES " ELSE c.uses END")

/* The columns of the present row. */
void coupon_columns_read(struct stmt *st, struct coupon *ret);
/* Steps, reads the row and ends the statement. ERR_NOT_FOUND without a row. */
enum err coupon_row_read(struct stmt *st, struct coupon *ret);
