/* backup/make.c - see make.h. */
#include "backup/make.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/product_files.h"
#include "db/migrate.h"
#include "domain/download_link.h"

#define TELL_NS INT64_C(500000000)
#define SNAPSHOTS_MAX 5
#define PART_BYTES (128 * 1024)

struct making {
    const struct backup_plan *plan;
    struct archive_writer *archive;
    struct arena memory;
    struct schema_table *tables;
    size_t table_count;
    struct product_file *copied; /* files in the archive */
    size_t copied_count, copied_cap;
    int snapshots; /* tried */
    bool rows_begun;
    struct backup_totals totals;
    struct backup_state state;
    int64_t told_ns;
    char *why;
};

static bool is_stopped(const struct making *m)
{
    return m->plan->stop && atomic_load(m->plan->stop);
}

static void tell(struct making *m)
{
    int64_t now = time_monotonic_ns();
    if (!m->plan->tell || now - m->told_ns < TELL_NS) return;
    m->told_ns = now;
    m->state.rows = m->totals.rows;
    m->state.bytes = archive_bytes(m->archive);
    m->plan->tell(m->plan->ctx, &m->state);
}

static bool is_copied(const struct making *m, Str key)
{
    for (size_t i = 0; i < m->copied_count; i++)
        if (str_eq(m->copied[i].key, key)) return true;
    return false;
}

static void note_copied(struct making *m, Str key, int64_t bytes)
{
    if (m->copied_count == m->copied_cap) {
        size_t cap = m->copied_cap ? 2 * m->copied_cap : 64;
        m->copied = arena_grow(&m->memory, m->copied, m->copied_cap * sizeof *m->copied, cap * sizeof *m->copied);
        m->copied_cap = cap;
    }
    m->copied[m->copied_count++] = (struct product_file){str_dup(&m->memory, key), bytes};
    m->totals.files++;
    m->totals.file_bytes += bytes;
}

/* The file's bytes, as many as it had when it was opened. */
static enum err copy_bytes(struct making *m, int fd, int64_t left, crypto_generichash_state *hash)
{
    char part[PART_BYTES];
    while (left > 0) {
        ssize_t n = read(fd, part, left < PART_BYTES ? (size_t)left : PART_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            snprintf(m->why, ARCHIVE_WHY_BYTES, "a product file cannot be read: %s",
                     n < 0 ? strerror(errno) : "too short");
            return ERR_UNAVAILABLE;
        }
        crypto_generichash_update(hash, (unsigned char *)part, (size_t)n);
        if (!archive_put(m->archive, FRAME_BYTES, (Str){part, (size_t)n})) return ERR_UNAVAILABLE;
        if (is_stopped(m)) return ERR_UNAVAILABLE;
        left -= n;
        tell(m);
    }
    return OK;
}

/* ERR_NOT_FOUND: there is no such file. */
static enum err copy_file(struct making *m, Str key)
{
    struct arena scratch = {0};
    struct stat info;
    int fd = download_open(m->plan->data_dir, key);
    if (fd < 0) return ERR_NOT_FOUND;
    enum err e = fstat(fd, &info) == 0 ? OK : ERR_UNAVAILABLE;
    crypto_generichash_state hash;
    unsigned char digest[crypto_generichash_BYTES];
    crypto_generichash_init(&hash, NULL, 0, sizeof digest);
    if (!e) archive_put(m->archive, FRAME_FILE, file_pack(&scratch, key, info.st_size));
    if (!e) e = copy_bytes(m, fd, info.st_size, &hash);
    crypto_generichash_final(&hash, digest, sizeof digest);
    if (!e) archive_put(m->archive, FRAME_FILE_END, (Str){(char *)digest, sizeof digest});
    if (!e) note_copied(m, key, info.st_size);
    close(fd);
    arena_done(&scratch);
    return e;
}

struct listing {
    struct product_file *files;
    size_t count;
};

static enum err list_files(void *arg, struct db *db)
{
    struct listing *l = arg;
    return product_files_list(db, &l->files, &l->count);
}

/* Before the snapshot: those that are missing may just have been replaced. */
static enum err copy_files_early(struct making *m)
{
    struct arena scratch = {0};
    struct listing l = {0};
    m->state.doing = STR("files");
    enum err e = tx_call(m->plan->database, TX_READ, list_files, &l, &scratch);
    for (size_t i = 0; !e && i < l.count; i++) {
        e = copy_file(m, l.files[i].key);
        if (e == ERR_NOT_FOUND) e = OK;
    }
    arena_done(&scratch);
    return e;
}

/* The snapshot's files that are not there yet. One that is gone was replaced since the snapshot was taken, and a later
 * snapshot does not need it (ERR_CONFLICT); or it is missing for good, which the backup says. */
static enum err copy_files_late(struct making *m, struct db *db)
{
    struct listing l;
    enum err e = list_files(&l, db);
    for (size_t i = 0; !e && i < l.count; i++) {
        if (is_copied(m, l.files[i].key)) continue;
        e = copy_file(m, l.files[i].key);
        if (e != ERR_NOT_FOUND) continue;
        if (m->snapshots < SNAPSHOTS_MAX) return ERR_CONFLICT;
        archive_put(m->archive, FRAME_MISSING, l.files[i].key);
        m->totals.missing++;
        e = OK;
    }
    return e;
}

static enum err put_row(void *ctx, Str row)
{
    struct making *m = ctx;
    if (!archive_put(m->archive, FRAME_ROW, row) || is_stopped(m)) return ERR_UNAVAILABLE;
    if (++m->totals.rows % 256 == 0) tell(m);
    return OK;
}

static enum err put_table(struct making *m, struct db *db, const struct schema_table *t)
{
    struct arena scratch = {0};
    struct table_sum sum;
    int64_t last_id = 0;
    m->state.doing = t->name;
    m->totals.tables++;
    archive_put(m->archive, FRAME_TABLE, table_pack(&scratch, t));
    enum err e = table_read(db, t, put_row, m, &sum);
    if (!e) e = table_last_id(db, t, &last_id);
    if (!e) archive_put(m->archive, FRAME_TABLE_END, table_end_pack(&scratch, &sum, last_id));
    arena_done(&scratch);
    return e;
}

static enum err snapshot(void *arg, struct db *db)
{
    struct making *m = arg;
    if (m->rows_begun) return ERR_UNAVAILABLE; /* the connection was lost, and with it the snapshot */
    m->snapshots++;
    enum err e = table_read_long(db);
    if (!e) e = copy_files_late(m, db);
    if (!e) e = schema_read(db, &m->memory, &m->tables, &m->table_count);
    if (e) return e;
    m->rows_begun = true;
    for (size_t i = 0; !e && i < m->table_count; i++) e = put_table(m, db, &m->tables[i]);
    return e;
}

static void put_head(struct making *m, Time now)
{
    char hash[MIGRATE_HASH_CHARS + 1];
    migrate_hash(migrate_version(), hash);
    struct backup_head h = {.program = str_from(m->plan->program),
                            .engine = database_is_sqlite(m->plan->database) ? STR("sqlite") : STR("postgres"),
                            .schema = migrate_version(),
                            .schema_hash = str_from(hash),
                            .made_at = now};
    archive_put(m->archive, FRAME_HEAD, head_pack(&m->memory, &h));
    if (m->plan->sealed_key.len) archive_put(m->archive, FRAME_KEY, m->plan->sealed_key);
}

static enum err put_everything(struct making *m)
{
    enum err e = copy_files_early(m);
    if (e) return e;
    do {
        struct arena scratch = {0};
        e = tx_call(m->plan->database, TX_READ, snapshot, m, &scratch);
        arena_done(&scratch);
    } while (e == ERR_CONFLICT);
    if (!e) archive_put(m->archive, FRAME_END, totals_pack(&m->memory, &m->totals));
    return e;
}

static void give_up(struct making *m, enum err e)
{
    const char *failure = archive_failure(m->archive);
    if (m->why[0])
        ; /* said where it happened */
    else if (failure)
        snprintf(m->why, ARCHIVE_WHY_BYTES, "the backup %s cannot be written: %s", m->plan->to, failure);
    else if (is_stopped(m))
        snprintf(m->why, ARCHIVE_WHY_BYTES, "the backup was given up: the program ends");
    else
        snprintf(m->why, ARCHIVE_WHY_BYTES, "the database cannot be read: %s", err_info(e)->message);
    archive_drop(m->archive);
}

enum err backup_make(const struct backup_plan *plan, struct backup_made *ret, char *ret_why)
{
    struct backup_made made = {.made_at = time_now()};
    struct making m = {
        .plan = plan, .why = ret_why, .archive = archive_create(plan->to, plan->recipient, made.stream_key, ret_why)};
    if (!m.archive) return ERR_UNAVAILABLE;
    ret_why[0] = '\0';
    put_head(&m, made.made_at);
    enum err e = put_everything(&m);
    made.totals = m.totals;
    if (e)
        give_up(&m, e);
    else
        e = archive_keep(m.archive, &made.bytes, ret_why);
    arena_done(&m.memory);
    if (!e) *ret = made;
    return e;
}
