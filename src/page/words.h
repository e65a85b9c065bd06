/* page/words.h - the words of the shop in its languages (web/shop/words), and how a language counts. */
#pragma once

#include "page/template.h"

extern const char *const lang_codes[LANG_COUNT];
extern const char *const word_names[WORD_COUNT]; /* sorted, behind the empty name of WORD_NONE */
/* Texts by form: the same twice for a word without a plural. Arguments are \1 and a digit, from 1. */
extern const Str words_one[LANG_COUNT][WORD_COUNT];
extern const Str words_other[LANG_COUNT][WORD_COUNT];

/* A word without placeholders. */
Str words_text(enum lang lang, enum word word);
/* A word with its arguments filled in. `count` chooses the form, where a word has two. */
Str words_fill(struct page *p, enum word word, int64_t count, const Str *args, size_t n);
/* The word of that name, or WORD_NONE. */
enum word words_find(Str name);

/* The language of that code ("de"); false when the shop has no words in it. */
bool lang_find(Str code, enum lang *ret);
/* The languages of a list of codes with commas between them; unknown ones are left out. `ret` has room for all there
 * are; at least one is given back. */
size_t lang_list(Str codes, enum lang ret[LANG_COUNT]);
/* The best of `offered` for an Accept-Language header; the first when none fits. n > 0. */
enum lang lang_choose(Str accept_language, const enum lang *offered, size_t n);
