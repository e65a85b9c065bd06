/* db/postgres_flight.h - what several jobs ask of one connection at the same time, in one round trip. For
 * db/postgres*.c.
 *
 * Statements with the same text become one (db/set_text.h), of all jobs. The order in which one job asks is kept;
 * that of different jobs is not, except that rows of one table are inserted in the order in which they came.
 * Statements that may meet at a lock are sent in the order of their parameters, so that two flights do not wait for
 * each other. */
#pragma once

#include "db/postgres_pipe.h"

/* One statement with its parameters. */
struct pg_ask {
    struct pg_ask *next; /* the asker's own list */
    const char *sql;
    int params;
    const char *const *values;
    const int *lengths;
    const unsigned char *kinds;
    struct pg_stmt *reader; /* whose result it is; NULL: nobody reads it */
    /* the module's */
    int order; /* of asking */
    int element;
};

struct pg_flight;

/* For one connection; the arena is the caller's, and is emptied by flight_clear. NULL: no memory. */
struct pg_flight *flight_new(struct pg_db *c);
void flight_free(struct pg_flight *f);

/* *place: 0 for each job at the start of each flight. The ask stays the caller's until flight_send. */
void flight_add(struct pg_flight *f, struct pg_ask *ask, int *place);
/* Sends all that was added. Nothing added: sends nothing. */
void flight_send(struct pg_flight *f);
/* Waits for the answers, and gives each reader its rows: they live until flight_clear. False: the connection's error
 * stands, nobody got anything. */
bool flight_receive(struct pg_flight *f);
/* At the end of the transaction. */
void flight_clear(struct pg_flight *f);
