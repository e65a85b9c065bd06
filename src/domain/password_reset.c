/* domain/password_reset.c - see password_reset.h. */
#include "domain/password_reset.h"

#include "domain/account.h"
#include "domain/mail_link.h"

enum err password_reset_begin(struct db *db, Str email, Time now, Id *ret_account, Str *ret_token)
{
    struct account account;
    enum err e = account_find_email(db, email, &account);
    if (e == ERR_NOT_FOUND || (!e && !account.is_active)) {
        *ret_account = (Id){0};
        *ret_token = (Str){0};
        return OK;
    }
    if (!e) e = mail_link_make(db, account.id, MAIL_LINK_RESET, now, PASSWORD_RESET_MINUTES * TIME_MINUTE, ret_token);
    if (!e) *ret_account = account.id;
    return e;
}

enum err password_reset_look(struct db *db, Str token, Time now, Id *ret_account)
{
    return mail_link_look(db, MAIL_LINK_RESET, token, now, ret_account);
}

enum err password_reset_finish(struct db *db, Str token, Str password_hash, Time now)
{
    Id account;
    enum err e = mail_link_take(db, MAIL_LINK_RESET, token, now, &account);
    if (!e) e = account_set_password(db, account, password_hash, true, now);
    return e ? e : account_prove_email(db, account, (Id){0});
}
