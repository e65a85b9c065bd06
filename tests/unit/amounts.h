/* tests/unit/amounts.h - how much is tried. What is proved by amounts is proved in the release build. Under a sanitizer
 * every seventh place, and with it every bit of a byte, has the same code run, and so has a tenth of many. */
#pragma once

#include "base/sanitized.h"

#if defined(WITH_ASAN) || defined(WITH_TSAN)
#define UNIT_STRIDE 7
#define UNIT_MANY(n) ((n) / 10)
#else
#define UNIT_STRIDE 1
#define UNIT_MANY(n) (n)
#endif
