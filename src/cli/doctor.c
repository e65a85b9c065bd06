/* cli/doctor.c - see doctor.h. */
#include "cli/doctor.h"

#include <stdio.h>

#include "outbound/outbound.h"
#include "json/writer.h"

static const char *const level_names[] = {"ok", "look", "broken"};

#define JSON_BYTES_MAX ((size_t)1024 * 1024)

/* What others say has line ends and a full stop of its own. */
static Str one_line(struct arena *a, Str s)
{
    struct buf b;
    buf_init(&b, a, s.len + 1);
    for (size_t i = 0; i < s.len; i++) {
        bool is_space = (unsigned char)s.ptr[i] <= ' ';
        if (!is_space || (b.len && b.ptr[b.len - 1] != ' ')) buf_char(&b, is_space ? ' ' : s.ptr[i]);
    }
    while (b.len && strchr(" .?!", b.ptr[b.len - 1])) b.len--;
    return buf_str(&b);
}

void doctor_found(struct doctor *d, enum finding_level level, const char *subject, Str what, const char *action)
{
    if (d->count == FINDINGS_MAX) return;
    what = one_line(d->arena, what);
    d->findings[d->count++] = (struct finding){level, subject, what, action};
}

static enum finding_level worst(const struct doctor *d)
{
    enum finding_level w = FINDING_OK;
    for (size_t i = 0; i < d->count; i++)
        if (d->findings[i].level > w) w = d->findings[i].level;
    return w;
}

/* "broken  disk: 3 MB are free. Make room." */
static void print(const struct doctor *d)
{
    for (size_t i = 0; i < d->count; i++) {
        const struct finding *f = &d->findings[i];
        printf("%-6s  %s: %.*s.%s%s%s\n", level_names[f->level], f->subject, STR_FMT(f->what), *f->action ? " " : "",
               f->action, *f->action ? "." : "");
    }
}

static void print_json(const struct doctor *d)
{
    struct buf out;
    struct json_writer w;
    buf_init(&out, d->arena, JSON_BYTES_MAX);
    json_writer_init(&w, &out, 2);
    json_begin_object(&w);
    json_kv_cstr(&w, "worst", level_names[worst(d)]);
    json_key(&w, "findings");
    json_begin_array(&w);
    for (size_t i = 0; i < d->count; i++) {
        json_begin_object(&w);
        json_kv_cstr(&w, "level", level_names[d->findings[i].level]);
        json_kv_cstr(&w, "subject", d->findings[i].subject);
        json_kv_str(&w, "what", d->findings[i].what);
        json_kv_opt_str(&w, "action", str_from(d->findings[i].action));
        json_end_object(&w);
    }
    json_end_array(&w);
    json_end_object(&w);
    printf("%.*s\n", STR_FMT(buf_str(&out)));
}

int doctor_command(const struct config *config, struct arena *a)
{
    static void (*const checks[])(struct doctor *) = {
        doctor_clock,   doctor_permissions, doctor_disk, doctor_database, doctor_key,
        doctor_records, doctor_backup,      doctor_mail, doctor_gateways, doctor_address,
    };
    static const int codes[] = {[FINDING_OK] = 0, [FINDING_LOOK] = 1, [FINDING_BROKEN] = 2};
    if (config->operand_count) return cli_usage("doctor takes options alone");
    struct doctor *d = arena_new(a, struct doctor);
    struct outbound_options options = {.ca_file = config->ca_file};
    *d = (struct doctor){.config = config, .arena = a, .outbound = outbound_start(&options)};
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) checks[i](d);
    if (config->json)
        print_json(d);
    else
        print(d);
    outbound_stop(d->outbound);
    if (d->database) database_close(d->database);
    return codes[worst(d)];
}
