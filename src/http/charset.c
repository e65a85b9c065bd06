/* http/charset.c - the small texts of HTTP: character classes, percent escapes, reason phrases. */
#include "http/charset.h"
#include "base/arena.h"
#include "http/codec.h"

enum {
    T = CHAR_TOKEN,
    G = CHAR_TARGET,
    V = CHAR_VALUE,
    H = CHAR_HOST,
};

const uint8_t http_charset[256] = {
    ['\t'] = V,
    [' '] = V,
    ['!'] = T | G | V,
    ['"'] = G | V,
    ['#'] = T | V,
    ['$'] = T | G | V,
    ['%'] = T | G | V | H,
    ['&' ... '\''] = T | G | V,
    ['(' ... ')'] = G | V,
    ['*' ... '+'] = T | G | V,
    [','] = G | V,
    ['-' ... '.'] = T | G | V | H,
    ['/'] = G | V,
    ['0' ... '9'] = T | G | V | H,
    [':' ... '@'] = G | V,
    ['A' ... 'Z'] = T | G | V | H,
    ['[' ... ']'] = G | V,
    ['^'] = T | G | V,
    ['_'] = T | G | V | H,
    ['`'] = T | G | V,
    ['a' ... 'z'] = T | G | V | H,
    ['{'] = G | V,
    ['|'] = T | G | V,
    ['}'] = G | V,
    ['~'] = T | G | V | H,
    [0x80 ... 0xff] = V,
};

bool http_percent_decode(struct arena *a, Str s, bool plus_is_space, Str *ret)
{
    bool plain = str_find(s, '%') < 0 && !(plus_is_space && str_find(s, '+') >= 0);
    if (!plain) {
        char *out = arena_alloc(a, s.len);
        size_t n = 0;
        for (size_t i = 0; i < s.len; i++) {
            char c = s.ptr[i];
            if (c == '%') {
                if (s.len - i < 3) return false;
                int high = hex_value(s.ptr[i + 1]), low = hex_value(s.ptr[i + 2]);
                if (high < 0 || low < 0) return false;
                c = (char)(high << 4 | low);
                i += 2;
            } else if (c == '+' && plus_is_space) {
                c = ' ';
            }
            out[n++] = c;
        }
        s = (Str){out, n};
    }
    if (str_find(s, '\0') >= 0 || !utf8_valid(s)) return false;
    *ret = s;
    return true;
}

const char *http_status_text(int status)
{
    switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 402: return "Payment Required";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "";
    }
}
