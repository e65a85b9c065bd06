/* gateway/amount.c - see amount.h. */
#include "gateway/amount.h"

bool amount_rescale(int64_t value, int from, int to, int64_t *ret)
{
    for (; from < to; from++)
        if (__builtin_mul_overflow(value, 10, &value)) return false;
    for (; from > to; from--) {
        if (value % 10 != 0) return false;
        value /= 10;
    }
    *ret = value;
    return true;
}

bool currency_read(struct arena *a, Str text, Str *ret)
{
    if (text.len != 3) return false;
    for (size_t i = 0; i < 3; i++) {
        char c = text.ptr[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')) return false;
    }
    Str upper = str_upper(a, text);
    if (currency_exponent(upper) < 0) return false;
    *ret = upper;
    return true;
}

bool amount_from_text(Str text, Str currency, Money *ret)
{
    int exponent = currency_exponent(currency);
    return exponent >= 0 && money_parse(text, exponent, ret) == MONEY_OK;
}

bool amount_to_text(struct arena *a, Money m, Str currency, int decimals, Str *ret)
{
    int exponent = currency_exponent(currency);
    int64_t scaled;
    if (exponent < 0 || !amount_rescale(m.minor, exponent, decimals, &scaled)) return false;
    char text[MONEY_TEXT_MAX];
    size_t n = money_format((Money){scaled}, decimals, text);
    *ret = str_dup(a, (Str){text, n});
    return true;
}
