/* page/qr.h - a text as a QR code, drawn as one path of an inline SVG: no picture to fetch, no style attribute. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct qr {
    int64_t size; /* of the square, in modules, with the quiet zone of four on each side */
    Str path;     /* the dark modules, for the attribute `d` */
};

/* False: too long for a code that phones still read. */
bool qr_draw(struct arena *a, Str text, struct qr *ret);
