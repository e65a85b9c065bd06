/* domain/own_page.c - see own_page.h. */
#include "domain/own_page.h"

#include "db/rows.h"
#include "domain/settings.h"

#define COLUMNS "id, slug, title, body, in_footer, updated_at"

static void read_row(struct stmt *st, struct own_page *p)
{
    p->id = col_id(st);
    p->slug = col_text(st);
    p->title = col_text(st);
    p->body = col_text(st);
    p->in_footer = col_bool(st);
    p->updated_at = col_time(st);
}
DB_READER(read_row);

enum err own_page_list(struct db *db, struct own_page **ret, size_t *ret_count)
{
    static const char list[] = "SELECT " COLUMNS " FROM own_page ORDER BY id";
    struct stmt *st = db_prepare(db, list);
    return db_rows(st, read_row, OWN_PAGES_MAX, ret, ret_count);
}

enum err own_page_find(struct db *db, Id id, struct own_page *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM own_page WHERE id = $1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return db_row(st, read_row, ret);
}

enum err own_page_find_slug(struct db *db, Str slug, struct own_page *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM own_page WHERE slug = $1";
    struct stmt *st = db_prepare(db, find);
    bind_text(st, slug);
    return db_row(st, read_row, ret);
}

static enum err count_pages(struct db *db, int64_t *ret)
{
    static const char count[] = "SELECT COUNT(*) FROM own_page";
    struct stmt *st = db_prepare(db, count);
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;
    *ret = n;
    return OK;
}

enum err own_page_create(struct db *db, const struct own_page *p, Time now, struct own_page *ret)
{
    static const char insert[] = "INSERT INTO own_page (slug, title, body, in_footer, updated_at)"
                                 " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (slug) DO NOTHING RETURNING id";
    int64_t n;
    enum err e = settings_touch(db); /* also makes concurrent counts wait */
    if (!e) e = count_pages(db, &n);
    if (e) return e;
    if (n >= OWN_PAGES_MAX) return ERR_FIELD_TOO_MANY;
    struct stmt *st = db_prepare(db, insert);
    bind_text(st, p->slug);
    bind_text(st, p->title);
    bind_text(st, p->body);
    bind_bool(st, p->in_footer);
    bind_time(st, now);
    bool made = db_step(st);
    Id id = made ? col_id(st) : (Id){0};
    e = db_done(st);
    if (e) return e;
    return made ? own_page_find(db, id, ret) : ERR_SLUG_TAKEN;
}

enum err own_page_update(struct db *db, const struct own_page *p, Time now, struct own_page *ret)
{
    static const char taken[] = "SELECT id FROM own_page WHERE slug = $1 AND id <> $2";
    static const char update[] =
        "UPDATE own_page SET slug = $2, title = $3, body = $4, in_footer = $5, updated_at = $6 WHERE id = $1";
    enum err e = settings_touch(db);
    if (e) return e;
    struct stmt *st = db_prepare(db, taken);
    bind_text(st, p->slug);
    bind_id(st, p->id);
    bool is_taken = db_step(st);
    e = db_done(st);
    if (e) return e;
    if (is_taken) return ERR_SLUG_TAKEN;
    st = db_prepare(db, update);
    bind_id(st, p->id);
    bind_text(st, p->slug);
    bind_text(st, p->title);
    bind_text(st, p->body);
    bind_bool(st, p->in_footer);
    bind_time(st, now);
    e = db_run(st);
    return e ? e : own_page_find(db, p->id, ret);
}

enum err own_page_delete(struct db *db, Id id)
{
    static const char drop[] = "DELETE FROM own_page WHERE id = $1 RETURNING id";
    enum err e = settings_touch(db);
    if (e) return e;
    struct stmt *st = db_prepare(db, drop);
    bind_id(st, id);
    bool gone = db_step(st);
    e = db_done(st);
    return e ? e : gone ? OK : ERR_NOT_FOUND;
}
