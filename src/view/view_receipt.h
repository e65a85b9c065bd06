/* view/view_receipt.h - the answer to an order of an integration, and the envelope around it and all others. */
#pragma once

#include "domain/order.h"
#include "json/writer.h"

#define RECEIPT_MESSAGE "Order confirmed"
#define RECEIPT_UNITS_MAX 16

/* {"status": "success", "message": …, "data": …}: `message` may be NULL, `data` empty; `members` are written as they
 * are. */
void view_success(struct buf *out, const char *message, Str data, Str members);
/* The data. `delivery` is what a client looks at first; with several units its value has one line for each. */
void view_receipt(struct json_writer *w, struct arena *a, const char *base_url, const struct order *o);
/* Whether the answer can be made again from the order at any time. Not that of a download, whose address begins with
 * that of the shop; nor a long one: to repeat it is free of charge. */
bool view_receipt_follows(const struct order_line *line);
/* An idempotency_view. It makes the answers of the last 30 days again: before view_receipt writes anything else, this
 * must know which orders were answered in the older form. */
enum err view_receipt_again(struct db *db, Id order, Str *ret);
