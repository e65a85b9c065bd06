/* domain/department.c - see department.h. */
#include "domain/department.h"

#include "db/rows.h"

#define COLUMNS "id, name, is_active"

static void read_row(struct stmt *st, struct department *d)
{
    d->id = col_id(st);
    d->name = col_text(st);
    d->is_active = col_bool(st);
}
DB_READER(read_row);

enum err department_list(struct db *db, bool active_only, struct department **ret, size_t *ret_count)
{
    static const char all[] = "SELECT " COLUMNS " FROM department ORDER BY name, id";
    static const char active[] = "SELECT " COLUMNS " FROM department WHERE is_active = 1 ORDER BY name, id";

    struct stmt *st = db_prepare(db, active_only ? active : all);
    return db_rows(st, read_row, ROWS_ALL, ret, ret_count);
}

enum err department_find(struct db *db, Id id, struct department *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM department WHERE id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return db_row(st, read_row, ret);
}

enum err department_create(struct db *db, Str name, bool is_active, struct department *ret)
{
    static const char insert[] = "INSERT INTO department (name, is_active) VALUES ($1, $2)"
                                 " ON CONFLICT (name) DO NOTHING RETURNING id";

    struct stmt *st = db_prepare(db, insert);
    bind_text(st, name);
    bind_bool(st, is_active);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    if (!id_is(id)) return ERR_NAME_TAKEN;
    *ret = (struct department){.id = id, .name = name, .is_active = is_active};
    return OK;
}

enum err department_update(struct db *db, const struct department *d)
{
    static const char update[] = "UPDATE department SET name = $2, is_active = $3 WHERE id = $1"
                                 " AND NOT EXISTS (SELECT 1 FROM department WHERE name = $2 AND id <> $1) RETURNING id";

    struct stmt *st = db_prepare(db, update);
    bind_id(st, d->id);
    bind_text(st, d->name);
    bind_bool(st, d->is_active);
    bool changed = db_step(st);
    enum err e = db_done(st);
    if (e || changed) return e;
    struct department present;
    e = department_find(db, d->id, &present);
    return e ? e : ERR_NAME_TAKEN;
}

enum err department_delete(struct db *db, Id id)
{
    static const char delete[] = "DELETE FROM department WHERE id = $1"
                                 " AND NOT EXISTS (SELECT 1 FROM ticket WHERE department_id = $1) RETURNING id";

    struct stmt *st = db_prepare(db, delete);
    bind_id(st, id);
    bool gone = db_step(st);
    enum err e = db_done(st);
    if (e || gone) return e;
    struct department present;
    e = department_find(db, id, &present);
    return e ? e : ERR_INVALID_STATE;
}
