/* domain/token_cache.h - whose tokens are, remembered for a moment.
 *
 * For verifications and orders (GROUPED routes), which mostly come with the same few tokens. What is kept is the row,
 * not the verdict: the caller applies the rules again. An entry counts only
 *   - within the same generation: every transaction of this process that may have changed a token or an account ends
 * it, before the change is answered. A token that was revoked here is refused here from then on;
 *   - for TOKEN_CACHE_MS: so long another node on PostgreSQL may not have noticed.
 * Unknown tokens are not remembered. Safe from any thread. */
#pragma once

#include "domain/token.h"

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

bool token_cache_find(const uint8_t hash[TOKEN_HASH_BYTES], int64_t generation, struct token_row *ret);
void token_cache_keep(const uint8_t hash[TOKEN_HASH_BYTES], int64_t generation, const struct token_row *row);
