/* backup/walk.h - reads a backup from its first byte to its last, and holds it to what it says about itself: frames in
 * their order, counts, the digest of every table, the hash of every file, the totals. */
#pragma once

#include "backup/manifest.h"

/* Called in the order of the file; any may be NULL. Texts live until the call returns. An error ends the walk and is
 * what backup_walk returns; the visitor has then written `ret_why`. */
struct backup_visitor {
    enum err (*head)(void *ctx, const struct backup_head *head);
    enum err (*key)(void *ctx, Str sealed);
    enum err (*file)(void *ctx, Str key, int64_t bytes);
    enum err (*bytes)(void *ctx, Str bytes);
    enum err (*file_end)(void *ctx);
    enum err (*table)(void *ctx, Str name, Str packed); /* packed: as table_pack has it */
    enum err (*row)(void *ctx, Str row);
    enum err (*table_end)(void *ctx, const struct table_sum *sum, int64_t last_id);
    void (*tell)(void *ctx, int64_t bytes); /* read so far; now and then */
};

/* ret_why has ARCHIVE_WHY_BYTES. ERR_INVALID_STATE: the backup is damaged, or sealed to another key. */
enum err backup_walk(const char *path, const struct archive_key *key, const struct backup_visitor *v, void *ctx,
                     struct backup_totals *ret, char *ret_why);
