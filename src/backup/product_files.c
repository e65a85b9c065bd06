/* backup/product_files.c - see product_files.h. */
#include "backup/product_files.h"

#include "db/rows.h"

static void read_file(struct stmt *st, struct product_file *ret)
{
    ret->key = col_text(st);
    ret->bytes = col_int(st);
}
DB_READER(read_file);

enum err product_files_list(struct db *db, struct product_file **ret, size_t *ret_count)
{
    static const char list[] = "SELECT file_key, file_bytes FROM product WHERE file_key <> '' ORDER BY id";
    return db_rows(db_prepare(db, list), read_file, ROWS_ALL, ret, ret_count);
}
