/* page/mail_tree.h - a mail's body as a tree: values in, text and HTML out. Inside of page/ only.
 *
 * In the source each parameter stands as one character of the private use area, so that no value is ever read as
 * Markdown. */
#pragma once

#include "page/mail_text.h"

#define MAIL_MARK_BYTES 3
/* The mark of a parameter: U+E000 and its number. */
void mail_mark_write(struct buf *b, enum mail_param param);
/* The parameter whose mark begins at s.ptr[at]; false when there is none. Any mark of the area counts: a source must
 * not bring its own. */
bool mail_mark_at(Str s, size_t at, enum mail_param *ret);

/* Whether every list stands alone in a paragraph and every address begins with one: else *ret_param is the wrong one.
 */
bool mail_tree_check(struct arena *a, Str marked, enum mail_param *ret_param);
/* Both parts of the body. */
void mail_tree_render(struct arena *a, Str marked, const struct mail_values *v, Str base_url, struct markup *ret_html,
                      Str *ret_text);
