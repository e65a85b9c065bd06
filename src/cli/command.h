/* cli/command.h - a command is one row: its words, what it does, its function.
 *
 * Data goes to stdout, messages to stderr. Exit codes: 0 ok, 1 failure, 2 usage. */
#pragma once

#include "cli/config.h"
#include "db/tx.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct command {
    const char *words; /* "account create" */
    const char *help;
    /* `a` is freed after the command has returned, whatever its exit code. */
    int (*run)(const struct config *config, struct arena *a);
    /* A server that is running for the same store carries it out (cli/control.h, cli/caller.h). */
    bool through_server;
    bool reads_file; /* its first operand is a file to read, or - */
};

/* cli/commands.c: all of them, {0} at the end. */
extern const struct command commands[];

/* A message: "souk: …" and a line end, on stderr. Returns EXIT_FAILED, so that a command can `return cli_fail(…)`. */
int cli_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int cli_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* How a command wants its database. */
enum open_mode {
    OPEN_SERVER, /* migrated, key checked; created if missing with --create */
    OPEN_NEW,    /* the same, always created if missing */
    OPEN_CHANGE, /* the same, never created; refuses while a server holds the SQLite file; in a server, its own */
    OPEN_LOOK,   /* read-only, beside a running server; has this program's schema */
    OPEN_ROWS,   /* the same, without the master key */
};
/* Opens the database and the vault. A database that is missing, empty or another program's is left alone, and so is a
 * missing master key of an existing one. NULL after saying why. */
struct database *cli_open(const struct config *config, enum open_mode mode);
/* Leaves a server's own database open. */
void cli_close(struct database *d);

/* tx_call with an arena of its own. False after saying what went wrong. */
bool cli_tx(struct database *d, enum tx_mode mode, enum err (*run)(void *arg, struct db *db), void *arg,
            struct arena *a);

/* Whether it is the address of a PostgreSQL database. */
bool cli_is_postgres(const char *db);
/* mkdir -p, 0700. */
bool cli_make_folder(const char *path);
/* Where the master key is: systemd's credential, else --key-file, else master.key in the data folder. False: the path
 * is too long. */
bool cli_key_path(const struct config *config, char *ret, size_t bytes);
/* The folder of files and master key: --data, else <file>.d beside the SQLite file, else the user's data folder. */
const char *cli_data_dir(const struct config *config);
