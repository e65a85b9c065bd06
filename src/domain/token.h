/* domain/token.h - bearer tokens.
 *
 * The text is souk_<kind>_ + 32 random base62 characters + 6 base62 characters of checksum, so that a typo or a made-up
 * token is refused without asking the database, and secret scanners find leaked ones. It is shown once; what is stored
 * is a keyed hash (domain/vault.h). */
#pragma once

#include "db/db.h"
#include "domain/account.h"

enum scope {
    SCOPE_NONE = 0,
    SCOPE_CUSTOMER = 1,
    SCOPE_STORE = 2,
    SCOPE_CATALOG = 4,
    SCOPE_VERIFY = 8,
    SCOPE_ORDER = 16,
    SCOPE_ADMIN = 32,
    SCOPE_ANY = 1 << 30, /* rows of the route table only: any valid token */
};
#define SCOPES_OF_CUSTOMERS (SCOPE_CUSTOMER | SCOPE_STORE | SCOPE_CATALOG | SCOPE_VERIFY | SCOPE_ORDER)
#define SCOPES_OF_STAFF (SCOPES_OF_CUSTOMERS | SCOPE_ADMIN)

/* Names in the order of the bits, NULL at the end: for FIELD_CHOICES. */
extern const char *const scope_names[];
/* "a,b" → bits. False on an unknown name or an empty list. */
bool scopes_parse(Str text, unsigned *ret);
/* All an account of this role may have. */
unsigned scopes_of_role(enum role role);

enum token_kind { TOKEN_LOGIN, TOKEN_API };

#define TOKEN_TEXT_MAX 64
#define TOKEN_HASH_BYTES 32

struct token {
    Id id, account;
    enum token_kind kind;
    Str name, hint;
    unsigned scopes;
    Time created_at, expires_at;
};

/* Whether the text can be a token of ours (form and checksum). */
bool token_is_plausible(Str text);
void token_hash(Str text, uint8_t ret[TOKEN_HASH_BYTES]);

/* Makes one; *ret_text (in the arena) is the only copy of its text. */
enum err token_create(struct db *db, const struct token *t, Time now, struct token *ret, Str *ret_text);

struct caller {
    Id account, token_id;
    unsigned scopes;
    enum role role;
};
/* ERR_TOKEN_INVALID (unknown, or its account is switched off), ERR_TOKEN_EXPIRED. */
enum err token_authenticate(struct db *db, const uint8_t hash[TOKEN_HASH_BYTES], Time now, struct caller *ret);

/* API and login tokens of one account, newest first, with id below `before` (0: all). */
enum err token_list(struct db *db, Id account, Id before, int64_t limit, struct token **ret, size_t *ret_count);
/* ERR_NOT_FOUND when the account has no such token. */
enum err token_revoke(struct db *db, Id account, Id token);
enum err token_revoke_all(struct db *db, Id account);
