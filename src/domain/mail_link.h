/* domain/mail_link.h - one-time links that are sent by e-mail: whoever opens one can read the account's mail.
 *
 * Several may be open at a time: a newer one does not void the older, so that nobody can take a link out of somebody's
 * hands by asking for another. Only a keyed hash is stored, and at most MAIL_LINKS_AN_HOUR are made for one account and
 * purpose. Using one up ends the others of its purpose. */
#pragma once

#include "db/db.h"

enum mail_link_purpose { MAIL_LINK_RESET, MAIL_LINK_VERIFY };
#define MAIL_LINKS_AN_HOUR 3

/* *ret_token is empty when the account has had its share. TX_WRITE. */
enum err mail_link_make(struct db *db, Id account, enum mail_link_purpose purpose, Time now, int64_t valid_ms,
                        Str *ret_token);
/* Whose it is, without using it up. ERR_NOT_FOUND: unknown, used, too old, or the account is switched off. */
enum err mail_link_look(struct db *db, enum mail_link_purpose purpose, Str token, Time now, Id *ret_account);
/* Uses it up, of any number of callers for one. ERR_NOT_FOUND. TX_WRITE. */
enum err mail_link_take(struct db *db, enum mail_link_purpose purpose, Str token, Time now, Id *ret_account);
/* Forgets those that ended a day ago, at most `limit`. ERR_NEEDS_WRITE in a read when there are some. */
enum err mail_link_purge(struct db *db, Time now, int64_t limit);
