/* backup/walk.c - see walk.h. */
#include "backup/walk.h"

#include <sodium.h>
#include <stdio.h>

struct walk {
    const struct backup_visitor *v;
    void *ctx;
    char *why;
    enum { AT_START, AT_TOP, IN_FILE, IN_TABLE, AT_END } place;
    struct backup_totals seen, said;
    int64_t file_left;
    crypto_generichash_state file_hash;
    struct table_sum sum;
    int64_t frames;
};

static enum err damaged(struct walk *w, const char *why)
{
    snprintf(w->why, ARCHIVE_WHY_BYTES, "the backup contradicts itself: %s", why);
    return ERR_INVALID_STATE;
}

#define CALL(w, what, ...) ((w)->v->what ? (w)->v->what((w)->ctx, ##__VA_ARGS__) : OK)

static enum err on_head(struct walk *w, Str body)
{
    struct backup_head h;
    if (!head_unpack(body, &h)) return damaged(w, "its first frame");
    w->place = AT_TOP;
    return CALL(w, head, &h);
}

static enum err on_file(struct walk *w, Str body)
{
    Str key;
    if (!file_unpack(body, &key, &w->file_left)) return damaged(w, "the name of a file");
    w->place = IN_FILE;
    w->seen.files++;
    w->seen.file_bytes += w->file_left;
    crypto_generichash_init(&w->file_hash, NULL, 0, crypto_generichash_BYTES);
    return CALL(w, file, key, w->file_left);
}

static enum err on_bytes(struct walk *w, Str body)
{
    w->file_left -= (int64_t)body.len;
    if (w->file_left < 0) return damaged(w, "a file is too long");
    crypto_generichash_update(&w->file_hash, (const unsigned char *)body.ptr, body.len);
    return CALL(w, bytes, body);
}

static enum err on_file_end(struct walk *w, Str body)
{
    unsigned char hash[crypto_generichash_BYTES];
    crypto_generichash_final(&w->file_hash, hash, sizeof hash);
    if (w->file_left || !str_eq(body, (Str){(char *)hash, sizeof hash})) return damaged(w, "a file has the wrong hash");
    w->place = AT_TOP;
    return CALL(w, file_end);
}

static enum err on_table(struct walk *w, Str body)
{
    Str name;
    if (!table_unpack_name(body, &name)) return damaged(w, "the name of a table");
    w->place = IN_TABLE;
    w->sum = (struct table_sum){0};
    w->seen.tables++;
    return CALL(w, table, name, body);
}

static enum err on_row(struct walk *w, Str body)
{
    table_sum_add(&w->sum, body);
    w->seen.rows++;
    return CALL(w, row, body);
}

static enum err on_table_end(struct walk *w, Str body)
{
    struct table_sum sum;
    int64_t last_id;
    if (!table_end_unpack(body, &sum, &last_id) || !table_sum_equal(&sum, &w->sum))
        return damaged(w, "a table has other rows than it says");
    w->place = AT_TOP;
    return CALL(w, table_end, &sum, last_id);
}

static enum err on_end(struct walk *w, Str body)
{
    const struct backup_totals *a = &w->seen, *b = &w->said;
    if (!totals_unpack(body, &w->said) || a->tables != b->tables || a->rows != b->rows || a->files != b->files ||
        a->file_bytes != b->file_bytes || a->missing != b->missing)
        return damaged(w, "its totals");
    w->place = AT_END;
    return OK;
}

static enum err on_frame(struct walk *w, enum frame_kind kind, Str body)
{
    bool at_top = w->place == AT_TOP, in_file = w->place == IN_FILE, in_table = w->place == IN_TABLE;
    if (kind == FRAME_HEAD && w->place == AT_START) return on_head(w, body);
    if (kind == FRAME_KEY && at_top) return CALL(w, key, body);
    if (kind == FRAME_FILE && at_top) return on_file(w, body);
    if (kind == FRAME_BYTES && in_file) return on_bytes(w, body);
    if (kind == FRAME_FILE_END && in_file) return on_file_end(w, body);
    if (kind == FRAME_MISSING && at_top) {
        w->seen.missing++;
        return OK;
    }
    if (kind == FRAME_TABLE && at_top) return on_table(w, body);
    if (kind == FRAME_ROW && in_table) return on_row(w, body);
    if (kind == FRAME_TABLE_END && in_table) return on_table_end(w, body);
    if (kind == FRAME_END && at_top) return on_end(w, body);
    return damaged(w, "a frame in the wrong place");
}

enum err backup_walk(const char *path, const struct archive_key *key, const struct backup_visitor *v, void *ctx,
                     struct backup_totals *ret, char *ret_why)
{
    struct archive_reader *r = archive_open(path, key, ret_why);
    if (!r) return ERR_INVALID_STATE;
    struct walk w = {.v = v, .ctx = ctx, .why = ret_why};
    enum err e = OK;
    enum frame_kind kind;
    Str body;
    while (!e && archive_next(r, &kind, &body)) {
        e = on_frame(&w, kind, body);
        if (v->tell && ++w.frames % 1024 == 0) v->tell(ctx, archive_read_bytes(r));
    }
    if (!e) e = archive_error(r, ret_why);
    if (!e && w.place != AT_END) e = damaged(&w, "its end is missing");
    archive_close(r);
    if (!e) *ret = w.seen;
    return e;
}
