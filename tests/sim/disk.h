/* tests/sim/disk.h - a disk in memory that remembers what was written and what was synced.
 *
 * A disk holds the files of one database. Every operation that changes a file is a step and is kept in the log, with
 * its bytes. A crash image is what a power cut after some step can leave: everything that was synced, and of the rest
 * whichever sectors had reached the platter. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum disk_name { DISK_DB, DISK_WAL, DISK_JOURNAL, DISK_FILES };

struct disk_file {
    uint8_t *data;
    int64_t size, capacity;
    bool exists;
};

enum disk_kind {
    DISK_WRITE,
    DISK_TRUNCATE,
    DISK_SYNC,
    DISK_CREATE,
    DISK_DELETE,
    DISK_SYNC_FOLDER, /* which files there are */
};

struct disk_op {
    enum disk_kind kind;
    enum disk_name file;
    int64_t offset, length; /* of a truncation: the new length */
    size_t bytes;           /* of a write: where its data lies in the log's bytes */
};

/* What happens to the operations after so many steps. A disk that cannot be read takes what is written. */
enum disk_fault { FAULT_NONE, FAULT_EIO, FAULT_FULL, FAULT_READ };

struct disk_shm;

struct disk {
    struct disk_file files[DISK_FILES];
    bool has_no_log; /* for runs without crashes */
    struct disk_op *log;
    size_t steps, log_capacity;
    uint8_t *bytes;
    size_t bytes_used, bytes_capacity;
    enum disk_fault fault;
    size_t fault_at;     /* the number of steps before it */
    size_t fault_length; /* how many operations fail */
    size_t faults;       /* how many have failed */
    struct disk_shm *shm;
};

void disk_done(struct disk *d);
/* The files alone; the copy's log is empty. */
void disk_copy(struct disk *to, const struct disk *from);
void disk_file_write(struct disk_file *f, int64_t offset, const void *data, int64_t length);
void disk_file_truncate(struct disk_file *f, int64_t length);

/* What a server does; false: the fault has struck, nothing was done. */
bool disk_read(struct disk *d);
bool disk_write(struct disk *d, enum disk_name file, int64_t offset, const void *data, int64_t length);
bool disk_truncate(struct disk *d, enum disk_name file, int64_t length);
bool disk_sync(struct disk *d, enum disk_name file);
bool disk_sync_folder(struct disk *d);
bool disk_create(struct disk *d, enum disk_name file);
bool disk_delete(struct disk *d, enum disk_name file);

/* vfs.c: the disk behind the paths that end in `name`; NULL: none. */
void vfs_install(uint64_t seed);
void vfs_mount(const char *name, struct disk *d);
/* A restart: nothing is left of the index of the log in memory. */
void vfs_forget_shm(struct disk *d);
/* The same for connections that stay open: they read the log again. */
void vfs_reset_shm(struct disk *d);
