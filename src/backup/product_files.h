/* backup/product_files.h - the files that the rows speak of. */
#pragma once

#include "db/db.h"

struct product_file {
    Str key; /* name in the folder of files */
    int64_t bytes;
};

/* In db_arena(). TX_READ is enough. */
enum err product_files_list(struct db *db, struct product_file **ret, size_t *ret_count);
