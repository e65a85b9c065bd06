/* backup/archive.h - the file that a backup is: frames in blocks, every byte of which is proven.
 *
 *     file    = head block* (the last one says that it is the last; nothing follows)
 *     head    = "souk backup\n" version(1) is_sealed(1) [ stream key, sealed to the recipient (80), stream head (24) ]
 *     block   = length(4, little-endian) bytes proof
 *     bytes   = flags(1: 1 last, 2 deflated) length when inflated(4) frames
 *     frame   = kind(1) length (base/pack.h) body
 *
 * In a plain file the proof of a block is BLAKE2b-256 over the proof before it (the first: over the head), the length
 * and the bytes. In a sealed file the bytes are encrypted by libsodium's secretstream (XChaCha20-Poly1305), which
 * proves each block and its place; its key is in a sealed box (X25519) that only the recipient's secret key opens. So a
 * file that is cut off anywhere, or in which any bit is wrong, is refused; a plain file is proven against accidents, a
 * sealed one against forgers who do not know the recipient's public key as well.
 *
 * A block has BLOCK_BYTES or is one longer frame: memory does not grow with the file. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define ARCHIVE_KEY_BYTES 32
#define ARCHIVE_WHY_BYTES 512
#define ARCHIVE_FRAME_MAX (256 * 1024 * 1024)

enum frame_kind {
    FRAME_HEAD = 1,  /* what it is: backup/manifest.h */
    FRAME_KEY,       /* the master key, sealed with a passphrase */
    FRAME_FILE,      /* a product file begins: key, bytes */
    FRAME_BYTES,     /* a part of it */
    FRAME_FILE_END,  /* hash of the whole */
    FRAME_MISSING,   /* a product file that was not there */
    FRAME_TABLE,     /* a table begins: name, columns */
    FRAME_ROW,       /* as db/table.h has it */
    FRAME_TABLE_END, /* count, digest, last id */
    FRAME_END,       /* totals */
    FRAME_KINDS
};

struct archive_writer;
/* Writes beside `path` under another name. recipient: a public key, or NULL. ret_stream_key, which may be NULL, gets
 * what opens this one file, for a caller that wants to read it back at once; to be wiped. NULL after saying why. */
struct archive_writer *archive_create(const char *path, const uint8_t *recipient, uint8_t *ret_stream_key,
                                      char *ret_why);
/* Errors are sticky, and told by archive_keep. False after one. */
bool archive_put(struct archive_writer *w, enum frame_kind kind, Str body);
/* Why nothing more is written, or NULL. */
const char *archive_failure(const struct archive_writer *w);
/* Bytes in the file so far. */
int64_t archive_bytes(const struct archive_writer *w);
/* Writes the end, makes it durable and gives the file its name, unless there is a file of that name. Frees the writer.
 */
enum err archive_keep(struct archive_writer *w, int64_t *ret_bytes, char *ret_why);
/* Removes what was written. */
void archive_drop(struct archive_writer *w);

/* What opens a sealed file: one of the two. */
struct archive_key {
    const uint8_t *secret_key; /* of the recipient */
    const uint8_t *stream_key; /* from archive_create */
};

struct archive_reader;
/* key: NULL without one. NULL after saying why. */
struct archive_reader *archive_open(const char *path, const struct archive_key *key, char *ret_why);
/* The next frame; its body lives until the next call. False at the end and when something is wrong. */
bool archive_next(struct archive_reader *r, enum frame_kind *ret_kind, Str *ret_body);
/* ERR_INVALID_STATE, and why, unless everything up to the end was read and is right. */
enum err archive_error(const struct archive_reader *r, char *ret_why);
int64_t archive_read_bytes(const struct archive_reader *r);
void archive_close(struct archive_reader *r);
