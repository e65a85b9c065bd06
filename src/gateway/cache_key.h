/* gateway/cache_key.h - a short key for cached things, made from what they belong to: credentials, addresses. */
#pragma once

#include "base/str.h"

#define CACHE_KEY_BYTES 16

struct cache_key {
    uint8_t bytes[CACHE_KEY_BYTES];
};

/* A hash of the parts and of their lengths. */
struct cache_key cache_key_of(Str a, Str b, Str c);
bool cache_key_is(const struct cache_key *a, const struct cache_key *b);
