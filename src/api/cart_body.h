/* api/cart_body.h - what a change to a cart is told, as JSON and as a form; and which field an error of it belongs to.
 */
#pragma once

#include "domain/cart.h"
#include "serve/request.h"

struct cart_line_body {
    Id product_id, variant_id;
    int64_t quantity;
};
/* The rows for a struct that begins with a struct cart_line_body. */
#define CART_LINE_FIELDS(least)                                                                                        \
    {"product_id", FIELD_ID, REQUIRED, offsetof(struct cart_line_body, product_id)},                                   \
        {"variant_id", FIELD_ID, OPTIONAL, offsetof(struct cart_line_body, variant_id)},                               \
    {                                                                                                                  \
        "quantity", FIELD_INT, REQUIRED, offsetof(struct cart_line_body, quantity), .min = (least),                    \
                                                                                    .max = CART_QUANTITY_MAX           \
    }
extern const struct shape cart_set_body; /* a quantity of 0 removes the line */

struct cart_coupon_body {
    Str code;
};
extern const struct shape cart_coupon_body;

/* An error of cart_add or cart_set as a bad field, where it belongs to one. */
enum err cart_line_error(struct request *req, enum err e);
