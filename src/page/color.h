/* page/color.h - the merchant's colour, and what can be read on it. Contrast as WCAG 2 defines it, in whole numbers. */
#pragma once

#include "base/str.h"

struct color {
    int red, green, blue;
};

/* "#rrggbb". */
bool color_read(Str s, struct color *ret);
/* Whether black or white text on it has a contrast of at least 4.5, and it can be told from light and dark ground. */
bool color_is_readable(const struct color *c);
/* Whether it can be the colour of links on white. */
bool color_reads_on_white(const struct color *c);
/* Which of the two reads better on it. */
bool color_wants_white(const struct color *c);
