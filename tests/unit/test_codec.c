/* The HTTP codec: what is accepted and how it is read, what is refused and with which error. Every case is fed whole
 * and then cut at every byte, and must come out the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/arena.h"
#include "http/codec.h"

#define HOST "Host: h\r\n"

struct outcome {
    enum http_parse parse;
    enum err e;
    size_t bytes;
};

/* Feeds data in two parts, cut at `cut`; the second part is the same bytes elsewhere in memory, so that slices kept
 * from the first would be noticed by the sanitizers. */
static struct outcome parse_cut(Str data, size_t cut, struct http_head *head, char **ret_memory)
{
    struct http_parser p = {0};
    struct outcome o = {0};
    if (cut < data.len) {
        char *part = malloc(cut + 1);
        memcpy(part, data.ptr, cut);
        o.parse = http_head_parse(&p, (Str){part, cut}, head, &o.bytes, &o.e);
        if (o.parse != HTTP_MORE) {
            *ret_memory = part;
            return o;
        }
        char *whole = malloc(data.len);
        memcpy(whole, data.ptr, data.len);
        memset(part, '!', cut);
        o.parse = http_head_parse(&p, (Str){whole, data.len}, head, &o.bytes, &o.e);
        free(part);
        *ret_memory = whole;
        return o;
    }
    char *whole = malloc(data.len + 1);
    memcpy(whole, data.ptr, data.len);
    o.parse = http_head_parse(&p, (Str){whole, data.len}, head, &o.bytes, &o.e);
    *ret_memory = whole;
    return o;
}

static struct outcome parse_bytewise(Str data, struct http_head *head)
{
    struct http_parser p = {0};
    struct outcome o = {0};
    for (size_t n = 1; n <= data.len; n++) {
        o.parse = http_head_parse(&p, (Str){data.ptr, n}, head, &o.bytes, &o.e);
        if (o.parse != HTTP_MORE) break;
    }
    return o;
}

static void assert_str(Str s, const char *wanted)
{
    if (!str_eq(s, str_from(wanted))) fail_msg("\"%.*s\" is not \"%s\"", STR_FMT(s), wanted);
}

static struct http_head head;

struct accepted {
    const char *text, *method, *path, *query;
    size_t header_count;
    int64_t content_length;
    int minor;
    bool keep_alive, expect_continue;
};

static const struct accepted accepted_cases[] = {
    {"GET / HTTP/1.1\r\n" HOST "\r\n", "GET", "/", "", 1, 0, 1, true, false},
    {"GET / HTTP/1.0\r\n\r\n", "GET", "/", "", 0, 0, 0, false, false},
    {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "GET", "/", "", 1, 0, 0, true, false},
    {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", "GET", "/", "", 1, 0, 0, false, false},
    {"GET / HTTP/1.0\r\n" HOST "Content-Length: 7\r\n\r\n", "GET", "/", "", 2, 7, 0, false, false},
    {"\r\nGET / HTTP/1.1\r\n" HOST "\r\n", "GET", "/", "", 1, 0, 1, true, false},
    {"\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n", "GET", "/", "", 1, 0, 1, true, false},
    {"GET /a/b%20c?x=1&y=?/ HTTP/1.1\r\n" HOST "\r\n", "GET", "/a/b%20c", "x=1&y=?/", 1, 0, 1, true, false},
    {"GET /? HTTP/1.1\r\n" HOST "\r\n", "GET", "/", "", 1, 0, 1, true, false},
    {"GET //x//y HTTP/1.1\r\n" HOST "\r\n", "GET", "//x//y", "", 1, 0, 1, true, false},
    {"GET http://shop.example/a?b HTTP/1.1\r\n" HOST "\r\n", "GET", "/a", "b", 1, 0, 1, true, false},
    {"GET HTTPS://shop.example:443/a HTTP/1.1\r\n" HOST "\r\n", "GET", "/a", "", 1, 0, 1, true, false},
    {"GET http://shop.example HTTP/1.1\r\n" HOST "\r\n", "GET", "/", "", 1, 0, 1, true, false},
    {"GET http://[::1.2.3.4]/ HTTP/1.1\r\n" HOST "\r\n", "GET", "/", "", 1, 0, 1, true, false},
    {"GET http://[::1]:80?q HTTP/1.1\r\n" HOST "\r\n", "GET", "/", "q", 1, 0, 1, true, false},
    {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", "OPTIONS", "*", "", 1, 0, 1, true, false},
    {"POST /p HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", "POST", "/p", "", 2, 5, 1, true, false},
    {"POST /p HTTP/1.1\r\n" HOST "content-LENGTH:\t 5 \t\r\n\r\n", "POST", "/p", "", 2, 5, 1, true, false},
    {"POST /p HTTP/1.1\r\n" HOST "Content-Length: 000000000000000005\r\n\r\n", "POST", "/p", "", 2, 5, 1, true, false},
    {"POST /p HTTP/1.1\r\n" HOST "Content-Length: 999999999999999999\r\n\r\n", "POST", "/p", "", 2, 999999999999999999,
     1, true, false},
    {"POST /p HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\n", "POST", "/p", "", 2, -1, 1, true, false},
    {"POST /p HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n", "POST", "/p", "", 3, 1, 1, true,
     true},
    {"POST /p HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", "POST", "/p", "", 2, 1, 0, false, false},
    {"GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", "GET", "/", "", 2, 0, 1, false, false},
    {"GET / HTTP/1.1\r\n" HOST "Connection: x , CLOSE,y\r\n\r\n", "GET", "/", "", 2, 0, 1, false, false},
    {"GET / HTTP/1.1\r\n" HOST "Connection: keep-alive\r\nConnection: close\r\n\r\n", "GET", "/", "", 3, 0, 1, false,
     false},
    {"GET / HTTP/1.1\r\n" HOST "Connection: ,,\r\n\r\n", "GET", "/", "", 2, 0, 1, true, false},
    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET", "/", "", 1, 0, 1, true, false},
    {"GET / HTTP/1.1\r\nHost: [2001:db8::1]:8080\r\n\r\n", "GET", "/", "", 1, 0, 1, true, false},
    {"GET / HTTP/1.1\r\nHost: a_b-c.example.:80\r\n\r\n", "GET", "/", "", 1, 0, 1, true, false},
    {"GET / HTTP/1.1\r\n" HOST "X:\r\n\r\n", "GET", "/", "", 2, 0, 1, true, false},
    {"GET / HTTP/1.1\r\n" HOST "X: \x80\xff \ttext\r\n\r\n", "GET", "/", "", 2, 0, 1, true, false},
    {"M!#$%&'*+-.^_`|~ / HTTP/1.1\r\n" HOST "\r\n", "M!#$%&'*+-.^_`|~", "/", "", 1, 0, 1, true, false},
};

static void check_accepted(const struct accepted *w, struct outcome o, size_t head_bytes)
{
    if (o.parse != HTTP_HEAD_DONE) fail_msg("not accepted (%s): %s", err_info(o.e)->code, w->text);
    assert_int_equal(o.bytes, head_bytes);
    assert_str(head.method, w->method);
    assert_str(head.path, w->path);
    assert_str(head.query, w->query);
    assert_int_equal(head.header_count, w->header_count);
    assert_true(head.content_length == w->content_length);
    assert_int_equal(head.chunked, w->content_length == -1);
    assert_int_equal(head.minor, w->minor);
    assert_int_equal(head.keep_alive, w->keep_alive);
    assert_int_equal(head.expect_continue, w->expect_continue);
}

static void accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof accepted_cases / sizeof *accepted_cases; i++) {
        const struct accepted *w = &accepted_cases[i];
        Str data = str_from(w->text);
        size_t head_bytes = (size_t)(strstr(w->text + 4, "\r\n\r\n") - w->text) + 4;
        for (size_t cut = 0; cut <= data.len; cut++) {
            char *memory;
            check_accepted(w, parse_cut(data, cut, &head, &memory), head_bytes);
            free(memory);
        }
        check_accepted(w, parse_bytewise(data, &head), head_bytes);
        /* No shorter part of a head is a head, nor is it refused. */
        for (size_t n = 0; n < head_bytes; n++) {
            struct http_parser p = {0};
            size_t bytes;
            enum err e;
            assert_int_equal(http_head_parse(&p, (Str){w->text, n}, &head, &bytes, &e), HTTP_MORE);
        }
    }
}

struct refused {
    enum err e;
    Str text;
};

#define HEAD1(lines) S("GET / HTTP/1.1\r\n" HOST lines "\r\n")
#define POST1(lines) S("POST / HTTP/1.1\r\n" HOST lines "\r\n")

static const struct refused refused_cases[] = {
    /* Framing that could be read in two ways. */
    {ERR_BAD_REQUEST, POST1("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")},
    {ERR_BAD_REQUEST, POST1("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")},
    {ERR_BAD_REQUEST, POST1("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: 5\r\nContent-Length: 5\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: 5\r\nContent-Length: 6\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: 5, 5\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: +5\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: -5\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: -0\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length:\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length:  \r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: 5 5\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: 0x5\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: 5.0\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: 5;\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: \"5\"\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: 9223372036854775808\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: 18446744073709551621\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length: 99999999999999999999999999\r\n")},
    {ERR_BAD_REQUEST, POST1("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")},
    {ERR_BAD_REQUEST, POST1("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n")},
    {ERR_BAD_REQUEST, POST1("Transfer-Encoding:\r\n")},
    {ERR_BAD_REQUEST, S("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n")},
    {ERR_NOT_IMPLEMENTED, POST1("Transfer-Encoding: gzip\r\n")},
    {ERR_NOT_IMPLEMENTED, POST1("Transfer-Encoding: gzip, chunked\r\n")},
    {ERR_NOT_IMPLEMENTED, POST1("Transfer-Encoding: chunked, chunked\r\n")},
    {ERR_NOT_IMPLEMENTED, POST1("Transfer-Encoding: identity\r\n")},
    {ERR_NOT_IMPLEMENTED, POST1("Transfer-Encoding: xchunked\r\n")},
    {ERR_NOT_IMPLEMENTED, POST1("Transfer-Encoding: chunked;q=1\r\n")},
    {ERR_NOT_IMPLEMENTED, POST1("Transfer-Encoding: \"chunked\"\r\n")},
    {ERR_EXPECTATION_FAILED, POST1("Expect: 200-ok\r\n")},
    {ERR_EXPECTATION_FAILED, POST1("Expect: 100-continue, x\r\n")},
    {ERR_EXPECTATION_FAILED, POST1("Expect:\r\n")},

    /* Line ends and control characters. */
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: h\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\n" HOST "\n")},
    {ERR_BAD_REQUEST, S("\nGET / HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("\rGET / HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("\r\r\nGET / HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("\r\n\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET /\r HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X: a\rb\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X: a\r\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X: a\nY: b\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X\r: a\r\n")},
    {ERR_BAD_REQUEST, HEAD1("\r\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X: a\0b\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X\0: a\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X: a\x01\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X: a\x0b\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X: a\x7f\r\n")},
    {ERR_BAD_REQUEST, S("GET /\0 HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("\0")},

    /* Names. */
    {ERR_BAD_REQUEST, HEAD1("X: a\r\n b\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X: a\r\n\tb\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\n Host: h\r\n\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X : a\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X\t: a\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X Y: a\r\n")},
    {ERR_BAD_REQUEST, HEAD1(": a\r\n")},
    {ERR_BAD_REQUEST, HEAD1("novalue\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X(: a\r\n")},
    {ERR_BAD_REQUEST, HEAD1("X\xc3\xa9: a\r\n")},
    {ERR_BAD_REQUEST, POST1("Content-Length : 5\r\n")},
    {ERR_BAD_REQUEST, POST1("Transfer-Encoding\t: chunked\r\n")},
    {ERR_BAD_REQUEST, POST1("Transfer-Encoding: \x0b"
                            "chunked\r\n")},

    /* Host. */
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET http://h/ HTTP/1.1\r\n\r\n")},
    {ERR_BAD_REQUEST, HEAD1("Host: h\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.0\r\nHost: a\r\nhost: a\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: a b\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: a:http\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: a:1234567\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: []\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: [::1]x\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: [::g]\r\n\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1\r\nHost: <script>\r\n\r\n")},

    /* The request line. */
    {ERR_BAD_REQUEST, S("GET\r\n")},
    {ERR_BAD_REQUEST, S("GET /\r\n")},
    {ERR_BAD_REQUEST, S("GET / \r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S(" GET / HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET  / HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET /  HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.1 \r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET\t/ HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / x HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("G\"T / HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("G\xc3\x89T / HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET /#x HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET /\x7f HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET /\t HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET x HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET h:80 HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET ?x HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET * HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("OPTIONS ** HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET ftp://h/ HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET http:// HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET http:///x HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET http://u@h/ HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_NOT_IMPLEMENTED, S("CONNECT h:443 HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_NOT_IMPLEMENTED, S("ABCDEFGHIJKLMNOPQ / HTTP/1.1\r\n" HOST "\r\n")},
    {ERR_NOT_IMPLEMENTED, S("ABCDEFGHIJKLMNOPQ")},

    /* Versions. */
    {ERR_BAD_REQUEST, S("GET / http/1.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/11\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1.10\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/01.1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/1,1\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTP/a.b\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("GET / HTTPS/1.1\r\n" HOST "\r\n")},
    {ERR_VERSION_NOT_SUPPORTED, S("GET / HTTP/1.2\r\n" HOST "\r\n")},
    {ERR_VERSION_NOT_SUPPORTED, S("GET / HTTP/2.0\r\n" HOST "\r\n")},
    {ERR_VERSION_NOT_SUPPORTED, S("GET / HTTP/0.9\r\n" HOST "\r\n")},
    {ERR_BAD_REQUEST, S("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")},

    /* Other protocols. */
    {ERR_BAD_REQUEST, S("\x16\x03\x01\x02")},
    {ERR_BAD_REQUEST, S("\x05\x01\x00")},
    {ERR_BAD_REQUEST, S("SSH-2.0-OpenSSH\r\n")},
};

static void check_refused(Str text, enum err wanted)
{
    for (size_t cut = 0; cut <= text.len; cut++) {
        char *memory;
        struct outcome o = parse_cut(text, cut, &head, &memory);
        if (o.parse != HTTP_REFUSED || o.e != wanted)
            fail_msg("%s instead of %s, cut at %zu: %.*s",
                     o.parse == HTTP_REFUSED ? err_info(o.e)->code : "not refused", err_info(wanted)->code, cut,
                     STR_FMT(text));
        free(memory);
    }
    struct outcome o = parse_bytewise(text, &head);
    assert_int_equal(o.parse, HTTP_REFUSED);
    assert_int_equal(o.e, wanted);
}

static void refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused_cases / sizeof *refused_cases; i++)
        check_refused(refused_cases[i].text, refused_cases[i].e);
}

/* before + n times c + after. The caller frees it. */
static Str padded(const char *before, size_t n, char c, const char *after)
{
    size_t a = strlen(before), z = strlen(after);
    char *p = malloc(a + n + z);
    memcpy(p, before, a);
    memset(p + a, c, n);
    memcpy(p + a + n, after, z);
    return (Str){p, a + n + z};
}

static void check_limit(Str text, enum err wanted)
{
    struct http_parser p = {0};
    struct outcome whole, bytewise = parse_bytewise(text, &head);
    whole.parse = http_head_parse(&p, text, &head, &whole.bytes, &whole.e);
    assert_int_equal(whole.parse, bytewise.parse);
    if (wanted) {
        assert_int_equal(whole.parse, HTTP_REFUSED);
        assert_int_equal(whole.e, wanted);
        assert_int_equal(bytewise.e, wanted);
    } else {
        assert_int_equal(whole.parse, HTTP_HEAD_DONE);
    }
    free((char *)text.ptr);
}

static void limits(void **state)
{
    (void)state;
    check_limit(padded("GET /", HTTP_TARGET_MAX - 1, 'a', " HTTP/1.1\r\n" HOST "\r\n"), OK);
    check_limit(padded("GET /", HTTP_TARGET_MAX, 'a', " HTTP/1.1\r\n" HOST "\r\n"), ERR_URI_TOO_LONG);
    check_limit(padded("GET /", HTTP_TARGET_MAX * 2, 'a', " HTTP/1.1\r\n" HOST "\r\n"), ERR_URI_TOO_LONG);
    check_limit(padded("GET /", HTTP_TARGET_MAX * 2, 'a', ""), ERR_URI_TOO_LONG);
    /* Host line 9, "X: " 3, its CRLF 2, the last CR 1. */
    check_limit(padded("GET / HTTP/1.1\r\n" HOST "X: ", HTTP_HEAD_MAX - 15, 'a', "\r\n\r\n"), OK);
    check_limit(padded("GET / HTTP/1.1\r\n" HOST "X: ", HTTP_HEAD_MAX - 14, 'a', "\r\n\r\n"), ERR_HEADERS_TOO_LARGE);
    check_limit(padded("GET / HTTP/1.1\r\n" HOST "X: ", HTTP_HEAD_MAX * 4, 'a', ""), ERR_HEADERS_TOO_LARGE);
    check_limit(padded("GET / HTTP/1.1\r\n" HOST, HTTP_HEAD_MAX * 4, 'a', ""), ERR_HEADERS_TOO_LARGE);

    char many[64 + 8 * HTTP_HEADERS_MAX];
    for (size_t n = HTTP_HEADERS_MAX - 1; n <= HTTP_HEADERS_MAX + 1; n++) {
        size_t len = (size_t)snprintf(many, sizeof many, "GET / HTTP/1.1\r\n" HOST);
        for (size_t i = 1; i < n; i++) len += (size_t)snprintf(many + len, sizeof many - len, "a: b\r\n");
        len += (size_t)snprintf(many + len, sizeof many - len, "\r\n");
        char *copy = malloc(len);
        memcpy(copy, many, len);
        check_limit((Str){copy, len}, n <= HTTP_HEADERS_MAX ? OK : ERR_HEADERS_TOO_LARGE);
    }
}

static void header_lookup(void **state)
{
    (void)state;
    struct http_parser p = {0};
    size_t bytes;
    enum err e;
    Str data = STR("GET / HTTP/1.1\r\n" HOST "X-One:  a b \t\r\nx-one: second\r\nEmpty:\r\n\r\n");
    assert_int_equal(http_head_parse(&p, data, &head, &bytes, &e), HTTP_HEAD_DONE);
    assert_str(http_header_get(&head, "x-ONE"), "a b");
    assert_str(http_header_get(&head, "host"), "h");
    assert_non_null(http_header_get(&head, "empty").ptr);
    assert_int_equal(http_header_get(&head, "empty").len, 0);
    assert_null(http_header_get(&head, "absent").ptr);
    assert_str(head.headers[1].name, "X-One");

    /* What a refused head has so far is there for the log. */
    p = (struct http_parser){0};
    data = STR("PUT /path?q HTTP/1.1\r\n" HOST "bad\r\n");
    assert_int_equal(http_head_parse(&p, data, &head, &bytes, &e), HTTP_REFUSED);
    assert_str(head.method, "PUT");
    assert_str(head.path, "/path");
}

/* Reads the chunked or counted body at the start of data in pieces of `step` bytes. */
static enum http_body_result read_body(Str data, bool chunked, int64_t length, size_t step, char *ret, size_t *ret_len,
                                       size_t *ret_used)
{
    struct http_head h = {.chunked = chunked, .content_length = chunked ? -1 : length};
    struct http_body b;
    http_body_init(&b, &h);
    *ret_len = 0;
    for (size_t at = 0;;) {
        size_t n = data.len - at < step ? data.len - at : step;
        Str part = {data.ptr + at, n}, piece;
        enum http_body_result r;
        while ((r = http_body_feed(&b, &part, &piece)) == HTTP_BODY_DATA) {
            memcpy(ret + *ret_len, piece.ptr, piece.len);
            *ret_len += piece.len;
        }
        at += n - part.len;
        if (r != HTTP_BODY_MORE || at == data.len) {
            *ret_used = at;
            assert_int_equal(b.total, (int64_t)*ret_len);
            return r;
        }
    }
}

struct chunked {
    enum http_body_result result;
    const char *content;
    Str text;
    size_t left; /* bytes of the next request */
};

static const struct chunked chunked_cases[] = {
    {HTTP_BODY_END, "", S("0\r\n\r\n"), 0},
    {HTTP_BODY_END, "", S("000\r\n\r\nGET"), 3},
    {HTTP_BODY_END, "hello", S("5\r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_END, "hello world", S("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n\r\n"), 2},
    {HTTP_BODY_END, "0123456789abcdef0123456789", S("1A\r\n0123456789abcdef0123456789\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_END, "0123456789", S("a\r\n0123456789\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_END, "\r\n0\r\n\r\n", S("7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_END, "x", S("1;name=value;other=\"x y\"\r\nx\r\n0;last\r\n\r\n"), 0},
    {HTTP_BODY_END, "x", S("1;\r\nx\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_END, "x", S("1\r\nx\r\n0\r\nTrailer: value\r\nOther:\r\n\r\nG"), 1},
    {HTTP_BODY_END, "x", S("000000000000001\r\nx\r\n0\r\n\r\n"), 0},

    {HTTP_BODY_MORE, "", S(""), 0},
    {HTTP_BODY_MORE, "hel", S("5\r\nhel"), 0},
    {HTTP_BODY_MORE, "hello", S("5\r\nhello\r\n0\r\n"), 0},
    {HTTP_BODY_MORE, "", S("fffffffffffffff\r\n"), 0},

    {HTTP_BODY_REFUSED, "", S("\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S(" 5\r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("5 \r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("5 ;x\r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("5\thello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("-5\r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("+5\r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("0x5\r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("5h\r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S(";x\r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("g\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("5\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("5\rhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("5;a\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("5;a\rb\r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("5;a\0\r\nhello\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("0000000000000001\r\nx\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("8000000000000000\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("ffffffffffffffff\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("10000000000000000\r\n"), 0},
    {HTTP_BODY_REFUSED, "hello", S("5\r\nhello0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "hello", S("5\r\nhello\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "hello", S("5\r\nhello\rx0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "hello", S("5\r\nhello!\r\n0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("0\r\nbad\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("0\r\n folded: x\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("0\r\n: x\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("0\r\nT : x\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("0\r\nT: x\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("0\r\nT: \0\r\n\r\n"), 0},
    {HTTP_BODY_REFUSED, "", S("0\r\n\n"), 0},
};

static void chunks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof chunked_cases / sizeof *chunked_cases; i++) {
        const struct chunked *w = &chunked_cases[i];
        for (size_t step = 1; step <= w->text.len + 1; step++) {
            char content[128];
            size_t len, used;
            enum http_body_result r = read_body(w->text, true, 0, step, content, &len, &used);
            if (r != w->result)
                fail_msg("%d instead of %d in steps of %zu: %.*s", r, w->result, step, STR_FMT(w->text));
            assert_str((Str){content, len}, w->content);
            if (r == HTTP_BODY_END) assert_int_equal(w->text.len - used, w->left);
        }
    }
}

static void chunk_extras_are_bounded(void **state)
{
    (void)state;
    char content[64];
    size_t len, used;
    Str texts[] = {
        padded("1;", HTTP_CHUNK_EXTRA_MAX, 'x', "\r\nx\r\n0\r\n\r\n"),
        padded("1;", HTTP_CHUNK_EXTRA_MAX + 1, 'x', "\r\nx\r\n0\r\n\r\n"),
        padded("0\r\nT:", HTTP_CHUNK_EXTRA_MAX, 'x', "\r\n\r\n"),
        padded("0\r\n", HTTP_CHUNK_EXTRA_MAX + 1, 'x', ": x\r\n\r\n"),
        padded("1;", HTTP_CHUNK_EXTRA_MAX, 'x', "\r\nx\r\n0\r\nT: x\r\n\r\n"),
    };
    enum http_body_result wanted[] = {HTTP_BODY_END, HTTP_BODY_REFUSED, HTTP_BODY_REFUSED, HTTP_BODY_REFUSED,
                                      HTTP_BODY_REFUSED};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(read_body(texts[i], true, 0, SIZE_MAX, content, &len, &used), wanted[i]);
        assert_int_equal(read_body(texts[i], true, 0, 1, content, &len, &used), wanted[i]);
        free((char *)texts[i].ptr);
    }
    /* Many small extensions count together: one byte of content must not cost hundreds for ever. */
    struct http_head h = {.chunked = true, .content_length = -1};
    struct http_body b;
    http_body_init(&b, &h);
    enum http_body_result r = HTTP_BODY_MORE;
    int rounds = 0;
    for (; rounds < 10000 && r != HTTP_BODY_REFUSED; rounds++) {
        Str data = STR("1;0123456789\r\nx\r\n"), piece;
        while ((r = http_body_feed(&b, &data, &piece)) == HTTP_BODY_DATA) {
        }
    }
    assert_int_equal(rounds, HTTP_CHUNK_EXTRA_MAX / 10 + 1);
}

static void counted(void **state)
{
    (void)state;
    char content[64];
    size_t len, used;
    for (size_t step = 1; step < 20; step++) {
        assert_int_equal(read_body(STR("hello world, next"), false, 11, step, content, &len, &used), HTTP_BODY_END);
        assert_str((Str){content, len}, "hello world");
        assert_int_equal(used, 11);
        assert_int_equal(read_body(STR("hello"), false, 11, step, content, &len, &used), HTTP_BODY_MORE);
        assert_int_equal(read_body(STR("hello"), false, 0, step, content, &len, &used), HTTP_BODY_END);
        assert_int_equal(used, 0);
    }
}

static void percent(void **state)
{
    (void)state;
    static const struct {
        Str text;
        bool plus, ok;
        const char *wanted;
    } cases[] = {
        {S("plain"), false, true, "plain"},     {S(""), false, true, ""},
        {S("a%20b"), false, true, "a b"},       {S("a+b"), false, true, "a+b"},
        {S("a+b"), true, true, "a b"},          {S("a%2Bb"), true, true, "a+b"},
        {S("%c3%A9"), false, true, "\xc3\xa9"}, {S("%2e%2E%2f"), false, true, "../"},
        {S("%25 41"), false, true, "% 41"},     {S("%2541"), false, true, "%41"},
        {S("%"), false, false, NULL},           {S("%4"), false, false, NULL},
        {S("a%4g"), false, false, NULL},        {S("a%g4"), false, false, NULL},
        {S("%00"), false, false, NULL},         {S("a\0b"), false, false, NULL},
        {S("%ff"), false, false, NULL},         {S("%c3"), false, false, NULL},
        {S("\xff"), false, false, NULL},        {S("%c0%af"), false, false, NULL},
        {S("%ed%a0%80"), false, false, NULL},   {S("% 41"), false, false, NULL},
        {S("%-1"), false, false, NULL},         {S("plain"), true, true, "plain"},
        {S("%41+"), false, true, "A+"},
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str out = STR("untouched");
        bool ok = http_percent_decode(&a, cases[i].text, cases[i].plus, &out);
        assert_int_equal(ok, cases[i].ok);
        assert_str(out, ok ? cases[i].wanted : "untouched");
    }
    arena_done(&a);
}

static void status_texts(void **state)
{
    (void)state;
    assert_string_equal(http_status_text(200), "OK");
    assert_string_equal(http_status_text(204), "No Content");
    assert_string_equal(http_status_text(308), "Permanent Redirect");
    assert_string_equal(http_status_text(799), "");
    /* Whatever an error answers with has a name. */
    for (int e = OK; e < ERR_COUNT; e++)
        if (err_info((enum err)e)->status) assert_true(*http_status_text(err_info((enum err)e)->status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepted),      cmocka_unit_test(refused), cmocka_unit_test(limits),
        cmocka_unit_test(header_lookup), cmocka_unit_test(chunks),  cmocka_unit_test(chunk_extras_are_bounded),
        cmocka_unit_test(counted),       cmocka_unit_test(percent), cmocka_unit_test(status_texts),
    };
    return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
