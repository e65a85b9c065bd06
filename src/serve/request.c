/* serve/request.c - what handlers call, see request.h. */
#include "serve/request.h"

#include <assert.h>

#include "domain/settings.h"
#include "serve/render.h"

void request_trace(const struct request *req, struct trace *ret)
{
    const struct http_head *head = &req->exchange->head;
    Str only = {0};
    for (size_t i = 0; i < head->header_count; i++) {
        if (!str_eq_nocase(head->headers[i].name, STR("traceparent"))) continue;
        if (only.ptr) return; /* two say nothing */
        only = head->headers[i].value;
    }
    trace_read(only, ret);
}

Str request_cookie(const struct request *req, Str name)
{
    Str list = request_header(req, "Cookie"), found = {0};
    while (list.len) {
        Str item = list, rest = {0}, key, value;
        str_cut(list, ';', &item, &rest);
        list = rest;
        if (!str_cut(str_trim(item), '=', &key, &value) || !str_eq(key, name)) continue;
        if (found.len) return (Str){0};
        found = value;
    }
    return found;
}

enum err request_bad_field(struct request *req, const char *field, enum err e)
{
    field_errors_add(&req->errors, str_from(field), e);
    return ERR_VALIDATION;
}

enum err request_bad_part(struct request *req, const char *field, enum err e, Str about)
{
    field_errors_add_about(&req->errors, str_from(field), e, about);
    return ERR_VALIDATION;
}

enum err request_is_confirmed(struct request *req, unsigned flags)
{
    if (req->token_kind == TOKEN_API) {
        if (!(flags & OWNER_TOKEN) || req->scopes & SCOPE_OWNER) return OK;
        request_error_str(req, "required_scope", STR("owner"));
        return ERR_INSUFFICIENT_SCOPE;
    }
    bool is_recent = time_since(req->confirmed_at, req->now) <= CONFIRMED_MS;
    return flags & CONFIRMED && !is_recent ? ERR_CONFIRMATION_REQUIRED : OK;
}

void request_add_header(struct request *req, const char *name, Str value)
{
    struct request_answer *a = req->answer;
    assert(a->header_count < ANSWER_HEADERS_MAX);
    a->headers[a->header_count++] = (struct http_header){str_from(name), value};
}

void request_created(struct request *req, const char *prefix, Id id)
{
    req->status = 201;
    req->answer->location = str_printf(req->arena, "%s/%lld", prefix, (long long)id.v);
}

/* Writes ,"key":value into a buf that is inside an object. */
static struct json_writer member(struct request *req, struct buf *out, const char *key)
{
    struct json_writer w;
    buf_char(out, ',');
    json_writer_init(&w, out, req->settings->exponent);
    buf_char(out, '"');
    buf_append(out, str_from(key));
    buf_append(out, STR("\":"));
    return w;
}

void request_error_money(struct request *req, const char *key, Money m)
{
    struct json_writer w = member(req, &req->answer->error_members, key);
    json_money(&w, m);
}

void request_error_str(struct request *req, const char *key, Str value)
{
    struct json_writer w = member(req, &req->answer->error_members, key);
    json_str(&w, value);
}

void request_error_int(struct request *req, const char *key, int64_t value)
{
    struct json_writer w = member(req, &req->answer->error_members, key);
    json_int(&w, value);
}

void request_member_raw(struct request *req, const char *key, Str json)
{
    struct json_writer w = member(req, &req->answer->members, key);
    json_raw(&w, json);
}

Str request_members(const struct request *req)
{
    return buf_str(&req->answer->members);
}

void request_ready(struct request *req, const char *content_type, Str body)
{
    req->answer->content_type = content_type;
    req->answer->ready = body;
    req->answer->is_ready = true;
}

void request_file(struct request *req, const char *content_type, struct http_file file)
{
    req->answer->content_type = content_type;
    req->answer->file = file;
    req->answer->has_file = true;
}

/* Whether a list of entity tags has this tag. Weak tags match in If-None-Match only. */
static bool tags_have(Str list, Str etag, bool weak_counts)
{
    if (str_eq(str_trim(list), STR("*"))) return true;
    while (list.len) {
        Str tag = list, rest = {0};
        str_cut(list, ',', &tag, &rest);
        tag = str_trim(tag);
        if (weak_counts && str_starts(tag, STR("W/"))) tag = (Str){tag.ptr + 2, tag.len - 2};
        if (str_eq(tag, etag)) return true;
        list = rest;
    }
    return false;
}

bool request_not_modified(struct request *req, Str etag)
{
    request_add_header(req, "ETag", etag);
    Str wanted = request_header(req, "If-None-Match");
    if (!wanted.ptr || !tags_have(wanted, etag, true)) return false;
    req->answer->is_not_modified = true;
    return true;
}

static Str version_tag(struct request *req, int64_t version)
{
    return str_printf(req->arena, "\"%lld\"", (long long)version);
}

enum err request_if_match(struct request *req, int64_t version)
{
    Str wanted = request_header(req, "If-Match");
    if (!wanted.ptr) return OK;
    return tags_have(wanted, version_tag(req, version), false) ? OK : ERR_PRECONDITION_FAILED;
}

void request_etag_version(struct request *req, int64_t version)
{
    request_add_header(req, "ETag", version_tag(req, version));
}

bool request_takes_gzip(const struct request *req)
{
    Str list = request_header(req, "Accept-Encoding");
    bool by_star = false;
    while (list.len) {
        Str item = list, rest = {0};
        str_cut(list, ',', &item, &rest);
        Str coding = item, weight = {0};
        str_cut(item, ';', &coding, &weight);
        coding = str_trim(coding);
        weight = str_trim(weight);
        bool refused = str_starts(weight, STR("q=0"));
        for (size_t i = 3; refused && i < weight.len; i++) refused = weight.ptr[i] == '.' || weight.ptr[i] == '0';
        if (str_eq_nocase(coding, STR("gzip"))) return !refused;
        if (str_eq(coding, STR("*"))) by_star = !refused;
        list = rest;
    }
    return by_star;
}

void request_coded(struct request *req, const char *content_type, Str plain, Str plain_etag, Str gzip, Str gzip_etag)
{
    bool is_gzip = gzip.len && request_takes_gzip(req);
    request_add_header(req, "Vary", STR("Accept-Encoding"));
    if (request_not_modified(req, is_gzip ? gzip_etag : plain_etag)) return;
    if (is_gzip) request_add_header(req, "Content-Encoding", STR("gzip"));
    request_ready(req, content_type, is_gzip ? gzip : plain);
}
