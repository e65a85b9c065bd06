/* backup/archive_write.c - see archive.h. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "backup/archive_format.h"
#include "base/pack.h"
#include "base/random.h"

struct archive_writer {
    int fd;
    char path[PATH_MAX], unfinished[PATH_MAX];
    struct arena memory;
    struct buf frames, block, sealed; /* gathered; as a block; as it is written when sealed */
    bool is_sealed;
    crypto_secretstream_xchacha20poly1305_state stream;
    uint8_t head[HEAD_BYTES_MAX];
    size_t head_bytes;
    bool head_is_proven; /* by the first block of a sealed file */
    uint8_t proof[PROOF_BYTES];
    int64_t bytes;
    int failure; /* errno of the first failure, or 0 */
};

static void write_all(struct archive_writer *w, const void *bytes, size_t n)
{
    for (const char *p = bytes; n && !w->failure;) {
        ssize_t written = write(w->fd, p, n);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            w->failure = written < 0 ? errno : EIO;
            return;
        }
        p += written;
        n -= (size_t)written;
        w->bytes += written;
    }
}

static void write_head(struct archive_writer *w, const uint8_t *recipient, uint8_t *ret_stream_key)
{
    memcpy(w->head, MAGIC, MAGIC_BYTES);
    w->head[MAGIC_BYTES] = ARCHIVE_VERSION;
    w->head[MAGIC_BYTES + 1] = recipient != NULL;
    w->head_bytes = PLAIN_HEAD_BYTES;
    w->is_sealed = recipient != NULL;
    if (recipient) {
        uint8_t key[STREAM_KEY_BYTES];
        crypto_secretstream_xchacha20poly1305_keygen(key);
        if (crypto_box_seal(w->head + PLAIN_HEAD_BYTES, key, sizeof key, recipient) != 0) w->failure = EINVAL;
        crypto_secretstream_xchacha20poly1305_init_push(&w->stream, w->head + PLAIN_HEAD_BYTES + SEALED_KEY_BYTES, key);
        if (ret_stream_key) memcpy(ret_stream_key, key, sizeof key);
        sodium_memzero(key, sizeof key);
        w->head_bytes = HEAD_BYTES_MAX;
    }
    crypto_generichash(w->proof, PROOF_BYTES, w->head, w->head_bytes, NULL, 0);
    write_all(w, w->head, w->head_bytes);
}

/* The frames, behind the block's head; deflated when that makes them shorter. */
static void fill_block(struct archive_writer *w, bool is_last)
{
    uLongf room = compressBound(w->frames.len);
    buf_reset(&w->block);
    char *at = buf_reserve(&w->block, BLOCK_HEAD_BYTES + room);
    if (!at) {
        w->failure = EFBIG;
        return;
    }
    bool deflated = w->frames.len &&
                    compress2((Bytef *)at + BLOCK_HEAD_BYTES, &room, (const Bytef *)w->frames.ptr, w->frames.len,
                              Z_BEST_SPEED) == Z_OK &&
                    room < w->frames.len;
    if (!deflated && w->frames.len) memcpy(at + BLOCK_HEAD_BYTES, w->frames.ptr, w->frames.len);
    uint32_t length = htole32((uint32_t)w->frames.len);
    at[0] = (char)((is_last ? BLOCK_IS_LAST : 0) | (deflated ? BLOCK_IS_DEFLATED : 0));
    memcpy(at + 1, &length, sizeof length);
    w->block.len = BLOCK_HEAD_BYTES + (deflated ? room : w->frames.len);
}

static void write_sealed(struct archive_writer *w, bool is_last)
{
    unsigned long long n = 0;
    buf_reset(&w->sealed);
    unsigned char *at = (unsigned char *)buf_reserve(&w->sealed, w->block.len + SEAL_BYTES);
    if (!at) {
        w->failure = EFBIG;
        return;
    }
    crypto_secretstream_xchacha20poly1305_push(
        &w->stream, at, &n, (const unsigned char *)w->block.ptr, w->block.len, w->head_is_proven ? NULL : w->head,
        w->head_is_proven ? 0 : w->head_bytes, is_last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0);
    w->head_is_proven = true;
    uint32_t length = htole32((uint32_t)n);
    write_all(w, &length, sizeof length);
    write_all(w, at, (size_t)n);
}

static void flush(struct archive_writer *w, bool is_last)
{
    if (w->failure) return;
    fill_block(w, is_last);
    if (w->failure) return;
    if (w->is_sealed) {
        write_sealed(w, is_last);
    } else {
        uint32_t length = htole32((uint32_t)w->block.len);
        archive_prove(w->proof, &length, w->block.ptr, w->block.len);
        write_all(w, &length, sizeof length);
        write_all(w, w->block.ptr, w->block.len);
        write_all(w, w->proof, PROOF_BYTES);
    }
    buf_reset(&w->frames);
}

bool archive_put(struct archive_writer *w, enum frame_kind kind, Str body)
{
    if (w->failure) return false;
    if (w->frames.len && w->frames.len + body.len > BLOCK_BYTES) flush(w, false);
    if (w->failure) return false;
    buf_char(&w->frames, (char)kind);
    pack_bytes(&w->frames, body);
    if (w->frames.full) w->failure = EFBIG;
    return !w->failure;
}

const char *archive_failure(const struct archive_writer *w)
{
    return w->failure ? strerror(w->failure) : NULL;
}

int64_t archive_bytes(const struct archive_writer *w)
{
    return w->bytes;
}

static void *refuse(char *ret_why, const char *path, const char *why)
{
    snprintf(ret_why, ARCHIVE_WHY_BYTES, "the backup %.*s cannot be written: %s", PATH_SHOWN, path, why);
    return NULL;
}

struct archive_writer *archive_create(const char *path, const uint8_t *recipient, uint8_t *ret_stream_key,
                                      char *ret_why)
{
    char name[12];
    random_base62(name, sizeof name);
    struct archive_writer *w = calloc(1, sizeof *w);
    if (!w || sodium_init() < 0) {
        free(w);
        return refuse(ret_why, path, "out of memory");
    }
    int n = snprintf(w->path, sizeof w->path, "%s", path);
    int m = snprintf(w->unfinished, sizeof w->unfinished, "%s.%.*s.part", path, (int)sizeof name, name);
    w->fd = -1;
    if ((size_t)n >= sizeof w->path || (size_t)m >= sizeof w->unfinished)
        errno = ENAMETOOLONG;
    else if (access(path, F_OK) == 0)
        errno = EEXIST;
    else
        w->fd = open(w->unfinished, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (w->fd < 0) {
        refuse(ret_why, path, strerror(errno));
        free(w);
        return NULL;
    }
    buf_init(&w->frames, &w->memory, BLOCK_BYTES_MAX);
    buf_init(&w->block, &w->memory, BLOCK_BYTES_MAX + BLOCK_BYTES_MAX / 512 + 4096);
    buf_init(&w->sealed, &w->memory, BLOCK_BYTES_MAX + BLOCK_BYTES_MAX / 512 + 8192);
    write_head(w, recipient, ret_stream_key);
    return w;
}

static void done(struct archive_writer *w)
{
    close(w->fd);
    sodium_memzero(&w->stream, sizeof w->stream);
    arena_done(&w->memory);
    free(w);
}

/* Durable under its name, which must be free: a backup never takes the place of another one. */
static bool give_name(struct archive_writer *w)
{
    if (fsync(w->fd) != 0) return false;
    if (renameat2(AT_FDCWD, w->unfinished, AT_FDCWD, w->path, RENAME_NOREPLACE) != 0) {
        bool is_unknown = errno == EINVAL || errno == ENOSYS; /* by the file system */
        if (!is_unknown || access(w->path, F_OK) == 0 || rename(w->unfinished, w->path) != 0) return false;
    }
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", w->path);
    int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && fsync(fd) == 0) {
        close(fd);
        return true;
    }
    int why = errno;
    if (fd >= 0) close(fd);
    unlink(w->path); /* the name was free: what is there now is ours, and might be gone after a power cut */
    errno = why;
    return false;
}

enum err archive_keep(struct archive_writer *w, int64_t *ret_bytes, char *ret_why)
{
    flush(w, true);
    if (!w->failure && !give_name(w)) w->failure = errno;
    if (w->failure) {
        refuse(ret_why, w->path, strerror(w->failure));
        unlink(w->unfinished);
    }
    enum err e = w->failure ? ERR_UNAVAILABLE : OK;
    if (!e) *ret_bytes = w->bytes;
    done(w);
    return e;
}

void archive_drop(struct archive_writer *w)
{
    if (!w) return;
    unlink(w->unfinished);
    done(w);
}
