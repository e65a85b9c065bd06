/* api/shop/shop_settings.c - a customer's settings: name, password, where they are logged in, tokens for programs. */
#include "api/proof.h"
#include "api/shop/account_sheet.h"
#include "api/tables.h"
#include "api/token_body.h"
#include "domain/email_proof.h"
#include "domain/mail.h"
#include "domain/password.h"
#include "domain/session.h"
#include "domain/totp.h"
#include "page/words.h"
#include "serve/app.h"
#include "serve/form.h"
#include "serve/visit.h"

#define TOKENS_SHOWN 100

/* What a settings page shows besides errors. */
struct settings_view {
    struct trouble trouble;
    Str token_text; /* of a token just made: shown this once */
};

/* What a scope allows, in the visitor's language. */
static Str scope_text(struct request *req, unsigned i)
{
    enum word word = words_find(str_printf(req->arena, "scope_%s", scope_names[i]));
    return word ? words_text(visit_lang(req), word) : str_from(scope_names[i]);
}

static Str scopes_text(struct request *req, unsigned scopes)
{
    struct buf b;
    buf_init(&b, req->arena, 1000);
    for (unsigned i = 0; scope_names[i]; i++) {
        if (!(scopes & 1u << i)) continue;
        if (b.len) buf_lit(&b, ", ");
        buf_append(&b, scope_text(req, i));
    }
    return buf_str(&b);
}

static struct page_choice_list scope_choices(struct request *req)
{
    struct page_choice *choices = arena_array(req->arena, struct page_choice, 8);
    size_t n = 0;
    for (unsigned i = 0; scope_names[i]; i++)
        if (SCOPES_OF_CUSTOMERS & 1u << i)
            choices[n++] = (struct page_choice){.value = str_from(scope_names[i]), .name = scope_text(req, i)};
    return (struct page_choice_list){choices, n};
}

static struct page_browser_list browsers_of(struct request *req, const struct token *items, size_t count)
{
    struct page_browser *rows = arena_array(req->arena, struct page_browser, count);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct page_browser){
            .id = items[i].id.v, .since = items[i].created_at, .is_this = id_eq(items[i].id, req->session->id)};
    return (struct page_browser_list){rows, count};
}

static struct page_tokenrow_list tokens_of(struct request *req, const struct token *items, size_t count)
{
    struct page_tokenrow *rows = arena_array(req->arena, struct page_tokenrow, count);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (items[i].kind == TOKEN_API)
            rows[n++] = (struct page_tokenrow){.id = items[i].id.v,
                                               .name = items[i].name,
                                               .hint = items[i].hint,
                                               .scopes = scopes_text(req, items[i].scopes),
                                               .since = items[i].created_at};
    return (struct page_tokenrow_list){rows, n};
}

static enum err show_settings(struct request *req, struct settings_view *v)
{
    const struct trouble *t = &v->trouble;
    struct account account;
    struct token *sessions, *tokens;
    size_t session_count, token_count;
    bool has_second;
    struct sheet s;
    enum err e = account_find(req->db, req->account, &account);
    if (!e) e = session_list(req->db, req->account, TOKENS_SHOWN, &sessions, &session_count);
    if (!e) e = token_list(req->db, req->account, (Id){0}, TOKENS_SHOWN, &tokens, &token_count);
    if (!e) e = totp_is_on(req->db, req->account, &has_second);
    if (e) return e;
    account_sheet(req, &s, WORD_settings);
    Str path = req->exchange->head.path;
    bool is_profile = str_ends(path, STR("/profile")), is_token = str_ends(path, STR("/tokens"));
    bool is_email = str_ends(path, STR("/email"));
    page_write_settings(&s.page, &(const struct page_settings){
                                     .frame = s.frame,
                                     .name = t->e && is_profile ? form_field(req, "name") : account.name,
                                     .email = account.email,
                                     .name_problem = is_profile ? trouble_field(&s, t, "name") : (Str){0},
                                     .new_email = is_email ? form_field(req, "email") : (Str){0},
                                     .email_problem = is_email ? trouble_field(&s, t, "email") : (Str){0},
                                     .email_password_problem = is_email ? trouble_field(&s, t, "password") : (Str){0},
                                     .email_totp_problem = is_email ? trouble_field(&s, t, "totp") : (Str){0},
                                     .is_sent = str_eq(req->exchange->head.query, STR("done=sent")),
                                     .current_problem = trouble_field(&s, t, "current_password"),
                                     .totp_problem = is_email ? (Str){0} : trouble_field(&s, t, "totp"),
                                     .password_problem = is_email ? (Str){0} : trouble_field(&s, t, "password"),
                                     .has_second = has_second,
                                     .browsers = browsers_of(req, sessions, session_count),
                                     .tokens = tokens_of(req, tokens, token_count),
                                     .scopes = scope_choices(req),
                                     .token_name = t->e && is_token ? form_field(req, "name") : (Str){0},
                                     .token_problem = is_token ? trouble_field(&s, t, "name") : (Str){0},
                                     .token_text = v->token_text,
                                     .is_saved = str_eq(req->exchange->head.query, STR("done=saved")),
                                     .problem = trouble_text(&s, t),
                                 });
    sheet_send(req, &s);
    if (t->e) req->status = err_info(t->e)->status;
    return OK;
}
REQUEST_STEP(show_settings);

static enum err get_settings(struct request *req)
{
    return show_settings(req, &(struct settings_view){0});
}

static enum err show_again(struct request *req, enum err e)
{
    if (!shop_can_show(e)) return e;
    struct settings_view v = {.trouble = trouble_of(req, e)};
    return request_step(req, TX_READ, show_settings, &v);
}

struct profile_form {
    Str name;
};
static const struct field profile_fields[] = {
    {"name", FIELD_LINE, OPTIONAL, offsetof(struct profile_form, name), .max = 100},
    {0},
};
static const struct shape profile_form = {profile_fields, sizeof(struct profile_form)};

static enum err profile_write(struct request *req, const struct profile_form *in)
{
    enum err e = account_set_name(req->db, req->account, in->name);
    return e ? e : shop_go(req, STR("/account/settings?done=saved"));
}
REQUEST_STEP(profile_write);

static enum err post_profile(struct request *req)
{
    void *in = NULL;
    enum err e = form_read(req, &profile_form, &in);
    if (!e) e = request_step(req, TX_WRITE, profile_write, in);
    return e ? show_again(req, e) : OK;
}

struct password_form {
    Str current, password, totp;
    bool ends_api_tokens;
};
static const struct field password_fields[] = {
    {"current_password", FIELD_SECRET, REQUIRED, offsetof(struct password_form, current), .min = 1,
     .max = PASSWORD_MAX},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct password_form, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX},
    {"totp", FIELD_LINE, OPTIONAL, offsetof(struct password_form, totp), .min = 6, .max = 20},
    {"end_api_tokens", FIELD_BOOL, OPTIONAL, offsetof(struct password_form, ends_api_tokens)},
    {0},
};
static const struct shape password_form = {password_fields, sizeof(struct password_form)};

struct password_change {
    struct proof proof; /* first */
    Str hash;
    bool ends_api_tokens;
};

static enum err password_write(struct request *req, const struct proof *p)
{
    const struct password_change *c = (const struct password_change *)p;
    enum err e = account_set_password(req->db, req->account, c->hash, c->ends_api_tokens, req->now);
    if (!e) e = mail_notice(req->db, req->account, MAIL_password_changed, req->now);
    return e ? e : shop_go(req, STR("/login?done=reset"));
}

static enum err post_password(struct request *req)
{
    void *read = NULL;
    enum err e = form_read(req, &password_form, &read);
    if (e) return show_again(req, e);
    const struct password_form *in = read;
    struct password_change c = {.proof = {.password = in->current, .totp = in->totp, .action = "password"},
                                .ends_api_tokens = in->ends_api_tokens};
    c.hash = password_hash(req->arena, in->password);
    if (!c.hash.len) return ERR_UNAVAILABLE;
    e = proof_give(req, &c.proof, password_write);
    if (!e) dispatcher_wake(req->app->dispatcher);
    if (e == ERR_CREDENTIALS_INVALID) {
        answer_reset(req);
        e = request_bad_field(req, c.proof.is_right ? "totp" : "current_password", ERR_FIELD_VALUE);
    }
    return e ? show_again(req, e) : OK;
}

struct email_form {
    Str email, password, totp;
};
static const struct field email_fields[] = {
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct email_form, email)},
    {"password", FIELD_SECRET, REQUIRED, offsetof(struct email_form, password), .min = 1, .max = PASSWORD_MAX},
    {"totp", FIELD_LINE, OPTIONAL, offsetof(struct email_form, totp), .min = 6, .max = 20},
    {0},
};
static const struct shape email_form = {email_fields, sizeof(struct email_form)};

struct email_change {
    struct proof proof; /* first */
    Str email;
};

static enum err email_write(struct request *req, const struct proof *p)
{
    const struct email_change *c = (const struct email_change *)p;
    enum err e = email_change_begin(req->db, req->account, c->email, req->now);
    return e ? e : shop_go(req, STR("/account/settings?done=sent"));
}

/* The field that an error belongs to, or NULL. */
static const char *email_field(enum err e, const struct proof *p)
{
    if (e == ERR_EMAIL_TAKEN) return "email";
    if (e == ERR_TOTP_REQUIRED) return "totp";
    if (e == ERR_CREDENTIALS_INVALID) return p->is_right ? "totp" : "password";
    return NULL;
}

/* The address changes when the link that goes there is opened. */
static enum err post_email(struct request *req)
{
    void *read = NULL;
    enum err e = form_read(req, &email_form, &read);
    if (e) return show_again(req, e);
    const struct email_form *in = read;
    struct email_change c = {.proof = {.password = in->password, .totp = in->totp, .action = "email_change"},
                             .email = in->email};
    e = proof_give(req, &c.proof, email_write);
    if (!e) dispatcher_wake(req->app->dispatcher);
    const char *field = email_field(e, &c.proof);
    if (field) {
        answer_reset(req);
        e = request_bad_field(req, field, e == ERR_EMAIL_TAKEN ? e : ERR_FIELD_VALUE);
    }
    return e ? show_again(req, e) : OK;
}

struct token_form {
    Str name;
    unsigned scopes;
};
static const struct field token_fields[] = {
    {"name", FIELD_LINE, REQUIRED, offsetof(struct token_form, name), .min = 1, .max = 100},
    {"scopes", FIELD_CHOICES, OPTIONAL, offsetof(struct token_form, scopes), .min = 1, .max = 7,
     .choices = scope_names},
    {0},
};
static const struct shape token_form = {token_fields, sizeof(struct token_form)};

struct token_made {
    const struct token_form *in;
    Str text;
};

static enum err token_write(struct request *req, struct token_made *made)
{
    unsigned scopes = made->in->scopes ? made->in->scopes : SCOPES_OF_CUSTOMERS;
    struct token token, want = {.account = req->account, .kind = TOKEN_API, .name = made->in->name, .scopes = scopes};
    if (scopes & ~(unsigned)SCOPES_OF_CUSTOMERS) return request_bad_field(req, "scopes", ERR_FIELD_VALUE);
    return token_create(req->db, &want, req->now, &token, &made->text);
}
REQUEST_STEP(token_write);

/* Shown only in this answer: a page that is opened again does not have it. */
static enum err post_token(struct request *req)
{
    void *in = NULL;
    struct token_made made = {0};
    enum err e = form_read(req, &token_form, &in);
    made.in = in;
    if (!e) e = request_step(req, TX_WRITE, token_write, &made);
    if (e) return show_again(req, e);
    struct settings_view v = {.token_text = made.text};
    return request_step(req, TX_READ, show_settings, &v);
}

static enum err end_token(struct request *req)
{
    unsigned scopes;
    enum err e = token_revoke(req->db, req->account, req->param_id, &scopes);
    if (!e) e = token_audit(req, "token_revoke", scopes);
    return e ? e : shop_go(req, STR("/account/settings"));
}

const struct route shop_settings_routes[] = {
    {"GET", "/account/settings", SCOPE_NONE, TX_READ, NULL, get_settings, SHOP_PAGE | LOGIN_FIRST},
    {"POST", "/account/settings/profile", SCOPE_NONE, TX_SELF, NULL, post_profile, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {"POST", "/account/settings/email", SCOPE_NONE, TX_SELF, NULL, post_email, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {"POST", "/account/settings/password", SCOPE_NONE, TX_SELF, NULL, post_password, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {"POST", "/account/settings/tokens", SCOPE_NONE, TX_SELF, NULL, post_token, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {"POST", "/account/settings/tokens/{id}/revoke", SCOPE_NONE, TX_WRITE, NULL, end_token, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {"POST", "/account/settings/sessions/{id}/end", SCOPE_NONE, TX_WRITE, NULL, end_token, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {0},
};
