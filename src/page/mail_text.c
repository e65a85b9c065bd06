/* page/mail_text.c - see mail_text.h: placeholders, subjects, and the frame around a body. */
#include "page/mail_text.h"

#include "page/color.h"
#include "page/mail_tree.h"

#define SHOP_ACCENT "#2456a6" /* as in web/shop/assets/shop.css */
#define SUBJECT_BYTES_MAX 400

const char *const mail_type_names[] = {"text", "url", "list", NULL};

bool mail_kind_has(enum mail_kind kind, enum mail_param param)
{
    for (size_t i = 0; i < mail_kinds[kind].count; i++)
        if (mail_kinds[kind].params[i].param == param) return true;
    return false;
}

void mail_samples(enum mail_kind kind, struct mail_values *ret)
{
    *ret = (struct mail_values){0};
    for (size_t i = 0; i < mail_kinds[kind].count; i++)
        ret->of[mail_kinds[kind].params[i].param] = mail_kinds[kind].params[i].sample;
}

/* The next "{{ name }}" of *rest: what stands before it, and the name. False without one. */
static bool next_place(Str *rest, Str *ret_before, Str *ret_name)
{
    for (size_t open = 0; open + 1 < rest->len; open++) {
        if (rest->ptr[open] != '{' || rest->ptr[open + 1] != '{') continue;
        for (size_t end = open + 2; end + 1 < rest->len && rest->ptr[end] != '\n' && rest->ptr[end] != '{'; end++) {
            if (rest->ptr[end] != '}' || rest->ptr[end + 1] != '}') continue;
            *ret_before = (Str){rest->ptr, open};
            *ret_name = str_trim((Str){rest->ptr + open + 2, end - open - 2});
            *rest = (Str){rest->ptr + end + 2, rest->len - end - 2};
            return true;
        }
    }
    return false;
}

static bool has_stray_brace(Str s)
{
    for (size_t i = 0; i + 1 < s.len; i++)
        if (s.ptr[i] == s.ptr[i + 1] && (s.ptr[i] == '{' || s.ptr[i] == '}')) return true;
    return false;
}

/* Characters that stand for parameters here are nobody else's. */
static void append_without_marks(struct buf *b, Str s)
{
    enum mail_param ignored;
    for (size_t i = 0; i < s.len; i++) {
        if (mail_mark_at(s, i, &ignored))
            i += MAIL_MARK_BYTES - 1;
        else
            buf_char(b, s.ptr[i]);
    }
}

/* The text with a mark for each parameter; unknown ones stay as they are written. */
static Str marked(struct arena *a, enum mail_kind kind, Str text)
{
    struct buf b;
    Str before, name, rest = text;
    buf_init(&b, a, SIZE_MAX);
    while (next_place(&rest, &before, &name)) {
        int param = str_choice(name, mail_param_names);
        append_without_marks(&b, before);
        if (param >= 0 && mail_kind_has(kind, (enum mail_param)param))
            mail_mark_write(&b, (enum mail_param)param);
        else
            buf_printf(&b, "{{%.*s}}", STR_FMT(name));
    }
    append_without_marks(&b, rest);
    return buf_str(&b);
}

enum mail_fault mail_text_check(struct arena *a, enum mail_kind kind, Str text, bool is_subject, Str *ret_name)
{
    Str before, name, rest = text;
    enum mail_param wrong;
    *ret_name = (Str){0};
    while (next_place(&rest, &before, &name)) {
        int param = str_choice(name, mail_param_names);
        if (has_stray_brace(before)) return MAIL_FAULT_BRACE;
        *ret_name = name;
        if (param < 0 || !mail_kind_has(kind, (enum mail_param)param)) return MAIL_FAULT_PARAM;
        if (is_subject && mail_param_types[param] == MAIL_TYPE_LIST) return MAIL_FAULT_PLACE;
    }
    *ret_name = (Str){0};
    if (has_stray_brace(rest)) return MAIL_FAULT_BRACE;
    if (is_subject || mail_tree_check(a, marked(a, kind, text), &wrong)) return MAIL_FAULT_NONE;
    *ret_name = str_from(mail_param_names[wrong]);
    return MAIL_FAULT_PLACE;
}

/* One line: what would break it is a space. */
Str mail_subject(struct arena *a, enum mail_kind kind, Str subject, const struct mail_values *v)
{
    struct buf b;
    Str text = marked(a, kind, subject);
    buf_init(&b, a, SIZE_MAX);
    for (size_t i = 0; i < text.len; i++) {
        enum mail_param param;
        if (mail_mark_at(text, i, &param)) {
            buf_append(&b, v->of[param]);
            i += MAIL_MARK_BYTES - 1;
        } else {
            buf_char(&b, text.ptr[i]);
        }
    }
    for (size_t i = 0; i < b.len; i++)
        if ((unsigned char)b.ptr[i] < ' ') b.ptr[i] = ' ';
    Str line = str_trim(buf_str(&b));
    if (line.len > SUBJECT_BYTES_MAX) {
        line.len = SUBJECT_BYTES_MAX;
        while (line.len && ((unsigned char)line.ptr[line.len] & 0xc0) == 0x80) line.len--;
    }
    return line;
}

static Str write_html(struct page *p, const struct mail_look *look, Str home, Str subject, struct markup body)
{
    struct color accent;
    struct buf b;
    Str code = look->accent;
    buf_init(&b, p->arena, SIZE_MAX);
    p->out = &b;
    if (!color_read(code, &accent)) {
        code = STR(SHOP_ACCENT);
        color_read(code, &accent);
    }
    page_write_mail_frame(p, &(const struct page_mail_frame){
                                 .store = look->store,
                                 .home = home,
                                 .subject = subject,
                                 .accent = code,
                                 .on_accent = color_wants_white(&accent) ? STR("#ffffff") : STR("#000000"),
                                 .logo = look->logo,
                                 .body = body,
                             });
    return buf_str(&b);
}

static Str write_text(struct page *p, const struct mail_look *look, Str home, Str body)
{
    struct buf b;
    buf_init(&b, p->arena, SIZE_MAX);
    p->out = &b;
    page_write_mail_plain(p, &(const struct page_mail_plain){.store = look->store, .home = home, .body = body});
    return buf_str(&b);
}

void mail_text_render(struct arena *a, enum lang lang, enum mail_kind kind, const struct mail_text *t,
                      const struct mail_values *values, const struct mail_look *look, struct mail_parts *ret)
{
    struct mail_values v = *values;
    struct page page = {.arena = a, .lang = lang};
    struct markup html;
    Str text;
    v.of[PARAM_store] = look->store;
    v.of[PARAM_home] = str_printf(a, "%.*s/", STR_FMT(look->base_url));
    mail_tree_render(a, marked(a, kind, t->body), &v, look->base_url, &html, &text);
    ret->subject = mail_subject(a, kind, t->subject, &v);
    ret->text = write_text(&page, look, v.of[PARAM_home], text);
    ret->html = write_html(&page, look, v.of[PARAM_home], ret->subject, html);
}
