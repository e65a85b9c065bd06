/* tests/unit/gateway.h - what the tests of the gateway adapters share. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gateway/gateway.h"

#define assert_str(got, want)                                                                                          \
    do {                                                                                                               \
        Str got_ = (got), want_ = (want);                                                                              \
        if (!str_eq(got_, want_)) fail_msg("got \"%.*s\", wanted \"%.*s\"", STR_FMT(got_), STR_FMT(want_));            \
    } while (0)

/* A whole file; fails the test when it cannot be read. */
static inline Str test_file(struct arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("cannot open %s", path);
    char *bytes = arena_alloc(a, 65536);
    size_t n = fread(bytes, 1, 65536, f);
    fclose(f);
    return (Str){bytes, n};
}

static inline Str test_vector(struct arena *a, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/gateways/%s", TEST_DATA, name);
    return test_file(a, path);
}

static inline struct gateway_config test_config(enum provider provider, const char *secret)
{
    struct gateway_config c = {.provider = provider, .is_enabled = true};
    if (secret) c.secrets[c.secret_count++] = str_from(secret);
    return c;
}

static inline struct payment_event test_parse(struct arena *a, enum provider provider, Str raw)
{
    struct gateway_config config = test_config(provider, "s");
    struct webhook hook = {.raw = raw};
    struct payment_event e = {0};
    if (!gateway_of(provider)->parse(a, &config, &hook, &e)) fail_msg("not parsed: %.*s", STR_FMT(raw));
    return e;
}

static inline Str test_call_header(const struct http_call *call, const char *name)
{
    for (size_t i = 0; i < call->header_count; i++)
        if (str_eq_nocase(call->headers[i].name, str_from(name))) return call->headers[i].value;
    return (Str){0};
}
