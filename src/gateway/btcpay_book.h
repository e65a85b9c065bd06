/* gateway/btcpay_book.h - the books of a BTCPay Server: invoices, and refunds, which are pull payments that customers
 * claim, and the payouts that result. */
#pragma once

#include "gateway/gateway.h"
#include "json/reader.h"

bool btcpay_book_call(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                      struct http_call *ret);
enum reply btcpay_book_read(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                            const struct http_reply *answer, struct book_lines *ret);

/* What was paid for an invoice. The server calls an invoice settled when enough arrived within its own tolerance, and
 * says how much; where nothing differs, the invoice's own amount is exact. A string, or a number in older versions:
 * both keep their text. False: not stated. */
bool btcpay_paid_amount(const struct json *invoice, Str currency, Money *ret);
