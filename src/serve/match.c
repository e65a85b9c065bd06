/* serve/match.c - see match.h. Paths without parameters are found through a hash table; the few others are compared
 * segment by segment. A fixed path wins over a pattern. */
#include "serve/match.h"
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

#define BUCKETS 512 /* a power of two, several times the number of fixed paths */

struct entry {
    const struct route *route;
    Str path;
    bool fixed;
    struct entry *next; /* same bucket, or next pattern */
};

struct matcher {
    struct entry *entries;
    size_t count;
    struct entry *fixed[BUCKETS];
    struct entry *patterns, **patterns_end;
};

static size_t path_hash(Str path)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < path.len; i++) h = (h ^ (unsigned char)path.ptr[i]) * 16777619u;
    return h % BUCKETS;
}

static bool same_route(const struct route *a, const struct route *b)
{
    return str_eq(str_from(a->method), str_from(b->method)) && str_eq(str_from(a->path), str_from(b->path));
}

struct matcher *matcher_new(const struct route *const tables[])
{
    struct matcher *m = memory_zeroed(1, sizeof *m);
    for (size_t t = 0; tables[t]; t++)
        for (const struct route *r = tables[t]; r->method; r++) m->count++;
    m->entries = memory_zeroed(m->count, sizeof *m->entries);
    m->patterns_end = &m->patterns;

    struct entry *e = m->entries;
    for (size_t t = 0; tables[t]; t++) {
        for (const struct route *r = tables[t]; r->method; r++, e++) {
            for (struct entry *other = m->entries; other < e; other++) assert(!same_route(other->route, r));
            *e = (struct entry){.route = r, .path = str_from(r->path)};
            e->fixed = str_find(e->path, '{') < 0;
            if (e->fixed) {
                struct entry **bucket = &m->fixed[path_hash(e->path)];
                e->next = *bucket;
                *bucket = e;
            } else {
                *m->patterns_end = e;
                m->patterns_end = &e->next;
            }
        }
    }
    return m;
}

void matcher_free(struct matcher *m)
{
    if (!m) return;
    free(m->entries);
    free(m);
}

size_t matcher_count(const struct matcher *m)
{
    return m->count;
}
const struct route *matcher_route(const struct matcher *m, size_t index)
{
    return m->entries[index].route;
}

/* The segment before the next '/', which is skipped. */
static bool next_segment(Str *rest, Str *ret)
{
    if (!rest->len || rest->ptr[0] != '/') return false;
    Str after = {rest->ptr + 1, rest->len - 1};
    ptrdiff_t slash = str_find(after, '/');
    size_t n = slash < 0 ? after.len : (size_t)slash;
    *ret = (Str){after.ptr, n};
    *rest = (Str){after.ptr + n, after.len - n};
    return true;
}

static bool pattern_matches(Str pattern, Str path, Str params[REQUEST_PARAMS_MAX])
{
    size_t n = 0;
    while (pattern.len || path.len) {
        Str want, got;
        if (!next_segment(&pattern, &want) || !next_segment(&path, &got)) return false;
        if (want.len && want.ptr[0] == '{') {
            if (!got.len || n == REQUEST_PARAMS_MAX) return false;
            params[n++] = got;
        } else if (!str_eq(want, got)) {
            return false;
        }
    }
    return true;
}

static void allow_add(char allow[ALLOW_MAX], const char *method)
{
    size_t have = strlen(allow), n = strlen(method);
    if (have + n + 3 > ALLOW_MAX) return;
    if (have) {
        memcpy(allow + have, ", ", 2);
        have += 2;
    }
    memcpy(allow + have, method, n + 1);
}

static bool takes(const struct route *r, Str method)
{
    return str_eq(method, str_from(r->method)) || (str_eq(method, STR("HEAD")) && strcmp(r->method, "GET") == 0);
}

static void found(const struct matcher *m, const struct entry *e, struct match *ret)
{
    ret->route = e->route;
    ret->index = (size_t)(e - m->entries);
}

static void allow_route(struct match *ret, const struct route *r)
{
    allow_add(ret->allow, r->method);
    if (strcmp(r->method, "GET") == 0) allow_add(ret->allow, "HEAD");
}

static void find_fixed(const struct matcher *m, Str method, Str path, struct match *ret)
{
    const struct entry *first = m->fixed[path_hash(path)];
    for (const struct entry *e = first; e && !ret->route; e = e->next) {
        if (!str_eq(e->path, path)) continue;
        ret->path_known = true;
        if (takes(e->route, method)) found(m, e, ret);
    }
    for (const struct entry *e = first; e && !ret->route; e = e->next)
        if (str_eq(e->path, path)) allow_route(ret, e->route);
}

static void find_pattern(const struct matcher *m, Str method, Str path, struct match *ret)
{
    for (const struct entry *e = m->patterns; e && !ret->route; e = e->next) {
        Str params[REQUEST_PARAMS_MAX] = {0};
        if (!pattern_matches(e->path, path, params)) continue;
        ret->path_known = true;
        allow_route(ret, e->route);
        if (!takes(e->route, method)) continue;
        found(m, e, ret);
        memcpy(ret->raw_params, params, sizeof params);
    }
}

void matcher_find(const struct matcher *m, Str method, Str path, struct match *ret)
{
    *ret = (struct match){.index = m->count};
    find_fixed(m, method, path, ret);
    if (!ret->path_known) find_pattern(m, method, path, ret);
    if (ret->path_known && !ret->route) allow_add(ret->allow, "OPTIONS");
}
