/* cli/caller.c - see caller.h. */
#include "cli/caller.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/command.h"

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

#define FILE_BYTES_MAX ((size_t)512 * 1024 * 1024)

bool cli_read_all(const char *path, struct arena *a, Str *ret)
{
    bool is_stdin = strcmp(path, "-") == 0;
    FILE *f = is_stdin ? cli_in() : fopen(path, "rb");
    if (!f) {
        cli_fail("cannot read %s: %s", path, strerror(errno));
        return false;
    }
    struct buf b;
    buf_init(&b, a, FILE_BYTES_MAX);
    for (size_t n = 1; n && !b.full;) {
        const size_t room = 65536;
        char *to = buf_reserve(&b, room);
        if (!to) break;
        n = fread(to, 1, room, f);
        b.len += n;
    }
    bool failed = ferror(f);
    if (!is_stdin) fclose(f);
    if (failed) cli_fail("cannot read %s to its end", path);
    if (b.full) cli_fail("%s is too large: import it in parts", path);
    *ret = buf_str(&b);
    return !failed && !b.full;
}
