/* view/view_store.h - the catalogue and the cart as JSON. */
#pragma once

#include "domain/cart.h"
#include "domain/catalog.h"
#include "json/writer.h"

/* with_product_id: the id once more, under the name that the v1 API takes. */
/* The member `images`. */
void view_images(struct json_writer *w, const struct product *p);
void view_product(struct json_writer *w, const struct product *p, Str currency, bool with_product_id);
void view_cart(struct json_writer *w, const struct cart *cart);
