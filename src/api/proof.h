/* api/proof.h - who somebody is: the password, and a code where there is a second factor. Asked for at login, and again
 * before sensitive steps.
 *
 * Passwords are looked at on the blocking pool, outside any transaction. An unknown address costs as much as a wrong
 * password and is answered the same. Guesses are limited (serve/guess.h) wherever a password or a code is tried. */
#pragma once

#include "domain/account.h"
#include "serve/request.h"

struct proof {
    Str email; /* whose; empty: the caller's own account */
    Str password, totp;
    const char *action; /* what it is for: "login"; the audit trail says auth.login or auth.login_failed */
    /* Found out. */
    struct account account;
    bool is_known, has_totp;
    bool is_home;  /* somebody is logged in to the account from this network */
    bool is_right; /* the password; the code may not be */
};

/* For TX_SELF handlers: looks at the password, then, in one TX_WRITE, takes the code, notes it in the audit trail and
 * runs `then`. ERR_CREDENTIALS_INVALID, ERR_TOTP_REQUIRED, ERR_RATE_LIMITED. */
enum err proof_give(struct request *req, struct proof *p, enum err (*then)(struct request *req, const struct proof *p));

/* For codes alone, inside a transaction, of the caller: the limit before a code is looked at, and what came of it. */
enum err code_guess_begin(struct request *req);
void code_guess_end(struct request *req, enum err e);

/* What somebody did to get in, or failed to: into the audit trail (in this transaction) and the log. */
enum err auth_event(struct request *req, const char *action, const struct account *who);
