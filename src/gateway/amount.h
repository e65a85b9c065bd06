/* gateway/amount.h - converts between the ways in which providers count money and ours. Exact or refused. */
#pragma once

#include "base/money.h"

/* Moves the decimal point from `from` to `to` decimals. False when digits would be lost or the result does not fit. */
bool amount_rescale(int64_t value, int from, int to, int64_t *ret);

/* Three ASCII letters in either case, upper-cased into the arena; false for anything else or a code we do not know. */
bool currency_read(struct arena *a, Str text, Str *ret);

/* Major units as a provider writes them ("49.99", "5000"), in a known currency. */
bool amount_from_text(Str text, Str currency, Money *ret);
/* Major units with `decimals` decimals; false when the amount has more. */
bool amount_to_text(struct arena *a, Money m, Str currency, int decimals, Str *ret);
