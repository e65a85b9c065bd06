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

enum err email_change_begin(struct db *db, Id account, Str email, Time now)
{
    struct account other;
    Str token = {0};
    if (!mail_is_enabled()) return ERR_MAIL_OFF;
    enum err e = account_find_email(db, email, &other);
    if (!e) return ERR_EMAIL_TAKEN;
    if (e != ERR_NOT_FOUND) return e;
    e = mail_link_make_email(db, account, email, now, EMAIL_PROOF_DAYS * TIME_DAY, &token);
    if (e) return e;
    if (!token.len) return ERR_RATE_LIMITED;
    Str link = str_printf(db_arena(db), "%s/verify-email?token=%.*s", mail_base_url(), STR_FMT(token));
    return mail_email_change(db, account, email, link, EMAIL_PROOF_DAYS, now);
}

static enum err change_finish(struct db *db, Str token, Time now, Id *ret_account)
{
    struct account before;
    Str email;
    enum err e = mail_link_take_email(db, token, now, ret_account, &email);
    if (!e) e = account_find(db, *ret_account, &before);
    if (!e) e = account_set_email(db, *ret_account, email);
    if (!e) e = mail_link_end_all(db, *ret_account, now);
    return e ? e : mail_email_changed(db, *ret_account, before.email, now);
}

enum err email_proof_finish(struct db *db, Str token, Id kept_token, Time now, Id *ret_account)
{
    Id account;
    enum err e = mail_link_take(db, MAIL_LINK_VERIFY, token, now, &account);
    if (e == ERR_NOT_FOUND) e = change_finish(db, token, now, &account);
    if (!e) e = account_prove_email(db, account, kept_token);
    if (!e) *ret_account = account;
    return e;
}
