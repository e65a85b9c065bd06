/* tests/fuzz/macro.c - see macro.h. */
#include "macro.h"

#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "domain/session.h"

struct output {
    char *ptr;
    size_t len, cap;
};

__attribute__((format(printf, 2, 3))) static void put(struct output *o, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(o->ptr + o->len, o->cap - o->len, format, args);
    va_end(args);
    if (n > 0) o->len += (size_t)n < o->cap - o->len ? (size_t)n : o->cap - o->len - 1;
}

static void put_signature(struct output *o, const struct macro_values *v, Str body)
{
    uint8_t mac[crypto_auth_hmacsha256_BYTES];
    char hex[2 * sizeof mac + 1], stamp[32];
    crypto_auth_hmacsha256_state state;
    int n = snprintf(stamp, sizeof stamp, "%lld.", (long long)v->now_s);
    crypto_auth_hmacsha256_init(&state, (const uint8_t *)v->secret, strlen(v->secret));
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)stamp, (size_t)n);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)body.ptr, body.len);
    crypto_auth_hmacsha256_final(&state, mac);
    sodium_bin2hex(hex, sizeof hex, mac, sizeof mac);
    put(o, "Stripe-Signature: t=%lld,v1=%s\r\n", (long long)v->now_s, hex);
}

static void put_byte(struct output *o, const struct macro_values *v, char c, Str body)
{
    switch (c) {
    case MACRO_OWNER: put(o, "Authorization: Bearer %s\r\n", v->owner); break;
    case MACRO_CUSTOMER: put(o, "Authorization: Bearer %s\r\n", v->customers[0]); break;
    case MACRO_OTHER: put(o, "Authorization: Bearer %s\r\n", v->customers[1]); break;
    case MACRO_BROWSER:
        put(o, "Cookie: __Host-souk=%s\r\nContent-Type: application/x-www-form-urlencoded\r\n", v->session);
        break;
    case MACRO_LENGTH: put(o, "Content-Length: %zu\r\n", body.len); break;
    case MACRO_KEY: put(o, "Idempotency-Key: fuzz-%lld\r\n", (long long)v->count); break;
    case MACRO_SIGNATURE: put_signature(o, v, body); break;
    case MACRO_LICENSE: put(o, "%s", v->license); break;
    case MACRO_CSRF: put(o, "%s", v->csrf); break;
    case MACRO_START: put(o, " HTTP/1.1\r\nHost: shop.example\r\n"); break;
    case MACRO_JSON: put(o, "Content-Type: application/json\r\n"); break;
    case MACRO_REFERENCE: put(o, "%s", v->reference); break;
    default:
        if (o->len < o->cap - 1) o->ptr[o->len++] = c;
    }
}

static bool ends_line(char c)
{
    return c == MACRO_OWNER || c == MACRO_CUSTOMER || c == MACRO_OTHER || c == MACRO_BROWSER || c == MACRO_LENGTH ||
           c == MACRO_KEY || c == MACRO_SIGNATURE || c == MACRO_START || c == MACRO_JSON;
}

/* Where the body begins. */
static size_t head_length(Str text)
{
    for (size_t i = 1; i + 1 < text.len; i++)
        if (text.ptr[i] == '\r' && text.ptr[i + 1] == '\n' && (text.ptr[i - 1] == '\n' || ends_line(text.ptr[i - 1])))
            return i + 2;
    return text.len;
}

static void put_request(struct output *o, const struct macro_values *v, Str text)
{
    static char memory[MACRO_BYTES_MAX];
    struct output body = {memory, 0, sizeof memory};
    size_t head = head_length(text);
    for (size_t i = head; i < text.len; i++) put_byte(&body, v, text.ptr[i], (Str){0});
    Str made = {body.ptr, body.len};
    for (size_t i = 0; i < head; i++) put_byte(o, v, text.ptr[i], made);
    size_t n = made.len < o->cap - o->len ? made.len : o->cap - o->len;
    memcpy(o->ptr + o->len, made.ptr, n);
    o->len += n;
}

Str macro_expand(Str text, const struct macro_values *v, char *ret)
{
    struct output o = {ret, 0, MACRO_BYTES_MAX};
    for (;;) {
        ptrdiff_t at = str_find(text, MACRO_NEXT);
        put_request(&o, v, at < 0 ? text : (Str){text.ptr, (size_t)at});
        if (at < 0 || o.len == o.cap) break;
        text = (Str){text.ptr + at + 1, text.len - (size_t)at - 1};
    }
    return (Str){o.ptr, o.len};
}

struct browser {
    Id customer;
    struct macro_values *values;
};

static enum err log_in(void *arg, struct db *db)
{
    const struct browser *b = arg;
    struct session s;
    Str text;
    uint8_t hash[TOKEN_HASH_BYTES];
    enum err e = session_create(db, b->customer, STR("192.0.2.1"), time_now(), &s, &text);
    if (e) return e;
    token_hash(text, hash);
    snprintf(b->values->session, sizeof b->values->session, "%.*s", STR_FMT(text));
    snprintf(b->values->csrf, sizeof b->values->csrf, "%.*s", STR_FMT(session_csrf(db_arena(db), hash)));
    return OK;
}

void macro_log_in(struct database *d, Id customer, struct macro_values *ret)
{
    struct arena a = {0};
    if (tx_call(d, TX_WRITE, log_in, &(struct browser){customer, ret}, &a) != OK) abort();
    arena_done(&a);
}
