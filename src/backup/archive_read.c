/* backup/archive_read.c - see archive.h. Nothing of a block is looked at before its proof was found right. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "backup/archive_format.h"
#include "base/pack.h"

struct archive_reader {
    int fd;
    struct arena memory;
    struct buf raw, plain, frames; /* as read; unsealed; inflated */
    struct unpack rest;            /* frames not yet given out */
    bool is_sealed, head_is_proven, is_last, is_over;
    crypto_secretstream_xchacha20poly1305_state stream;
    uint8_t head[HEAD_BYTES_MAX];
    size_t head_bytes;
    uint8_t proof[PROOF_BYTES];
    int64_t bytes;
    char why[200];
};

static bool fail(struct archive_reader *r, const char *why)
{
    if (!r->why[0]) snprintf(r->why, sizeof r->why, "%s (at byte %lld)", why, (long long)r->bytes);
    return false;
}

/* Exactly n bytes. */
static bool read_all(struct archive_reader *r, void *ret, size_t n)
{
    for (char *p = ret; n;) {
        ssize_t got = read(r->fd, p, n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(r, strerror(errno));
        if (got == 0) return fail(r, "the backup is cut off");
        p += got;
        n -= (size_t)got;
        r->bytes += got;
    }
    return true;
}

/* With the recipient's key, or with that of the stream itself. */
static bool open_stream(struct archive_reader *r, const struct archive_key *key, uint8_t *box)
{
    uint8_t stream_key[STREAM_KEY_BYTES], public_key[ARCHIVE_KEY_BYTES];
    bool opened = true;
    if (key->secret_key) {
        crypto_scalarmult_base(public_key, key->secret_key);
        opened = crypto_box_seal_open(stream_key, box, SEALED_KEY_BYTES, public_key, key->secret_key) == 0;
    } else {
        memcpy(stream_key, key->stream_key, sizeof stream_key);
    }
    if (opened)
        opened = crypto_secretstream_xchacha20poly1305_init_pull(&r->stream, box + SEALED_KEY_BYTES, stream_key) == 0;
    sodium_memzero(stream_key, sizeof stream_key);
    return opened;
}

static bool read_sealed_head(struct archive_reader *r, const struct archive_key *key)
{
    uint8_t *box = r->head + PLAIN_HEAD_BYTES;
    r->is_sealed = true;
    r->head_bytes = HEAD_BYTES_MAX;
    if (!key) return fail(r, "the backup is sealed: its secret key is needed (--secret-key-file)");
    if (!read_all(r, box, SEALED_KEY_BYTES + STREAM_HEAD_BYTES)) return false;
    return open_stream(r, key, box) || fail(r, "the backup was sealed to another key, or its head is damaged");
}

static bool read_head(struct archive_reader *r, const struct archive_key *key)
{
    r->head_bytes = PLAIN_HEAD_BYTES;
    if (!read_all(r, r->head, PLAIN_HEAD_BYTES)) return false;
    if (memcmp(r->head, MAGIC, MAGIC_BYTES) != 0) return fail(r, "this is not a souk backup");
    if (r->head[MAGIC_BYTES] != ARCHIVE_VERSION)
        return fail(r, "the backup has a format that this program does not know");
    if (r->head[MAGIC_BYTES + 1] > 1) return fail(r, "the backup's head is damaged");
    if (r->head[MAGIC_BYTES + 1] && !read_sealed_head(r, key)) return false;
    crypto_generichash(r->proof, PROOF_BYTES, r->head, r->head_bytes, NULL, 0);
    return true;
}

/* The length is not proven yet: memory is taken as bytes arrive. */
static bool read_block(struct archive_reader *r, size_t n)
{
    buf_reset(&r->raw);
    while (n) {
        size_t part = n < BLOCK_BYTES ? n : BLOCK_BYTES;
        char *at = buf_reserve(&r->raw, part);
        if (!at) return fail(r, "a block is too long");
        if (!read_all(r, at, part)) return false;
        r->raw.len += part;
        n -= part;
    }
    return true;
}

static bool unseal(struct archive_reader *r, Str *ret)
{
    unsigned char tag;
    unsigned long long n = 0;
    if (r->raw.len < SEAL_BYTES) return fail(r, "a block is too short");
    buf_reset(&r->plain);
    unsigned char *at = (unsigned char *)buf_reserve(&r->plain, r->raw.len);
    if (!at) return fail(r, "a block is too long");
    if (crypto_secretstream_xchacha20poly1305_pull(&r->stream, at, &n, &tag, (const unsigned char *)r->raw.ptr,
                                                   r->raw.len, r->head_is_proven ? NULL : r->head,
                                                   r->head_is_proven ? 0 : r->head_bytes) != 0)
        return fail(r, "the backup is damaged");
    r->head_is_proven = true;
    *ret = (Str){(char *)at, (size_t)n};
    bool says_last = n > 0 && (at[0] & BLOCK_IS_LAST);
    return says_last == (tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL) || fail(r, "the backup is damaged");
}

static bool inflate_block(struct archive_reader *r, Str block)
{
    uint32_t length;
    if (block.len < BLOCK_HEAD_BYTES) return fail(r, "a block is too short");
    memcpy(&length, block.ptr + 1, sizeof length);
    length = le32toh(length);
    Str body = {block.ptr + BLOCK_HEAD_BYTES, block.len - BLOCK_HEAD_BYTES};
    r->is_last = block.ptr[0] & BLOCK_IS_LAST;
    if (!(block.ptr[0] & BLOCK_IS_DEFLATED)) {
        r->rest = (struct unpack){body, false};
        return body.len == length || fail(r, "a block has the wrong length");
    }
    buf_reset(&r->frames);
    uLongf got = length;
    char *at = buf_reserve(&r->frames, (size_t)length + 1);
    if (!at || uncompress((Bytef *)at, &got, (const Bytef *)body.ptr, body.len) != Z_OK || got != length)
        return fail(r, "a block cannot be inflated");
    r->rest = (struct unpack){{at, length}, false};
    return true;
}

static bool next_block(struct archive_reader *r)
{
    uint32_t length;
    if (!read_all(r, &length, sizeof length)) return false;
    if (le32toh(length) > BLOCK_BYTES_MAX + BLOCK_BYTES) return fail(r, "the backup is damaged");
    if (!read_block(r, le32toh(length))) return false;
    Str block = buf_str(&r->raw);
    if (r->is_sealed) {
        if (!unseal(r, &block)) return false;
    } else {
        uint8_t proof[PROOF_BYTES];
        archive_prove(r->proof, &length, r->raw.ptr, r->raw.len);
        if (!read_all(r, proof, sizeof proof)) return false;
        if (memcmp(proof, r->proof, sizeof proof) != 0) return fail(r, "the backup is damaged");
    }
    if (!inflate_block(r, block)) return false;
    char more;
    if (r->is_last && read(r->fd, &more, 1) != 0) return fail(r, "something stands behind the end of the backup");
    return true;
}

bool archive_next(struct archive_reader *r, enum frame_kind *ret_kind, Str *ret_body)
{
    if (r->why[0]) return false;
    while (!r->rest.rest.len) {
        if (r->is_last) {
            r->is_over = true;
            return false;
        }
        if (!next_block(r)) return false;
    }
    Str kind = unpack_raw(&r->rest, 1);
    *ret_body = unpack_bytes(&r->rest);
    if (r->rest.bad || kind.ptr[0] <= 0 || kind.ptr[0] >= FRAME_KINDS) return fail(r, "a frame is wrong");
    *ret_kind = (enum frame_kind)kind.ptr[0];
    return true;
}

enum err archive_error(const struct archive_reader *r, char *ret_why)
{
    if (r->is_over) return OK;
    snprintf(ret_why, ARCHIVE_WHY_BYTES, "%s", r->why[0] ? r->why : "the backup was not read to its end");
    return ERR_INVALID_STATE;
}

int64_t archive_read_bytes(const struct archive_reader *r)
{
    return r->bytes;
}

struct archive_reader *archive_open(const char *path, const struct archive_key *key, char *ret_why)
{
    struct archive_reader *r = calloc(1, sizeof *r);
    if (!r || sodium_init() < 0) {
        snprintf(ret_why, ARCHIVE_WHY_BYTES, "out of memory");
        free(r);
        return NULL;
    }
    buf_init(&r->raw, &r->memory, BLOCK_BYTES_MAX + 2 * BLOCK_BYTES);
    buf_init(&r->plain, &r->memory, BLOCK_BYTES_MAX + 2 * BLOCK_BYTES);
    buf_init(&r->frames, &r->memory, BLOCK_BYTES_MAX + 2 * BLOCK_BYTES);
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0) {
        snprintf(ret_why, ARCHIVE_WHY_BYTES, "the backup %.*s cannot be read: %s", PATH_SHOWN, path, strerror(errno));
        free(r);
        return NULL;
    }
    if (read_head(r, key)) return r;
    snprintf(ret_why, ARCHIVE_WHY_BYTES, "%.*s: %s", PATH_SHOWN, path, r->why);
    archive_close(r);
    return NULL;
}

void archive_close(struct archive_reader *r)
{
    if (!r) return;
    close(r->fd);
    sodium_memzero(&r->stream, sizeof r->stream);
    arena_done(&r->memory);
    free(r);
}
