/* view/view_order.h - orders, deliveries and licences as JSON. `base_url` stands in front of download paths. */
#pragma once

#include "domain/license.h"
#include "domain/order.h"
#include "json/writer.h"

/* {type, value} */
void view_delivery(struct json_writer *w, struct arena *a, const char *base_url, const struct delivery *d);
/* With deliveries where the order has them; the _members variant leaves the brackets to the caller. */
void view_order_members(struct json_writer *w, struct arena *a, const char *base_url, const struct order *o);
void view_order(struct json_writer *w, struct arena *a, const char *base_url, const struct order *o);
/* As the licence's owner sees it. */
void view_license(struct json_writer *w, const void *license);
