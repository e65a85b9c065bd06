/* cli/move_store.c - `souk move`: one line on stdout for each table, when all of them are the same on both sides. */
#include "cli/move_store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "backup/archive.h"
#include "backup/move.h"
#include "db/lock.h"

static void tell(void *ctx, Str table, int64_t rows)
{
    (void)ctx;
    fprintf(stderr, "souk: %.*s: %lld rows moved\n", STR_FMT(table), (long long)rows);
}

static void print_tables(const struct moved *m)
{
    for (size_t i = 0; i < m->table_count; i++) {
        printf("%.*s %lld ", STR_FMT(m->tables[i].name), (long long)m->sums[i].rows);
        for (size_t lane = 0; lane < sizeof m->sums->lanes / sizeof *m->sums->lanes; lane++)
            printf("%016llx", (unsigned long long)m->sums[i].lanes[lane]);
        putchar('\n');
    }
}

static int run(const struct config *config, const struct config *source, struct arena *a)
{
    char why[ARCHIVE_WHY_BYTES];
    struct database *d = cli_open(source, OPEN_ROWS);
    if (!d) return EXIT_FAILED;
    struct move_plan plan = {.from_url = source->db, .from = d, .to = config->to, .tell = tell};
    struct moved m;
    enum err e = move_run(&plan, a, &m, why);
    database_close(d);
    if (e) return cli_fail("%s", why);
    print_tables(&m);
    fprintf(stderr,
            "souk: %lld rows of %zu tables moved%s; counts, digests and the ledger (%lld transfers, %lld minor units)"
            " are the same on both sides, and all %zu checks passed\n",
            (long long)m.rows, m.table_count, m.was_resumed ? ", resumed," : "", (long long)m.transfers,
            (long long)m.transferred, m.checks);
    fprintf(stderr, "souk: product files and the master key stay where they are: serve with --data %s\n",
            cli_data_dir(source));
    return EXIT_OK;
}

int move_command(const struct config *config, struct arena *a)
{
    char why[512], path[PATH_MAX];
    if (!*config->from || !*config->to) return cli_usage("move wants --from and --to");
    struct config source = *config;
    source.db = config->from;
    int lock = -1;
    if (!cli_is_postgres(config->from)) {
        if (!realpath(config->from, path)) return cli_fail("there is no database at %s", config->from);
        source.db = path;
        if (lock_take(path, &lock, why, sizeof why) != OK) return cli_fail("%s", why);
    }
    int result = run(config, &source, a);
    lock_release(lock);
    return result;
}
