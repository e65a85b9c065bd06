/* page/mail_plain.c - see mail_plain.h. */
#include "page/mail_plain.h"

#include "base/buf.h"

#define PREFIX_MAX 120

struct plain {
    struct buf out;
    char prefix[PREFIX_MAX]; /* in front of every line */
    size_t prefix_len;
    bool in_line;
};

static void put_char(struct plain *p, char c)
{
    if (!p->in_line && c != '\n') {
        buf_append(&p->out, (Str){p->prefix, p->prefix_len});
        p->in_line = true;
    }
    if (c == '\n') {
        if (!p->in_line) buf_append(&p->out, str_trim((Str){p->prefix, p->prefix_len}));
        p->in_line = false;
    }
    buf_char(&p->out, c);
}

static void put(struct plain *p, Str s)
{
    for (size_t i = 0; i < s.len; i++) put_char(p, s.ptr[i]);
}

static void end_line(struct plain *p)
{
    if (p->in_line) put_char(p, '\n');
}

/* What is nested deeper than there is room for is not moved in further. */
static size_t push(struct plain *p, Str more)
{
    size_t was = p->prefix_len;
    if (was + more.len <= PREFIX_MAX) {
        memcpy(p->prefix + was, more.ptr, more.len);
        p->prefix_len += more.len;
    }
    return was;
}

static void inlines(struct plain *p, cmark_node *parent);

/* The words and the address; the address alone where they are the same. In a line of its own it can be clicked on in
 * every program. */
static void write_link(struct plain *p, cmark_node *node)
{
    cmark_node *parent = cmark_node_parent(node), *text = cmark_node_first_child(node);
    Str url = str_from(cmark_node_get_url(node));
    bool is_alone =
        !cmark_node_next(node) && !cmark_node_previous(node) && cmark_node_get_type(parent) == CMARK_NODE_PARAGRAPH;
    bool is_item = is_alone && cmark_node_get_type(cmark_node_parent(parent)) == CMARK_NODE_ITEM;
    if (text && !cmark_node_next(text) && cmark_node_get_type(text) == CMARK_NODE_TEXT &&
        str_eq(str_from(cmark_node_get_literal(text)), url)) {
        put(p, url);
        return;
    }
    inlines(p, node);
    put(p, is_item ? STR(": ") : is_alone ? STR(":\n") : STR(" ("));
    put(p, url);
    if (!is_alone) put_char(p, ')');
}

static void inlines(struct plain *p, cmark_node *parent)
{
    for (cmark_node *node = cmark_node_first_child(parent); node; node = cmark_node_next(node)) {
        switch (cmark_node_get_type(node)) {
        case CMARK_NODE_TEXT:
        case CMARK_NODE_CODE: put(p, str_from(cmark_node_get_literal(node))); break;
        case CMARK_NODE_SOFTBREAK: put_char(p, ' '); break;
        case CMARK_NODE_LINEBREAK: put_char(p, '\n'); break;
        case CMARK_NODE_LINK: write_link(p, node); break;
        default: inlines(p, node);
        }
    }
}

static void blocks(struct plain *p, cmark_node *parent, bool is_tight);

static void list(struct plain *p, cmark_node *node)
{
    bool is_tight = cmark_node_get_list_tight(node), is_numbered = cmark_node_get_list_type(node) == CMARK_ORDERED_LIST;
    int number = cmark_node_get_list_start(node);
    for (cmark_node *item = cmark_node_first_child(node); item; item = cmark_node_next(item)) {
        Str dash = is_numbered ? str_printf(p->out.arena, "%d. ", number++) : STR("- ");
        put(p, dash);
        size_t was = push(p, (Str){"            ", dash.len});
        blocks(p, item, is_tight);
        p->prefix_len = was;
        end_line(p);
        if (!is_tight && cmark_node_next(item)) put_char(p, '\n');
    }
}

static void block(struct plain *p, cmark_node *node)
{
    size_t was = p->prefix_len;
    switch (cmark_node_get_type(node)) {
    case CMARK_NODE_LIST: list(p, node); break;
    case CMARK_NODE_THEMATIC_BREAK: put(p, STR("---")); break;
    case CMARK_NODE_BLOCK_QUOTE:
        push(p, STR("> "));
        blocks(p, node, false);
        p->prefix_len = was;
        break;
    case CMARK_NODE_CODE_BLOCK:
        push(p, STR("    "));
        put(p, str_from(cmark_node_get_literal(node)));
        p->prefix_len = was;
        break;
    default: inlines(p, node);
    }
    end_line(p);
}

static void blocks(struct plain *p, cmark_node *parent, bool is_tight)
{
    for (cmark_node *node = cmark_node_first_child(parent); node; node = cmark_node_next(node)) {
        if (!is_tight && cmark_node_previous(node)) put_char(p, '\n');
        block(p, node);
    }
}

Str mail_plain_write(struct arena *a, cmark_node *root)
{
    struct plain *p = arena_new(a, struct plain);
    buf_init(&p->out, a, SIZE_MAX);
    blocks(p, root, false);
    return buf_str(&p->out);
}
