/* serve/frame.c - see frame.h. */
#include "serve/frame.h"

#include "domain/own_page.h"
#include "domain/session.h"
#include "page/words.h"
#include "serve/app.h"
#include "serve/render.h"
#include "serve/visit.h"

#define PAGE_BYTES_MAX ((size_t)8 * 1024 * 1024)

/* Only our own scripts run, nothing is loaded from elsewhere, forms go to this server, and no page can be framed.
 * connect-src is for the browser's own tools, which read robots.txt in the name of the page. */
static const char CONTENT_SECURITY_POLICY[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'";

static void add_footer(struct request *req, struct page_frame *frame)
{
    struct page_footlink *links = arena_array(req->arena, struct page_footlink, OWN_PAGES_MAX);
    size_t n = 0;
    Str rest = str_from(req->settings->footer), line;
    while (n < OWN_PAGES_MAX && str_cut(rest, '\n', &line, &rest))
        if (str_cut(line, '\t', &links[n].slug, &links[n].title)) n++;
    frame->pages = (struct page_footlink_list){links, n};
}

void sheet_begin(struct request *req, struct sheet *s, Str title)
{
    const struct session *v = req->session;
    *s = (struct sheet){0};
    buf_init(&s->out, req->arena, PAGE_BYTES_MAX);
    s->page = (struct page){
        .arena = req->arena, .out = &s->out, .lang = visit_lang(req), .currency = str_from(req->settings->currency)};
    s->frame = (struct page_frame){
        .store = str_from(req->settings->store_name),
        .tagline = str_from(req->settings->tagline),
        .logo = str_from(req->settings->logo),
        .title = title,
        .is_hidden = true,
        .csrf = req->csrf,
    };
    add_footer(req, &s->frame);
    if (req->settings->theme[0]) s->frame.theme = str_printf(req->arena, "/theme/theme-%s.css", req->settings->theme);
    if (!v) return;
    s->frame.units = v->cart_units;
    if (id_is(v->account)) s->frame.who = v->name.len ? v->name : v->email;
}

static void add_page_headers(struct request *req)
{
    request_add_header(req, "Content-Security-Policy", str_from(CONTENT_SECURITY_POLICY));
    request_add_header(req, "Referrer-Policy", STR("same-origin"));
    request_add_header(req, "Cross-Origin-Opener-Policy", STR("same-origin"));
    request_add_header(req, "Vary", STR("Cookie, Accept-Language"));
}

void sheet_headers(struct request *req, enum lang lang)
{
    add_page_headers(req);
    request_add_header(req, "Content-Language", str_from(lang_codes[lang]));
}

void sheet_send(struct request *req, struct sheet *s)
{
    sheet_headers(req, s->page.lang);
    request_ready(req, "text/html; charset=utf-8", buf_str(&s->out));
}

Str sheet_address(struct request *req, Str path)
{
    const char *base = req->app->options.base_url;
    return *base ? str_printf(req->arena, "%s%.*s", base, STR_FMT(path)) : (Str){0};
}

struct trouble trouble_of(struct request *req, enum err e)
{
    return (struct trouble){.e = e, .errors = req->errors};
}

Str trouble_word(const struct sheet *s, enum err e)
{
    const struct err_info *info = err_info(e);
    enum word word = words_find(str_printf(s->page.arena, "error_%s", info->code));
    return word ? words_text(s->page.lang, word) : str_from(info->message);
}

Str trouble_field(const struct sheet *s, const struct trouble *t, const char *field)
{
    if (t->e != ERR_VALIDATION) return (Str){0};
    for (const struct field_error *f = t->errors.first; f; f = f->next)
        if (str_eq(f->field, str_from(field))) return trouble_word(s, f->err);
    return (Str){0};
}

Str trouble_text(const struct sheet *s, const struct trouble *t)
{
    if (!t->e) return (Str){0};
    return t->e == ERR_VALIDATION ? words_text(s->page.lang, WORD_form_problem) : trouble_word(s, t->e);
}

static enum word text_of(int status, enum err e)
{
    if (e == ERR_FORM_REFUSED) return WORD_form_refused_text;
    if (status == 404 || status == 405) return WORD_not_found_text;
    if (e == ERR_DOWNLOAD_EXPIRED || e == ERR_DOWNLOAD_USED_UP) return WORD_download_over_text;
    if (status == 429) return WORD_too_many_text;
    if (status == 503) return WORD_unavailable_text;
    return WORD_something_wrong_text;
}

void frame_error(struct request *req, enum err e)
{
    struct sheet s;
    enum word heading = req->status == 404 ? WORD_not_found_title : WORD_error_title;
    sheet_begin(req, &s, (Str){0});
    s.frame.title = words_text(s.page.lang, heading);
    page_write_error(&s.page,
                     &(const struct page_error){.frame = s.frame, .heading = heading, .text = text_of(req->status, e)});
    add_page_headers(req);
    req->answer->content_type = "text/html; charset=utf-8";
    req->answer->body = buf_str(&s.out);
}
