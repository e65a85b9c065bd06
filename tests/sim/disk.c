/* tests/sim/disk.c - see disk.h. */
#include "disk.h"

#include <stdlib.h>
#include <string.h>

static void *grow(void *p, size_t *capacity, size_t wanted, size_t item)
{
    if (wanted <= *capacity) return p;
    size_t n = *capacity ? *capacity : 1024;
    while (n < wanted) n *= 2;
    p = realloc(p, n * item);
    if (!p) abort();
    *capacity = n;
    return p;
}

void disk_file_truncate(struct disk_file *f, int64_t length)
{
    if (length > f->capacity) {
        int64_t n = f->capacity ? f->capacity : 65536;
        while (n < length) n *= 2;
        f->data = realloc(f->data, (size_t)n);
        if (!f->data) abort();
        f->capacity = n;
    }
    if (length > f->size) memset(f->data + f->size, 0, (size_t)(length - f->size));
    f->size = length;
}

void disk_file_write(struct disk_file *f, int64_t offset, const void *data, int64_t length)
{
    if (offset + length > f->size) disk_file_truncate(f, offset + length);
    memcpy(f->data + offset, data, (size_t)length);
}

void disk_done(struct disk *d)
{
    vfs_forget_shm(d);
    for (int i = 0; i < DISK_FILES; i++) free(d->files[i].data);
    free(d->log);
    free(d->bytes);
    *d = (struct disk){0};
}

void disk_copy(struct disk *to, const struct disk *from)
{
    for (int i = 0; i < DISK_FILES; i++) {
        const struct disk_file *f = &from->files[i];
        to->files[i].size = 0;
        disk_file_truncate(&to->files[i], f->size);
        if (f->size) memcpy(to->files[i].data, f->data, (size_t)f->size);
        to->files[i].exists = f->exists;
    }
    to->steps = to->bytes_used = 0;
    to->fault = FAULT_NONE;
    to->faults = 0;
}

static bool strikes(struct disk *d)
{
    if (d->steps < d->fault_at || d->faults >= d->fault_length) return false;
    d->faults++;
    return true;
}

bool disk_read(struct disk *d)
{
    return d->fault != FAULT_READ || !strikes(d);
}

/* Counts the operation; false: it fails. */
static bool note(struct disk *d, enum disk_kind kind, enum disk_name file, int64_t offset, int64_t length,
                 const void *data)
{
    bool room = kind == DISK_SYNC || kind == DISK_SYNC_FOLDER || kind == DISK_DELETE || kind == DISK_TRUNCATE;
    if ((d->fault == FAULT_EIO || (d->fault == FAULT_FULL && !room)) && strikes(d)) return false;
    if (d->has_no_log) {
        d->steps++;
        return true;
    }
    d->log = grow(d->log, &d->log_capacity, d->steps + 1, sizeof *d->log);
    struct disk_op *op = &d->log[d->steps++];
    *op = (struct disk_op){kind, file, offset, length, d->bytes_used};
    if (kind != DISK_WRITE) return true;
    d->bytes = grow(d->bytes, &d->bytes_capacity, d->bytes_used + (size_t)length, 1);
    memcpy(d->bytes + d->bytes_used, data, (size_t)length);
    d->bytes_used += (size_t)length;
    return true;
}

bool disk_write(struct disk *d, enum disk_name file, int64_t offset, const void *data, int64_t length)
{
    if (!note(d, DISK_WRITE, file, offset, length, data)) return false;
    disk_file_write(&d->files[file], offset, data, length);
    return true;
}

bool disk_truncate(struct disk *d, enum disk_name file, int64_t length)
{
    if (!note(d, DISK_TRUNCATE, file, 0, length, NULL)) return false;
    disk_file_truncate(&d->files[file], length);
    return true;
}

bool disk_sync(struct disk *d, enum disk_name file)
{
    return note(d, DISK_SYNC, file, 0, 0, NULL);
}

bool disk_sync_folder(struct disk *d)
{
    return note(d, DISK_SYNC_FOLDER, DISK_DB, 0, 0, NULL);
}

bool disk_create(struct disk *d, enum disk_name file)
{
    if (d->files[file].exists) return true;
    if (!note(d, DISK_CREATE, file, 0, 0, NULL)) return false;
    d->files[file].exists = true;
    return true;
}

bool disk_delete(struct disk *d, enum disk_name file)
{
    if (!note(d, DISK_DELETE, file, 0, 0, NULL)) return false;
    disk_file_truncate(&d->files[file], 0);
    d->files[file].exists = false;
    return true;
}
