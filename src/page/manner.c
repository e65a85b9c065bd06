/* page/manner.c - amounts and dates as the language writes them. Amounts are int64 minor units all the way. */
#include "page/template.h"

#include "page/words.h"

#define NBSP "\302\240"
#define NARROW_NBSP "\342\200\257"

struct manner {
    const char *code;
    const char *decimal;
    const char *group;
    int group_from;         /* digits before the point at which grouping starts */
    bool currency_is_first; /* "€19.99" against "19,99 €" */
    const char *date;       /* %d day, %m month's name, %y year */
};
static const struct manner manners[] = {
    {"en", ".", ",", 4, true, "%d %m %y"},
    {"de", ",", ".", 4, false, "%d. %m %y"},
    {"es", ",", ".", 5, false, "%d de %m de %y"},
    {"fr", ",", NARROW_NBSP, 4, false, "%d %m %y"},
};

static const struct manner *manner_of(enum lang lang)
{
    for (size_t i = 0; i < sizeof manners / sizeof *manners; i++)
        if (strcmp(manners[i].code, lang_codes[lang]) == 0) return &manners[i];
    return &manners[0];
}

/* Signs that are clear in a shop with a single currency; other currencies are written by their code. */
static Str sign_of(Str currency)
{
    static const struct {
        const char code[4];
        const char *sign;
    } signs[] = {
        {"EUR", "€"}, {"USD", "$"}, {"GBP", "£"}, {"JPY", "¥"}, {"INR", "₹"}, {"KRW", "₩"},   {"BRL", "R$"},
        {"ILS", "₪"}, {"UAH", "₴"}, {"VND", "₫"}, {"PHP", "₱"}, {"NGN", "₦"}, {"CAD", "CA$"}, {"AUD", "A$"},
    };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (str_eq(currency, str_from(signs[i].code))) return str_from(signs[i].sign);
    return currency;
}

Str page_int(struct page *p, int64_t n)
{
    struct buf b;
    buf_init(&b, p->arena, 32);
    buf_int(&b, n);
    return buf_str(&b);
}

Str page_money_plain(struct page *p, Money m)
{
    struct buf b;
    buf_init(&b, p->arena, MONEY_TEXT_MAX);
    buf_money(&b, m, currency_exponent(p->currency));
    return buf_str(&b);
}

static void number(struct buf *b, const struct manner *how, Str digits)
{
    Str whole = digits, decimals = {0};
    if (!str_cut(digits, '.', &whole, &decimals)) whole = digits;
    for (size_t i = 0; i < whole.len; i++) {
        size_t left = whole.len - i;
        if (i > 0 && left % 3 == 0 && whole.len >= (size_t)how->group_from) buf_append(b, str_from(how->group));
        buf_char(b, whole.ptr[i]);
    }
    if (!decimals.len) return;
    buf_append(b, str_from(how->decimal));
    buf_append(b, decimals);
}

Str page_money(struct page *p, Money m)
{
    const struct manner *how = manner_of(p->lang);
    Str digits = page_money_plain(p, m), sign = sign_of(p->currency);
    bool is_code = str_eq(sign, p->currency);
    struct buf b;
    buf_init(&b, p->arena, 128);
    if (digits.len && digits.ptr[0] == '-') {
        buf_lit(&b, "\342\210\222"); /* a minus, not a hyphen */
        digits = (Str){digits.ptr + 1, digits.len - 1};
    }
    if (how->currency_is_first) {
        buf_append(&b, sign);
        if (is_code) buf_lit(&b, NBSP);
        number(&b, how, digits);
    } else {
        number(&b, how, digits);
        buf_lit(&b, NBSP);
        buf_append(&b, sign);
    }
    return buf_str(&b);
}

Str page_iso(struct page *p, Time t)
{
    struct buf b;
    buf_init(&b, p->arena, TIME_TEXT_LEN + 1);
    buf_time(&b, t);
    return buf_str(&b);
}

static int number_at(Str iso, size_t at, size_t n)
{
    int v = 0;
    for (size_t i = at; i < at + n; i++) v = v * 10 + (iso.ptr[i] - '0');
    return v;
}

static Str month_name(enum lang lang, int month)
{
    static const enum word months[] = {WORD_month_1, WORD_month_2,  WORD_month_3,  WORD_month_4,
                                       WORD_month_5, WORD_month_6,  WORD_month_7,  WORD_month_8,
                                       WORD_month_9, WORD_month_10, WORD_month_11, WORD_month_12};
    return words_text(lang, months[month - 1]);
}

static void date(struct buf *b, struct page *p, Time t)
{
    Str iso = page_iso(p, t);
    int day = number_at(iso, 8, 2);
    for (const char *c = manner_of(p->lang)->date; *c; c++) {
        if (*c != '%') {
            buf_char(b, *c);
            continue;
        }
        c++;
        if (*c == 'd') buf_int(b, day);
        if (*c == 'd' && day == 1 && strcmp(lang_codes[p->lang], "fr") == 0) buf_lit(b, "er");
        if (*c == 'm') buf_append(b, month_name(p->lang, number_at(iso, 5, 2)));
        if (*c == 'y') buf_int(b, number_at(iso, 0, 4));
    }
}

Str page_date(struct page *p, Time t)
{
    struct buf b;
    buf_init(&b, p->arena, 128);
    date(&b, p, t);
    return buf_str(&b);
}

Str page_moment(struct page *p, Time t)
{
    Str iso = page_iso(p, t);
    struct buf b;
    buf_init(&b, p->arena, 128);
    date(&b, p, t);
    buf_lit(&b, ", ");
    buf_append(&b, (Str){iso.ptr + 11, 5});
    buf_lit(&b, " UTC");
    return buf_str(&b);
}
