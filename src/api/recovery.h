/* api/recovery.h - a new password for a person who can read the account's e-mail, for the API and the shop.
 *
 * The answer is the same, and as fast, whether or not the account exists. A link works once, for 30 minutes. Both are
 * for TX_SELF handlers. */
#pragma once

#include "serve/request.h"

/* ERR_MAIL_OFF: this store sends no mail. ERR_RATE_LIMITED. */
enum err recovery_ask(struct request *req, Str email);
/* Sets the password and ends all sessions. A used or expired token is a bad field `token`. */
enum err recovery_finish(struct request *req, Str token, Str password);
