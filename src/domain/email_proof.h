/* domain/email_proof.h - proof that an account's e-mail address belongs to its owner, through a link that was sent to
 * it. */
#pragma once

#include "db/db.h"

#define EMAIL_PROOF_DAYS 3

/* Sends the link, where mail is set up, unless the address is proved or has had its share for this hour. is_welcome:
 * the account was made just now. TX_WRITE. */
enum err email_proof_begin(struct db *db, Id account, bool is_welcome, Time now);
/* Starts the change to another address: a link goes there, a notice to the present address. ERR_MAIL_OFF;
 * ERR_EMAIL_TAKEN; ERR_RATE_LIMITED: the account has had its share of links for this hour. TX_WRITE. */
enum err email_change_begin(struct db *db, Id account, Str email, Time now);
/* Uses the link up: the address is proved, and sessions and tokens made without proof end (account_prove_email). The
 * link of a change also gives the account its new address, tells the old one, and ends the links that were sent there.
 * ERR_NOT_FOUND: unknown, used or too old. ERR_EMAIL_TAKEN: another account has that address by now. TX_WRITE. */
enum err email_proof_finish(struct db *db, Str token, Id kept_token, Time now, Id *ret_account);
