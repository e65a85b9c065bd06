/* api/open/verify_email.c - proves that an e-mail address is its owner's: opens the link that was sent to it, and sends
 * another.
 *
 * The link may be opened anywhere, so no token is needed. A caller who sends the session of the account keeps it; every
 * other session and token made before the proof ends. */
#include "api/proof.h"
#include "api/tables.h"
#include "domain/email_proof.h"
#include "domain/mail.h"
#include "domain/token_cache.h"
#include "serve/app.h"

struct verify_email_body {
    Str token;
};
static const struct field verify_email_fields[] = {
    {"token", FIELD_LINE, REQUIRED, offsetof(struct verify_email_body, token), .min = 1, .max = 100},
    {0},
};
static const struct shape verify_email_shape = {verify_email_fields, sizeof(struct verify_email_body)};

/* The session that the caller sent, or none. */
static enum err session_here(struct request *req, Id *ret)
{
    struct caller who;
    struct token_known token;
    Str scheme, text;
    *ret = (Id){0};
    if (!str_cut(str_trim(request_header(req, "Authorization")), ' ', &scheme, &text)) return OK;
    if (!token_read(str_trim(text), &token)) return OK;
    enum err e = token_authenticate(req->db, &token, req->now, &who);
    if (e == ERR_TOKEN_INVALID || e == ERR_TOKEN_EXPIRED) return OK;
    if (!e) *ret = who.token_id;
    return e;
}

static enum err post_verify_email(struct request *req)
{
    const struct verify_email_body *in = req->body;
    Id kept, account;
    struct account a;
    enum err e = session_here(req, &kept);
    if (!e) e = email_proof_finish(req->db, in->token, kept, req->now, &account);
    if (e == ERR_NOT_FOUND) return request_bad_field(req, "token", ERR_FIELD_VALUE);
    if (!e) e = account_find(req->db, account, &a);
    if (e) return e;
    req->message = "Your e-mail address is confirmed";
    return auth_event(req, "verify_email", &a);
}

static enum err post_verify_email_send(struct request *req)
{
    if (!mail_is_enabled()) return ERR_MAIL_OFF;
    req->message = "If your address is not confirmed yet, a message is on its way to it";
    return email_proof_begin(req->db, req->account, false, req->now);
}

const struct route verify_email_routes[] = {
    {"POST", "/api/auth/verify-email", SCOPE_NONE, TX_WRITE, &verify_email_shape, post_verify_email},
    {"POST", "/api/auth/verify-email/send", SCOPE_LOGIN, TX_WRITE, NULL, post_verify_email_send},
    {0},
};
