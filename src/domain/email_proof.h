/* domain/email_proof.h - that an account's e-mail address belongs to its owner, shown by a link that was sent to it. */
#pragma once

#include "db/db.h"

#define EMAIL_PROOF_DAYS 3

/* Sends the link, where mail is set up, unless the address is proved or has had its share of this hour. TX_WRITE. */
enum err email_proof_begin(struct db *db, Id account, Str base_url, Time now);
/* Uses the link up: the address is proved, and what was made without proof ends (account_prove_email). ERR_NOT_FOUND:
 * unknown, used or too old. TX_WRITE. */
enum err email_proof_finish(struct db *db, Str token, Id kept_token, Time now, Id *ret_account);
