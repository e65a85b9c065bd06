/* serve/frame.h - a page of the shop: what is around its content, its headers, and errors as pages. */
#pragma once

#include "page/template.h"
#include "serve/request.h"

/* A page while it is being written. */
struct sheet {
    struct page page;
    struct buf out;
    struct page_frame frame;
};

/* Empty, in the visitor's language. `title` may be empty. */
void sheet_begin(struct request *req, struct sheet *s, Str title);
/* The headers that every page of the shop has. */
void sheet_headers(struct request *req, enum lang lang);
/* Makes what was written the answer, with the headers that every page of the shop has. */
void sheet_send(struct request *req, struct sheet *s);
/* The store's address in front of a path, for links from elsewhere; empty while the store does not know it. */
Str sheet_address(struct request *req, Str path);

/* What went wrong with a form, for the page that shows it again. {0}: nothing. */
struct trouble {
    enum err e;
    struct field_errors errors;
};
struct trouble trouble_of(struct request *req, enum err e);
/* What to say beside a field; empty when it is fine. */
Str trouble_field(const struct sheet *s, const struct trouble *t, const char *field);
/* What to say above the form; empty when there is nothing to say. */
Str trouble_text(const struct sheet *s, const struct trouble *t);
/* The words for an error. */
Str trouble_word(const struct sheet *s, enum err e);

/* An error as a page instead of JSON. Needs no database. */
void frame_error(struct request *req, enum err e);
