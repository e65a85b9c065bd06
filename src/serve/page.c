/* serve/page.c - lists, page by page.
 *
 * A cursor is the sort key and id of the last row given, and a short keyed hash over them and the route: so it can
 * neither be made up nor used in another list. */

#include "base/base64.h"
#include "domain/vault.h"
#include "serve/render.h"
#include "serve/request.h"

#define LIMIT_DEFAULT 20
#define PAGE_BYTES_MAX ((size_t)1024 * 1024) /* the row that exceeds it is the page's last */
#define TAG_BYTES 8
#define CURSOR_BYTES (8 + 8 + TAG_BYTES)

static const struct field list_fields[] = {LIST_FIELDS, {0}};
const struct shape list_query_shape = {list_fields, sizeof(struct list_query)};

static const struct field search_fields[] = {
    LIST_FIELDS,
    {"q", FIELD_LINE, OPTIONAL, offsetof(struct search_query, q), .max = 100},
    {0},
};
const struct shape search_query_shape = {search_fields, sizeof(struct search_query)};

static void put_int64(uint8_t *to, int64_t v)
{
    for (int i = 8; i-- > 0; v = (int64_t)((uint64_t)v >> 8)) to[i] = (uint8_t)(v & 0xff);
}

static int64_t get_int64(const uint8_t *from)
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v = v << 8 | from[i];
    return (int64_t)v;
}

static void cursor_tag(const struct request *req, const uint8_t position[16], uint8_t ret[TAG_BYTES])
{
    Str text = str_printf(req->arena, "%s %s", req->route->method, req->route->path);
    struct buf b;
    buf_init(&b, req->arena, 512);
    buf_append(&b, (Str){(const char *)position, 16});
    buf_append(&b, text);
    uint8_t hash[VAULT_HASH_BYTES];
    vault_hash(VAULT_CURSOR, buf_str(&b), hash);
    memcpy(ret, hash, TAG_BYTES);
}

enum err request_page(struct request *req, struct list_page *ret)
{
    const struct list_query *q = req->query;
    struct list_page page = {.ask = (q->limit ? q->limit : LIMIT_DEFAULT) + 1};
    if (q->cursor.len) {
        uint8_t raw[CURSOR_BYTES], tag[TAG_BYTES];
        if (!base64_get(BASE64_URL, q->cursor, raw, sizeof raw))
            return request_bad_field(req, "cursor", ERR_FIELD_CURSOR);
        cursor_tag(req, raw, tag);
        if (!vault_equal(tag, raw + 16, TAG_BYTES)) return request_bad_field(req, "cursor", ERR_FIELD_CURSOR);
        page.after_key = get_int64(raw);
        page.after_id = (Id){get_int64(raw + 8)};
    }
    *ret = page;
    return OK;
}

/* The target with its cursor replaced, so that filters stay. */
static Str next_target(struct request *req, Str cursor)
{
    struct buf b;
    buf_init(&b, req->arena, 16384);
    buf_append(&b, req->exchange->head.path);
    buf_char(&b, '?');
    for (Str rest = req->exchange->head.query; rest.len;) {
        Str pair = rest, after = {0};
        str_cut(rest, '&', &pair, &after);
        if (pair.len && !str_starts(pair, STR("cursor="))) {
            buf_append(&b, pair);
            buf_char(&b, '&');
        }
        rest = after;
    }
    buf_lit(&b, "cursor=");
    buf_append(&b, cursor);
    return buf_str(&b);
}

/* meta and Link. `more`: there is a next page, which starts after (key, id). */
static void page_end(struct request *req, bool more, int64_t last_key, Id last_id)
{
    struct buf meta;
    struct json_writer w;
    buf_init(&meta, req->arena, 1024);
    json_writer_init(&w, &meta, 0);
    json_begin_object(&w);
    json_kv_bool(&w, "has_more", more);
    if (more) {
        uint8_t raw[CURSOR_BYTES];
        put_int64(raw, last_key);
        put_int64(raw + 8, last_id.v);
        cursor_tag(req, raw, raw + 16);
        Str text = base64_encode(req->arena, BASE64_URL, (Str){(const char *)raw, sizeof raw});
        json_kv_str(&w, "next_cursor", text);
        Str target = next_target(req, text);
        request_add_header(req, "Link", str_printf(req->arena, "<%.*s>; rel=\"next\"", STR_FMT(target)));
    } else {
        json_kv_null(&w, "next_cursor");
    }
    json_end_object(&w);
    request_member_raw(req, "meta", buf_str(&meta));
}

enum err request_list(struct request *req, const struct list_page *page, const struct list *list, const void *rows)
{
    bool more = page->found >= (size_t)page->ask;
    size_t count = more ? (size_t)page->ask - 1 : page->found;
    const char *row = rows;
    size_t start = req->out_buf.len;
    json_begin_array(&req->out);
    for (size_t i = 0; i < count; i++, row += list->row_bytes) {
        if (req->out_buf.len - start > PAGE_BYTES_MAX) {
            more = true;
            break;
        }
        enum err e = OK;
        if (list->view)
            list->view(&req->out, row);
        else
            e = list->show(req, row);
        if (e) return e;
    }
    json_end_array(&req->out);

    int64_t key = 0;
    Id id = {0};
    if (more) {
        row -= list->row_bytes; /* the last one shown */
        memcpy(&id, row + list->id_at, sizeof id);
        if (list->key_at) memcpy(&key, row + list->key_at, sizeof key);
    }
    page_end(req, more, key, id);
    return OK;
}

enum err request_all_rows(struct request *req, const void *rows, size_t row_bytes, size_t count,
                          void (*view)(struct json_writer *w, const void *row))
{
    json_begin_array(&req->out);
    for (const char *row = rows; count > 0; count--, row += row_bytes) view(&req->out, row);
    json_end_array(&req->out);
    return OK;
}
