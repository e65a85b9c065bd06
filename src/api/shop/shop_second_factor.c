/* api/shop/shop_second_factor.c - a customer's second factor: set up with the password and a first code, removed with
 * the password and a code. The login asks for it. */
#include "api/proof.h"
#include "api/shop/account_sheet.h"
#include "api/tables.h"
#include "domain/mail.h"
#include "domain/password.h"
#include "domain/session.h"
#include "domain/settings.h"
#include "domain/totp.h"
#include "page/qr.h"
#include "page/words.h"
#include "serve/form.h"

#define PAGE_PATH "/account/settings/second-factor"

/* What the page shows besides errors. */
struct factor_view {
    struct trouble trouble;
    bool shows_secret;     /* of a factor that is being set up */
    struct str_list codes; /* recovery codes, shown this once */
};

static enum err show_factor(struct request *req, struct factor_view *v)
{
    const struct trouble *t = &v->trouble;
    struct account account;
    struct totp_setup setup = {0};
    bool is_on;
    struct sheet s;
    enum err e = account_find(req->db, req->account, &account);
    if (!e) e = totp_is_on(req->db, req->account, &is_on);
    if (!e && v->shows_secret && !is_on)
        e = totp_begun(req->db, req->account, account.email, str_from(req->settings->store_name), &setup);
    if (e) return e;
    struct qr qr = {0};
    if (setup.uri.len) qr_draw(req->arena, setup.uri, &qr); /* the key can be typed as well */
    account_sheet(req, &s, WORD_second_factor);
    page_write_second_factor(&s.page, &(const struct page_second_factor){
                                          .frame = s.frame,
                                          .is_on = is_on,
                                          .email = account.email,
                                          .secret = setup.secret,
                                          .address = setup.uri,
                                          .qr_size = qr.size,
                                          .qr_path = qr.path,
                                          .codes = {v->codes.items, v->codes.count},
                                          .password_problem = trouble_field(&s, t, "password"),
                                          .totp_problem = trouble_field(&s, t, "totp"),
                                          .code_problem = trouble_field(&s, t, "code"),
                                          .problem = trouble_text(&s, t),
                                      });
    sheet_send(req, &s);
    if (t->e) req->status = err_info(t->e)->status;
    return OK;
}
REQUEST_STEP(show_factor);

static enum err get_factor(struct request *req)
{
    return show_factor(req, &(struct factor_view){0});
}

static enum err show_again(struct request *req, enum err e, bool shows_secret)
{
    if (!shop_can_show(e)) return e;
    struct factor_view v = {.trouble = trouble_of(req, e), .shows_secret = shows_secret};
    return request_step(req, TX_READ, show_factor, &v);
}

struct factor_form {
    Str password, totp;
};
static const struct field factor_fields[] = {
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct factor_form, password), .min = 1, .max = PASSWORD_MAX},
    {"totp", FIELD_LINE, OPTIONAL, offsetof(struct factor_form, totp), .min = 6, .max = 20},
    {0},
};
static const struct shape factor_form = {factor_fields, sizeof(struct factor_form)};

/* Checks password and code, then acts. Errors are shown at their fields. */
static enum err prove(struct request *req, const char *action, enum err (*then)(struct request *, const struct proof *))
{
    void *read = NULL;
    enum err e = form_read(req, &factor_form, &read);
    if (e) return show_again(req, e, false);
    const struct factor_form *in = read;
    struct proof p = {.password = in->password, .totp = in->totp, .action = action};
    e = proof_give(req, &p, then);
    if (e == ERR_CREDENTIALS_INVALID || e == ERR_TOTP_REQUIRED) {
        answer_reset(req);
        e = request_bad_field(req, p.is_right ? "totp" : "password", ERR_FIELD_VALUE);
    }
    return e ? show_again(req, e, false) : OK;
}

static enum err begin_write(struct request *req, const struct proof *p)
{
    struct totp_setup setup;
    struct factor_view v = {.shows_secret = true};
    enum err e = totp_begin(req->db, req->account, p->account.email, str_from(req->settings->store_name), &setup);
    return e ? e : show_factor(req, &v);
}

/* Who registers somebody else's address must not lock it: its owner gets in through a mail, and has no code. */
static enum err post_begin(struct request *req)
{
    if (req->session->is_unproven && mail_is_enabled()) return show_again(req, ERR_EMAIL_UNVERIFIED, false);
    return prove(req, "second_factor_begin", begin_write);
}

struct code_form {
    Str code;
};
static const struct field code_fields[] = {
    {"code", FIELD_LINE, REQUIRED, offsetof(struct code_form, code), .min = 6, .max = 20},
    {0},
};
static const struct shape code_form = {code_fields, sizeof(struct code_form)};

static enum err confirm_write(struct request *req, const struct code_form *in)
{
    struct account account;
    Str *codes = arena_array(req->arena, Str, TOTP_RECOVERY_CODES);
    struct factor_view v = {.codes = {codes, TOTP_RECOVERY_CODES}};
    enum err e = totp_confirm(req->db, req->account, in->code, req->now, codes);
    if (e == ERR_CREDENTIALS_INVALID) return request_bad_field(req, "code", ERR_FIELD_VALUE);
    if (!e) e = account_find(req->db, req->account, &account);
    if (!e) e = auth_event(req, "second_factor_on", &account);
    return e ? e : show_factor(req, &v);
}
REQUEST_STEP(confirm_write);

static enum err post_confirm(struct request *req)
{
    void *in = NULL;
    enum err e = form_read(req, &code_form, &in);
    if (!e) e = code_guess_begin(req);
    if (e) return show_again(req, e, true);
    e = request_step(req, TX_WRITE, confirm_write, in);
    code_guess_end(req, e == ERR_VALIDATION ? ERR_CREDENTIALS_INVALID : e);
    return e ? show_again(req, e, e == ERR_VALIDATION) : OK;
}

static enum err remove_write(struct request *req, const struct proof *p)
{
    if (!p->has_totp) return ERR_INVALID_STATE;
    enum err e = totp_remove(req->db, req->account);
    if (!e) e = mail_notice(req->db, req->account, MAIL_second_factor_off, req->now);
    return e ? e : shop_go(req, STR(PAGE_PATH));
}

static enum err post_remove(struct request *req)
{
    return prove(req, "second_factor_off", remove_write);
}

const struct route shop_second_factor_routes[] = {
    {"GET", PAGE_PATH, SCOPE_NONE, TX_READ, NULL, get_factor, SHOP_PAGE | LOGIN_FIRST},
    {"POST", PAGE_PATH, SCOPE_NONE, TX_SELF, NULL, post_begin, SHOP_FORM | LOGIN_FIRST, .accepts = FORM_TYPE},
    {"POST", PAGE_PATH "/confirm", SCOPE_NONE, TX_SELF, NULL, post_confirm, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {"POST", PAGE_PATH "/remove", SCOPE_NONE, TX_SELF, NULL, post_remove, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {0},
};
