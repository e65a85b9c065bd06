/* page/color.c - see color.h. */
#include "page/color.h"

#include <stdint.h>

bool color_read(Str s, struct color *ret)
{
    uint8_t rgb[3];
    if (s.len != 7 || s.ptr[0] != '#' || !hex_decode((Str){s.ptr + 1, 6}, rgb, sizeof rgb)) return false;
    *ret = (struct color){rgb[0], rgb[1], rgb[2]};
    return true;
}

/* Linear light of an sRGB channel, 0 to 10000, at every 17th value; a straight line in between is close enough. */
static int linear(int channel)
{
    static const int at[] = {0, 56, 160, 331, 578, 908, 1329, 1845, 2462, 3185, 4020, 4969, 6038, 7230, 8550, 10000};
    int i = channel / 17, rest = channel % 17;
    return i == 15 ? at[15] : at[i] + (at[i + 1] - at[i]) * rest / 17;
}

/* Relative luminance, 0 to 10000. */
static int luminance(const struct color *c)
{
    return (2126 * linear(c->red) + 7152 * linear(c->green) + 722 * linear(c->blue)) / 10000;
}

/* (light + 0.05) / (dark + 0.05) in hundredths. */
static int contrast(int light, int dark)
{
    return (light + 500) * 100 / (dark + 500);
}

bool color_wants_white(const struct color *c)
{
    return contrast(10000, luminance(c)) >= contrast(luminance(c), 0);
}

bool color_reads_on_white(const struct color *c)
{
    return contrast(10000, luminance(c)) >= 500; /* the background is a little darker than white */
}

bool color_is_readable(const struct color *c)
{
    int l = luminance(c);
    return contrast(10000, l) >= 130 && contrast(l, 60) >= 130;
}
