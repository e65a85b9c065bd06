/* domain/password.c - see password.h. */
#include "domain/password.h"

#include "base/sanitized.h"

#include <sodium.h>

#define MIB ((size_t)1024 * 1024)

static bool is_cheap; /* set before the first thread starts */

void password_make_cheap(void)
{
    is_cheap = true;
}

Str password_hash(struct arena *a, Str password)
{
    unsigned long long passes = is_cheap ? crypto_pwhash_OPSLIMIT_MIN : 2;
    size_t memory = is_cheap ? crypto_pwhash_MEMLIMIT_MIN : 19 * MIB;
    char *out = arena_alloc(a, crypto_pwhash_STRBYTES);
    sanitized_reads(password.ptr, password.len);
    sanitized_writes(out, crypto_pwhash_STRBYTES);
    sanitized_look_away();
    bool made =
        crypto_pwhash_str_alg(out, password.ptr, password.len, passes, memory, crypto_pwhash_ALG_ARGON2ID13) == 0;
    sanitized_look_again();
    return made ? str_from(out) : (Str){0};
}

bool password_verify(Str hash, Str password)
{
    /* The hash of a random password that nobody knows, with the same parameters, so that an unknown e-mail address
     * takes as long as a known one. */
    static const char dear[] = "$argon2id$v=19$m=19456,t=2,p=1$c29vayBub2JvZHkgc2FsdA$"
                               "ADhc1b6gZIkOmy1lKvmVBQnUp2lB8sO0bDKFBxlGBZ0";
    static const char cheap[] = "$argon2id$v=19$m=8,t=1,p=1$c29vayBub2JvZHkgc2FsdA$"
                                "ADhc1b6gZIkOmy1lKvmVBQnUp2lB8sO0bDKFBxlGBZ0";
    Str nobody = str_from(is_cheap ? cheap : dear);
    char text[crypto_pwhash_STRBYTES] = {0};
    bool known = hash.len > 0 && hash.len < sizeof text;
    memcpy(text, known ? hash.ptr : nobody.ptr, known ? hash.len : nobody.len);
    sanitized_reads(password.ptr, password.len);
    sanitized_look_away();
    bool same = crypto_pwhash_str_verify(text, password.ptr, password.len) == 0;
    sanitized_look_again();
    return same && known;
}
