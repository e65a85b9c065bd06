/* domain/upload.h - a file on its way into the folder of product files.
 *
 * Bytes go into a file whose name no download can reach; only a complete, synced file is renamed to its key. What a
 * crash leaves unfinished is deleted at the next start. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct upload {
    int fd; /* -1: none */
    int64_t bytes;
    char path[4096];
};

/* Makes the folder if it is missing. ERR_UNAVAILABLE when the disk refuses. */
enum err upload_begin(const char *data_dir, struct upload *ret);
/* False: the disk refused; the upload is void. */
bool upload_write(struct upload *u, Str bytes);
/* Syncs and renames the file: *ret_key (in the arena) is what the product stores. */
enum err upload_keep(struct upload *u, const char *data_dir, struct arena *a, Str *ret_key);
/* The same under a key that the product has already. */
enum err upload_keep_as(struct upload *u, const char *data_dir, Str key);
/* Gives up; harmless after upload_keep. */
void upload_drop(struct upload *u);
/* Deletes a kept file. */
void upload_remove(const char *data_dir, Str key);
/* At the start: removes what was never finished. */
void upload_sweep(const char *data_dir);
