/* view/view_placed.h - the answer to an order of an integration, placed and delivered. */
#pragma once

#include "domain/order.h"
#include "json/writer.h"

#define PLACED_MESSAGE "Order confirmed"
#define PLACED_UNITS_MAX 16

/* The data. `delivery` is what a client looks at first; with several units its value has one line for each. */
void view_placed(struct json_writer *w, struct arena *a, const char *base_url, const struct order *o);
/* Whether the answer can be made again from the order at any time. Not that of a download, whose address begins with
 * that of the shop; nor a long one: to repeat it is free of charge. */
bool view_placed_follows(const struct order_line *line);
/* An idempotency_view. It makes the answers of the last 30 days again: before view_placed writes anything else, this
 * must know which orders were answered in the older form. */
enum err view_placed_again(struct db *db, Id order, Str *ret);
