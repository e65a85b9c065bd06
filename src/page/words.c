/* page/words.c - languages: which one, its words, its plural. */
#include "page/words.h"

#include <assert.h>

Str words_text(enum lang lang, enum word word)
{
    assert(lang < LANG_COUNT && word < WORD_COUNT);
    return words_other[lang][word];
}

/* CLDR's rule for whole numbers; "many" of French and Spanish (millions) reads like "other" in this shop. */
static bool is_one(enum lang lang, int64_t count)
{
    return count == 1 || (count == 0 && strcmp(lang_codes[lang], "fr") == 0);
}

Str words_fill(struct page *p, enum word word, int64_t count, const Str *args, size_t n)
{
    assert(p->lang < LANG_COUNT && word < WORD_COUNT);
    Str text = is_one(p->lang, count) ? words_one[p->lang][word] : words_other[p->lang][word];
    struct buf b;
    buf_init(&b, p->arena, SIZE_MAX);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '\1') {
            buf_char(&b, text.ptr[i]);
            continue;
        }
        size_t which = (size_t)(text.ptr[++i] - '1');
        assert(which < n);
        buf_append(&b, args[which]);
    }
    return buf_str(&b);
}

enum word words_find(Str name)
{
    int low = 1, high = WORD_COUNT - 1;
    if (!name.ptr) return WORD_NONE;
    while (low <= high) {
        int middle = (low + high) / 2;
        Str here = str_from(word_names[middle]);
        assert(here.ptr); /* only the first has no name */
        int order = memcmp(here.ptr, name.ptr, here.len < name.len ? here.len : name.len);
        if (!order) order = (here.len > name.len) - (here.len < name.len);
        if (!order) return (enum word)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return WORD_NONE;
}

bool lang_find(Str code, enum lang *ret)
{
    for (int i = 0; i < LANG_COUNT; i++) {
        if (!str_eq_nocase(code, str_from(lang_codes[i]))) continue;
        *ret = (enum lang)i;
        return true;
    }
    return false;
}

size_t lang_list(Str codes, enum lang ret[LANG_COUNT])
{
    size_t n = 0;
    for (Str code, rest; codes.len && n < LANG_COUNT; codes = rest) {
        if (!str_cut(codes, ',', &code, &rest)) code = codes, rest = (Str){0};
        if (lang_find(code, &ret[n])) n++;
    }
    if (!n) ret[n++] = LANG_en;
    return n;
}

/* "0.8" -> 800; anything else is 1000, and 0 is "not at all". */
static int quality(Str params)
{
    Str name, value;
    if (!str_cut(params, '=', &name, &value) || !str_eq_nocase(str_trim(name), STR("q"))) return 1000;
    value = str_trim(value);
    int q = 0, unit = 1000;
    for (size_t i = 0; i < value.len && unit; i++) {
        if (value.ptr[i] == '.') continue;
        if (value.ptr[i] < '0' || value.ptr[i] > '9') break;
        q += (value.ptr[i] - '0') * unit;
        unit /= 10;
    }
    return q > 1000 ? 1000 : q;
}

enum lang lang_choose(Str accept_language, const enum lang *offered, size_t n)
{
    enum lang best = offered[0];
    int best_q = 0;
    for (Str rest = accept_language; rest.len;) {
        Str item = rest, range, params = {0}, primary, region;
        if (str_cut(rest, ',', &item, &rest))
            ;
        else
            rest = (Str){0};
        if (!str_cut(item, ';', &range, &params)) range = item;
        range = str_trim(range);
        if (!str_cut(range, '-', &primary, &region)) primary = range;
        int q = params.len ? quality(params) : 1000;
        if (q <= best_q) continue;
        for (size_t i = 0; i < n; i++) {
            bool fits = str_eq_nocase(primary, str_from(lang_codes[offered[i]])) || str_eq(primary, STR("*"));
            if (!fits) continue;
            best = offered[i];
            best_q = q;
            break;
        }
    }
    return best;
}
