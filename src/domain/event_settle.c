/* domain/event_settle.c - up to which number all events are there, see event.h.
 *
 * SQLite has one writer: what is there is all there is. PostgreSQL gives a row its number long before others see it. A
 * transaction changes something before it writes its event, so by then it has a number of its own (its xid). A
 * transaction that has taken an event's number below the last one is among those that are writing a moment later; once
 * all of these have ended, nothing can appear below any more. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "domain/event.h"

static enum err one_id(struct db *db, const char *sql, Id *ret)
{
    struct stmt *st = db_prepare(db, sql);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (!e) *ret = id;
    return e;
}

enum err event_settled(struct db *db, Id *ret)
{
    return one_id(
        db,
        db_sql(db, "SELECT COALESCE(MAX(id), 0) FROM event", "SELECT settled FROM event_horizon WHERE name = 'event'"),
        ret);
}

/* ",123,124,": the transactions of this database that have changed something. */
static enum err writers(struct db *db, Str *ret)
{
    static const char postgres[] = "SELECT COALESCE(',' || string_agg(backend_xid::text, ',') || ',', '')"
                                   " FROM pg_stat_activity WHERE datname = current_database()"
                                   " AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()";

    struct stmt *st = db_prepare(db, postgres);
    Str s = db_step(st) ? col_text(st) : (Str){0};
    enum err e = db_done(st);
    if (!e) *ret = s;
    return e;
}

/* Whether one of `then` is still there. */
static bool has_any(Str now, Str then)
{
    Str name, rest;
    for (; str_cut(then, ',', &name, &rest); then = rest) {
        if (!name.len) continue;
        char item[40];
        int n = snprintf(item, sizeof item, ",%.*s,", STR_FMT(name));
        if (n > 0 && now.len && memmem(now.ptr, now.len, item, (size_t)n)) return true;
    }
    return false;
}

static enum err move(struct db *db, Id settled)
{
    static const char set[] = "UPDATE event_horizon SET settled = $1 WHERE name = 'event' AND settled < $1";

    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    struct stmt *st = db_prepare(db, set);
    bind_id(st, settled);
    return db_run(st);
}

enum err event_settle(struct db *db, struct event_watch *watch)
{
    static const char postgres_newest[] = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM event_id_seq";

    Id settled, last;
    Str now;
    assert(db_is_postgres(db));
    enum err e = event_settled(db, &settled);
    if (!e) e = one_id(db, postgres_newest, &last); /* before those who write are looked at */
    if (e || last.v <= settled.v) return e;
    e = writers(db, &now);
    if (e) return e;
    Id known = settled;
    if (watch->last.v > settled.v && !has_any(now, watch->writers)) known = watch->last;
    if (!now.len) known = last;
    if (known.v > settled.v) e = move(db, known);
    if (e || watch->last.v > known.v || now.len > sizeof watch->room) return e; /* wait for those who are known */
    if (now.len) memcpy(watch->room, now.ptr, now.len); /* an empty text may have no bytes at all */
    watch->writers = (Str){watch->room, now.len};
    watch->last = last;
    return OK;
}
