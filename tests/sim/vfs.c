/* tests/sim/vfs.c - SQLite's way to the disks of disk.h: files, locks and the shared index of the log, in one process.
 *
 * It promises what SQLite's own VFS for Unix promises: sectors of 4096 bytes, and that a write damages nothing beside
 * it (SQLITE_IOCAP_POWERSAFE_OVERWRITE). And it does what that one does: the first sync of a log or journal that may be
 * new syncs the folder, too. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "seed.h"

#define SHM_REGIONS 8
#define SHM_BYTES 32768
#define DISKS 4

struct disk_shm {
    uint8_t *regions[SHM_REGIONS];
    int shared[SQLITE_SHM_NLOCK];
    bool exclusive[SQLITE_SHM_NLOCK];
    int connections;
    /* Locks on the database file itself. */
    int readers, reserved, pending, exclusives;
};

struct vfs_file {
    sqlite3_file base;
    struct disk *disk;
    enum disk_name name;
    int lock;
    bool has_shm;
    bool syncs_folder;
    uint16_t shared, exclusive; /* locks on the index */
};

static struct {
    const char *name;
    struct disk *disk;
} mounted[DISKS];
static struct random vfs_random;

static struct disk_shm *shm_of(struct disk *d)
{
    if (!d->shm) d->shm = calloc(1, sizeof *d->shm);
    if (!d->shm) abort();
    return d->shm;
}

void vfs_forget_shm(struct disk *d)
{
    if (!d->shm) return;
    for (int i = 0; i < SHM_REGIONS; i++) free(d->shm->regions[i]);
    free(d->shm);
    d->shm = NULL;
}

void vfs_reset_shm(struct disk *d)
{
    enum { HEADS = 2 * 48 }; /* both copies of the head, by which a reader sees whether the index is good */
    if (d->shm && d->shm->regions[0]) memset(d->shm->regions[0], 0, HEADS);
}

void vfs_mount(const char *name, struct disk *d)
{
    for (int i = 0; i < DISKS; i++) {
        if (mounted[i].name && strcmp(mounted[i].name, name) != 0) continue;
        mounted[i].name = name;
        mounted[i].disk = d;
        return;
    }
    abort();
}

static bool has_suffix(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && strcmp(text + a - b, end) == 0;
}

/* The path is …/name, …/name-wal or …/name-journal. */
static struct disk *find(const char *path, enum disk_name *ret)
{
    static const char *const ends[DISK_FILES] = {"", "-wal", "-journal"};
    for (int i = 0; i < DISKS && mounted[i].name; i++) {
        for (int f = 0; f < DISK_FILES; f++) {
            char whole[128];
            snprintf(whole, sizeof whole, "/%s%s", mounted[i].name, ends[f]);
            if (!has_suffix(path, whole)) continue;
            *ret = (enum disk_name)f;
            return mounted[i].disk;
        }
    }
    return NULL;
}

static struct vfs_file *of(sqlite3_file *f)
{
    return (struct vfs_file *)f;
}

static struct disk_file *content(sqlite3_file *f)
{
    return &of(f)->disk->files[of(f)->name];
}

static int failure(const struct disk *d, int code)
{
    return d->fault == FAULT_FULL ? SQLITE_FULL : code;
}

/* ---- files ---- */

static int x_read(sqlite3_file *f, void *ret, int amount, sqlite3_int64 offset)
{
    const struct disk_file *c = content(f);
    int64_t there = c->size - offset;
    if (!disk_read(of(f)->disk)) return SQLITE_IOERR_READ;
    if (there >= amount) {
        memcpy(ret, c->data + offset, (size_t)amount);
        return SQLITE_OK;
    }
    if (there < 0) there = 0;
    if (there) memcpy(ret, c->data + offset, (size_t)there);
    memset((uint8_t *)ret + there, 0, (size_t)(amount - there));
    return SQLITE_IOERR_SHORT_READ;
}

static int x_write(sqlite3_file *f, const void *data, int amount, sqlite3_int64 offset)
{
    struct disk *d = of(f)->disk;
    return disk_write(d, of(f)->name, offset, data, amount) ? SQLITE_OK : failure(d, SQLITE_IOERR_WRITE);
}

static int x_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    return disk_truncate(of(f)->disk, of(f)->name, size) ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int x_sync(sqlite3_file *f, int flags)
{
    (void)flags;
    if (!disk_sync(of(f)->disk, of(f)->name)) return SQLITE_IOERR_FSYNC;
    if (of(f)->syncs_folder && !disk_sync_folder(of(f)->disk)) return SQLITE_IOERR_DIR_FSYNC;
    of(f)->syncs_folder = false;
    return SQLITE_OK;
}

static int x_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    *ret = content(f)->size;
    return SQLITE_OK;
}

/* SHARED < RESERVED < PENDING < EXCLUSIVE, as in SQLite's os.h. */
static void drop_lock(struct disk_shm *s, int level)
{
    if (level >= SQLITE_LOCK_EXCLUSIVE) s->exclusives--;
    if (level >= SQLITE_LOCK_PENDING) s->pending--;
    if (level >= SQLITE_LOCK_RESERVED) s->reserved--;
    if (level >= SQLITE_LOCK_SHARED) s->readers--;
}

static void take_lock(struct disk_shm *s, int level)
{
    if (level >= SQLITE_LOCK_SHARED) s->readers++;
    if (level >= SQLITE_LOCK_RESERVED) s->reserved++;
    if (level >= SQLITE_LOCK_PENDING) s->pending++;
    if (level >= SQLITE_LOCK_EXCLUSIVE) s->exclusives++;
}

static int x_lock(sqlite3_file *f, int level)
{
    struct vfs_file *v = of(f);
    struct disk_shm *s = shm_of(v->disk);
    if (level <= v->lock) return SQLITE_OK;
    drop_lock(s, v->lock);
    bool busy = s->exclusives || (level == SQLITE_LOCK_SHARED && s->pending) ||
                (level >= SQLITE_LOCK_RESERVED && s->reserved) || (level == SQLITE_LOCK_EXCLUSIVE && s->readers);
    if (!busy) v->lock = level;
    take_lock(s, v->lock);
    return busy ? SQLITE_BUSY : SQLITE_OK;
}

static int x_unlock(sqlite3_file *f, int level)
{
    struct vfs_file *v = of(f);
    struct disk_shm *s = shm_of(v->disk);
    if (level >= v->lock) return SQLITE_OK;
    drop_lock(s, v->lock);
    v->lock = level;
    take_lock(s, v->lock);
    return SQLITE_OK;
}

static int x_reserved(sqlite3_file *f, int *ret)
{
    *ret = shm_of(of(f)->disk)->reserved > 0;
    return SQLITE_OK;
}

static int x_control(sqlite3_file *f, int op, void *arg)
{
    (void)f, (void)op, (void)arg;
    return SQLITE_NOTFOUND;
}

static int x_sector(sqlite3_file *f)
{
    (void)f;
    return 4096;
}

static int x_characteristics(sqlite3_file *f)
{
    (void)f;
    return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

/* ---- the index of the log ---- */

static int x_shm_map(sqlite3_file *f, int region, int bytes, int extend, void volatile **ret)
{
    struct disk_shm *s = shm_of(of(f)->disk);
    if (region >= SHM_REGIONS || bytes != SHM_BYTES) return SQLITE_IOERR_SHMMAP;
    if (!of(f)->has_shm) s->connections++;
    of(f)->has_shm = true;
    if (!s->regions[region] && extend) s->regions[region] = calloc(1, SHM_BYTES);
    *ret = s->regions[region];
    return SQLITE_OK;
}

static int x_shm_lock(sqlite3_file *f, int first, int n, int flags)
{
    struct vfs_file *v = of(f);
    struct disk_shm *s = shm_of(v->disk);
    uint16_t mask = (uint16_t)(((1u << n) - 1) << first);
    for (int i = first; i < first + n; i++) {
        uint16_t bit = (uint16_t)(1u << i);
        if (flags & SQLITE_SHM_UNLOCK) {
            if (v->shared & bit) s->shared[i]--;
            if (v->exclusive & bit) s->exclusive[i] = false;
            continue;
        }
        bool mine = (v->shared | v->exclusive) & bit;
        if (flags & SQLITE_SHM_SHARED ? s->exclusive[i] : s->exclusive[i] || s->shared[i] > (v->shared & bit ? 1 : 0))
            if (!mine || !(v->exclusive & bit)) return SQLITE_BUSY;
    }
    if (flags & SQLITE_SHM_UNLOCK) {
        v->shared &= (uint16_t)~mask;
        v->exclusive &= (uint16_t)~mask;
        return SQLITE_OK;
    }
    for (int i = first; i < first + n; i++) {
        uint16_t bit = (uint16_t)(1u << i);
        if (flags & SQLITE_SHM_SHARED && !(v->shared & bit)) s->shared[i]++;
        if (flags & SQLITE_SHM_EXCLUSIVE) s->exclusive[i] = true;
    }
    if (flags & SQLITE_SHM_SHARED) v->shared |= mask;
    if (flags & SQLITE_SHM_EXCLUSIVE) v->exclusive |= mask;
    return SQLITE_OK;
}

static void x_shm_barrier(sqlite3_file *f)
{
    (void)f;
}

static int x_shm_unmap(sqlite3_file *f, int delete)
{
    struct disk_shm *s = shm_of(of(f)->disk);
    if (of(f)->has_shm) s->connections--;
    of(f)->has_shm = false;
    if (!delete || s->connections > 0) return SQLITE_OK;
    for (int i = 0; i < SHM_REGIONS; i++) {
        free(s->regions[i]);
        s->regions[i] = NULL;
    }
    return SQLITE_OK;
}

static int x_close(sqlite3_file *f)
{
    x_unlock(f, SQLITE_LOCK_NONE);
    return SQLITE_OK;
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = x_close,
    .xRead = x_read,
    .xWrite = x_write,
    .xTruncate = x_truncate,
    .xSync = x_sync,
    .xFileSize = x_size,
    .xLock = x_lock,
    .xUnlock = x_unlock,
    .xCheckReservedLock = x_reserved,
    .xFileControl = x_control,
    .xSectorSize = x_sector,
    .xDeviceCharacteristics = x_characteristics,
    .xShmMap = x_shm_map,
    .xShmLock = x_shm_lock,
    .xShmBarrier = x_shm_barrier,
    .xShmUnmap = x_shm_unmap,
};

/* ---- the file system ---- */

static int x_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *f, int flags, int *ret_flags)
{
    (void)vfs;
    struct vfs_file *v = of(f);
    *v = (struct vfs_file){0};
    v->disk = path ? find(path, &v->name) : NULL; /* temporary files do not come here: temp_store is memory */
    if (!v->disk) return SQLITE_CANTOPEN;
    if (!v->disk->files[v->name].exists) {
        if (!(flags & SQLITE_OPEN_CREATE)) return SQLITE_CANTOPEN;
        if (!disk_create(v->disk, v->name)) return failure(v->disk, SQLITE_CANTOPEN);
    }
    v->base.pMethods = &methods;
    v->syncs_folder = flags & SQLITE_OPEN_CREATE && v->name != DISK_DB;
    if (ret_flags) *ret_flags = flags;
    return SQLITE_OK;
}

static int x_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
    (void)vfs;
    enum disk_name name;
    struct disk *d = find(path, &name);
    if (!d || !d->files[name].exists) return SQLITE_IOERR_DELETE_NOENT;
    if (!disk_delete(d, name)) return SQLITE_IOERR_DELETE;
    return sync_folder && !disk_sync_folder(d) ? SQLITE_IOERR_DIR_FSYNC : SQLITE_OK;
}

static int x_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret)
{
    (void)vfs, (void)flags;
    enum disk_name name;
    const struct disk *d = find(path, &name);
    *ret = d && d->files[name].exists && (flags != SQLITE_ACCESS_EXISTS || d->files[name].size > 0);
    return SQLITE_OK;
}

static int x_full_path(sqlite3_vfs *vfs, const char *path, int bytes, char *ret)
{
    (void)vfs;
    return snprintf(ret, (size_t)bytes, "%s", path) < bytes ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int x_random(sqlite3_vfs *vfs, int bytes, char *ret)
{
    (void)vfs;
    for (int i = 0; i < bytes; i++) ret[i] = (char)random_next(&vfs_random);
    return bytes;
}

static int x_sleep(sqlite3_vfs *vfs, int us)
{
    (void)vfs;
    return us;
}

static int x_time(sqlite3_vfs *vfs, sqlite3_int64 *ret)
{
    (void)vfs;
    *ret = INT64_C(212000000000000);
    return SQLITE_OK;
}

static int x_last_error(sqlite3_vfs *vfs, int bytes, char *ret)
{
    (void)vfs, (void)bytes, (void)ret;
    return 0;
}

void vfs_install(uint64_t seed)
{
    static sqlite3_vfs vfs = {
        .iVersion = 2,
        .szOsFile = sizeof(struct vfs_file),
        .mxPathname = 1024,
        .zName = "sim",
        .xOpen = x_open,
        .xDelete = x_delete,
        .xAccess = x_access,
        .xFullPathname = x_full_path,
        .xRandomness = x_random,
        .xSleep = x_sleep,
        .xGetLastError = x_last_error,
        .xCurrentTimeInt64 = x_time,
    };
    random_seed(&vfs_random, seed);
    sqlite3_vfs_register(&vfs, 1);
    sqlite3_randomness(0, NULL); /* SQLite's own generator begins again, from x_random */
}
