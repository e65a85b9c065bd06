/* api/recovery.h - a new password for who can read the account's e-mail, for programs and for people alike.
 *
 * Asking is answered the same, and as fast, whether there is such an account or not. A link works once, for 30 minutes.
 * Both are for TX_SELF handlers. */
#pragma once

#include "serve/request.h"

/* ERR_MAIL_OFF: this store sends no mail. ERR_RATE_LIMITED. */
enum err recovery_ask(struct request *req, Str email);
/* Sets the password and ends all sessions. A token that is used up or too old is a bad field `token`. */
enum err recovery_finish(struct request *req, Str token, Str password);
