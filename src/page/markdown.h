/* page/markdown.h - CommonMark from people who are trusted to sell, not to write HTML.
 *
 * Raw HTML is shown as text: never markup, never dropped. Links lead to http, https, mailto or relative addresses;
 * others lose their address and keep their text. Pictures are the shop's own; one from elsewhere becomes a link.
 * Headings begin at <h2>, because a page has its own <h1>. */
#pragma once

#include "page/template.h"

struct markup markdown_render(struct arena *a, Str source);
/* The words alone, at most `bytes_max` bytes, cut between words: for descriptions in lists and search engines. */
Str markdown_summary(struct arena *a, Str source, size_t bytes_max);
