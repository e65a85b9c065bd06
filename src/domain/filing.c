/* domain/filing.c - see filing.h. */
#include "domain/filing.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "db/rows.h"

#define STEP_MOST (2 * FILING_WORTH) /* in one transaction */
#define TAIL_MOST (1 << 20)          /* in memory: more than that wait only after an import beside a running server */
#define IDS_BYTES_MAX (64 * 1024 * 1024)

/* `table` with its column `owner`; `more` may be " AND …". Marks: up to where rows are filed, and the last row. */
#define TEXTS(name, table, owner, more)                                                                                \
    static const char sqlite_##name##_marks[] = "SELECT up_to, COALESCE((SELECT MAX(id) FROM " table "), 0)"           \
                                                " FROM filing WHERE list = '" table "'";                               \
    static const char sqlite_##name##_added[] =                                                                        \
        "SELECT id, " owner " FROM " table " WHERE id > $1 AND id <= $2" more " ORDER BY id";                          \
    static const char sqlite_##name##_behind[] =                                                                       \
        "SELECT id FROM " table " WHERE id > $1 AND id < $2 AND " owner " = $3 ORDER BY id DESC LIMIT $4";             \
    static const char sqlite_##name##_filed[] =                                                                        \
        "SELECT id FROM " table "_filed WHERE " owner " = $1 AND id < $2 ORDER BY id DESC LIMIT $3";                   \
    static const char sqlite_##name##_until[] =                                                                        \
        "SELECT MAX(id) FROM (SELECT id FROM " table " WHERE id > $1 ORDER BY id LIMIT $2)";                           \
    static const char sqlite_##name##_file[] =                                                                         \
        "INSERT OR IGNORE INTO " table "_filed (" owner ", id) SELECT " owner ", id FROM " table                       \
        " WHERE id > $1 AND id <= $2" more " ORDER BY " owner ", id";                                                  \
    static const char sqlite_##name##_mark[] = "UPDATE filing SET up_to = $1 WHERE list = '" table "'"

TEXTS(orders, "orders", "account_id", "");
TEXTS(license, "license", "account_id", "");
TEXTS(transfer, "transfer", "debit_id", " AND debit_id > 7"); /* nobody lists a system account */

#define TEXTS_OF(name)                                                                                                 \
    {                                                                                                                  \
        sqlite_##name##_marks, sqlite_##name##_added, sqlite_##name##_behind, sqlite_##name##_filed,                   \
            sqlite_##name##_until, sqlite_##name##_file, sqlite_##name##_mark                                          \
    }
static const struct texts {
    const char *marks, *added, *behind, *filed, *until, *file, *mark;
} texts[FILINGS] = {
    [FILING_ORDERS] = TEXTS_OF(orders),
    [FILING_LICENSES] = TEXTS_OF(license),
    [FILING_DEBITS] = TEXTS_OF(transfer),
};

struct added {
    int64_t id, owner;
};

/* The rows behind the mark, by their ids: all that were committed, behind `from` and up to `to`. */
static struct tail {
    pthread_mutex_t lock;
    int64_t epoch; /* of the database that was read; 0: of none */
    int64_t from, to;
    struct added *rows;
    size_t count, size;
} tails[FILINGS] = {
    {.lock = PTHREAD_MUTEX_INITIALIZER}, {.lock = PTHREAD_MUTEX_INITIALIZER}, {.lock = PTHREAD_MUTEX_INITIALIZER}};

struct marks {
    int64_t filed, last;
};

static enum err read_marks(struct db *db, enum filing list, struct marks *ret)
{
    *ret = (struct marks){0};
    struct stmt *st = db_prepare(db, texts[list].marks);
    bool found = db_step(st);
    if (found) {
        ret->filed = col_int(st);
        ret->last = col_int(st);
    }
    enum err e = db_done(st);
    return e || found ? e : ERR_INTERNAL;
}

/* Under the lock. */
static bool has_room(struct tail *t, size_t more)
{
    if (t->count + more <= t->size) return true;
    size_t size = t->size ? t->size : 1024;
    while (size < t->count + more) size *= 2;
    struct added *rows = size > TAIL_MOST ? NULL : memory_try_zeroed(size, sizeof *rows);
    if (!rows) return false;
    if (t->count) memcpy(rows, t->rows, t->count * sizeof *rows);
    free(t->rows);
    t->rows = rows;
    t->size = size;
    return true;
}

/* Under the lock. Rows that were filed are left out, but not those of the last time: a reader may have begun before. */
static void forget_filed(struct tail *t, int64_t filed)
{
    if (filed - t->from < 2 * FILING_WORTH) return;
    int64_t from = filed - FILING_WORTH;
    size_t gone = 0;
    while (gone < t->count && t->rows[gone].id <= from) gone++;
    t->count -= gone;
    memmove(t->rows, t->rows + gone, t->count * sizeof *t->rows);
    t->from = from;
}

static void read_added(struct stmt *st, struct added *a)
{
    a->id = col_int(st);
    a->owner = col_int(st);
}
DB_READER(read_added);

/* Under the lock. */
static bool has_all(const struct tail *t, int64_t epoch, const struct marks *m)
{
    return t->epoch == epoch && t->from <= m->filed && t->to >= m->last;
}

/* Under the lock. Where to read on; what is known of another database, or ends before the mark, is forgotten. */
static int64_t begin(struct tail *t, int64_t epoch, const struct marks *m)
{
    if (t->epoch != epoch || t->to < m->filed) {
        t->epoch = epoch;
        t->from = t->to = m->filed;
        t->count = 0;
    }
    forget_filed(t, m->filed);
    return t->to;
}

/* Under the lock. `rows` are all between `to` and m->last; others may have added some of them meanwhile. */
static void append(struct tail *t, int64_t to, const struct marks *m, const struct added *rows, size_t count)
{
    if (t->to < to || t->to >= m->last) return;
    size_t known = 0;
    while (known < count && rows[known].id <= t->to) known++;
    if (!has_room(t, count - known)) return;
    if (count > known) memcpy(t->rows + t->count, rows + known, (count - known) * sizeof *rows);
    t->count += count - known;
    t->to = m->last;
}

/* Reads into memory what was committed since. Others do not wait while it reads. */
static enum err follow(struct db *db, enum filing list, const struct marks *m)
{
    struct tail *t = &tails[list];
    int64_t epoch = db_epoch(db);
    pthread_mutex_lock(&t->lock);
    int64_t to = begin(t, epoch, m);
    pthread_mutex_unlock(&t->lock);
    if (to >= m->last || m->last - to > TAIL_MOST) return OK;
    struct added *rows;
    size_t count;
    struct stmt *st = db_prepare(db, texts[list].added);
    bind_int(st, to);
    bind_int(st, m->last);
    enum err e = db_rows(st, read_added, ROWS_ALL, &rows, &count);
    if (e) return e;
    pthread_mutex_lock(&t->lock);
    if (t->epoch == epoch) append(t, to, m, rows, count);
    pthread_mutex_unlock(&t->lock);
    return OK;
}

/* What is asked for, and what has been found of it. */
struct wanted {
    int64_t owner, before, left;
    struct buf ids;
};

static void add_id(struct wanted *w, int64_t id)
{
    buf_printf(&w->ids, "%s%" PRId64, w->ids.len > 1 ? "," : "", id);
    w->left--;
}

/* False: memory does not have all of them. */
static bool find_in_memory(struct db *db, enum filing list, const struct marks *m, struct wanted *w)
{
    struct tail *t = &tails[list];
    pthread_mutex_lock(&t->lock);
    bool found = has_all(t, db_epoch(db), m);
    for (size_t i = t->count; found && i > 0 && w->left > 0 && t->rows[i - 1].id > m->filed; i--) {
        const struct added *a = &t->rows[i - 1];
        if (a->owner == w->owner && a->id < w->before && a->id <= m->last) add_id(w, a->id);
    }
    pthread_mutex_unlock(&t->lock);
    return found;
}

static enum err add_ids(struct stmt *st, struct wanted *w)
{
    while (w->left > 0 && db_step(st)) add_id(w, col_int(st));
    return db_done(st);
}

static enum err find_behind(struct db *db, enum filing list, const struct marks *m, struct wanted *w)
{
    if (m->last <= m->filed) return OK;
    if (!db_can_write(db) && db_epoch(db)) {
        enum err e = follow(db, list, m);
        if (e || find_in_memory(db, list, m, w)) return e;
    }
    struct stmt *st = db_prepare(db, texts[list].behind);
    bind_int(st, m->filed);
    bind_int(st, w->before);
    bind_int(st, w->owner);
    bind_int(st, w->left);
    return add_ids(st, w);
}

static enum err find_filed(struct db *db, enum filing list, const struct marks *m, struct wanted *w)
{
    if (w->left <= 0) return OK;
    struct stmt *st = db_prepare(db, texts[list].filed);
    bind_int(st, w->owner);
    bind_int(st, w->before <= m->filed ? w->before : m->filed + 1); /* some behind the mark may be there, too */
    bind_int(st, w->left);
    return add_ids(st, w);
}

enum err filing_page(struct db *db, enum filing list, Id owner, Id before, int64_t limit, Str *ret_ids)
{
    *ret_ids = (Str){0};
    if (db_is_postgres(db)) return OK;
    struct marks m;
    struct wanted w = {.owner = owner.v, .before = before.v, .left = limit};
    buf_init(&w.ids, db_arena(db), IDS_BYTES_MAX);
    buf_char(&w.ids, '[');
    enum err e = read_marks(db, list, &m);
    if (!e) e = find_behind(db, list, &m, &w);
    if (!e) e = find_filed(db, list, &m, &w);
    buf_char(&w.ids, ']');
    if (!e && w.ids.full) e = ERR_UNAVAILABLE;
    *ret_ids = buf_str(&w.ids);
    return e;
}

void filing_bind(struct stmt *st, struct db *db, Str ids, Id before, int64_t limit)
{
    if (!db_is_postgres(db)) {
        bind_text(st, ids);
        return;
    }
    bind_id(st, before);
    bind_int(st, limit);
}

/* The next `most` rows behind the mark. */
static enum err file(struct db *db, enum filing list, const struct marks *m, int64_t most)
{
    struct stmt *st = db_prepare(db, texts[list].until);
    bind_int(st, m->filed);
    bind_int(st, most);
    int64_t until = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;
    st = db_prepare(db, texts[list].file);
    bind_int(st, m->filed);
    bind_int(st, until);
    e = db_run(st);
    if (e) return e;
    st = db_prepare(db, texts[list].mark);
    bind_int(st, until);
    return db_run(st);
}

enum err filing_step(struct db *db, int64_t least)
{
    if (db_is_postgres(db)) return OK;
    enum filing longest = 0;
    struct marks m[FILINGS];
    for (enum filing list = 0; list < FILINGS; list++) {
        enum err e = read_marks(db, list, &m[list]);
        if (!e && !db_can_write(db)) e = follow(db, list, &m[list]);
        if (e) return e;
        if (m[list].last - m[list].filed > m[longest].last - m[longest].filed) longest = list;
    }
    int64_t behind = m[longest].last - m[longest].filed;
    if (behind < least) return OK;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    return file(db, longest, &m[longest], STEP_MOST);
}

enum err filing_open(struct db *db)
{
    enum err e = OK;
    for (enum filing list = 0; !db_is_postgres(db) && !e && list < FILINGS; list++) {
        struct marks m;
        e = read_marks(db, list, &m);
        if (!e && m.last > m.filed) e = file(db, list, &m, INT64_MAX);
    }
    return e;
}
