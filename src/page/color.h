/* page/color.h - the merchant's colour, and what can be read on it. Contrast as WCAG 2 defines it, in whole numbers. */
#pragma once

#include "base/str.h"

struct color {
    int red, green, blue;
};

/* "#rrggbb". */
bool color_read(Str s, struct color *ret);
/* Whether the colour stands out from light and dark backgrounds. Black or white text has a contrast of at least 4.5 on
 * every colour. */
bool color_is_readable(const struct color *c);
/* Whether links on white can have this colour. */
bool color_reads_on_white(const struct color *c);
/* Black or white, whichever reads better on the colour. */
bool color_wants_white(const struct color *c);
