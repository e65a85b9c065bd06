/* serve/render.c - see render.h. */
#include "serve/render.h"

#include <unistd.h>

#include "domain/settings.h"
#include "view/view_success.h"

#define BODY_BYTES_MAX ((size_t)64 * 1024 * 1024)
#define ENVELOPE_BYTES_MAX 1024 /* status and message around the data */

void answer_reset(struct request *req)
{
    if (!req->answer) req->answer = arena_new(req->arena, struct request_answer);
    struct request_answer *a = req->answer;
    if (a->has_file) close(a->file.fd); /* left by a run that was rolled back */
    memset(a, 0, offsetof(struct request_answer, headers));
    buf_init(&a->members, req->arena, BODY_BYTES_MAX);
    buf_init(&a->error_members, req->arena, BODY_BYTES_MAX);
    buf_init(&req->out_buf, req->arena, BODY_BYTES_MAX);
    json_writer_init(&req->out, &req->out_buf, req->settings ? req->settings->exponent : 2);
    field_errors_init(&req->errors, req->arena);
    req->status = 200;
    req->message = NULL;
    req->retry_after_s = 0;
    req->is_audited = false;
    req->on_rendered = NULL;
}

enum err answer_check(const struct request *req)
{
    const struct request_answer *a = req->answer;
    bool is_full = req->out_buf.full || a->members.full || a->error_members.full;
    return is_full || req->out_buf.len + a->members.len > BODY_BYTES_MAX - ENVELOPE_BYTES_MAX ? ERR_ANSWER_TOO_LARGE
                                                                                              : OK;
}

void answer_success(struct request *req)
{
    struct request_answer *a = req->answer;
    if (a->is_not_modified) {
        req->status = 304;
        a->body = (Str){0};
    } else if (a->is_ready) {
        a->body = a->ready;
    } else if (!a->has_file) {
        struct buf out;
        buf_init(&out, req->arena, BODY_BYTES_MAX);
        buf_reserve(&out, req->out_buf.len + a->members.len + ENVELOPE_BYTES_MAX);
        view_success(&out, req->message, buf_str(&req->out_buf), buf_str(&a->members));
        a->body = buf_str(&out);
        arena_give_back(req->arena, req->out_buf.ptr, req->out_buf.cap); /* a long answer is held once, not twice */
        buf_init(&req->out_buf, req->arena, BODY_BYTES_MAX);
    }
    a->is_rendered = true;
}

/* What the rule asks for, in words. */
static Str field_message(struct arena *a, const struct field_error *f)
{
    const char *message = err_info(f->err)->message;
    int64_t min, max;
    bool has_min = field_error_min(f, &min), has_max = field_error_max(f, &max);
    if (f->about.len) return str_printf(a, "%s: %.*s", message, STR_FMT(f->about));
    if (has_min && has_max) return str_printf(a, "%s: %lld to %lld", message, (long long)min, (long long)max);
    if (has_min) return str_printf(a, "%s: at least %lld", message, (long long)min);
    if (has_max) return str_printf(a, "%s: at most %lld", message, (long long)max);
    return str_from(message);
}

/* The same for programs. */
static void write_rule(struct json_writer *w, const struct field_error *f)
{
    int64_t bound;
    if (field_error_min(f, &bound)) json_kv_int(w, "min", bound);
    if (field_error_max(f, &bound)) json_kv_int(w, "max", bound);
    if (f->err != ERR_FIELD_VALUE || !f->rule || !f->rule->choices) return;
    json_key(w, "allowed");
    json_begin_array(w);
    for (const char *const *choice = f->rule->choices; *choice; choice++) json_str(w, str_from(*choice));
    json_end_array(w);
}

static void write_field_errors(struct json_writer *w, struct arena *a, const struct field_errors *errors)
{
    json_key(w, "errors");
    json_begin_array(w);
    for (const struct field_error *f = errors->first; f; f = f->next) {
        json_begin_object(w);
        json_kv_str(w, "field", f->field);
        json_kv_cstr(w, "code", err_info(f->err)->code);
        json_kv_str(w, "message", field_message(a, f));
        write_rule(w, f);
        json_end_object(w);
    }
    json_end_array(w);
}

static Str error_body(struct arena *arena, enum err e, Str request_id, const struct field_errors *errors, Str members)
{
    const struct err_info *info = err_info(e);
    struct buf out;
    struct json_writer w;
    buf_init(&out, arena, BODY_BYTES_MAX);
    json_writer_init(&w, &out, 0);
    json_begin_object(&w);
    json_kv_cstr(&w, "status", "error");
    json_kv_cstr(&w, "message", info->message);
    json_kv_cstr(&w, "code", info->code);
    json_kv_str(&w, "request_id", request_id);
    if (errors && errors->count) write_field_errors(&w, arena, errors);
    buf_append(&out, members);
    json_end_object(&w);
    return buf_str(&out);
}

Str answer_error_body(struct arena *a, enum err e, Str request_id)
{
    return error_body(a, e, request_id, NULL, (Str){0});
}

void answer_error(struct request *req, enum err e)
{
    struct request_answer *a = req->answer;
    if (a->has_file) close(a->file.fd);
    a->has_file = a->is_ready = a->is_not_modified = false;
    a->content_type = NULL;
    req->status = err_info(e)->status;
    a->body = error_body(req->arena, e, req->id, &req->errors, buf_str(&a->error_members));
    a->is_rendered = true;
}
