/* gateway/access_tokens.h - short-lived tokens of providers' APIs, kept until shortly before they expire. Safe from any
 * thread. */
#pragma once

#include <pthread.h>

#include "base/str.h"
#include "gateway/cache_key.h"

#define ACCESS_TOKENS_MAX 16
#define TOKEN_BYTES_MAX 4096

struct kept_token {
    struct cache_key owner; /* which credentials at which address */
    int64_t ends_ns;        /* 0: the place is free */
    size_t len;
    char text[TOKEN_BYTES_MAX];
};

struct access_tokens {
    pthread_mutex_t lock;
    struct kept_token kept[ACCESS_TOKENS_MAX];
};

void access_tokens_init(struct access_tokens *t);
void access_tokens_done(struct access_tokens *t);
/* *ret is the arena's. */
bool access_token_find(struct access_tokens *t, const struct cache_key *owner, struct arena *a, Str *ret);
/* `seconds`: the token's lifetime, as the provider states it. */
void access_token_keep(struct access_tokens *t, const struct cache_key *owner, Str text, int64_t seconds);
void access_token_forget(struct access_tokens *t, const struct cache_key *owner);
