/* cli/demo_content.h - what the demo store sells: names, prices, descriptions, codes, files. Fixed, so that screenshots
 * and walk-throughs stay true. Nothing here is code. */
#pragma once

#include "domain/catalog.h"
#include "domain/coupon.h"

#define DEMO_STORE_NAME "Northlight Software"

struct demo_variant {
    const char *name;
    int64_t price;
    int64_t license_days;
    int codes; /* in a pool of its own */
};

struct demo_product {
    const char *slug, *name, *description;
    int64_t price;
    int64_t license_days;
    const char *key_prefix;  /* licences */
    const char *code_prefix; /* serial codes */
    const char *file_name, *file_text;
    int64_t download_limit, download_days;
    struct demo_variant variants[4]; /* the first is the default; until the first without a name */
    enum delivery_type type;
    int codes; /* in the shared pool */
    bool is_draft;
};
extern const struct demo_product demo_products[]; /* until the first without a slug */

struct demo_coupon {
    const char *code;
    enum coupon_kind kind;
    int64_t value, min_total, max_uses, max_uses_per_customer;
    int64_t starts_days, expires_days; /* from now; 0: none */
    const char *products[3];           /* slugs */
};
extern const struct demo_coupon demo_coupons[]; /* until the first without a code */

struct demo_page {
    const char *slug, *title, *body;
};
extern const struct demo_page demo_pages[];  /* ends with {0} */
extern const char *const demo_departments[]; /* NULL at the end */
