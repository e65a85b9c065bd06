/* domain/download_link.h - download links: signed, expiring, counted.
 *
 * A link's token says which unit of which order item it is for, and proves that we made it:
 *
 *     base64url( item 7 bytes | unit 2 bytes | keyed hash of these 18 bytes )        36 characters
 *
 * so that a made-up token is refused without asking the database. It opens the product's present file (or external
 * address), for as long as the delivery's own time and count allow. */
#pragma once

#include "db/db.h"

#define DOWNLOAD_TOKEN_CHARS 36
#define DOWNLOAD_PATH "/download/"

/* The path of a link, in the arena. */
Str download_path(struct arena *a, Id order_item, int64_t unit);
/* False for anything that download_path did not make. Constant time for tokens of the right length. */
bool download_token_read(Str token, Id *ret_order_item, int64_t *ret_unit);

/* How long a fetch may be resumed without being counted again. */
#define DOWNLOAD_RESUME_MS (24 * TIME_HOUR)

struct download {
    Str url;         /* an external address; or empty, and a file of ours: */
    Str file_key;    /* its name in the folder of files */
    Str file_name;   /* what the buyer's copy is called */
    bool is_used_up; /* no further fetch may begin */
    bool may_resume;
};

/* ERR_NOT_FOUND: no such delivery, refunded, on hold, or the product no longer has anything to download.
 * ERR_DOWNLOAD_EXPIRED. TX_READ is enough. */
enum err download_find(struct db *db, Id order_item, int64_t unit, Time now, struct download *ret);
/* Counts one fetch; ERR_DOWNLOAD_USED_UP when the limit is reached. TX_WRITE. */
enum err download_count(struct db *db, Id order_item, int64_t unit, Time now);

/* Files of products are in this folder of the data folder. */
#define DOWNLOAD_FOLDER "files"
/* A name that can only lead to a file inside the folder. */
bool download_key_is_plain(Str file_key);
/* Opens a product's file for reading: nothing outside the folder, no symbolic links, regular files only. -1 when there
 * is none. The caller closes it. */
int download_open(const char *data_dir, Str file_key);
