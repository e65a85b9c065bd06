/* cli/caller.c - see caller.h. */
#include "cli/caller.h"

#include <unistd.h>

static _Thread_local const struct cli_caller *current;

void caller_set(const struct cli_caller *caller)
{
    current = caller;
}

FILE *cli_in(void)
{
    return current ? current->in : stdin;
}

FILE *cli_out(void)
{
    return current ? current->out : stdout;
}

FILE *cli_err(void)
{
    return current ? current->err : stderr;
}

struct database *caller_database(void)
{
    return current ? current->database : NULL;
}

Str caller_address(struct arena *a)
{
    return str_printf(a, "cli, uid %lld", (long long)(current ? current->uid : getuid()));
}
