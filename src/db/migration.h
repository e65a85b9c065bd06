/* db/migration.h - the migrations that were built in, and the work on any list of them. For migrate.c, the generated
 * table and the tests. */
#pragma once

#include "db/migrate.h"

struct migration {
    int version; /* 1, 2, 3 … */
    const char *name;
    const char *hash; /* SHA-256 of the file, hex */
    const char *text; /* with its @words */
    bool is_expand;   /* an older program does not notice it: its first line is "-- expand" */
};

/* Made at build time from sql/. */
extern const struct migration migrations[];
extern const int migrations_count;

enum err migrate_up_list(struct database *d, const struct migration *list, int count, int *ret_applied, char *ret_why,
                         size_t why_bytes);
enum err migrate_look_list(struct database *d, const struct migration *list, int count, enum migrate_state *ret,
                           int *ret_version);
/* The text as the engine takes it. */
Str migration_expand(struct arena *a, const char *text, bool sqlite);
