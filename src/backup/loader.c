/* backup/loader.c - see loader.h. */
#include "backup/loader.h"

#include <stdio.h>

#include "base/pack.h"
#include "db/load.h"
#include "db/migrate.h"
#include "domain/filing.h"

/* A batch is a transaction, and a transaction is an fsync. */
#define BATCH_ROWS 20000
#define BATCH_BYTES (4 * 1024 * 1024)
#define BATCH_BYTES_MAX (ARCHIVE_FRAME_MAX + 2 * BATCH_BYTES)

static enum err say(struct loader *l, enum err e, const char *what)
{
    if (e) snprintf(l->why, ARCHIVE_WHY_BYTES, "%s: %s", what, err_info(e)->message);
    return e;
}

static enum err refuse(struct loader *l, const char *why)
{
    snprintf(l->why, ARCHIVE_WHY_BYTES, "%s", why);
    return ERR_CONFLICT;
}

/* Merely opening a SQLite file for writing would change it. */
static enum err look(struct loader *l, const char *url, enum migrate_state *ret)
{
    struct database_options options = {.url = url, .read_only = true, .workers = 1};
    struct database *d;
    int version;
    *ret = MIGRATE_EMPTY;
    enum err e = database_open(&options, &d, l->why, ARCHIVE_WHY_BYTES);
    if (e == ERR_NOT_FOUND) return OK;
    if (e) return e;
    e = migrate_look(d, ret, &version);
    database_close(d);
    return say(l, e, "the database cannot be read");
}

struct start {
    struct loader *l;
    Str source;
    bool has_another;
};

static enum err begin(void *arg, struct db *db)
{
    struct start *s = arg;
    Str source;
    if (!s->l->was_resumed) return load_begin(db, s->source);
    enum err e = load_source(db, &source);
    s->has_another = !e && !str_eq(source, s->source);
    return e;
}

static enum err clear(void *arg, struct db *db)
{
    struct loader *l = arg;
    enum err e = schema_read(db, &l->memory, &l->tables, &l->table_count);
    return e ? e : load_clear(db, l->tables, l->table_count);
}

static enum err prepare(struct loader *l, const struct loader_options *o)
{
    struct start s = {.l = l, .source = o->source};
    enum err e = say(l, tx_call(l->target, TX_WRITE, begin, &s, NULL), "the database cannot be prepared");
    if (!e && s.has_another)
        e = refuse(l, "the database is not empty: a restore, or a move of another store, was interrupted there."
                      " Remove it and make an empty one");
    if (!e) e = migrate_up_to(l->target, (int)o->schema, l->why, ARCHIVE_WHY_BYTES);
    if (!e) e = say(l, tx_call(l->target, TX_WRITE, clear, l, NULL), "the tables cannot be emptied");
    if (!e) l->sums = arena_array(&l->memory, struct table_sum, l->table_count + 1);
    return e;
}

static enum err suits(struct loader *l, const struct loader_options *o, enum migrate_state state)
{
    char hash[MIGRATE_HASH_CHARS + 1] = "";
    if (o->schema >= 1 && o->schema <= migrate_version()) migrate_hash((int)o->schema, hash);
    if (!hash[0] || !str_eq(str_from(hash), o->schema_hash))
        return refuse(l, "the rows have a schema that this program does not know: use the souk that they come from");
    if (state == MIGRATE_UNFINISHED && o->source.len) {
        l->was_resumed = true;
        return OK;
    }
    if (state != MIGRATE_EMPTY)
        return refuse(l, "the database is not empty: give one that does not exist, or has no tables");
    return OK;
}

enum err loader_open(const struct loader_options *o, struct loader *ret, char *ret_why)
{
    *ret = (struct loader){.why = ret_why};
    enum migrate_state state;
    enum err e = look(ret, o->url, &state);
    if (!e) e = suits(ret, o, state);
    if (e) return e;
    struct database_options options = {.url = o->url, .may_create = true, .loads = true, .workers = 1};
    e = database_open(&options, &ret->target, ret_why, ARCHIVE_WHY_BYTES);
    if (!e) e = prepare(ret, o);
    if (e) {
        loader_close(ret);
        return e;
    }
    buf_init(&ret->batch, &ret->batch_memory, BATCH_BYTES_MAX);
    return OK;
}

struct completeness {
    Str table;
    bool is_complete;
};

static enum err ask_complete(void *arg, struct db *db)
{
    struct completeness *c = arg;
    return load_is_complete(db, c->table, &c->is_complete);
}

enum err loader_has(struct loader *l, const struct schema_table *t, bool *ret)
{
    struct completeness c = {.table = t->name};
    enum err e = l->was_resumed ? tx_call(l->target, TX_READ, ask_complete, &c, NULL) : OK;
    *ret = c.is_complete;
    return say(l, e, "the journal of the move cannot be read");
}

enum err loader_table(struct loader *l, Str packed)
{
    Str name = {0};
    table_unpack_name(packed, &name);
    const struct schema_table *t = schema_find(l->tables, l->table_count, name);
    if (!t || !str_eq(table_pack(&l->memory, t), packed)) {
        snprintf(l->why, ARCHIVE_WHY_BYTES, "the table %.*s has other columns here than where its rows come from",
                 STR_FMT(name));
        return ERR_CONFLICT;
    }
    l->table = t;
    return OK;
}

struct flushing {
    struct loader *l;
    bool is_last;
    int64_t last_id;
};

static enum err write_batch(void *arg, struct db *db)
{
    struct flushing *f = arg;
    enum err e = f->l->batch.len ? table_insert(db, f->l->table, buf_str(&f->l->batch)) : OK;
    return e || !f->is_last ? e : load_complete(db, f->l->table, f->last_id);
}

static enum err flush(struct loader *l, bool is_last, int64_t last_id)
{
    struct flushing f = {l, is_last, last_id};
    if (l->batch.full) return refuse(l, "a row is too long");
    enum err e = tx_call(l->target, TX_WRITE, write_batch, &f, NULL);
    if (e)
        snprintf(l->why, ARCHIVE_WHY_BYTES, "rows of the table %.*s cannot be written: %s", STR_FMT(l->table->name),
                 err_info(e)->message);
    buf_reset(&l->batch);
    l->batch_rows = 0;
    return e;
}

enum err loader_row(struct loader *l, Str row)
{
    pack_bytes(&l->batch, row);
    l->batch_rows++;
    return l->batch_rows >= BATCH_ROWS || l->batch.len >= BATCH_BYTES ? flush(l, false, 0) : OK;
}

void loader_expect(struct loader *l, const struct schema_table *t, const struct table_sum *sum)
{
    const struct schema_table *own = schema_find(l->tables, l->table_count, t->name);
    if (own) l->sums[own - l->tables] = *sum;
}

enum err loader_table_end(struct loader *l, const struct table_sum *sum, int64_t last_id)
{
    loader_expect(l, l->table, sum);
    return flush(l, true, last_id);
}

/* What the database says about itself must be what came in. */
static enum err read_back(void *arg, struct db *db)
{
    struct loader *l = arg;
    Str broken = {0};
    enum err e = table_read_long(db);
    for (size_t i = 0; !e && i < l->table_count; i++) {
        struct table_sum sum;
        e = table_read(db, &l->tables[i], NULL, NULL, &sum);
        if (e || table_sum_equal(&sum, &l->sums[i])) continue;
        snprintf(l->why, ARCHIVE_WHY_BYTES,
                 "the table %.*s is not the same on both sides: %lld rows instead of %lld, or others",
                 STR_FMT(l->tables[i].name), (long long)sum.rows, (long long)l->sums[i].rows);
        return ERR_CONFLICT;
    }
    if (!e) e = load_check_references(db, &broken);
    if (e == ERR_INVALID_STATE)
        snprintf(l->why, ARCHIVE_WHY_BYTES, "a row of the table %.*s refers to one that is not there", STR_FMT(broken));
    return e;
}

static enum err end(void *arg, struct db *db)
{
    struct loader *l = arg;
    return load_end(db, l->tables, l->table_count);
}

enum err loader_finish(struct loader *l)
{
    struct arena scratch = {0};
    l->why[0] = '\0';
    enum err e = tx_call(l->target, TX_READ, read_back, l, &scratch);
    arena_done(&scratch);
    if (e && !l->why[0]) say(l, e, "the rows cannot be read back");
    if (!e) e = say(l, tx_call(l->target, TX_WRITE, end, l, NULL), "the database cannot be finished");
    int applied;
    if (!e) e = migrate_up(l->target, &applied, l->why, ARCHIVE_WHY_BYTES);
    /* So that the first start need not do it. It does, if there is no room here. */
    if (!e) filing_all(l->target);
    return e;
}

void loader_close(struct loader *l)
{
    database_close(l->target);
    l->target = NULL;
    arena_done(&l->batch_memory);
    arena_done(&l->memory);
}
