/* api/v1/accept_signature.h - reading `Accept-Signature` (RFC 9421, section 5.1).
 *
 *     sig1=("@status" "content-digest");created;keyid="…";nonce="…"
 *
 * The field is a dictionary (RFC 8941) of wanted signatures. A field that does not parse is ignored as a whole, as RFC
 * 8941 asks; a member that we cannot fulfil (other components, another key or algorithm) is skipped, and the first that
 * we can is taken. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

struct wanted_signature {
    Str label;      /* the dictionary's key */
    Str nonce, tag; /* unescaped; empty: not asked for */
    bool expires;
};

/* False: nothing to sign. `keyid` is the key that we have. */
bool accept_signature_read(struct arena *a, Str field, Str keyid, struct wanted_signature *ret);
