/* domain/filing.c - see filing.h. */
#include "domain/filing.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "db/rows.h"
#include "db/tx.h"

#define BATCH_MOST 32768    /* rows */
#define OPEN_MOST (1 << 20) /* rows of a list that are sorted at once, in memory: about 50 bytes for each */
#define READ_MOST 32768     /* at once, on a loop's thread */
#define SCAN_MOST 65536     /* the same without memory */
#define TAIL_MOST (1 << 20) /* in memory: more than that wait only after an import beside a running server */
#define SAMPLE 64           /* one row in so many is looked at to part a batch into slices */
#define SAMPLES_MOST (BATCH_MOST / SAMPLE)
/* What a slice takes, about: for as many rows, and as many pages, as a sample stands for. */
#define SLICE_US 10000
#define ROWS_US 74
#define PAGES_US 512
#define PAGE_ENTRIES 300
#define IDS_BYTES_MAX (64 * 1024 * 1024)

/* A list of the rows of `table`, by `owner`, which is the column `column` of what is filed; `more` may be " AND …".
 * Marks: up to where rows are filed, and the last row. */
#define FILES(name, list, table, owner, column, more)                                                                  \
    static const char sqlite_##name##_marks[] = "SELECT up_to, until, owner, COALESCE((SELECT MAX(id) FROM " table     \
                                                "), 0) FROM filing WHERE list = '" list "'";                           \
    static const char sqlite_##name##_until[] =                                                                        \
        "SELECT MAX(id) FROM (SELECT id FROM " table " WHERE id > $1 ORDER BY id LIMIT $2)";                           \
    static const char sqlite_##name##_file[] =                                                                         \
        "INSERT OR IGNORE INTO " list "_filed (" column ", id) SELECT " owner ", id FROM " table                       \
        " WHERE id > $1 AND id <= $2 AND " owner " > $3 AND " owner " <= $4" more " ORDER BY " owner ", id";           \
    static const char sqlite_##name##_mark[] =                                                                         \
        "UPDATE filing SET up_to = $1, until = $2, owner = $3 WHERE list = '" list "'"
#define FILES_OF(name)                                                                                                 \
    .marks = sqlite_##name##_marks, .until = sqlite_##name##_until, .file = sqlite_##name##_file,                      \
    .mark = sqlite_##name##_mark

/* One that is read as a list. */
#define LISTS(name, table, owner, more)                                                                                \
    FILES(name, table, table, owner, owner, more);                                                                     \
    static const char sqlite_##name##_added[] =                                                                        \
        "SELECT id, " owner " FROM " table " WHERE id > $1 AND id <= $2" more " ORDER BY id LIMIT $3";                 \
    static const char sqlite_##name##_behind[] =                                                                       \
        "SELECT id FROM " table " WHERE id > $1 AND id < $2 AND " owner " = $3 ORDER BY id DESC LIMIT $4";             \
    static const char sqlite_##name##_filed[] =                                                                        \
        "SELECT id FROM " table "_filed WHERE " owner " = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
#define LISTS_OF(name)                                                                                                 \
    {                                                                                                                  \
        FILES_OF(name), .added = sqlite_##name##_added, .behind = sqlite_##name##_behind,                              \
                        .filed = sqlite_##name##_filed                                                                 \
    }

LISTS(orders, "orders", "account_id", "");
LISTS(license, "license", "account_id", "");
LISTS(transfer, "transfer", "debit_id", " AND debit_id > 7"); /* nobody lists a system account */
FILES(key, "license_key", "license", "substr(key_hash, 1, 8)", "key_start", "");

static const struct texts {
    const char *marks, *until, *file, *mark, *added, *behind, *filed;
} texts[FILINGS] = {
    [FILING_ORDERS] = LISTS_OF(orders),
    [FILING_LICENSES] = LISTS_OF(license),
    [FILING_DEBITS] = LISTS_OF(transfer),
    [FILING_KEYS] = {FILES_OF(key)},
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
} tails[FILING_KEYS] = {
    {.lock = PTHREAD_MUTEX_INITIALIZER}, {.lock = PTHREAD_MUTEX_INITIALIZER}, {.lock = PTHREAD_MUTEX_INITIALIZER}};

/* Rows behind `filed` and up to `until`, if that is further, are a batch that is being filed: those of owners up to
 * `owner` are done. Nobody reads them there before `filed` has passed them. */
struct marks {
    int64_t filed, until, owner, last;
};

static bool is_begun(const struct marks *m)
{
    return m->until > m->filed;
}

static enum err read_marks(struct db *db, enum filing list, struct marks *ret)
{
    *ret = (struct marks){0};
    struct stmt *st = db_prepare(db, texts[list].marks);
    bool found = db_step(st);
    if (found) {
        ret->filed = col_int(st);
        ret->until = col_int(st);
        ret->owner = col_int(st);
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

/* Under the lock. Where to read on; what is known of another database, or ends before the mark, is forgotten. Who began
 * before somebody else's commit was noticed has nothing to add, and nobody when memory is full. */
static int64_t begin(struct tail *t, int64_t epoch, const struct marks *m)
{
    if (t->epoch > epoch) return INT64_MAX;
    if (t->epoch != epoch || t->to < m->filed) {
        t->epoch = epoch;
        t->from = t->to = m->filed;
        t->count = 0;
    }
    forget_filed(t, m->filed);
    return t->count + READ_MOST > TAIL_MOST ? INT64_MAX : t->to;
}

/* Under the lock. `rows` are all behind `to` and up to `end`; others may have added some of them meanwhile. */
static void append(struct tail *t, int64_t to, int64_t end, const struct added *rows, size_t count)
{
    if (t->to < to || t->to >= end) return;
    size_t known = 0;
    while (known < count && rows[known].id <= t->to) known++;
    if (!has_room(t, count - known)) return;
    if (count > known) memcpy(t->rows + t->count, rows + known, (count - known) * sizeof *rows);
    t->count += count - known;
    t->to = end;
}

/* Reads into memory what was committed since, not too much at once. Others do not wait while it reads. */
static enum err follow(struct db *db, enum filing list, const struct marks *m)
{
    struct tail *t = &tails[list];
    int64_t epoch = db_epoch(db);
    pthread_mutex_lock(&t->lock);
    int64_t to = begin(t, epoch, m);
    pthread_mutex_unlock(&t->lock);
    if (to >= m->last) return OK;
    struct added *rows;
    size_t count;
    struct stmt *st = db_prepare(db, texts[list].added);
    bind_int(st, to);
    bind_int(st, m->last);
    bind_int(st, READ_MOST);
    enum err e = db_rows(st, read_added, ROWS_ALL, &rows, &count);
    if (e) return e;
    int64_t end = count == READ_MOST ? rows[count - 1].id : m->last;
    pthread_mutex_lock(&t->lock);
    if (t->epoch == epoch) append(t, to, end, rows, count);
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
    if (db_is_on_loop(db) && m->last - m->filed > SCAN_MOST) return ERR_RUN_ALONE;
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

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

struct samples {
    size_t count, owner_count;
    int64_t ids[SAMPLES_MOST], owners[SAMPLES_MOST]; /* each sorted */
};

/* Some of the rows that are left of a batch. They are out of memory, whatever that has: it only matters for how long a
 * slice takes. */
static void take_samples(enum filing list, const struct marks *m, struct samples *ret)
{
    struct tail *t = &tails[list];
    size_t seen = 0;
    ret->count = ret->owner_count = 0;
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < t->count && t->rows[i].id <= m->until && ret->count < SAMPLES_MOST; i++) {
        if (t->rows[i].id <= m->filed || t->rows[i].owner <= m->owner || ++seen % SAMPLE) continue;
        ret->ids[ret->count] = t->rows[i].id;
        ret->owners[ret->count++] = t->rows[i].owner;
    }
    pthread_mutex_unlock(&t->lock);
    qsort(ret->owners, ret->count, sizeof *ret->owners, by_value);
    for (size_t i = 0; i < ret->count; i++) ret->owner_count += !i || ret->owners[i] != ret->owners[i - 1];
}

/* The next slice of a batch: all owners up to a row, or all rows up to an owner. */
struct filing_slice {
    int64_t until, owner;
};

/* Of many owners, each row has a page of the list to itself, until there are more rows than pages. */
static int64_t us_of_new_owner(const struct marks *m)
{
    int64_t pages = m->filed / PAGE_ENTRIES + 1, rows = m->until - m->filed;
    return ROWS_US + (rows > pages ? PAGES_US / (rows / pages) : PAGES_US);
}

/* Hashes are as many everywhere. */
static struct filing_slice next_slice_of_keys(const struct marks *m)
{
    uint64_t done = (uint64_t)m->owner - (uint64_t)INT64_MIN;
    uint64_t slices = (uint64_t)((m->until - m->filed) / SAMPLE * us_of_new_owner(m) / SLICE_US) + 1;
    uint64_t width = UINT64_MAX / slices;
    if (UINT64_MAX - done <= width) return (struct filing_slice){m->until, INT64_MAX};
    return (struct filing_slice){m->until, (int64_t)(done + width + (uint64_t)INT64_MIN)};
}

/* Few owners have pages in common whatever is filed; of many, a slice has those whose pages are beside one another, and
 * looks through the whole batch for them. */
static struct filing_slice next_slice(enum filing list, const struct marks *m)
{
    enum { ROWS_MOST = SLICE_US / ROWS_US };
    if (list == FILING_KEYS) return next_slice_of_keys(m);
    struct samples s;
    struct filing_slice all = {m->until, INT64_MAX};
    take_samples(list, m, &s);
    if (m->owner == INT64_MIN && 2 * s.owner_count <= s.count)
        return s.count > ROWS_MOST ? (struct filing_slice){s.ids[ROWS_MOST - 1], INT64_MAX} : all;
    int64_t us = 0, us_of_new = us_of_new_owner(m);
    for (size_t i = 0; i < s.count; i++) {
        us += i && s.owners[i] == s.owners[i - 1] ? ROWS_US : us_of_new;
        if (us >= SLICE_US) return (struct filing_slice){m->until, s.owners[i]};
    }
    return all;
}

static enum err set_marks(struct db *db, enum filing list, int64_t filed, int64_t until, int64_t owner)
{
    struct stmt *st = db_prepare(db, texts[list].mark);
    bind_int(st, filed);
    bind_int(st, until);
    bind_int(st, owner);
    return db_run(st);
}

/* A bound of a slice. That of keys is the beginning of a hash, in the order of such: before all of them, and behind. */
static void bind_owner(struct stmt *st, struct db *db, enum filing list, int64_t owner)
{
    if (list != FILING_KEYS) {
        bind_int(st, owner);
        return;
    }
    uint64_t place = (uint64_t)owner - (uint64_t)INT64_MIN;
    char *bytes = arena_array(db_arena(db), char, KEY_START_BYTES + 1);
    for (int n = KEY_START_BYTES - 1; n >= 0; n--, place >>= 8) bytes[n] = (char)(uint8_t)place;
    bytes[KEY_START_BYTES] = 0;
    bind_blob(st, (Str){bytes, owner == INT64_MIN ? 0 : owner == INT64_MAX ? KEY_START_BYTES + 1 : KEY_START_BYTES});
}

static enum err file(struct db *db, enum filing list, const struct marks *m, struct filing_slice slice)
{
    struct stmt *st = db_prepare(db, texts[list].file);
    bind_int(st, m->filed);
    bind_int(st, slice.until);
    bind_owner(st, db, list, m->owner);
    bind_owner(st, db, list, slice.owner);
    enum err e = db_run(st);
    if (e) return e;
    if (slice.owner != INT64_MAX) return set_marks(db, list, m->filed, m->until, slice.owner);
    return set_marks(db, list, slice.until, slice.until < m->until ? m->until : 0, INT64_MIN);
}

/* Up to where the next `most` rows go. */
static enum err find_until(struct db *db, enum filing list, int64_t most, struct marks *m)
{
    m->owner = INT64_MIN;
    m->until = m->last;
    if (m->last - m->filed <= most) return OK;
    struct stmt *st = db_prepare(db, texts[list].until);
    bind_int(st, m->filed);
    bind_int(st, most);
    if (db_step(st)) m->until = col_int(st);
    return db_done(st);
}

/* The next slice of a batch, or the first. */
static enum err file_slice(struct db *db, enum filing list, struct marks *m)
{
    /* The writer's own: the epoch of the batch. Set only when the database knows of none: a slice may be undone. */
    static int64_t begun_in[FILINGS];

    if (is_begun(m)) {
        bool is_ours = begun_in[list] == db_epoch(db); /* or rows of owners that are done may be others by now */
        return is_ours ? file(db, list, m, next_slice(list, m)) : set_marks(db, list, m->filed, 0, INT64_MIN);
    }
    begun_in[list] = db_epoch(db);
    enum err e = find_until(db, list, BATCH_MOST, m);
    return e ? e : file(db, list, m, next_slice(list, m));
}

enum err filing_step(struct db *db, int64_t least)
{
    if (db_is_postgres(db)) return OK;
    int64_t most = 0;
    enum filing next = 0;
    struct marks m[FILINGS];
    for (enum filing list = 0; list < FILINGS; list++) {
        enum err e = read_marks(db, list, &m[list]);
        if (!e && !db_can_write(db) && list != FILING_KEYS) e = follow(db, list, &m[list]);
        if (e) return e;
        int64_t behind = is_begun(&m[list]) ? INT64_MAX : m[list].last - m[list].filed;
        if (list == FILING_KEYS && behind < FILING_WORTH) continue; /* each would have a page of its own */
        if (behind > most) most = behind, next = list;
    }
    if (most < least) return OK;
    return db_can_write(db) ? file_slice(db, next, &m[next]) : ERR_NEEDS_WRITE;
}

enum err filing_open(struct db *db)
{
    enum err e = OK;
    for (enum filing list = 0; !db_is_postgres(db) && !e && list < FILINGS; list++) {
        struct marks m;
        e = read_marks(db, list, &m);
        if (e || m.last <= m.filed) continue;
        e = find_until(db, list, OPEN_MOST, &m);
        if (!e) e = file(db, list, &m, (struct filing_slice){m.until, INT64_MAX});
    }
    return e;
}

/* `arg` is told how many are left, about. */
static enum err open_some(void *arg, struct db *db)
{
    int64_t left = 0;
    enum err e = filing_open(db);
    for (enum filing list = 0; !db_is_postgres(db) && !e && list < FILINGS; list++) {
        struct marks m;
        e = read_marks(db, list, &m);
        if (m.last > m.filed) left += m.last - m.filed;
    }
    if (!e) *(int64_t *)arg = left;
    return e;
}

enum err filing_all(struct database *d)
{
    struct arena arena = {0};
    int64_t left = 0;
    enum err e;
    while (!(e = tx_call(d, TX_WRITE, open_some, &left, &arena)) && left) {
        log_event(LOG_INFO, "lists_are_filed", LOGI("rows_left", left));
        arena_reset(&arena);
    }
    arena_done(&arena);
    return e;
}
