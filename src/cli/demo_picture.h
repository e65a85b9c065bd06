/* cli/demo_picture.h - pictures of what the demo store sells, drawn when the store is made: flat
 * shapes on a coloured ground. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* A PNG for this product; empty for one that has none. *ret_alt: what it shows. */
Str demo_picture_draw(struct arena *a, Str slug, Str *ret_alt);
