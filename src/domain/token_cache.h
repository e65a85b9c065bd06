/* domain/token_cache.h - whose tokens are, remembered for a moment.
 *
 * For verifications and orders (GROUPED routes), which mostly come with the same few tokens. What is kept is the row,
 * not the verdict: the caller applies the rules again. A row counts only
 *   - within the same generation: every transaction of this process that may have changed a token or an account ends
 * it, before the change is answered. A token that was revoked here is refused here from then on;
 *   - for TOKEN_CACHE_MS: so long another node on PostgreSQL may not have noticed.
 * The hash that is kept with it counts for ever. Unknown tokens are not remembered, nor any token's text. Safe from any
 * thread. */
#pragma once

#include "domain/token.h"
#include "domain/vault.h"

#define TOKEN_CACHE_MS 1000

/* A token with what matters of its account. */
struct token_row {
    Id token_id, account;
    enum token_kind kind;
    unsigned scopes;
    Time expires_at, confirmed_at, used_at;
    enum role role;
    bool is_unproven, is_active;
};

/* What is known of a token that somebody has sent. */
struct token_known {
    uint8_t name[VAULT_NAME_BYTES]; /* of its text */
    uint8_t hash[TOKEN_HASH_BYTES];
    int64_t generation, until_ns; /* of the row; 0: it was not read yet */
    struct token_row row;
};

/* Also if the row no longer counts. */
bool token_cache_find(const uint8_t name[VAULT_NAME_BYTES], struct token_known *ret);
bool token_cache_holds(const struct token_known *k, int64_t generation);
/* The row was read in this generation. */
void token_cache_keep(struct token_known *k, int64_t generation, const struct token_row *row);
