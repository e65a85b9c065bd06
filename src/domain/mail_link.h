/* domain/mail_link.h - one-time links sent by e-mail: a person who opens one can read the account's mail.
 *
 * Several may be open at a time: a newer link does not void an older one, so that nobody can void another person's link
 * by asking for a new one. Only a keyed hash is stored, and at most MAIL_LINKS_AN_HOUR are made for one account and
 * purpose. Using one up ends the others of its purpose. */
#pragma once

#include "db/db.h"

enum mail_link_purpose { MAIL_LINK_RESET, MAIL_LINK_VERIFY, MAIL_LINK_EMAIL };
#define MAIL_LINKS_AN_HOUR 3

/* *ret_token is empty when the account has had its share for this hour. TX_WRITE. */
enum err mail_link_make(struct db *db, Id account, enum mail_link_purpose purpose, Time now, int64_t valid_ms,
                        Str *ret_token);
/* MAIL_LINK_EMAIL, sent to another address than the account has. */
enum err mail_link_make_email(struct db *db, Id account, Str email, Time now, int64_t valid_ms, Str *ret_token);
/* As mail_link_take, with that address. */
enum err mail_link_take_email(struct db *db, Str token, Time now, Id *ret_account, Str *ret_email);
/* Ends all links of an account: they were sent to an address that it no longer has. TX_WRITE. */
enum err mail_link_end_all(struct db *db, Id account, Time now);
/* Ends the links that change an account, its password or its address; those that prove the address it has stay.
 * TX_WRITE. */
enum err mail_link_end_changes(struct db *db, Id account, Time now);
/* The link's account, without using it up. ERR_NOT_FOUND: unknown, used, too old, or the account is switched off. */
enum err mail_link_look(struct db *db, enum mail_link_purpose purpose, Str token, Time now, Id *ret_account);
/* Uses the link up; of any number of callers one succeeds. ERR_NOT_FOUND. TX_WRITE. */
enum err mail_link_take(struct db *db, enum mail_link_purpose purpose, Str token, Time now, Id *ret_account);
/* Deletes links that ended a day ago, at most `limit`. ERR_NEEDS_WRITE in a read when there are some. */
enum err mail_link_purge(struct db *db, Time now, int64_t limit);
