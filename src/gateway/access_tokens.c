/* gateway/access_tokens.c - see access_tokens.h. */
#include "gateway/access_tokens.h"

#include <sodium.h>

#include "base/timestamp.h"

#define TOKEN_MARGIN_S 60  /* a token is not used in its final minute */
#define TOKEN_MOST_S 86400 /* whatever the provider says: a new one costs little */

void access_tokens_init(struct access_tokens *t)
{
    pthread_mutex_init(&t->lock, NULL);
}

void access_tokens_done(struct access_tokens *t)
{
    sodium_memzero(t->kept, sizeof t->kept);
    pthread_mutex_destroy(&t->lock);
}

bool access_token_find(struct access_tokens *t, const struct cache_key *owner, struct arena *a, Str *ret)
{
    bool found = false;
    int64_t now = time_monotonic_ns();
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < ACCESS_TOKENS_MAX && !found; i++) {
        const struct kept_token *k = &t->kept[i];
        if (k->ends_ns <= now || !cache_key_is(&k->owner, owner)) continue;
        *ret = str_dup(a, (Str){k->text, k->len});
        found = true;
    }
    pthread_mutex_unlock(&t->lock);
    return found;
}

/* Replaces the same owner's token, or the token that expires first. */
static struct kept_token *place_for(struct access_tokens *t, const struct cache_key *owner)
{
    struct kept_token *at = &t->kept[0];
    for (size_t i = 0; i < ACCESS_TOKENS_MAX; i++) {
        struct kept_token *k = &t->kept[i];
        if (cache_key_is(&k->owner, owner)) return k;
        if (k->ends_ns < at->ends_ns) at = k;
    }
    return at;
}

void access_token_keep(struct access_tokens *t, const struct cache_key *owner, Str text, int64_t seconds)
{
    if (text.len > TOKEN_BYTES_MAX || seconds <= TOKEN_MARGIN_S) return;
    if (seconds > TOKEN_MOST_S) seconds = TOKEN_MOST_S;
    pthread_mutex_lock(&t->lock);
    struct kept_token *at = place_for(t, owner);
    at->owner = *owner;
    memcpy(at->text, text.ptr, text.len);
    at->len = text.len;
    at->ends_ns = time_monotonic_ns() + (seconds - TOKEN_MARGIN_S) * INT64_C(1000000000);
    pthread_mutex_unlock(&t->lock);
}

void access_token_forget(struct access_tokens *t, const struct cache_key *owner)
{
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < ACCESS_TOKENS_MAX; i++)
        if (cache_key_is(&t->kept[i].owner, owner)) t->kept[i].ends_ns = 0;
    pthread_mutex_unlock(&t->lock);
}
