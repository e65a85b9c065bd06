/* api/shop/shop_login.c - the shop's login, registration, forgotten passwords and logout.
 *
 * A login starts a new session, so that nobody can have planted one beforehand; the cart moves over. */
#include "api/proof.h"
#include "api/recovery.h"
#include "api/shop/shop.h"
#include "api/tables.h"
#include "domain/email_proof.h"
#include "domain/mail.h"
#include "domain/password.h"
#include "domain/password_reset.h"
#include "domain/session.h"
#include "page/words.h"
#include "serve/app.h"
#include "serve/form.h"
#include "serve/visit.h"

/* A path on this site to continue to; for anything else the account's page. */
static Str next_of(Str wanted)
{
    bool is_ours = wanted.len > 1 && wanted.len < 200 && wanted.ptr[0] == '/' && wanted.ptr[1] != '/';
    for (size_t i = 0; i < wanted.len; i++)
        is_ours &= wanted.ptr[i] > ' ' && wanted.ptr[i] < 0x7f && wanted.ptr[i] != '\\';
    return is_ours ? wanted : (Str){0};
}

struct next_query {
    Str next, token, done;
};
static const struct field next_fields[] = {
    {"next", FIELD_LINE, OPTIONAL, offsetof(struct next_query, next), .max = 200},
    {"token", FIELD_LINE, OPTIONAL, offsetof(struct next_query, token), .max = 100},
    {"done", FIELD_LINE, OPTIONAL, offsetof(struct next_query, done), .max = 20},
    {0},
};
static const struct shape next_query = {next_fields, sizeof(struct next_query)};

static struct next_query read_query(struct request *req)
{
    const void *read;
    enum err e =
        shape_read_query(&next_query, req->exchange->head.query, UNKNOWN_IGNORED, 0, req->arena, &read, &req->errors);
    return e ? (struct next_query){0} : *(const struct next_query *)read;
}

/* Writes a page again after a refused form. */
static enum err again(struct request *req, enum err e, void (*show)(struct request *, const struct trouble *))
{
    if (!shop_can_show(e) && e != ERR_UNAVAILABLE) return e;
    struct trouble t = trouble_of(req, e);
    answer_reset(req);
    show(req, &t);
    req->status = err_info(e)->status;
    return OK;
}

/* ---- login ---- */

struct login_form {
    Str email, password, totp, next;
};
static const struct field login_fields[] = {
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct login_form, email)},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct login_form, password), .min = 1, .max = PASSWORD_MAX},
    {"totp", FIELD_LINE, OPTIONAL, offsetof(struct login_form, totp), .min = 6, .max = 20},
    {"next", FIELD_LINE, OPTIONAL, offsetof(struct login_form, next), .max = 200},
    {0},
};
static const struct shape login_form = {login_fields, sizeof(struct login_form)};

static void show_login(struct request *req, const struct trouble *t)
{
    struct sheet s;
    struct next_query q = read_query(req);
    sheet_begin(req, &s, (Str){0});
    s.frame.title = words_text(s.page.lang, WORD_log_in_title);
    bool wants_totp = t->e == ERR_TOTP_REQUIRED || form_field(req, "totp").len || trouble_field(&s, t, "totp").len;
    page_write_login(&s.page, &(const struct page_login){
                                  .frame = s.frame,
                                  .email = form_field(req, "email"),
                                  .next = next_of(t->e ? form_field(req, "next") : q.next),
                                  .wants_totp = wants_totp,
                                  .email_problem = trouble_field(&s, t, "email"),
                                  .password_problem = trouble_field(&s, t, "password"),
                                  .totp_problem = trouble_field(&s, t, "totp"),
                                  .problem = trouble_text(&s, t),
                                  .note = str_eq(q.done, STR("reset")) ? WORD_reset_done : WORD_NONE,
                              });
    sheet_send(req, &s);
}

static enum err get_login(struct request *req)
{
    if (id_is(req->account)) return shop_go(req, STR("/account"));
    show_login(req, &(struct trouble){0});
    return OK;
}

static enum err login_write(struct request *req, const struct proof *p)
{
    Str next = next_of(form_field(req, "next"));
    enum err e = visit_begin(req, p->account.id);
    return e ? e : shop_go(req, next.len ? next : STR("/account"));
}

static enum err post_login(struct request *req)
{
    void *read = NULL;
    enum err e = form_read(req, &login_form, &read);
    if (e) return again(req, e, show_login);
    const struct login_form *in = read;
    struct proof p = {.email = in->email, .password = in->password, .totp = in->totp, .action = "login"};
    e = proof_give(req, &p, login_write);
    return e ? again(req, e, show_login) : OK;
}

static enum err post_logout(struct request *req)
{
    struct account a;
    enum err e = id_is(req->account) ? account_find(req->db, req->account, &a) : OK;
    if (!e && id_is(req->account)) e = auth_event(req, "logout", &a);
    if (!e) e = visit_end(req);
    return e ? e : shop_go(req, STR("/"));
}

/* ---- register ---- */

struct register_form {
    Str email, password, name;
};
static const struct field register_fields[] = {
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct register_form, email)},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct register_form, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX},
    {"name", FIELD_LINE, OPTIONAL, offsetof(struct register_form, name), .max = 100},
    {0},
};
static const struct shape register_form = {register_fields, sizeof(struct register_form)};

static void show_register(struct request *req, const struct trouble *t)
{
    struct sheet s;
    sheet_begin(req, &s, (Str){0});
    s.frame.title = words_text(s.page.lang, WORD_register_title);
    page_write_register(&s.page, &(const struct page_register){
                                     .frame = s.frame,
                                     .email = form_field(req, "email"),
                                     .name = form_field(req, "name"),
                                     .email_problem = trouble_field(&s, t, "email"),
                                     .name_problem = trouble_field(&s, t, "name"),
                                     .password_problem = trouble_field(&s, t, "password"),
                                     .problem = trouble_text(&s, t),
                                 });
    sheet_send(req, &s);
}

static enum err get_register(struct request *req)
{
    if (id_is(req->account)) return shop_go(req, STR("/account"));
    show_register(req, &(struct trouble){0});
    return OK;
}

struct registration {
    const struct register_form *in;
    Str hash;
};

static enum err register_write(struct request *req, const struct registration *r)
{
    struct account made, want = {.email = r->in->email,
                                 .name = r->in->name,
                                 .role = ROLE_CUSTOMER,
                                 .password_hash = r->hash,
                                 .is_unproven = true,
                                 .language = str_from(lang_codes[visit_lang(req)])};
    enum err e = account_create(req->db, &want, req->now, &made);
    if (!e) e = auth_event(req, "register", &made);
    if (!e) e = email_proof_begin(req->db, made.id, true, req->now);
    if (!e) e = visit_begin(req, made.id);
    return e ? e : shop_go(req, STR("/account"));
}
REQUEST_STEP(register_write);

static enum err post_register(struct request *req)
{
    void *read = NULL;
    enum err e = form_read(req, &register_form, &read);
    if (!e) e = stranger_limit(req);
    if (e) return again(req, e, show_register);
    struct registration r = {.in = read};
    r.hash = password_hash(req->arena, r.in->password);
    e = r.hash.len ? request_step(req, TX_WRITE, register_write, &r) : ERR_UNAVAILABLE;
    if (!e) dispatcher_wake(req->app->dispatcher);
    if (e == ERR_EMAIL_TAKEN) {
        answer_reset(req);
        e = request_bad_field(req, "email", e);
    }
    return e ? again(req, e, show_register) : OK;
}

/* ---- forgotten passwords ---- */

struct forgot_form {
    Str email;
};
static const struct field forgot_fields[] = {
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct forgot_form, email)},
    {0},
};
static const struct shape forgot_form = {forgot_fields, sizeof(struct forgot_form)};

static void show_forgot(struct request *req, const struct trouble *t)
{
    struct sheet s;
    sheet_begin(req, &s, (Str){0});
    s.frame.title = words_text(s.page.lang, WORD_forgot_title);
    page_write_forgot(&s.page, &(const struct page_forgot){
                                   .frame = s.frame,
                                   .email = form_field(req, "email"),
                                   .email_problem = trouble_field(&s, t, "email"),
                                   .problem = trouble_text(&s, t),
                                   .is_sent = str_eq(read_query(req).done, STR("sent")),
                                   .is_off = !mail_is_enabled(),
                               });
    sheet_send(req, &s);
}

static enum err get_forgot(struct request *req)
{
    show_forgot(req, &(struct trouble){0});
    return OK;
}

static enum err post_forgot(struct request *req)
{
    void *read = NULL;
    enum err e = form_read(req, &forgot_form, &read);
    if (!e) e = recovery_ask(req, ((const struct forgot_form *)read)->email);
    return e ? again(req, e, show_forgot) : shop_go(req, STR("/forgot?done=sent"));
}

struct reset_form {
    Str token, password;
};
static const struct field reset_fields[] = {
    {"token", FIELD_LINE, REQUIRED, offsetof(struct reset_form, token), .min = 1, .max = 100},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct reset_form, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX},
    {0},
};
static const struct shape reset_form = {reset_fields, sizeof(struct reset_form)};

static void write_reset(struct request *req, const struct trouble *t, Str token, bool is_bad)
{
    struct sheet s;
    sheet_begin(req, &s, (Str){0});
    s.frame.title = words_text(s.page.lang, WORD_reset_title);
    page_write_reset(&s.page, &(const struct page_reset){
                                  .frame = s.frame,
                                  .token = token,
                                  .password_problem = trouble_field(&s, t, "password"),
                                  .problem = is_bad ? (Str){0} : trouble_text(&s, t),
                                  .is_bad = is_bad,
                              });
    sheet_send(req, &s);
}

static void show_reset(struct request *req, const struct trouble *t)
{
    bool is_bad = false;
    for (const struct field_error *f = t->errors.first; t->e == ERR_VALIDATION && f; f = f->next)
        is_bad |= str_eq(f->field, STR("token"));
    write_reset(req, t, form_field(req, "token"), is_bad);
}

/* The token is checked, not used up: mail programs open links too. */
static enum err get_reset(struct request *req)
{
    Id account;
    Str token = read_query(req).token;
    enum err e = token.len ? password_reset_look(req->db, token, req->now, &account) : ERR_NOT_FOUND;
    if (e && e != ERR_NOT_FOUND) return e;
    write_reset(req, &(struct trouble){0}, token, e == ERR_NOT_FOUND);
    return OK;
}

static enum err post_reset(struct request *req)
{
    void *read = NULL;
    enum err e = form_read(req, &reset_form, &read);
    const struct reset_form *in = read;
    if (!e) e = recovery_finish(req, in->token, in->password);
    return e ? again(req, e, show_reset) : shop_go(req, STR("/login?done=reset"));
}

/* ---- the first e-mail's link ---- */

static void show_verify(struct request *req, Str token, bool is_done, bool is_bad)
{
    struct sheet s;
    sheet_begin(req, &s, (Str){0});
    s.frame.title = words_text(s.page.lang, WORD_verify_title);
    page_write_verify(
        &s.page, &(const struct page_verify){.frame = s.frame, .token = token, .is_done = is_done, .is_bad = is_bad});
    sheet_send(req, &s);
}

/* A button, because mail programs open links too. */
static enum err get_verify(struct request *req)
{
    struct next_query q = read_query(req);
    bool is_done = str_eq(q.done, STR("yes"));
    show_verify(req, q.token, is_done, !is_done && !q.token.len);
    return OK;
}

/* This browser's session stays, if it belongs to the account. */
static enum err post_verify(struct request *req)
{
    Id account, kept = req->session ? req->session->id : (Id){0};
    struct account a;
    enum err e = email_proof_finish(req->db, form_field(req, "token"), kept, req->now, &account);
    if (e == ERR_NOT_FOUND) {
        show_verify(req, (Str){0}, false, true);
        req->status = err_info(ERR_VALIDATION)->status;
        return OK;
    }
    if (!e) e = account_find(req->db, account, &a);
    if (!e) e = auth_event(req, "verify_email", &a);
    return e ? e : shop_go(req, STR("/verify-email?done=yes"));
}

const struct route shop_login_routes[] = {
    {"GET", "/login", SCOPE_NONE, TX_READ, NULL, get_login, SHOP_PAGE},
    {"POST", "/login", SCOPE_NONE, TX_SELF, NULL, post_login, SHOP_FORM, .accepts = FORM_TYPE},
    {"POST", "/logout", SCOPE_NONE, TX_WRITE, NULL, post_logout, SHOP_FORM, .accepts = FORM_TYPE},
    {"GET", "/register", SCOPE_NONE, TX_READ, NULL, get_register, SHOP_PAGE},
    {"POST", "/register", SCOPE_NONE, TX_SELF, NULL, post_register, SHOP_FORM, .accepts = FORM_TYPE},
    {"GET", "/forgot", SCOPE_NONE, TX_READ, NULL, get_forgot, SHOP_PAGE},
    {"POST", "/forgot", SCOPE_NONE, TX_SELF, NULL, post_forgot, SHOP_FORM, .accepts = FORM_TYPE},
    {"GET", "/reset", SCOPE_NONE, TX_READ, NULL, get_reset, SHOP_PAGE | STAYS},
    {"POST", "/reset", SCOPE_NONE, TX_SELF, NULL, post_reset, SHOP_FORM | STAYS, .accepts = FORM_TYPE},
    {"GET", "/verify-email", SCOPE_NONE, TX_READ, NULL, get_verify, SHOP_PAGE | STAYS},
    {"POST", "/verify-email", SCOPE_NONE, TX_WRITE, NULL, post_verify, SHOP_FORM | STAYS, .accepts = FORM_TYPE},
    {0},
};
