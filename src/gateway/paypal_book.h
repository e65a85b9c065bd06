/* gateway/paypal_book.h - PayPal's books: there is no list of orders or captures, only one of all transactions, about
 * three hours behind; disputes have a list of their own. */
#pragma once

#include "gateway/gateway.h"

bool paypal_book_call(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                      struct http_call *ret);
enum reply paypal_book_read(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                            const struct http_reply *answer, struct book_lines *ret);
