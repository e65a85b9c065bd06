/* domain/password_reset.h - a new password for somebody who can read the account's e-mail.
 *
 * A token works once and for 30 minutes; asking again makes the one before worthless. Only its keyed hash is stored. */
#pragma once

#include "db/db.h"

#define PASSWORD_RESET_MINUTES 30

/* Makes a token for the active account with this address; *ret_token is empty when there is none. TX_WRITE. */
enum err password_reset_begin(struct db *db, Str email, Time now, Id *ret_account, Str *ret_token);
/* Whose token it is, without using it up. ERR_NOT_FOUND: unknown, used or too old. TX_READ is enough. */
enum err password_reset_look(struct db *db, Str token, Time now, Id *ret_account);
/* Uses the token up, sets the hash and ends all sessions. ERR_NOT_FOUND. TX_WRITE. */
enum err password_reset_finish(struct db *db, Str token, Str password_hash, Time now);
