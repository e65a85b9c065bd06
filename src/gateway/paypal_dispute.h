/* gateway/paypal_dispute.h - PayPal's disputes in our words. */
#pragma once

#include "domain/payment_event.h"
#include "json/reader.h"

/* {"currency_code":"USD","value":"30.00"}. False: not an amount. */
bool paypal_amount(struct arena *a, const struct json *obj, Str *ret_currency, Money *ret);
/* The same from two texts. */
bool paypal_amount_text(struct arena *a, Str currency, Str value, Str *ret_currency, Money *ret);
/* Fills kind, names, amount, outcome and due_at. The amount of a lost dispute is what it cost this store, which may be
 * less than was disputed; an outcome that does not say who paid needs a person to look at it. */
void paypal_read_dispute(struct arena *a, const struct json *dispute, struct payment_event *e);
