/* api/admin/admin_mail_texts.c - the texts of mails: the store's own where it has some, back to those of the program,
 * how one would look, and a mail to try it. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/account.h"
#include "domain/mail_words.h"
#include "outbox/mail_errand.h"
#include "page/words.h"
#include "serve/app.h"

static const char *receiver_of(enum mail_kind kind)
{
    return mail_kinds[kind].to_staff ? "staff" : "customer";
}

static enum err get_mail_texts(struct request *req)
{
    struct mail_words_changed changed;
    enum err e = mail_words_list(req->db, &changed);
    if (e) return e;
    json_begin_array(&req->out);
    for (int kind = 0; kind < MAIL_KIND_COUNT; kind++) {
        json_begin_object(&req->out);
        json_kv_cstr(&req->out, "kind", mail_kind_names[kind]);
        json_kv_cstr(&req->out, "to", receiver_of((enum mail_kind)kind));
        json_key(&req->out, "changed");
        json_begin_array(&req->out);
        for (int lang = 0; lang < LANG_COUNT; lang++)
            if (changed.is[lang][kind]) json_str(&req->out, str_from(lang_codes[lang]));
        json_end_array(&req->out);
        json_end_object(&req->out);
    }
    json_end_array(&req->out);
    return OK;
}

static void view_parameters(struct json_writer *w, enum mail_kind kind)
{
    json_key(w, "parameters");
    json_begin_array(w);
    for (size_t i = 0; i < mail_kinds[kind].count; i++) {
        const struct mail_param_use *use = &mail_kinds[kind].params[i];
        json_begin_object(w);
        json_kv_cstr(w, "name", mail_param_names[use->param]);
        json_kv_cstr(w, "type", mail_type_names[mail_param_types[use->param]]);
        json_end_object(w);
    }
    json_end_array(w);
}

static void view(struct json_writer *w, const void *thing)
{
    const struct mail_words *words = thing;
    const struct mail_text *original = &mail_defaults[words->lang][words->kind];
    json_begin_object(w);
    json_kv_cstr(w, "kind", mail_kind_names[words->kind]);
    json_kv_cstr(w, "language", lang_codes[words->lang]);
    json_kv_cstr(w, "to", receiver_of(words->kind));
    json_kv_str(w, "subject", words->text.subject);
    json_kv_str(w, "body", words->text.body);
    json_kv_bool(w, "is_changed", words->is_changed);
    json_kv_time(w, "updated_at", words->updated_at);
    json_kv_str(w, "default_subject", original->subject);
    json_kv_str(w, "default_body", original->body);
    view_parameters(w, words->kind);
    json_end_object(w);
}

/* The text that the path names, as it is used. ERR_NOT_FOUND: there is no such mail, or no such language. */
static enum err find(struct request *req, struct mail_words *ret)
{
    enum lang lang;
    int kind = str_choice(req->params[0], mail_kind_names);
    if (kind < 0 || !lang_find(req->params[1], &lang)) return ERR_NOT_FOUND;
    return mail_words_read(req->db, (enum mail_kind)kind, lang, ret);
}

static enum err get_mail_text(struct request *req)
{
    struct mail_words words;
    enum err e = find(req, &words);
    if (!e) view(&req->out, &words);
    return e;
}

struct mail_text_body {
    Str subject, body;
    bool has_subject, has_body;
};
#define AT(member) offsetof(struct mail_text_body, member)
#define TEXT_FIELDS(needed)                                                                                            \
    {"subject", FIELD_LINE, needed, AT(subject), .min = 1, .max = MAIL_SUBJECT_MAX, .has = AT(has_subject)},           \
    {                                                                                                                  \
        "body", FIELD_TEXT, needed, AT(body), .min = 1, .max = MAIL_BODY_MAX, .has = AT(has_body)                      \
    }
static const struct field text_fields[] = {TEXT_FIELDS(REQUIRED), {0}};
static const struct shape text_shape = {text_fields, sizeof(struct mail_text_body)};
static const struct field draft_fields[] = {TEXT_FIELDS(OPTIONAL), {0}};
static const struct shape draft_shape = {draft_fields, sizeof(struct mail_text_body)};
/* Each code point may come as two escapes of six bytes. */
#define TEXT_BYTES_MAX (MAIL_BODY_MAX * 12 + 16 * 1024)

static enum err check_part(struct request *req, enum mail_kind kind, const char *field, Str text, bool is_subject)
{
    static const enum err errors[] = {[MAIL_FAULT_PARAM] = ERR_FIELD_PARAMETER,
                                      [MAIL_FAULT_BRACE] = ERR_FIELD_BRACES,
                                      [MAIL_FAULT_PLACE] = ERR_FIELD_PLACE};
    Str name;
    enum mail_fault fault = mail_text_check(req->arena, kind, text, is_subject, &name);
    if (fault == MAIL_FAULT_NONE) return OK;
    if (fault == MAIL_FAULT_BRACE) return request_bad_field(req, field, errors[fault]);
    return request_bad_part(req, field, errors[fault], str_printf(req->arena, "{{%.*s}}", STR_FMT(name)));
}

/* The text that the path names with what the body changes of it, checked. */
static enum err draft(struct request *req, struct mail_words *ret)
{
    const struct mail_text_body *in = req->body;
    enum err e = find(req, ret);
    if (e) return e;
    if (in->has_subject) ret->text.subject = in->subject;
    if (in->has_body) ret->text.body = in->body;
    e = check_part(req, ret->kind, "subject", ret->text.subject, true);
    enum err other = check_part(req, ret->kind, "body", ret->text.body, false);
    return e ? e : other;
}

static Str label_of(struct request *req, const struct mail_words *words)
{
    return str_printf(req->arena, "%s (%s)", mail_kind_names[words->kind], lang_codes[words->lang]);
}

static enum err put_mail_text(struct request *req)
{
    struct mail_words before, wanted, after;
    enum err e = find(req, &before);
    if (!e) e = draft(req, &wanted);
    if (!e) e = mail_words_set(req->db, wanted.kind, wanted.lang, &wanted.text, req->now);
    if (!e) e = find(req, &after);
    if (e) return e;
    view(&req->out, &after);
    return admin_audit(req, "mail_text.update", (Id){0}, label_of(req, &after), admin_json(req, view, &before),
                       admin_json(req, view, &after));
}

static enum err delete_mail_text(struct request *req)
{
    struct mail_words before, after;
    enum err e = find(req, &before);
    if (!e) e = mail_words_reset(req->db, before.kind, before.lang);
    if (!e) e = find(req, &after);
    if (e) return e;
    view(&req->out, &after);
    return admin_audit(req, "mail_text.reset", (Id){0}, label_of(req, &after), admin_json(req, view, &before),
                       admin_json(req, view, &after));
}

/* With sample values. */
static void render(struct request *req, const struct mail_words *words, struct mail_parts *ret)
{
    struct mail_values samples;
    struct mail_look look = mail_look_of(req->arena, req->settings);
    mail_samples(words->kind, &samples);
    mail_text_render(req->arena, words->lang, words->kind, &words->text, &samples, &look, ret);
}

static enum err post_preview(struct request *req)
{
    struct mail_words words;
    struct mail_parts parts;
    enum err e = draft(req, &words);
    if (e) return e;
    render(req, &words, &parts);
    json_begin_object(&req->out);
    json_kv_str(&req->out, "subject", parts.subject);
    json_kv_str(&req->out, "text", parts.text);
    json_kv_str(&req->out, "html", parts.html);
    json_end_object(&req->out);
    return OK;
}

struct trial {
    struct mail_words words;
    struct account account;
    const char *error; /* NULL: the server took it */
};

static enum err read_trial(struct request *req, struct trial *t)
{
    enum err e = draft(req, &t->words);
    return e ? e : account_find(req->db, req->account, &t->account);
}
REQUEST_STEP(read_trial);

static enum err record_trial(struct request *req, struct trial *t)
{
    json_begin_object(&req->out);
    json_kv_str(&req->out, "to", t->account.email);
    json_kv_bool(&req->out, "sent", t->error == NULL);
    json_kv_opt_str(&req->out, "error", t->error ? str_from(t->error) : (Str){0});
    json_end_object(&req->out);
    return admin_audit(req, "mail_text.test", (Id){0}, label_of(req, &t->words), (Str){0}, (Str){0});
}
REQUEST_STEP(record_trial);

/* Sent to the caller alone, while they wait, so that the answer has the mail server's reply. */
static enum err post_test(struct request *req)
{
    struct app *app = req->app;
    struct trial *t = arena_new(req->arena, struct trial);
    struct mail_parts parts;
    enum err e = request_step(req, TX_READ, read_trial, t);
    if (e) return e;
    render(req, &t->words, &parts);
    t->error = MAIL_OFF_ERROR;
    if (*app->options.mail.url)
        mail_send(app->outbound, &app->options.mail, t->account.email, &parts, str_from(req->settings->store_name),
                  (Id){0}, req->now, req->arena, &t->error);
    return request_step(req, TX_WRITE, record_trial, t);
}

#define ONE "/api/admin/mail-texts/{kind}/{language}"

const struct route admin_mail_texts_routes[] = {
    {"GET", "/api/admin/mail-texts", SCOPE_ADMIN, TX_READ, NULL, get_mail_texts},
    {"GET", ONE, SCOPE_ADMIN, TX_READ, NULL, get_mail_text},
    {"PUT", ONE, SCOPE_ADMIN, TX_WRITE, &text_shape, put_mail_text, OWNER_ONLY | SENSITIVE,
     .body_bytes_max = TEXT_BYTES_MAX},
    {"DELETE", ONE, SCOPE_ADMIN, TX_WRITE, NULL, delete_mail_text, OWNER_ONLY | SENSITIVE},
    {"POST", ONE "/preview", SCOPE_ADMIN, TX_READ, &draft_shape, post_preview, .body_bytes_max = TEXT_BYTES_MAX},
    {"POST", ONE "/test", SCOPE_ADMIN, TX_SELF, &draft_shape, post_test, CALLS_OUT, .body_bytes_max = TEXT_BYTES_MAX},
    {0},
};
