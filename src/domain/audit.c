/* domain/audit.c - see audit.h. */
#include "domain/audit.h"

#include "base/text.h"
#include "db/rows.h"

enum err audit_add(struct db *db, const struct audit_entry *entry)
{
    static const char add[] =
        "INSERT INTO audit (actor_id, action, resource_id, label, before, after, request_id, address, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    struct stmt *st = db_prepare(db, add);
    bind_opt_id(st, entry->actor);
    bind_text(st, entry->action);
    bind_id(st, entry->resource);
    bind_text(st, entry->label);
    bind_opt_text(st, entry->before);
    bind_opt_text(st, entry->after);
    bind_text(st, entry->request_id);
    bind_text(st, entry->address);
    bind_time(st, entry->created_at);
    return db_run(st);
}

static void read_row(struct stmt *st, struct audit_entry *e)
{
    e->id = col_id(st);
    e->actor = col_id(st);
    e->actor_email = col_text(st);
    e->action = col_text(st);
    e->resource = col_id(st);
    e->label = col_text(st);
    e->before = col_text(st);
    e->after = col_text(st);
    e->request_id = col_text(st);
    e->address = col_text(st);
    e->created_at = col_time(st);
}
DB_READER(read_row);

enum err audit_list(struct db *db, const struct audit_filter *filter, Id before, int64_t limit,
                    struct audit_entry **ret, size_t *ret_count)
{
    /* The part before the dot is a range of actions: from "product." up to, not including, "product/". */
    static const char list[] =
        "SELECT a.id, a.actor_id, p.email, a.action, a.resource_id, a.label, a.before, a.after, a.request_id,"
        " a.address, a.created_at FROM audit a LEFT JOIN account p ON p.id = a.actor_id"
        " WHERE a.id < $1 AND ($2 = '' OR a.action = $2 OR (a.action > $2 || '.' AND a.action < $2 || '/'))"
        " AND ($3 = 0 OR a.actor_id = $3) AND ($4 = 0 OR a.resource_id = $4)"
        " AND ($5 = '%%' OR LOWER(a.label) LIKE $5 ESCAPE '\\' OR p.email LIKE $5 ESCAPE '\\'"
        " OR LOWER(p.name) LIKE $5 ESCAPE '\\') ORDER BY a.id DESC LIMIT $6";
    struct stmt *st = db_prepare(db, list);
    bind_int(st, id_is(before) ? before.v : INT64_MAX);
    bind_text(st, filter->action);
    bind_id(st, filter->actor);
    bind_id(st, filter->resource);
    bind_text(st, text_like_pattern(db_arena(db), filter->q));
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}
