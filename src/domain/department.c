/* domain/department.c - see department.h. */
#include "domain/department.h"

#define COLUMNS "id, name, is_active"

/* There are only a few; the list grows as it is read. */
#define LIST_STEP 16

static struct department read_row(struct stmt *st)
{
    struct department d;
    d.id = col_id(st);
    d.name = col_text(st);
    d.is_active = col_bool(st);
    return d;
}

enum err department_list(struct db *db, bool active_only, struct department **ret, size_t *ret_count)
{
    static const char all[] = "SELECT " COLUMNS " FROM department ORDER BY name, id";
    static const char active[] = "SELECT " COLUMNS " FROM department WHERE is_active = 1 ORDER BY name, id";

    struct department *items = NULL;
    size_t count = 0, cap = 0;
    struct stmt *st = db_prepare(db, active_only ? active : all);
    while (db_step(st)) {
        if (count == cap) {
            items = arena_grow(db_arena(db), items, cap * sizeof *items, (cap + LIST_STEP) * sizeof *items);
            cap += LIST_STEP;
        }
        items[count++] = read_row(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret = items;
    *ret_count = count;
    return OK;
}

enum err department_find(struct db *db, Id id, struct department *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM department WHERE id = $1";

    struct department d = {0};
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    bool found = db_step(st);
    if (found) d = read_row(st);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    *ret = d;
    return OK;
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
