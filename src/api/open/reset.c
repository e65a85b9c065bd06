/* api/open/reset.c - a new password for a person who can read the account's e-mail: api/recovery.h as JSON. */
#include "api/recovery.h"
#include "api/tables.h"
#include "domain/password.h"

struct forgot_body {
    Str email;
};
static const struct field forgot_fields[] = {
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct forgot_body, email)},
    {0},
};
static const struct shape forgot_shape = {forgot_fields, sizeof(struct forgot_body)};

static enum err post_forgot(struct request *req)
{
    const struct forgot_body *in = req->body;
    enum err e = recovery_ask(req, in->email);
    req->message = "If there is an account with this address, a message is on its way to it";
    return e;
}

struct reset_body {
    Str token, password;
};
static const struct field reset_fields[] = {
    {"token", FIELD_LINE, REQUIRED, offsetof(struct reset_body, token), .min = 1, .max = 100},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct reset_body, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX},
    {0},
};
static const struct shape reset_shape = {reset_fields, sizeof(struct reset_body)};

static enum err post_reset(struct request *req)
{
    const struct reset_body *in = req->body;
    return recovery_finish(req, in->token, in->password);
}

const struct route reset_routes[] = {
    {"POST", "/api/auth/password/forgot", SCOPE_NONE, TX_SELF, &forgot_shape, post_forgot},
    {"POST", "/api/auth/password/reset", SCOPE_NONE, TX_SELF, &reset_shape, post_reset},
    {0},
};
