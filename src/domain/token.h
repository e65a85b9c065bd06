/* domain/token.h - bearer tokens.
 *
 * The text is souk_<kind>_ + 32 random base62 characters + 6 base62 characters of checksum, so that a typo or a made-up
 * token is refused without asking the database, and secret scanners find leaked ones. It is shown once; only a keyed
 * hash is stored (domain/vault.h). */
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
    SCOPE_OWNER = 64,      /* lets an owner's API token make calls that a person would have to confirm */
    SCOPE_LOGIN = 1 << 30, /* rows of the route table only: a login session, and no API token */
};
#define SCOPES_OF_CUSTOMERS (SCOPE_CUSTOMER | SCOPE_STORE | SCOPE_CATALOG | SCOPE_VERIFY | SCOPE_ORDER)
#define SCOPES_OF_STAFF (SCOPES_OF_CUSTOMERS | SCOPE_ADMIN)
#define SCOPES_OF_OWNERS (SCOPES_OF_STAFF | SCOPE_OWNER)
/* Never a default over HTTP: requested by name, with an expiry, by a person who has just proved who they are. */
#define SCOPES_OF_POWER (SCOPE_ADMIN | SCOPE_OWNER)

/* Names in the order of the bits, NULL at the end: for FIELD_CHOICES. */
extern const char *const scope_names[];
/* The first of a set. */
const char *scope_name(unsigned scope);
/* "a,b" → bits. False on an unknown name or an empty list. */
bool scopes_parse(Str text, unsigned *ret);
/* All scopes that an account of this role may have. */
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
    Time confirmed_at; /* of a login: when password and code were last proved */
    Time last_used_at; /* of a login */
    Str network;       /* of a login: where it came from */
};

/* Whether the text can be a token of ours (form and checksum). */
bool token_is_plausible(Str text);
void token_hash(Str text, uint8_t ret[TOKEN_HASH_BYTES]);
struct token_known; /* token_cache.h */
/* What is known of it without asking the database; false if the text cannot be a token of ours. */
bool token_read(Str text, struct token_known *ret);

#define TOKENS_MAX 100 /* live tokens of one account, of each kind, unless configured otherwise */
/* Once, before any thread starts. */
void token_set_max(int64_t max);

/* Makes a token; *ret_text (in the arena) is the only copy of its text. ERR_TOKEN_LIMIT: the account may have no more
 * API tokens. A login beyond the limit ends the account's oldest one: nobody is locked out by their own sessions. */
enum err token_create(struct db *db, const struct token *t, Time now, struct token *ret, Str *ret_text);

struct caller {
    Id account, token_id;
    enum token_kind kind;
    unsigned scopes;
    enum role role;
    Time confirmed_at, expires_at;
    bool is_unproven; /* the account's e-mail address */
    bool is_to_note;  /* a login whose last use must be noted: token_used */
};
/* A staff session ends when it is not used for this long. */
#define STAFF_IDLE_MS (60 * TIME_MINUTE)
/* How long a session's use may go without a note. */
#define USE_NOTED_MS TIME_MINUTE
/* ERR_TOKEN_INVALID (unknown, or its account is switched off), ERR_TOKEN_EXPIRED (also: idle for too long). */
enum err token_authenticate(struct db *db, struct token_known *k, Time now, struct caller *ret);

/* API and login tokens of one account, newest first, with id below `before` (0: all). */
enum err token_list(struct db *db, Id account, Id before, int64_t limit, struct token **ret, size_t *ret_count);
/* Logins, and browsers in the shop: every place where the account is logged in. */
enum err token_list_logins(struct db *db, Id account, Id before, int64_t limit, struct token **ret, size_t *ret_count);
/* `id` was last used at this time; `count` is not kept. */
enum err token_used(struct db *db, Id id, int64_t count, Time at);
/* Ends one login. ERR_NOT_FOUND when the account has no such login. */
enum err token_end_login(struct db *db, Id account, Id login);
/* Ends the logins of the account, but for `kept` (0: none). */
enum err token_end_logins(struct db *db, Id account, Id kept);
/* Tells what the token could do: an API token's scopes, 0 of a session. ERR_NOT_FOUND when the account has no such
 * token. */
enum err token_revoke(struct db *db, Id account, Id token, unsigned *ret_scopes);
enum err token_revoke_all(struct db *db, Id account);
/* Whether somebody is logged in to the account from that network. */
enum err token_network_is_known(struct db *db, Id account, Str network, bool *ret);

/* Sensitive steps require a proof that is at most this old. */
#define CONFIRMED_MS (10 * TIME_MINUTE)
/* Password and code were proved again in this session. ERR_NOT_FOUND when it has ended in the meantime. */
enum err token_confirm(struct db *db, Id token, Time now);

/* Deletes tokens that ended TOKEN_KEPT_DAYS ago, at most `limit`: until then the bearer is told that the token has
 * expired. ERR_NEEDS_WRITE in a read when there is something to delete. */
#define TOKEN_KEPT_DAYS 7
enum err token_purge(struct db *db, Time now, int64_t limit);
