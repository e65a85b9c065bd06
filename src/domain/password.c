/* domain/password.c - see password.h. */
#include "domain/password.h"

#include <sodium.h>

#define MIB ((size_t)1024 * 1024)

Str password_hash(struct arena *a, Str password)
{
    char *out = arena_alloc(a, crypto_pwhash_STRBYTES);
    if (crypto_pwhash_str_alg(out, password.ptr, password.len, 2, 19 * MIB, crypto_pwhash_ALG_ARGON2ID13) != 0)
        return (Str){0};
    return str_from(out);
}

bool password_verify(Str hash, Str password)
{
    /* The hash of a random password that nobody knows, with the same parameters, so that an unknown e-mail address
     * takes as long as a known one. */
    static const char nobody[] = "$argon2id$v=19$m=19456,t=2,p=1$c29vayBub2JvZHkgc2FsdA$"
                                 "ADhc1b6gZIkOmy1lKvmVBQnUp2lB8sO0bDKFBxlGBZ0";
    char text[crypto_pwhash_STRBYTES] = {0};
    bool known = hash.len > 0 && hash.len < sizeof text;
    memcpy(text, known ? hash.ptr : nobody, known ? hash.len : sizeof nobody);
    return crypto_pwhash_str_verify(text, password.ptr, password.len) == 0 && known;
}
