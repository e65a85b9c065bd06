/* db/sqlite_log.c - see sqlite_log.h. */
#include "db/sqlite_log.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define HELD_MAX ((size_t)128 * 1024) /* 31 pages; more would save little, and leave the processor's cache */

struct log_file {
    sqlite3_file base;
    uint8_t *held;
    size_t held_len;
    sqlite3_int64 held_at; /* the place of its first byte */
    sqlite3_file *real;
    sqlite3_int64 memory_of_real[]; /* SQLite gives memory for both */
};

static sqlite3_vfs *system_vfs;

static struct log_file *of(sqlite3_file *f)
{
    return (struct log_file *)f;
}

static sqlite3_file *real(sqlite3_file *f)
{
    return of(f)->real;
}

/* Whether it succeeds or not, nothing is held afterwards: SQLite gives the commit up. */
static int write_held(struct log_file *l)
{
    size_t len = l->held_len;
    l->held_len = 0;
    return len ? l->real->pMethods->xWrite(l->real, l->held, (int)len, l->held_at) : SQLITE_OK;
}

static int log_write(sqlite3_file *f, const void *data, int amount, sqlite3_int64 at)
{
    struct log_file *l = of(f);
    size_t len = (size_t)amount;
    if (l->held_len && (at != l->held_at + (sqlite3_int64)l->held_len || len > HELD_MAX - l->held_len)) {
        int rc = write_held(l);
        if (rc != SQLITE_OK) return rc;
    }
    if (len > HELD_MAX) return l->real->pMethods->xWrite(l->real, data, amount, at);
    if (!l->held_len) l->held_at = at;
    memcpy(l->held + l->held_len, data, len);
    l->held_len += len;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *f, void *ret, int amount, sqlite3_int64 at)
{
    int rc = write_held(of(f));
    return rc == SQLITE_OK ? real(f)->pMethods->xRead(real(f), ret, amount, at) : rc;
}

static int log_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    int rc = write_held(of(f));
    return rc == SQLITE_OK ? real(f)->pMethods->xTruncate(real(f), size) : rc;
}

static int log_sync(sqlite3_file *f, int flags)
{
    int rc = write_held(of(f));
    return rc == SQLITE_OK ? real(f)->pMethods->xSync(real(f), flags) : rc;
}

static int log_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    int rc = write_held(of(f));
    return rc == SQLITE_OK ? real(f)->pMethods->xFileSize(real(f), ret) : rc;
}

/* What is held was never synced, so no commit is in it. */
static int log_close(sqlite3_file *f)
{
    struct log_file *l = of(f);
    free(l->held);
    l->held = NULL;
    return l->real->pMethods->xClose(l->real);
}

static int log_lock(sqlite3_file *f, int level)
{
    return real(f)->pMethods->xLock(real(f), level);
}

static int log_unlock(sqlite3_file *f, int level)
{
    return real(f)->pMethods->xUnlock(real(f), level);
}

static int log_check_reserved(sqlite3_file *f, int *ret)
{
    return real(f)->pMethods->xCheckReservedLock(real(f), ret);
}

static int log_control(sqlite3_file *f, int op, void *arg)
{
    return real(f)->pMethods->xFileControl(real(f), op, arg);
}

static int log_sector(sqlite3_file *f)
{
    return real(f)->pMethods->xSectorSize(real(f));
}

static int log_characteristics(sqlite3_file *f)
{
    return real(f)->pMethods->xDeviceCharacteristics(real(f));
}

/* Version 1: shared memory and mappings belong to the database's own file. */
static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_check_reserved,
    .xFileControl = log_control,
    .xSectorSize = log_sector,
    .xDeviceCharacteristics = log_characteristics,
};

static int open_file(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *ret_flags)
{
    (void)vfs;
    if (!(flags & SQLITE_OPEN_WAL)) return system_vfs->xOpen(system_vfs, path, f, flags, ret_flags);
    struct log_file *l = of(f);
    *l = (struct log_file){.real = (sqlite3_file *)l->memory_of_real};
    l->held = memory_try_zeroed(1, HELD_MAX);
    if (!l->held) return SQLITE_NOMEM;
    int rc = system_vfs->xOpen(system_vfs, path, l->real, flags, ret_flags);
    if (rc == SQLITE_OK) {
        l->base.pMethods = &log_methods;
        return SQLITE_OK;
    }
    if (l->real->pMethods) l->real->pMethods->xClose(l->real);
    free(l->held);
    *l = (struct log_file){0};
    return rc;
}

static sqlite3_vfs vfs;

static void register_once(void)
{
    system_vfs = sqlite3_vfs_find(NULL);
    vfs = *system_vfs;
    vfs.zName = "souk";
    vfs.pNext = NULL;
    vfs.szOsFile += (int)sizeof(struct log_file);
    vfs.xOpen = open_file;
    sqlite3_vfs_register(&vfs, 0);
}

const char *sqlite_log_vfs(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_once);
    return vfs.zName;
}
