/* cli/check.c - `souk check`: one line on stdout for each broken rule, with the first rows that break it. */
#include <stdio.h>

#include "cli/check.h"
#include "domain/invariant.h"

struct check_job {
    struct check_result *results;
    size_t count;
};

static enum err run_checks(void *arg, struct db *db)
{
    struct check_job *job = arg;
    return check_run(db, &job->results, &job->count);
}

/* "wallet_balance: the kept balance … (account 3, 7 and more)" */
static void print_broken(const struct check_result *r)
{
    printf("%s: %s", r->name, r->sentence);
    for (size_t i = 0; i < r->id_count; i++) {
        if (i == 0)
            printf(" (%s %lld", r->noun, (long long)r->ids[i].v);
        else
            printf(", %lld", (long long)r->ids[i].v);
    }
    if (r->id_count) printf("%s)", r->has_more ? " and more" : "");
    putchar('\n');
}

int check_command(const struct config *config, struct arena *a)
{
    struct database *d = cli_open(config, OPEN_LOOK);
    if (!d) return EXIT_FAILED;
    struct check_job job = {0};
    int result = EXIT_FAILED;
    if (cli_tx(d, TX_READ, run_checks, &job, a)) {
        size_t broken = 0;
        for (size_t i = 0; i < job.count; i++) {
            if (!job.results[i].is_broken) continue;
            broken++;
            print_broken(&job.results[i]);
        }
        if (broken)
            cli_fail("%zu of %zu checks are broken", broken, job.count);
        else
            fprintf(stderr, "souk: all %zu checks passed\n", job.count);
        result = broken ? EXIT_FAILED : EXIT_OK;
    }
    database_close(d);
    return result;
}
