/* api/proof.h - proof of identity: the password, and a code where there is a second factor. Required at login, and
 * again before sensitive steps.
 *
 * Passwords are checked on the blocking pool, outside any transaction. An unknown address takes as long as a wrong
 * password and gets the same answer. Guesses are limited (serve/guess.h) wherever a password or a code is tried. */
#pragma once

#include "domain/account.h"
#include "serve/request.h"

struct proof {
    Str email; /* whose; empty: the caller's own account */
    Str password, totp;
    const char *action; /* what it is for: "login"; the audit trail says auth.login or auth.login_failed */
    /* Results. */
    struct account account;
    bool is_known, has_totp;
    bool is_home;  /* somebody is logged in to the account from this network */
    bool is_right; /* the password is right; the code may not be */
};

/* For TX_SELF handlers: checks the password, then, in one TX_WRITE, takes the code, writes the audit row and runs
 * `then`. ERR_CREDENTIALS_INVALID, ERR_TOTP_REQUIRED, ERR_RATE_LIMITED. */
enum err proof_give(struct request *req, struct proof *p, enum err (*then)(struct request *req, const struct proof *p));

/* For the caller's code alone, inside a transaction: the limit before the code is checked, and the result after it. */
enum err code_guess_begin(struct request *req);
void code_guess_end(struct request *req, enum err e);

/* A stranger registers, or orders as a guest: rows that stay, and mail to an address that anybody may type. So many a
 * day for each network: ERR_RATE_LIMITED. Programs on this machine, and a proxy that nobody has named, stand for many
 * and have no limit. */
enum err stranger_limit(struct request *req);

/* Notes a successful or failed attempt in the audit trail (in this transaction) and the log. */
enum err auth_event(struct request *req, const char *action, const struct account *who);
