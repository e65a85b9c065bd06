/* domain/invariant.h - are the books in order? Every rule that the data must keep, asked of the data itself.
 *
 * Nothing here relies on the other modules: each check is one query over the tables that finds the rows which break a
 * rule, even where a constraint of the schema already refuses them. TX_READ is enough; all checks of one run should
 * share one snapshot. */
#pragma once

#include "db/db.h"

#define CHECK_IDS_MAX 10

struct check_result {
    const char *name;     /* wallet_balance, … */
    const char *sentence; /* what is wrong when it is broken */
    const char *noun;     /* what the ids are: account, order, … */
    bool is_broken;
    Id ids[CHECK_IDS_MAX]; /* the first rows that break it; none for a rule about the whole */
    size_t id_count;
    bool has_more; /* there are more */
};

/* One result for each check, broken or not. */
enum err check_run(struct db *db, struct check_result **ret, size_t *ret_count);
