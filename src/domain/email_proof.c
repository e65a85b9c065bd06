/* domain/email_proof.c - see email_proof.h. */
#include "domain/email_proof.h"

#include "domain/account.h"
#include "domain/mail.h"
#include "domain/mail_link.h"

enum err email_proof_begin(struct db *db, Id account, Str base_url, Time now)
{
    struct account a;
    Str token = {0};
    if (!mail_is_enabled()) return OK;
    enum err e = account_find(db, account, &a);
    if (e || !a.is_unproven) return e;
    e = mail_link_make(db, account, MAIL_LINK_VERIFY, now, EMAIL_PROOF_DAYS * TIME_DAY, &token);
    if (e || !token.len) return e;
    Str text = str_printf(db_arena(db),
                          "Please confirm that this is your e-mail address, within %d days:\n\n"
                          "%.*s/verify-email?token=%.*s\n\n"
                          "If you did not make an account here, there is nothing to do.\n",
                          EMAIL_PROOF_DAYS, STR_FMT(base_url), STR_FMT(token));
    return mail_queue(db, account, STR("Confirm your e-mail address"), text, now);
}

enum err email_proof_finish(struct db *db, Str token, Id kept_token, Time now, Id *ret_account)
{
    Id account;
    enum err e = mail_link_take(db, MAIL_LINK_VERIFY, token, now, &account);
    if (!e) e = account_prove_email(db, account, kept_token);
    if (!e) *ret_account = account;
    return e;
}
