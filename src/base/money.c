/* base/money.c - see money.h. Text is read digit by digit into an int64; the decimal point and an exponent only move
 * the place where minor units end. */
#include "base/money.h"

#include <assert.h>

int currency_exponent(Str code)
{
    /* ISO 4217 active codes; a code that is not listed with 0 or 3 decimals has 2. */
    static const char zero[] = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF ";
    static const char three[] = "BHD IQD JOD KWD LYD OMR TND ";
    static const char two[] =
        "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY "
        "COP "
        "CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR "
        "IRR "
        "JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD "
        "NGN "
        "NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC "
        "SYP "
        "SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG ZWL ";
    static const struct {
        const char *codes;
        int exponent;
    } lists[] = {{two, 2}, {zero, 0}, {three, 3}};

    if (code.len != 3) return -1;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const char *p = lists[i].codes; *p; p += 4)
            if (memcmp(p, code.ptr, 3) == 0) return lists[i].exponent;
    return -1;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The parts of a JSON number: -?int(.frac)?([eE][+-]?exp)? with JSON's rule on leading zeros. */
struct number {
    bool negative;
    Str whole, fraction;
    int64_t exponent; /* held within ±10^16: more than any text has digits, so only zero survives beyond */
};

static bool number_split(Str s, struct number *ret)
{
    struct number n = {0};
    size_t i = 0;
    if (!s.len) return false;
    if (s.ptr[i] == '-') n.negative = true, i++;
    size_t start = i;
    while (i < s.len && is_digit(s.ptr[i])) i++;
    n.whole = (Str){s.ptr + start, i - start};
    if (!n.whole.len || (n.whole.len > 1 && n.whole.ptr[0] == '0')) return false;
    if (i < s.len && s.ptr[i] == '.') {
        start = ++i;
        while (i < s.len && is_digit(s.ptr[i])) i++;
        n.fraction = (Str){s.ptr + start, i - start};
        if (!n.fraction.len) return false;
    }
    if (i < s.len && (s.ptr[i] == 'e' || s.ptr[i] == 'E')) {
        i++;
        bool minus = i < s.len && s.ptr[i] == '-';
        if (i < s.len && (s.ptr[i] == '-' || s.ptr[i] == '+')) i++;
        start = i;
        for (; i < s.len && is_digit(s.ptr[i]); i++)
            if (n.exponent < INT64_C(1000000000000000)) n.exponent = n.exponent * 10 + (s.ptr[i] - '0');
        if (i == start) return false;
        if (minus) n.exponent = -n.exponent;
    }
    if (i != s.len) return false;
    *ret = n;
    return true;
}

enum money_text money_parse(Str text, int exponent, Money *ret)
{
    assert(exponent >= 0 && exponent <= MONEY_DECIMALS_MAX);
    struct number n;
    if (!number_split(text, &n)) return MONEY_MALFORMED;

    /* Digit i of whole+fraction stands for 10^(whole.len - 1 - i + n.exponent + exponent) minor units: everything from
     * `end` on is below one minor unit and must be zero. */
    size_t digits = n.whole.len + n.fraction.len;
    int64_t end = (int64_t)n.whole.len + n.exponent + exponent;
    int64_t v = 0;
    bool too_big = false;
    for (size_t i = 0; i < digits; i++) {
        int digit = (i < n.whole.len ? n.whole.ptr[i] : n.fraction.ptr[i - n.whole.len]) - '0';
        if ((int64_t)i >= end) {
            if (digit) return MONEY_TOO_PRECISE;
            continue;
        }
        /* Counts downwards, because int64 has one more negative number than positive ones. */
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, digit, &v)) too_big = true;
    }
    if (v && !too_big)
        for (int64_t i = (int64_t)digits; i < end && !too_big; i++) too_big = __builtin_mul_overflow(v, 10, &v);
    if (too_big) return MONEY_OUT_OF_RANGE;
    if (!n.negative && __builtin_sub_overflow(0, v, &v)) return MONEY_OUT_OF_RANGE;
    ret->minor = v;
    return MONEY_OK;
}

size_t money_format(Money m, int exponent, char ret[MONEY_TEXT_MAX])
{
    assert(exponent >= 0 && exponent <= MONEY_DECIMALS_MAX);
    uint64_t u = m.minor < 0 ? 0 - (uint64_t)m.minor : (uint64_t)m.minor;
    int digits = 1;
    for (uint64_t top = 10; digits < 19 && u >= top; top *= 10) digits++; /* an int64 has no more than 19 */
    if (digits <= exponent) digits = exponent + 1;

    size_t len = (size_t)digits + (m.minor < 0) + (exponent > 0);
    char *p = ret + len;
    *p = '\0';
    for (int i = 0; i < digits; i++, u /= 10) {
        if (i && i == exponent) *--p = '.';
        *--p = (char)('0' + u % 10);
    }
    if (m.minor < 0) *--p = '-';
    assert(p == ret);
    return len;
}

void buf_money(struct buf *b, Money m, int exponent)
{
    char text[MONEY_TEXT_MAX];
    size_t n = money_format(m, exponent, text);
    buf_append(b, (Str){text, n});
}

bool money_add(Money a, Money b, Money *ret)
{
    Money r;
    if (__builtin_add_overflow(a.minor, b.minor, &r.minor)) return false;
    *ret = r;
    return true;
}

bool money_sub(Money a, Money b, Money *ret)
{
    Money r;
    if (__builtin_sub_overflow(a.minor, b.minor, &r.minor)) return false;
    *ret = r;
    return true;
}

bool money_times(Money a, int64_t n, Money *ret)
{
    Money r;
    if (__builtin_mul_overflow(a.minor, n, &r.minor)) return false;
    *ret = r;
    return true;
}

bool money_percent(Money a, int64_t hundredths_of_percent, Money *ret)
{
    __int128 p = (__int128)a.minor * hundredths_of_percent;
    p = (p + (p < 0 ? -5000 : 5000)) / 10000;
    if (p > INT64_MAX || p < INT64_MIN) return false;
    ret->minor = (int64_t)p;
    return true;
}
