/* tests/fuzz/fuzz_money.c - amounts against arithmetic on digits.
 *
 * The first byte is the number of decimals, the rest the text. Text and result are both spelled out as a plain decimal
 * without needless zeros: they must be the same. */
#include "fuzz.h"

#include "base/money.h"

#define PLACES 4096

/* The digits of a number, PLACES before the point and PLACES behind. */
struct spelled {
    bool negative;
    char digits[2 * PLACES];
};

static bool spell(Str s, long move, struct spelled *ret)
{
    memset(ret->digits, 0, sizeof ret->digits);
    ret->negative = s.len && s.ptr[0] == '-';
    size_t i = ret->negative, point = i;
    while (point < s.len && s.ptr[point] >= '0' && s.ptr[point] <= '9') point++;
    long place = PLACES - (long)(point - i) - move; /* where the first digit goes */
    bool any = false;
    for (; i < s.len && s.ptr[i] != 'e' && s.ptr[i] != 'E'; i++) {
        if (s.ptr[i] == '.') continue;
        if (s.ptr[i] != '0') {
            if (place < 0 || place >= 2 * PLACES) return false;
            ret->digits[place] = (char)(s.ptr[i] - '0');
            any = true;
        }
        place++;
    }
    ret->negative = ret->negative && any;
    return true;
}

static void check_text(Str text, int exponent)
{
    Money m = {77};
    enum money_text result = money_parse(text, exponent, &m);
    if (result != MONEY_OK) {
        MUST(m.minor == 77);
        return;
    }
    char formatted[MONEY_TEXT_MAX];
    Str back = {formatted, money_format(m, exponent, formatted)};
    Money again;
    MUST(money_parse(back, exponent, &again) == MONEY_OK && again.minor == m.minor);

    long move = 0;
    ptrdiff_t e = str_find(text, 'e') >= 0 ? str_find(text, 'e') : str_find(text, 'E');
    if (e >= 0) {
        Str tail = {text.ptr + e + 1, text.len - (size_t)e - 1};
        if (tail.ptr[0] == '+') tail.ptr++, tail.len--;
        int64_t v;
        if (!str_to_int64(tail, &v) || v > 3000 || v < -3000) return;
        move = (long)v;
    }
    static struct spelled given, got;
    if (!spell(text, move, &given))
        MUST(text.len > 900); /* only when it is longer than we can spell */
    else
        MUST(spell(back, 0, &got) && given.negative == got.negative &&
             !memcmp(given.digits, got.digits, sizeof got.digits));
}

static void check_sums(const uint8_t *data)
{
    int64_t a, b;
    memcpy(&a, data, 8);
    memcpy(&b, data + 8, 8);
    Money r = {77};
    __int128 sum = (__int128)a + b, difference = (__int128)a - b, product = (__int128)a * b;
    MUST(money_add((Money){a}, (Money){b}, &r) == (sum >= INT64_MIN && sum <= INT64_MAX));
    if (money_add((Money){a}, (Money){b}, &r)) MUST(r.minor == sum);
    MUST(money_sub((Money){a}, (Money){b}, &r) == (difference >= INT64_MIN && difference <= INT64_MAX));
    MUST(money_times((Money){a}, b, &r) == (product >= INT64_MIN && product <= INT64_MAX));
    if (money_percent((Money){a}, b, &r)) {
        __int128 off = ((__int128)r.minor * 10000 - product) * 2;
        MUST(off <= 10000 && off >= -10000);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    check_text((Str){(const char *)data + 1, size - 1}, data[0] % 5);
    if (size >= 17) check_sums(data + 1);
    if (size >= 4) currency_exponent((Str){(const char *)data + 1, 3});
    return 0;
}
