/* outbound/http_call.c - see http_call.h. */
#include "outbound/http_call.h"

#include <assert.h>

#include "base/base64.h"

void call_header(struct http_call *call, Str name, Str value)
{
    assert(call->header_count < CALL_HEADERS_MAX);
    call->headers[call->header_count++] = (struct http_header){name, value};
}

void call_token_auth(struct arena *a, struct http_call *call, Str scheme, Str token)
{
    call_header(call, STR("Authorization"), str_printf(a, "%.*s %.*s", STR_FMT(scheme), STR_FMT(token)));
}

void call_basic_auth(struct arena *a, struct http_call *call, Str user, Str password)
{
    Str pair = str_printf(a, "%.*s:%.*s", STR_FMT(user), STR_FMT(password));
    call_token_auth(a, call, STR("Basic"), base64_encode(a, BASE64_PADDED, pair));
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

void form_pair(struct buf *b, Str name, Str value)
{
    if (b->len) buf_char(b, '&');
    buf_append(b, name);
    buf_char(b, '=');
    buf_url_encoded(b, value);
}

void form_pair_int(struct buf *b, Str name, int64_t value)
{
    if (b->len) buf_char(b, '&');
    buf_append(b, name);
    buf_char(b, '=');
    buf_int(b, value);
}

void form_pair_money(struct buf *b, Str name, Money m)
{
    form_pair_int(b, name, m.minor);
}

bool ref_is_safe(Str ref)
{
    if (!ref.len || ref.len > 128) return false;
    for (size_t i = 0; i < ref.len; i++)
        if (!is_alnum(ref.ptr[i]) && ref.ptr[i] != '_' && ref.ptr[i] != '-') return false;
    return true;
}
