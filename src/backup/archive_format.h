/* backup/archive_format.h - the constants of archive.h, and the proof of a block. For archive_*.c. */
#pragma once

#include <endian.h>
#include <sodium.h>

#include "backup/archive.h"

#define MAGIC "souk backup\n"
#define PATH_SHOWN 250 /* bytes of a path in a message */
#define MAGIC_BYTES (sizeof MAGIC - 1)
#define ARCHIVE_VERSION 1
#define PLAIN_HEAD_BYTES (MAGIC_BYTES + 2)
#define STREAM_KEY_BYTES crypto_secretstream_xchacha20poly1305_KEYBYTES
#define SEALED_KEY_BYTES (STREAM_KEY_BYTES + crypto_box_SEALBYTES)
#define STREAM_HEAD_BYTES crypto_secretstream_xchacha20poly1305_HEADERBYTES
#define HEAD_BYTES_MAX (PLAIN_HEAD_BYTES + SEALED_KEY_BYTES + STREAM_HEAD_BYTES)
#define SEAL_BYTES crypto_secretstream_xchacha20poly1305_ABYTES
#define PROOF_BYTES 32
#define BLOCK_HEAD_BYTES 5
#define BLOCK_BYTES (256 * 1024)
#define BLOCK_BYTES_MAX (ARCHIVE_FRAME_MAX + BLOCK_BYTES)

enum { BLOCK_IS_LAST = 1, BLOCK_IS_DEFLATED = 2 };

static inline void archive_prove(uint8_t proof[PROOF_BYTES], const void *length, const void *bytes, size_t n)
{
    crypto_generichash_state s;
    crypto_generichash_init(&s, NULL, 0, PROOF_BYTES);
    crypto_generichash_update(&s, proof, PROOF_BYTES);
    crypto_generichash_update(&s, length, 4);
    crypto_generichash_update(&s, bytes, n);
    crypto_generichash_final(&s, proof, PROOF_BYTES);
}
