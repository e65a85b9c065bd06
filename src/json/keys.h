/* json/keys.h - the names of one object while it is being read, so that a repeated name is refused.
 *
 * A few names are compared one by one; more are hashed with a random key, so that nobody can choose names that collide:
 * the cost stays linear in the bytes of the body, whatever is sent. */
#pragma once

#include "json/reader.h"

struct key_slot;

struct keys {
    struct key_slot *slots;
    size_t cap; /* a power of two, or 0 while names are few */
};

/* One per document; drawn when the first object needs it. */
struct keys_secret {
    unsigned char bytes[16];
    bool drawn;
};

/* Adds the newest member (already linked into object and counted). False: the object already has this name. */
bool keys_add(struct keys *k, struct keys_secret *secret, struct arena *a, const struct json *object,
              const struct json *member);
