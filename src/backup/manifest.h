/* backup/manifest.h - what the frames of a backup say, apart from rows and the bytes of files. */
#pragma once

#include "backup/archive.h"
#include "base/timestamp.h"
#include "db/table.h"

/* What it is; the first frame. */
struct backup_head {
    Str program;     /* the version that made it */
    Str engine;      /* it came from: sqlite, postgres */
    int64_t schema;  /* version */
    Str schema_hash; /* migrate_hash */
    Time made_at;    /* begun */
};

/* What is in it; the last frame. */
struct backup_totals {
    int64_t tables, rows;
    int64_t files, file_bytes;
    int64_t missing; /* product files that were not in the data folder */
};

Str head_pack(struct arena *a, const struct backup_head *h);
bool head_unpack(Str body, struct backup_head *ret);
/* A table's name, and its columns with their kinds: equal bytes, equal table. */
Str table_pack(struct arena *a, const struct schema_table *t);
bool table_unpack_name(Str body, Str *ret_name);
Str table_end_pack(struct arena *a, const struct table_sum *sum, int64_t last_id);
bool table_end_unpack(Str body, struct table_sum *ret_sum, int64_t *ret_last_id);
Str file_pack(struct arena *a, Str key, int64_t bytes);
bool file_unpack(Str body, Str *ret_key, int64_t *ret_bytes);
Str totals_pack(struct arena *a, const struct backup_totals *t);
bool totals_unpack(Str body, struct backup_totals *ret);
