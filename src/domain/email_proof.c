/* domain/email_proof.c - see email_proof.h. */
#include "domain/email_proof.h"

#include "domain/account.h"
#include "domain/mail.h"
#include "domain/mail_link.h"

enum err email_proof_begin(struct db *db, Id account, bool is_welcome, Time now)
{
    struct account a;
    struct mail_draft m;
    Str token = {0};
    if (!mail_is_enabled()) return OK;
    enum err e = account_find(db, account, &a);
    if (e || !a.is_unproven) return e;
    e = mail_link_make(db, account, MAIL_LINK_VERIFY, now, EMAIL_PROOF_DAYS * TIME_DAY, &token);
    if (e || !token.len) return e;
    e = mail_begin(db, account, is_welcome ? MAIL_welcome : MAIL_verify, &m);
    if (e) return e;
    m.values.of[PARAM_link] = mail_address(&m, "/verify-email?token=%.*s", STR_FMT(token));
    m.values.of[PARAM_days] = page_int(&m.page, EMAIL_PROOF_DAYS);
    return mail_queue(db, &m, now);
}

enum err email_proof_finish(struct db *db, Str token, Id kept_token, Time now, Id *ret_account)
{
    Id account;
    enum err e = mail_link_take(db, MAIL_LINK_VERIFY, token, now, &account);
    if (!e) e = account_prove_email(db, account, kept_token);
    if (!e) *ret_account = account;
    return e;
}
