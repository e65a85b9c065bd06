/* cli/caller.h - whom a command works for: the person who started this process, or another process of theirs whose
 * command the running server carries out (control.h).
 *
 * A command that may be run by the server reads and writes through these functions alone, and opens its database with
 * cli_open and OPEN_CHANGE. */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "db/tx.h"

struct cli_caller {
    FILE *in, *out, *err;
    uid_t uid;
    struct database *database; /* the server's */
};

/* Who has asked this thread for a command from here on; NULL: the user who started the process. */
void caller_set(const struct cli_caller *caller);

FILE *cli_in(void);
FILE *cli_out(void);
FILE *cli_err(void);
/* The whole file, or stdin for "-". False after saying why. */
bool cli_read_all(const char *path, struct arena *a, Str *ret);
/* The server's database; NULL outside a server. */
struct database *caller_database(void);

/* "cli, uid 1000": who asked, for the `address` of an audit entry. Before the transaction, which may run on another
 * thread. */
Str caller_address(struct arena *a);
