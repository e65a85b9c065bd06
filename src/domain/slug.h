/* domain/slug.h - names as parts of addresses: [a-z0-9]+(-[a-z0-9]+)*, at most SLUG_BYTES_MAX bytes. */
#pragma once

#include "base/arena.h"
#include "base/text.h"

/* Made from a name: Latin letters lose their accents, and each run of other characters becomes one '-'. A name without
 * letters or digits gives "product". */
Str slug_from_name(struct arena *a, Str name);
/* "slug-2", still within SLUG_BYTES_MAX. */
Str slug_numbered(struct arena *a, Str slug, int number);
