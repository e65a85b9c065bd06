/* page/template.h - what people see: pages and mails, written by templates.
 *
 * The templates are files in web/shop, compiled by tools/pages into one function and one struct of parameters each
 * (page/templates.h). A template writes into a struct page; the functions below are what the compiled code calls. Each
 * value is escaped for its place. The template compiler chooses the function and nothing else calls them, so that no
 * HTML is put together in C. The one type that is written unescaped, struct markup, is made by page/markdown.c alone.
 */
#pragma once

#include "base/buf.h"
#include "page/templates.h"

struct page {
    struct arena *arena;
    struct buf *out;
    enum lang lang;
    Str currency; /* of every amount on the page */
};

/* Unescaped: the template's own text. */
void page_raw(struct page *p, Str s);
void page_markup(struct page *p, struct markup m);
/* Texts of mails, unescaped too: plain text has no markup to break out of. */
void page_plain(struct page *p, Str s);
/* Between tags, inside quoted attributes, <title> and <textarea>. */
void page_text(struct page *p, Str s);
/* A whole address in an attribute: http, https, mailto, or relative; anything else becomes "#". */
void page_url(struct page *p, Str s);
/* A part of an address: percent-encoded. */
void page_component(struct page *p, Str s);
/* JSON in <script type="application/ld+json">. */
void page_json(struct page *p, Str s);
void page_json_bool(struct page *p, bool b);
void page_json_int(struct page *p, int64_t n);

/* Whether an address may stand in a page: relative, or one of the three schemes. */
bool page_url_is_fine(Str s);

/* Values as text, in the page's language; from the page's arena. */
Str page_int(struct page *p, int64_t n);
Str page_money(struct page *p, Money m);
Str page_money_plain(struct page *p, Money m); /* "19.99", for machines */
Str page_date(struct page *p, Time t);
Str page_moment(struct page *p, Time t); /* date and time of day, UTC */
Str page_iso(struct page *p, Time t);
