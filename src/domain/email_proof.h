/* domain/email_proof.h - proof that an account's e-mail address belongs to its owner, through a link that was sent to
 * it. */
#pragma once

#include "db/db.h"

#define EMAIL_PROOF_DAYS 3

/* Sends the link, where mail is set up, unless the address is proved or has had its share for this hour. is_welcome:
 * the account was made just now. TX_WRITE. */
enum err email_proof_begin(struct db *db, Id account, bool is_welcome, Time now);
/* Uses the link up: the address is proved, and sessions and tokens made without proof end (account_prove_email).
 * ERR_NOT_FOUND: unknown, used or too old. TX_WRITE. */
enum err email_proof_finish(struct db *db, Str token, Id kept_token, Time now, Id *ret_account);
