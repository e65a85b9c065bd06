/* domain/password_reset.h - a new password for a person who can read the account's e-mail. A link (domain/mail_link.h)
 * works once and for 30 minutes. */
#pragma once

#include "db/db.h"

#define PASSWORD_RESET_MINUTES 30

/* Makes a token for the account with this address; *ret_token is empty when there is no such active account, or it has
 * had its share for this hour. TX_WRITE. */
enum err password_reset_begin(struct db *db, Str email, Time now, Id *ret_account, Str *ret_token);
/* The token's account, without using it up. ERR_NOT_FOUND: unknown, used or too old. TX_READ is enough. */
enum err password_reset_look(struct db *db, Str token, Time now, Id *ret_account);
/* Uses the token up, sets the hash, ends all sessions and API tokens, and marks the address as proved. ERR_NOT_FOUND.
 * TX_WRITE. */
enum err password_reset_finish(struct db *db, Str token, Str password_hash, Time now);
