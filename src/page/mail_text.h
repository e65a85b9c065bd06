/* page/mail_text.h - the texts of mails: a subject and a body in Markdown, with {{name}} where a value goes.
 *
 * The texts that come with the program are files in web/shop/mail, checked when it is built; a merchant may put others
 * in their place (domain/mail_words.h), which are checked by the same rules when they are saved. Values are put into
 * the tree of the parsed Markdown, never into its source: whatever a customer is called, it stays text. The text part
 * and the HTML part of a mail are written from that one tree.
 *
 * A paragraph that names a value which is empty is left out. That is all there is of conditions. */
#pragma once

#include "page/template.h"

enum mail_type {
    MAIL_TYPE_TEXT,
    MAIL_TYPE_URL,  /* becomes a link where it stands in a text */
    MAIL_TYPE_LIST, /* lines that begin with '*' (an item), '=' (a code below it), '@' (an address below it,
                       and words for it behind a space) */
};
extern const char *const mail_type_names[];

struct mail_text {
    Str subject, body;
};

struct mail_param_use {
    enum mail_param param;
    Str sample; /* what a preview shows */
};

struct mail_kind_info {
    bool to_staff;
    const struct mail_param_use *params;
    size_t count;
};

/* Made by tools/pages from web/shop/mail. */
extern const char *const mail_kind_names[];
extern const char *const mail_param_names[];
extern const enum mail_type mail_param_types[MAIL_PARAM_COUNT];
extern const struct mail_kind_info mail_kinds[MAIL_KIND_COUNT];
extern const struct mail_text mail_defaults[LANG_COUNT][MAIL_KIND_COUNT];

struct mail_values {
    Str of[MAIL_PARAM_COUNT];
};

bool mail_kind_has(enum mail_kind kind, enum mail_param param);
/* The samples of a kind. */
void mail_samples(enum mail_kind kind, struct mail_values *ret);

enum mail_fault {
    MAIL_FAULT_NONE,
    MAIL_FAULT_PARAM, /* the kind has no such parameter */
    MAIL_FAULT_BRACE, /* {{ without }}, or the other way round */
    MAIL_FAULT_PLACE, /* a list that does not stand alone in a paragraph, or a text as an address */
};
/* Whether a text can be used. *ret_name is the parameter that it is about. */
enum mail_fault mail_text_check(struct arena *a, enum mail_kind kind, Str text, bool is_subject, Str *ret_name);

/* What is around every mail. */
struct mail_look {
    Str store;
    Str base_url; /* in front of addresses that begin with a slash; without one at its end */
    Str accent;   /* "#rrggbb"; empty: the shop's own */
    Str logo;     /* its whole address; empty: none */
};

struct mail_parts {
    Str subject, text, html;
};

Str mail_subject(struct arena *a, enum mail_kind kind, Str subject, const struct mail_values *v);
/* The whole message. `values` need not have store and home: the look knows them. */
void mail_text_render(struct arena *a, enum lang lang, enum mail_kind kind, const struct mail_text *t,
                      const struct mail_values *values, const struct mail_look *look, struct mail_parts *ret);
