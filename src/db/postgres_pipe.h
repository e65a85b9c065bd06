/* db/postgres_pipe.h - messages on their way to the server and back. For postgres*.c only.
 *
 * libpq in pipeline mode, non-blocking. Each message that will be answered is noted in `sent`; answers are matched in
 * the same order, up to the sync that ends a round trip. The first error of a transaction stands; the server skips
 * everything behind it up to the next sync.
 *
 * Once the connection is lost nothing is sent or read any more. */
#pragma once

#include <libpq-fe.h>

#include "db/engine.h"

#define PG_PARAMS_MAX 64

enum sent_kind {
    SENT_PREPARE, /* of stmt */
    SENT_BEGIN,
    SENT_RUN,    /* result thrown away */
    SENT_READ,   /* result kept in stmt */
    SENT_COMMIT, /* waited for */
    SENT_END,    /* of a read, or a rollback: nobody waits */
    SENT_SYNC,
};

/* Statements that the transaction machinery itself runs. */
enum pg_own { OWN_BEGIN_READ, OWN_BEGIN_WRITE, OWN_COMMIT, OWN_ROLLBACK, OWN_COUNT };

struct pg_stmt {
    struct stmt stmt;
    const char *text; /* as the server takes it */
    char name[24];    /* the server's; a new one when the types of parameters change */
    enum { PG_NOT_PREPARED, PG_PREPARING, PG_PREPARED } state;
    PGresult *result;
    int row;
    /* postgres_group.c's: the rows of a result that several share */
    const int *rows; /* NULL: all of them */
    int row_count, at;
    int skip;   /* columns in front that are not its own */
    int params; /* that the text has */
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX];
    uint64_t numbers[PG_PARAMS_MAX];    /* in network order */
    unsigned char kinds[PG_PARAMS_MAX]; /* enum bind_kind, PG_ARRAY more for an array of it */
    unsigned char kinds_prepared[PG_PARAMS_MAX];
};
#define PG_ARRAY 4

struct sent {
    enum sent_kind kind;
    struct pg_stmt *stmt;
    PGresult **result; /* SENT_READ: where it goes */
};

enum pg_commit {
    PG_COMMIT_NONE,
    PG_COMMIT_SENT,
    PG_COMMIT_DONE,
    PG_COMMIT_REFUSED, /* it failed, which ended the transaction */
    PG_COMMIT_SKIPPED, /* something before it failed: the transaction is still open */
    PG_COMMIT_UNSURE,
};

struct pg_db {
    struct db db;
    PGconn *conn;
    struct sent *sent; /* a ring */
    size_t sent_cap, sent_head, sent_count;
    int unsynced;    /* messages since the last sync */
    unsigned names;  /* given so far */
    int64_t wait_ms; /* for one answer */
    bool lost;       /* the connection can no longer be used */
    bool may_retry;
    bool is_group; /* several jobs share its transactions: what one of them meets is settled by running each alone */
    bool fresh;    /* has not completed a transaction yet */
    bool warned;   /* the server said WARNING while it committed */
    bool wrote;    /* the transaction changed a row */
    enum pg_commit commit;
    /* postgres.c's */
    struct pg_stmt own[OWN_COUNT];
    enum tx_mode mode;
    bool begun;  /* BEGIN was sent, COMMIT or ROLLBACK was not */
    bool unread; /* statements of this transaction still await their answers */
};

/* All do nothing once the connection is lost. */
void pipe_execute(struct pg_db *c, struct pg_stmt *st, enum sent_kind kind);
/* SENT_READ, the result to *ret instead of the statement: one that is sent several times has as many. */
void pipe_read(struct pg_db *c, struct pg_stmt *st, PGresult **ret);
void pipe_sync(struct pg_db *c);
/* Takes every outstanding answer, waiting where necessary. */
void pipe_receive(struct pg_db *c);
/* Gives up a connection that the server has already closed, even if there is more to read. */
void pipe_look(struct pg_db *c);
/* A text of several statements, outside the pipeline. */
void pipe_script(struct pg_db *c, const char *text);
void pipe_lose(struct pg_db *c, const char *why);

/* postgres.c's, for postgres_group.c and postgres_flight.c. */
extern const struct engine postgres_engine;
/* Before the first statement of a transaction. */
void postgres_open_transaction(struct pg_db *c);
