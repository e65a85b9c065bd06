/* page/markdown_tree.h - Markdown on its way, as libcmark's tree: for those inside page/ who change it before it is
 * shown. */
#pragma once

#include <cmark.h>

#include "page/markdown.h"

/* As it was written: raw HTML and any address are still in it. To be freed with cmark_node_free. */
cmark_node *markdown_parse(Str source);
/* Leaves only what markdown.h promises. */
void markdown_mend(cmark_node *root);
/* Of a mended tree. */
struct markup markdown_html(struct arena *a, cmark_node *root);
/* The node's children take its place. */
void markdown_unwrap(cmark_node *node);
