/* page/markdown.c - Markdown as libcmark's tree, reduced to what a shop may show, then rendered. */
#include "page/markdown.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "page/markdown_tree.h"

/* cmark ends the process where it gets no memory. */
static void use_our_memory(void)
{
    *cmark_get_default_mem_allocator() = (cmark_mem){memory_zeroed, memory_grow, free};
}

/* Raw HTML becomes text: inline HTML in its line, a block as a paragraph of its own. */
static void html_to_text(cmark_node *node)
{
    cmark_node *text = cmark_node_new(CMARK_NODE_TEXT);
    cmark_node_set_literal(text, cmark_node_get_literal(node));
    if (cmark_node_get_type(node) == CMARK_NODE_HTML_INLINE) {
        cmark_node_replace(node, text);
    } else {
        cmark_node *paragraph = cmark_node_new(CMARK_NODE_PARAGRAPH);
        cmark_node_append_child(paragraph, text);
        cmark_node_replace(node, paragraph);
    }
    cmark_node_free(node);
}

void markdown_unwrap(cmark_node *node)
{
    for (cmark_node *child; (child = cmark_node_first_child(node));) cmark_node_insert_before(node, child);
    cmark_node_unlink(node);
    cmark_node_free(node);
}

static bool is_inside_link(cmark_node *node)
{
    for (node = cmark_node_parent(node); node; node = cmark_node_parent(node))
        if (cmark_node_get_type(node) == CMARK_NODE_LINK) return true;
    return false;
}

static void mend_link(cmark_node *node)
{
    if (!page_url_is_fine(str_from(cmark_node_get_url(node)))) markdown_unwrap(node);
}

static void mend_picture(cmark_node *node)
{
    Str url = str_from(cmark_node_get_url(node));
    if (str_starts(url, STR("/")) && !str_starts(url, STR("//")) && page_url_is_fine(url)) return;
    if (!page_url_is_fine(url) || is_inside_link(node)) {
        markdown_unwrap(node);
        return;
    }
    cmark_node *link = cmark_node_new(CMARK_NODE_LINK);
    cmark_node_set_url(link, cmark_node_get_url(node));
    cmark_node_insert_before(node, link);
    if (!cmark_node_first_child(node)) {
        cmark_node *text = cmark_node_new(CMARK_NODE_TEXT);
        cmark_node_set_literal(text, cmark_node_get_url(node));
        cmark_node_append_child(node, text);
    }
    for (cmark_node *child; (child = cmark_node_first_child(node));) cmark_node_append_child(link, child);
    cmark_node_unlink(node);
    cmark_node_free(node);
}

static void lower_heading(cmark_node *node)
{
    int level = cmark_node_get_heading_level(node);
    cmark_node_set_heading_level(node, level < 6 ? level + 1 : 6);
}

static void mend(cmark_node *node)
{
    switch (cmark_node_get_type(node)) {
    case CMARK_NODE_HTML_BLOCK:
    case CMARK_NODE_HTML_INLINE: html_to_text(node); break;
    case CMARK_NODE_LINK: mend_link(node); break;
    case CMARK_NODE_IMAGE: mend_picture(node); break;
    case CMARK_NODE_HEADING: lower_heading(node); break;
    default: break;
    }
}

cmark_node *markdown_parse(Str source)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, use_our_memory);
    cmark_node *root = cmark_parse_document(source.len ? source.ptr : "", source.len, CMARK_OPT_VALIDATE_UTF8);
    assert(root);
    return root;
}

/* Leaves are changed when the walk enters them, other nodes when it leaves them: cmark's iterator has then moved on. */
void markdown_mend(cmark_node *root)
{
    cmark_iter *walk = cmark_iter_new(root);
    for (cmark_event_type event; (event = cmark_iter_next(walk)) != CMARK_EVENT_DONE;) {
        cmark_node *node = cmark_iter_get_node(walk);
        cmark_node_type type = cmark_node_get_type(node);
        bool is_leaf = type == CMARK_NODE_HTML_BLOCK || type == CMARK_NODE_HTML_INLINE;
        if (is_leaf || event == CMARK_EVENT_EXIT) mend(node);
    }
    cmark_iter_free(walk);
}

static cmark_node *parsed(Str source)
{
    cmark_node *root = markdown_parse(source);
    markdown_mend(root);
    return root;
}

struct markup markdown_html(struct arena *a, cmark_node *root)
{
    /* Without CMARK_OPT_UNSAFE, so that cmark itself leaves out anything that the walk above might miss. */
    char *html = cmark_render_html(root, CMARK_OPT_VALIDATE_UTF8);
    struct markup m = {str_dup(a, str_from(html))};
    free(html);
    return m;
}

struct markup markdown_render(struct arena *a, Str source)
{
    cmark_node *root = parsed(source);
    struct markup m = markdown_html(a, root);
    cmark_node_free(root);
    return m;
}

static Str cut_between_words(Str s, size_t bytes_max)
{
    if (s.len <= bytes_max) return str_trim(s);
    size_t end = bytes_max;
    while (end > 0 && s.ptr[end] != ' ') end--;
    if (end == 0) /* one long word: cut at the start of a character */
        for (end = bytes_max; end > 0 && ((unsigned char)s.ptr[end] & 0xc0) == 0x80;) end--;
    return str_trim((Str){s.ptr, end});
}

Str markdown_summary(struct arena *a, Str source, size_t bytes_max)
{
    cmark_node *root = parsed(source);
    cmark_iter *walk = cmark_iter_new(root);
    struct buf b;
    buf_init(&b, a, bytes_max * 2 + 64);
    for (cmark_event_type event; (event = cmark_iter_next(walk)) != CMARK_EVENT_DONE && !b.full;) {
        cmark_node *node = cmark_iter_get_node(walk);
        cmark_node_type type = cmark_node_get_type(node);
        bool is_text = type == CMARK_NODE_TEXT || type == CMARK_NODE_CODE;
        if (is_text) { /* a leaf: it is entered, and never left */
            Str literal = str_from(cmark_node_get_literal(node));
            for (size_t i = 0; i < literal.len; i++)
                buf_char(&b, (unsigned char)literal.ptr[i] < ' ' ? ' ' : literal.ptr[i]);
        } else if (b.len && b.ptr[b.len - 1] != ' ' &&
                   (type == CMARK_NODE_SOFTBREAK || type == CMARK_NODE_LINEBREAK ||
                    (event == CMARK_EVENT_EXIT && type <= CMARK_NODE_LAST_BLOCK))) {
            buf_char(&b, ' ');
        }
    }
    cmark_iter_free(walk);
    cmark_node_free(root);
    Str all = buf_str(&b);
    while (b.full && !utf8_valid(all)) all.len--;
    return cut_between_words(all, bytes_max);
}
