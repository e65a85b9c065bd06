/* api/cart_body.c - see cart_body.h. */
#include "api/cart_body.h"

static const struct field set_fields[] = {CART_LINE_FIELDS(0), {0}};
const struct shape cart_set_body = {set_fields, sizeof(struct cart_line_body)};

static const struct field coupon_fields[] = {
    {"code", FIELD_LINE, REQUIRED, offsetof(struct cart_coupon_body, code), .min = 1, .max = 255},
    {0},
};
const struct shape cart_coupon_body = {coupon_fields, sizeof(struct cart_coupon_body)};

enum err cart_line_error(struct request *req, enum err e)
{
    switch (e) {
    case ERR_PRODUCT_NOT_FOUND:
    case ERR_NOT_FOUND: return request_bad_field(req, "product_id", ERR_FIELD_NOT_FOUND);
    case ERR_FIELD_REQUIRED:
    case ERR_FIELD_NOT_FOUND:
    case ERR_FIELD_CONFLICT: return request_bad_field(req, "variant_id", e);
    case ERR_LINE_LIMIT:
    case ERR_FIELD_RANGE: return request_bad_field(req, "quantity", e);
    default: return e;
    }
}
