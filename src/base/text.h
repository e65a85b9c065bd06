/* base/text.h - what texts from outside may look like.
 *
 * Pure checks and small conversions, shared by bodies, queries, paths, settings and the command line, so that an e-mail
 * address means the same everywhere. Each takes valid UTF-8 unless it says otherwise. */
#pragma once

#include "base/str.h"

#define EMAIL_BYTES_MAX 254
#define SLUG_BYTES_MAX 100
#define URL_BYTES_MAX 2048

/* Trims white space at both ends: Unicode's White_Space, and U+FEFF, which looks like it. */
Str text_trim(Str s);
/* No control characters: none below U+0020, not U+007F to U+009F. */
bool text_is_line(Str s);
/* The same, but tab and LF are fine. */
bool text_is_lines(Str s);

/* local@domain, ASCII, the local part made of dot-separated atoms, the domain of at least two labels, ≤ 254 bytes. */
bool email_is_plausible(Str s);
/* [a-z0-9]+(-[a-z0-9]+)*, ≤ 100 bytes. */
bool slug_is_valid(Str s);
/* An absolute http or https address of RFC 3986's characters, with a host, no userinfo, a real port, ≤ 2048 bytes. */
bool url_is_web(Str s);

/* Undoes %XX; with plus_is_space (queries) also '+'. Takes any bytes. False, leaving *ret alone, on a bad escape, or
 * when the result holds NUL or is not UTF-8. Copies into the arena only when something was encoded. */
bool percent_decode(struct arena *a, Str s, bool plus_is_space, Str *ret);

/* The text as a LIKE pattern (ESCAPE '\\') that finds it anywhere in lower-case text; its own wildcards mean
 * themselves. */
Str text_like_pattern(struct arena *a, Str s);
