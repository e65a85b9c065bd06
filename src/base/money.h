/* base/money.h - exact money.
 *
 * A Money is a count of minor units (cents, fils, yen) in an int64. It knows no currency: a store has one, and its
 * exponent (how many decimals) is handed in wherever text is read or written. No floating point anywhere.
 * Arithmetic is checked: each function returns false and leaves *ret alone rather than wrap. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

typedef struct Money {
    int64_t minor;
} Money;

/* More than any currency has; an int64 with this many decimals still fits in MONEY_TEXT_MAX. */
#define MONEY_DECIMALS_MAX 18

enum money_text {
    MONEY_OK,
    MONEY_MALFORMED,    /* not a JSON number */
    MONEY_TOO_PRECISE,  /* digits past the currency's decimals that are not zero */
    MONEY_OUT_OF_RANGE, /* does not fit */
};

/* Decimals of an ISO 4217 code (JPY 0, USD 2, KWD 3, …); -1 for a code we do not know. Codes are upper-case. */
int currency_exponent(Str code);

/* Reads the literal text of a JSON number, exponent form included ("1.5e2"), exactly. *ret is set on MONEY_OK only. Too
 * precise wins over out of range. "-0" is 0. exponent is at most MONEY_DECIMALS_MAX, here and below. */
enum money_text money_parse(Str text, int exponent, Money *ret);
/* Writes major units with exactly `exponent` decimals: "-0.05", "19.99", "1000". Needs at most MONEY_TEXT_MAX bytes. */
#define MONEY_TEXT_MAX 32
size_t money_format(Money m, int exponent, char ret[MONEY_TEXT_MAX]);
void buf_money(struct buf *b, Money m, int exponent);

bool money_add(Money a, Money b, Money *ret);
bool money_sub(Money a, Money b, Money *ret);
bool money_times(Money a, int64_t n, Money *ret);
/* a * hundredths_of_percent / 10000, rounded half up (away from zero for negatives). 10000 is 100.00 %. */
bool money_percent(Money a, int64_t hundredths_of_percent, Money *ret);

static inline int money_cmp(Money a, Money b)
{
    return (a.minor > b.minor) - (a.minor < b.minor);
}
