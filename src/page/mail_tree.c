/* page/mail_tree.c - see mail_tree.h: the values' way into the tree. */
#include "page/mail_tree.h"

#include <assert.h>

#include "page/mail_plain.h"
#include "page/markdown_tree.h"

void mail_mark_write(struct buf *b, enum mail_param param)
{
    static_assert(MAIL_PARAM_COUNT <= 64, "a mark is U+E000 and the number of a parameter");
    buf_append(b, (Str){(const char[]){'\xee', '\x80', (char)(0x80 + (int)param)}, MAIL_MARK_BYTES});
}

bool mail_mark_at(Str s, size_t at, enum mail_param *ret)
{
    const unsigned char *p = (const unsigned char *)s.ptr + at;
    if (s.len - at < MAIL_MARK_BYTES || p[0] != 0xee || p[1] != 0x80 || p[2] < 0x80 || p[2] > 0xbf) return false;
    if (p[2] - 0x80 >= (int)MAIL_PARAM_COUNT) return false;
    *ret = (enum mail_param)(p[2] - 0x80);
    return true;
}

struct filling {
    struct arena *arena;
    const struct mail_values *values;
    Str base_url;
};

/* The text with its values, for places that take text alone. */
static Str filled(const struct filling *f, Str s)
{
    struct buf b;
    enum mail_param param;
    buf_init(&b, f->arena, SIZE_MAX);
    for (size_t i = 0; i < s.len; i++) {
        if (mail_mark_at(s, i, &param)) {
            buf_append(&b, f->values->of[param]);
            i += MAIL_MARK_BYTES - 1;
        } else {
            buf_char(&b, s.ptr[i]);
        }
    }
    return buf_str(&b);
}

static bool has_mark(Str s)
{
    enum mail_param ignored;
    for (size_t i = 0; i < s.len; i++)
        if (mail_mark_at(s, i, &ignored)) return true;
    return false;
}

static bool names_empty(const struct filling *f, Str s)
{
    enum mail_param param;
    for (size_t i = 0; i < s.len; i++)
        if (mail_mark_at(s, i, &param) && !f->values->of[param].len) return true;
    return false;
}

static void drop(cmark_node *node)
{
    cmark_node_unlink(node);
    cmark_node_free(node);
}

static cmark_node *new_leaf(const struct filling *f, cmark_node_type type, Str literal)
{
    cmark_node *node = cmark_node_new(type);
    cmark_node_set_literal(node, str_cstr(f->arena, literal));
    return node;
}

static cmark_node *new_link(const struct filling *f, Str url, Str words)
{
    cmark_node *link = cmark_node_new(CMARK_NODE_LINK);
    cmark_node_set_url(link, str_cstr(f->arena, url));
    cmark_node_append_child(link, new_leaf(f, CMARK_NODE_TEXT, words));
    return link;
}

/* Lines of a value stay lines. */
static void put_lines(const struct filling *f, cmark_node *before, Str s)
{
    for (Str line, rest; s.len; s = rest) {
        bool is_last = !str_cut(s, '\n', &line, &rest);
        if (is_last) line = s, rest = (Str){0};
        if (line.len && line.ptr[line.len - 1] == '\r') line.len--;
        if (line.len) cmark_node_insert_before(before, new_leaf(f, CMARK_NODE_TEXT, line));
        if (!is_last) cmark_node_insert_before(before, cmark_node_new(CMARK_NODE_LINEBREAK));
    }
}

static void put_value(const struct filling *f, cmark_node *before, enum mail_param param, bool in_link)
{
    Str value = f->values->of[param];
    if (mail_param_types[param] == MAIL_TYPE_URL && !in_link)
        cmark_node_insert_before(before, new_link(f, value, value));
    else
        put_lines(f, before, value);
}

static void fill_text(const struct filling *f, cmark_node *node, bool in_link)
{
    Str s = str_dup(f->arena, str_from(cmark_node_get_literal(node)));
    enum mail_param param;
    size_t from = 0;
    if (!has_mark(s)) return;
    for (size_t i = 0; i < s.len; i++) {
        if (!mail_mark_at(s, i, &param)) continue;
        put_lines(f, node, (Str){s.ptr + from, i - from});
        put_value(f, node, param, in_link);
        from = i + MAIL_MARK_BYTES;
        i = from - 1;
    }
    put_lines(f, node, (Str){s.ptr + from, s.len - from});
    drop(node);
}

static void fill_literal(const struct filling *f, cmark_node *node)
{
    Str s = str_from(cmark_node_get_literal(node));
    if (has_mark(s)) cmark_node_set_literal(node, str_cstr(f->arena, filled(f, s)));
}

/* A mail stands on no site: what is below the shop's address is given in full. */
static void fill_link(const struct filling *f, cmark_node *node)
{
    Str url = filled(f, str_from(cmark_node_get_url(node)));
    if (str_starts(url, STR("/")) && !str_starts(url, STR("//")))
        url = str_printf(f->arena, "%.*s%.*s", STR_FMT(f->base_url), STR_FMT(url));
    cmark_node_set_url(node, str_cstr(f->arena, url));
}

#define DEPTH_MAX 50

static void fill_inlines(const struct filling *f, cmark_node *parent, bool in_link, int depth)
{
    for (cmark_node *node = cmark_node_first_child(parent), *next; node; node = next) {
        next = cmark_node_next(node);
        cmark_node_type type = cmark_node_get_type(node);
        if (depth > DEPTH_MAX) {
            drop(node);
            continue;
        }
        if (type == CMARK_NODE_TEXT)
            fill_text(f, node, in_link);
        else if (type == CMARK_NODE_CODE || type == CMARK_NODE_HTML_INLINE)
            fill_literal(f, node);
        else
            fill_inlines(f, node, in_link || type == CMARK_NODE_LINK, depth + 1);
        if (type == CMARK_NODE_LINK) fill_link(f, node);
        if (type == CMARK_NODE_IMAGE) markdown_unwrap(node); /* a mail shows no pictures from elsewhere */
    }
}

/* ---- lists ---- */

/* The list that is all of a paragraph. */
static bool is_list_alone(cmark_node *paragraph, enum mail_param *ret)
{
    cmark_node *only = cmark_node_first_child(paragraph);
    if (cmark_node_next(only) || cmark_node_get_type(only) != CMARK_NODE_TEXT) return false;
    Str s = str_from(cmark_node_get_literal(only));
    return s.len == MAIL_MARK_BYTES && mail_mark_at(s, 0, ret) && mail_param_types[*ret] == MAIL_TYPE_LIST;
}

static cmark_node *new_list(void)
{
    cmark_node *list = cmark_node_new(CMARK_NODE_LIST);
    cmark_node_set_list_type(list, CMARK_BULLET_LIST);
    cmark_node_set_list_tight(list, 1);
    return list;
}

static cmark_node *add_item(cmark_node *list, cmark_node *content)
{
    cmark_node *item = cmark_node_new(CMARK_NODE_ITEM), *paragraph = cmark_node_new(CMARK_NODE_PARAGRAPH);
    cmark_node_append_child(paragraph, content);
    cmark_node_append_child(item, paragraph);
    cmark_node_append_child(list, item);
    return item;
}

/* One line of a list's value: an item, or what belongs to the item above. */
static void add_line(const struct filling *f, cmark_node *list, Str line)
{
    if (line.len < 2) return;
    Str text = str_trim((Str){line.ptr + 1, line.len - 1});
    cmark_node *last = cmark_node_last_child(list);
    if (line.ptr[0] == '*' || !last) {
        add_item(list, new_leaf(f, CMARK_NODE_TEXT, text));
        return;
    }
    cmark_node *inner = cmark_node_last_child(last);
    if (cmark_node_get_type(inner) != CMARK_NODE_LIST) {
        inner = new_list();
        cmark_node_append_child(last, inner);
    }
    Str url, words;
    if (!str_cut(text, ' ', &url, &words)) url = words = text;
    add_item(inner, line.ptr[0] == '@' ? new_link(f, url, words) : new_leaf(f, CMARK_NODE_CODE, text));
}

static void put_list(const struct filling *f, cmark_node *paragraph, Str value)
{
    cmark_node *list = new_list();
    for (Str line, rest; value.len; value = rest) {
        if (!str_cut(value, '\n', &line, &rest)) line = value, rest = (Str){0};
        add_line(f, list, line);
    }
    cmark_node_insert_before(paragraph, list);
    drop(paragraph);
}

/* ---- blocks ---- */

static bool names_empty_value(const struct filling *f, cmark_node *block)
{
    bool is_empty = false;
    cmark_iter *walk = cmark_iter_new(block);
    while (!is_empty && cmark_iter_next(walk) != CMARK_EVENT_DONE) {
        cmark_node *node = cmark_iter_get_node(walk);
        const char *literal = cmark_node_get_literal(node), *url = cmark_node_get_url(node);
        is_empty = names_empty(f, str_from(literal)) || names_empty(f, str_from(url));
    }
    cmark_iter_free(walk);
    return is_empty;
}

static void fill_paragraph(const struct filling *f, cmark_node *node)
{
    enum mail_param param;
    if (names_empty_value(f, node))
        drop(node);
    else if (is_list_alone(node, &param))
        put_list(f, node, f->values->of[param]);
    else
        fill_inlines(f, node, false, 0);
}

static void fill_blocks(const struct filling *f, cmark_node *parent, int depth)
{
    for (cmark_node *node = cmark_node_first_child(parent), *next; node; node = next) {
        next = cmark_node_next(node);
        switch (cmark_node_get_type(node)) {
        case CMARK_NODE_BLOCK_QUOTE:
        case CMARK_NODE_LIST:
        case CMARK_NODE_ITEM:
            if (depth < DEPTH_MAX) fill_blocks(f, node, depth + 1);
            if (depth >= DEPTH_MAX || !cmark_node_first_child(node)) drop(node);
            break;
        case CMARK_NODE_PARAGRAPH:
        case CMARK_NODE_HEADING: fill_paragraph(f, node); break;
        case CMARK_NODE_CODE_BLOCK:
        case CMARK_NODE_HTML_BLOCK: fill_literal(f, node); break;
        default: break;
        }
    }
}

void mail_tree_render(struct arena *a, Str marked, const struct mail_values *v, Str base_url, struct markup *ret_html,
                      Str *ret_text)
{
    struct filling f = {.arena = a, .values = v, .base_url = base_url};
    cmark_node *root = markdown_parse(marked);
    fill_blocks(&f, root, 0);
    markdown_mend(root);
    *ret_html = markdown_html(a, root);
    *ret_text = mail_plain_write(a, root);
    cmark_node_free(root);
}

/* A list in a text, or a text as an address. */
static bool is_misplaced(Str s, bool is_url, enum mail_param *ret)
{
    enum mail_param param;
    for (size_t i = 0; i < s.len; i++) {
        if (!mail_mark_at(s, i, &param)) continue;
        enum mail_type type = mail_param_types[param];
        if (is_url ? type == MAIL_TYPE_URL : type != MAIL_TYPE_LIST) continue;
        *ret = param;
        return true;
    }
    return false;
}

bool mail_tree_check(struct arena *a, Str marked, enum mail_param *ret_param)
{
    (void)a;
    bool is_wrong = false;
    enum mail_param ignored;
    cmark_node *root = markdown_parse(marked);
    cmark_iter *walk = cmark_iter_new(root);
    while (!is_wrong && cmark_iter_next(walk) != CMARK_EVENT_DONE) {
        cmark_node *node = cmark_iter_get_node(walk), *parent = cmark_node_parent(node);
        const char *literal = cmark_node_get_literal(node), *url = cmark_node_get_url(node);
        bool is_list = parent && cmark_node_get_type(parent) == CMARK_NODE_PARAGRAPH && is_list_alone(parent, &ignored);
        is_wrong = (!is_list && is_misplaced(str_from(literal), false, ret_param)) ||
                   is_misplaced(str_from(url), true, ret_param);
    }
    cmark_iter_free(walk);
    cmark_node_free(root);
    return !is_wrong;
}
