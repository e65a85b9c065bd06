/* tests/sim/crash.c - see crash.h. */
#include "crash.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK 512
#define PENDING_MAX 65536

struct undo {
    enum disk_name file;
    bool is_size;
    int64_t offset, length, size;
    bool existed;
    size_t bytes;
};

struct crash {
    struct disk *image;
    const struct disk *run;
    bool lies;
    size_t step;
    size_t pending[PENDING_MAX]; /* operations that are not certain, in order */
    size_t pending_count;
    struct undo *undo;
    size_t undo_count, undo_capacity;
    uint8_t *saved;
    size_t saved_used, saved_capacity;
    bool is_made;
    uint64_t hash; /* of the image as it is */
};

static uint64_t block_hash(const struct disk_file *f, int file, int64_t block)
{
    int64_t at = block * BLOCK, n = f->size - at < BLOCK ? f->size - at : BLOCK;
    uint64_t h = (uint64_t)block * 8 + (uint64_t)file, word;
    for (int64_t i = 0; i + 8 <= n; i += 8) {
        memcpy(&word, f->data + at + i, 8);
        h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
        h ^= h >> 29;
    }
    for (int64_t i = n & ~INT64_C(7); i < n; i++) h = (h ^ f->data[at + i]) * UINT64_C(0x100000001b3);
    return random_mix(h);
}

static uint64_t range_hash(const struct disk_file *f, int file, int64_t from, int64_t to)
{
    uint64_t h = 0;
    if (to > f->size) to = f->size;
    for (int64_t b = from / BLOCK; b * BLOCK < to; b++) h += block_hash(f, file, b);
    return h;
}

static uint64_t size_hash(const struct disk_file *f, int file)
{
    return random_mix((uint64_t)f->size * 16 + (uint64_t)file * 2 + f->exists + UINT64_C(0x1234567800000000));
}

static uint64_t whole_hash(const struct disk *d)
{
    uint64_t h = 0;
    for (int i = 0; i < DISK_FILES; i++) h += size_hash(&d->files[i], i) + range_hash(&d->files[i], i, 0, INT64_MAX);
    return h;
}

static void save(struct crash *c, enum disk_name name, int64_t offset, int64_t length)
{
    const struct disk_file *f = &c->image->files[name];
    if (c->undo_count == c->undo_capacity) {
        c->undo_capacity = c->undo_capacity ? c->undo_capacity * 2 : 1024;
        c->undo = realloc(c->undo, c->undo_capacity * sizeof *c->undo);
        if (!c->undo) abort();
    }
    if (offset > f->size) offset = f->size;
    if (offset + length > f->size) length = f->size - offset;
    while (c->saved_used + (size_t)length > c->saved_capacity) {
        c->saved_capacity = c->saved_capacity ? c->saved_capacity * 2 : 1 << 20;
        c->saved = realloc(c->saved, c->saved_capacity);
        if (!c->saved) abort();
    }
    c->undo[c->undo_count++] = (struct undo){.file = name,
                                             .offset = offset,
                                             .length = length,
                                             .size = f->size,
                                             .existed = f->exists,
                                             .bytes = c->saved_used};
    if (length) memcpy(c->saved + c->saved_used, f->data + offset, (size_t)length);
    c->saved_used += (size_t)length;
}

/* A part of a write, or a whole operation of another kind, reaches the image. `keep`: it can be undone. */
static void apply(struct crash *c, const struct disk_op *op, int64_t from, int64_t length, bool keep)
{
    struct disk_file *f = &c->image->files[op->file];
    int file = (int)op->file;
    int64_t start = op->kind == DISK_WRITE ? op->offset + from : op->length;
    int64_t end = op->kind == DISK_WRITE ? start + length : INT64_MAX;
    if (op->kind == DISK_DELETE) start = 0;
    if (op->kind == DISK_CREATE || start > f->size) start = f->size; /* a hole reads as zeros */
    if (end < f->size && end != INT64_MAX && op->kind != DISK_WRITE) end = INT64_MAX;
    if (keep) save(c, op->file, start, end == INT64_MAX ? f->size - start : end - start);
    c->hash -= size_hash(f, file) + range_hash(f, file, start, end);
    switch (op->kind) {
    case DISK_WRITE: disk_file_write(f, op->offset + from, c->run->bytes + op->bytes + from, length); break;
    case DISK_TRUNCATE: disk_file_truncate(f, op->length); break;
    case DISK_DELETE: disk_file_truncate(f, 0); break;
    default: break;
    }
    f->exists = op->kind != DISK_DELETE;
    c->hash += size_hash(f, file) + range_hash(f, file, start, end);
}

void crash_undo(struct crash *c)
{
    if (!c->is_made) return;
    while (c->undo_count) {
        const struct undo *u = &c->undo[--c->undo_count];
        struct disk_file *f = &c->image->files[u->file];
        int file = (int)u->file;
        /* A file that was longer is cut, one that was shorter gets its end back. */
        int64_t end = f->size > u->size ? INT64_MAX : u->offset + u->length;
        c->hash -= size_hash(f, file) + range_hash(f, file, u->offset, end);
        disk_file_truncate(f, u->size);
        if (u->length) memcpy(f->data + u->offset, c->saved + u->bytes, (size_t)u->length);
        f->exists = u->existed;
        c->hash += size_hash(f, file) + range_hash(f, file, u->offset, end);
    }
    c->saved_used = 0;
    c->is_made = false;
}

struct crash *crash_new(struct disk *image, const struct disk *start, const struct disk *run, bool lies)
{
    struct crash *c = calloc(1, sizeof *c);
    if (!c) abort();
    disk_copy(image, start);
    c->image = image;
    c->run = run;
    c->lies = lies;
    c->hash = whole_hash(image);
    return c;
}

void crash_free(struct crash *c)
{
    crash_undo(c);
    free(c->undo);
    free(c->saved);
    free(c);
}

size_t crash_step(const struct crash *c)
{
    return c->step;
}

uint64_t crash_hash(const struct crash *c)
{
    return c->hash;
}

/* What was pending for this file is certain now. */
static void settle(struct crash *c, enum disk_name file)
{
    size_t left = 0;
    for (size_t i = 0; i < c->pending_count; i++) {
        const struct disk_op *op = &c->run->log[c->pending[i]];
        if (op->file == file)
            apply(c, op, 0, op->length, false);
        else
            c->pending[left++] = c->pending[i];
    }
    c->pending_count = left;
}

/* Which files there are is certain now. What was written to a file before it was deleted does not matter any more. */
static void settle_folder(struct crash *c)
{
    size_t left = 0;
    for (size_t i = 0; i < c->pending_count; i++) {
        const struct disk_op *op = &c->run->log[c->pending[i]];
        if (op->kind != DISK_CREATE && op->kind != DISK_DELETE) {
            c->pending[left++] = c->pending[i];
            continue;
        }
        apply(c, op, 0, 0, false);
        size_t kept = 0;
        for (size_t n = 0; n < left; n++)
            if (op->kind != DISK_DELETE || c->run->log[c->pending[n]].file != op->file)
                c->pending[kept++] = c->pending[n];
        left = kept;
    }
    c->pending_count = left;
}

bool crash_next(struct crash *c)
{
    crash_undo(c);
    if (c->step == c->run->steps) return false;
    const struct disk_op *op = &c->run->log[c->step];
    if (op->kind == DISK_SYNC_FOLDER) {
        if (!c->lies) settle_folder(c);
    } else if (op->kind != DISK_SYNC) {
        if (c->pending_count == PENDING_MAX) settle(c, op->file);
        c->pending[c->pending_count++] = c->step;
    } else if (!c->lies) {
        settle(c, op->file);
    }
    c->step++;
    return true;
}

static void apply_some(struct crash *c, const struct disk_op *op, int64_t sector, struct random *r, uint32_t keep)
{
    if (op->kind != DISK_WRITE) {
        if (random_under(r, 100) < keep) apply(c, op, 0, op->length, true);
        return;
    }
    for (int64_t at = 0; at < op->length;) {
        int64_t end = (op->offset + at) / sector * sector + sector - op->offset;
        if (end > op->length) end = op->length;
        if (random_under(r, 100) < keep) apply(c, op, at, end - at, true);
        at = end;
    }
}

bool crash_make(struct crash *c, enum crash_kind kind, uint64_t seed)
{
    struct random r;
    random_seed(&r, seed);
    crash_undo(c);
    c->is_made = true;
    if (kind == CRASH_LOST) return true;
    if (!c->pending_count) return false;
    static const uint32_t shares[] = {20, 50, 80, 95};
    uint32_t keep = shares[random_under(&r, 4)];
    for (size_t i = 0; i < c->pending_count; i++) {
        const struct disk_op *op = &c->run->log[c->pending[i]];
        bool is_last = i + 1 == c->pending_count;
        if (kind == CRASH_KEPT || (kind == CRASH_TORN && !is_last))
            apply(c, op, 0, op->length, true);
        else
            apply_some(c, op, kind == CRASH_SOME_4096 ? 4096 : 512, &r, keep);
    }
    return true;
}
