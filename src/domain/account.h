/* domain/account.h - people: customers and staff. */
#pragma once

#include "db/db.h"

enum role { ROLE_NONE, ROLE_CUSTOMER, ROLE_STAFF, ROLE_OWNER };
extern const char *const role_names[];

struct account {
    Id id;
    Str email; /* lower-case */
    Str name;
    Str password_hash; /* empty: no password */
    enum role role;
    bool is_active;
    bool is_unproven; /* self-registered; nobody has proved yet that they can read its mail */
    Str language;     /* code of the one last read in the shop; empty: not known */
    Time created_at;
};

/* ERR_EMAIL_TAKEN. */
enum err account_create(struct db *db, const struct account *a, Time now, struct account *ret);
/* ERR_NOT_FOUND. */
enum err account_find(struct db *db, Id id, struct account *ret);
enum err account_find_email(struct db *db, Str email, struct account *ret);
/* The address is proved. The first time, sessions and tokens that were made without the proof end, except `kept_token`
 * (0: none), so that registering somebody else's address in advance gains nothing. */
enum err account_prove_email(struct db *db, Id id, Id kept_token);
/* What the account's mail is written in. Nothing is written when it is so already. */
enum err account_set_language(struct db *db, Id id, Str code);
/* ERR_EMAIL_TAKEN. The caller knows that the address is the account's own. */
enum err account_set_email(struct db *db, Id id, Str email);
enum err account_set_name(struct db *db, Id id, Str name);
/* Sets a new hash and ends all logins, in the API and in the shop; API tokens too, when nobody has proved that they
 * knew the old password. Links that somebody who knew it may have asked for end, too (mail_link_end_changes). */
enum err account_set_password(struct db *db, Id id, Str password_hash, bool ends_api_tokens, Time now);
