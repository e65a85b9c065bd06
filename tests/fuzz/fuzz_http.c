/* The HTTP codec on any bytes: it must not read or write where it may not, and must say the same whether the bytes come
 * at once, one by one, or cut somewhere (the first byte of the input says where, and is not part of it). */
#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "http/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
    struct http_head head;
    enum http_parse parse;
    enum http_body_result body;
    enum err e;
    size_t head_bytes, used, content_len;
    char *memory; /* what the slices of head point into */
    char *content;
};

/* Each step sees a fresh copy of exactly the bytes so far: the sanitizer notices every byte too far, and every slice
 * into an older copy. */
static void read_in_steps(struct reading *r, Str all, size_t first, size_t step)
{
    struct http_parser p = {0};
    r->parse = HTTP_MORE;
    r->content = malloc(all.len + 1);
    r->content_len = 0;
    r->memory = NULL;
    size_t n = first < all.len ? first : all.len;
    for (;;) {
        char *now = malloc(n ? n : 1);
        if (n) memcpy(now, all.ptr, n);
        r->parse = http_head_parse(&p, (Str){now, n}, &r->head, &r->head_bytes, &r->e);
        free(r->memory);
        r->memory = now;
        if (r->parse != HTTP_MORE || n == all.len) break;
        n = all.len - n < step ? all.len : n + step;
    }
    if (r->parse != HTTP_HEAD_DONE) return;
    assert(r->head_bytes <= n);

    struct http_body b;
    http_body_init(&b, &r->head);
    size_t at = r->head_bytes;
    for (;;) {
        size_t part_len = n - at;
        char *part = malloc(part_len ? part_len : 1);
        if (part_len) memcpy(part, all.ptr + at, part_len);
        Str rest = {part, part_len}, piece;
        while ((r->body = http_body_feed(&b, &rest, &piece)) == HTTP_BODY_DATA) {
            assert(piece.len > 0);
            memcpy(r->content + r->content_len, piece.ptr, piece.len);
            r->content_len += piece.len;
        }
        at += part_len - rest.len;
        free(part);
        if (r->body != HTTP_BODY_MORE || n == all.len) break;
        assert(at == n);
        n = all.len - n < step ? all.len : n + step;
    }
    r->used = at;
    assert(b.total == (int64_t)r->content_len);
}

static void done(struct reading *r)
{
    free(r->memory);
    free(r->content);
}

static void compare(const struct reading *a, const struct reading *b)
{
    assert(a->parse == b->parse);
    if (a->parse == HTTP_REFUSED) assert(a->e == b->e);
    if (a->parse != HTTP_HEAD_DONE) return;
    const struct http_head *h = &a->head, *g = &b->head;
    assert(a->head_bytes == b->head_bytes);
    assert(str_eq(h->method, g->method) && str_eq(h->target, g->target));
    assert(str_eq(h->path, g->path) && str_eq(h->query, g->query));
    assert(h->minor == g->minor && h->keep_alive == g->keep_alive && h->chunked == g->chunked);
    assert(h->expect_continue == g->expect_continue && h->content_length == g->content_length);
    assert(h->header_count == g->header_count);
    for (size_t i = 0; i < h->header_count; i++)
        assert(str_eq(h->headers[i].name, g->headers[i].name) && str_eq(h->headers[i].value, g->headers[i].value));
    assert(a->body == b->body);
    if (a->body != HTTP_BODY_REFUSED) assert(a->used == b->used);
    assert(a->content_len == b->content_len && memcmp(a->content, b->content, a->content_len) == 0);
}

/* What an accepted head may never have. */
static void check_sane(const struct reading *r)
{
    if (r->parse != HTTP_HEAD_DONE) return;
    const struct http_head *h = &r->head;
    assert(h->method.len && h->method.len <= HTTP_METHOD_MAX && h->target.len && h->target.len <= HTTP_TARGET_MAX);
    assert(h->path.len && (h->path.ptr[0] == '/' || str_eq(h->path, STR("*"))));
    assert(h->chunked == (h->content_length < 0));
    size_t hosts = 0, lengths = 0, codings = 0;
    for (size_t i = 0; i < h->header_count; i++) {
        Str name = h->headers[i].name, value = h->headers[i].value;
        assert(name.len && str_find(value, '\r') < 0 && str_find(value, '\n') < 0 && str_find(value, '\0') < 0);
        hosts += str_eq_nocase(name, STR("host"));
        lengths += str_eq_nocase(name, STR("content-length"));
        codings += str_eq_nocase(name, STR("transfer-encoding"));
    }
    assert(hosts <= 1 && lengths + codings <= 1 && codings == h->chunked);
    assert(h->minor == 0 || hosts == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct reading whole, split, bytes;
    if (size < 1 || size > 40000) return 0;
    Str all = {(const char *)data + 1, size - 1};
    read_in_steps(&whole, all, all.len, 1);
    check_sane(&whole);
    read_in_steps(&split, all, data[0], SIZE_MAX);
    compare(&whole, &split);
    if (size < 2000) {
        read_in_steps(&bytes, all, 0, 1);
        compare(&whole, &bytes);
        done(&bytes);
    }
    if (whole.parse == HTTP_HEAD_DONE) {
        struct arena a = {0};
        Str decoded;
        if (http_percent_decode(&a, whole.head.query, true, &decoded)) assert(utf8_valid(decoded));
        arena_done(&a);
    }
    done(&whole);
    done(&split);
    return 0;
}
