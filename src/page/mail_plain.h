/* page/mail_plain.h - a mended tree of Markdown as a text for people: what a mail shows where there is no HTML. Inside
 * of page/ only. */
#pragma once

#include <cmark.h>

#include "base/arena.h"
#include "base/str.h"

/* Paragraphs with an empty line between them, lists with dashes, quotations behind "> ", addresses in full. */
Str mail_plain_write(struct arena *a, cmark_node *root);
