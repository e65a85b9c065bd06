/* domain/backup_record.c - see backup_record.h. */
#include "domain/backup_record.h"

#define NAME_BYTES_MAX 255

enum err backup_record_add(struct db *db, const struct backup_record *r)
{
    static const char add[] =
        "INSERT INTO backup (name, bytes, row_count, made_at, verified_at) VALUES ($1, $2, $3, $4, $5)";
    static const char forget[] = "DELETE FROM backup WHERE id <= (SELECT max(id) FROM backup) - 100";
    struct stmt *st = db_prepare(db, add);
    bind_text(st, r->name);
    bind_int(st, r->bytes);
    bind_int(st, r->rows);
    bind_time(st, r->made_at);
    bind_opt_time(st, r->verified_at);
    enum err e = db_run(st);
    return e ? e : db_run(db_prepare(db, forget));
}

enum err backup_record_last(struct db *db, Time *ret_made, Time *ret_verified)
{
    static const char last[] =
        "SELECT max(made_at), max(CASE WHEN verified_at IS NOT NULL THEN made_at END) FROM backup";
    struct stmt *st = db_prepare(db, last);
    Time made = {0}, verified = {0};
    if (db_step(st)) {
        made = col_time(st);
        verified = col_time(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret_made = made;
    *ret_verified = verified;
    return OK;
}

Str backup_record_text(struct arena *a, const struct backup_record *r)
{
    return str_printf(a, "%lld %lld %lld %lld %.*s\n", (long long)r->made_at.ms, (long long)r->verified_at.ms,
                      (long long)r->bytes, (long long)r->rows, STR_FMT(r->name));
}

static bool number(Str *rest, int64_t *ret)
{
    Str word, after;
    if (!str_cut(*rest, ' ', &word, &after) || !str_to_int64(word, ret) || *ret < 0) return false;
    *rest = after;
    return true;
}

bool backup_record_parse(Str text, struct backup_record *ret)
{
    Str rest = str_trim(text); /* what follows its last space is not empty */
    struct backup_record r = {0};
    if (!number(&rest, &r.made_at.ms) || !number(&rest, &r.verified_at.ms) || !number(&rest, &r.bytes) ||
        !number(&rest, &r.rows) || rest.len > NAME_BYTES_MAX || !utf8_valid(rest))
        return false;
    r.name = rest;
    *ret = r;
    return true;
}
