/* serve/periodic.h - periodic jobs, on the first loop: each row in a transaction of its own, never twice at once. */
#pragma once

#include "db/tx.h"

struct app;

struct periodic {
    const char *name;
    int64_t every_ms;
    enum tx_mode mode; /* TX_READ may answer ERR_NEEDS_WRITE when there is something to do */
    enum err (*run)(struct app *app, struct db *db);
    /* Before the end it runs until this says that nothing is left, or it fails; NULL: not at all. */
    bool (*is_left)(struct app *app);
    void (*done)(struct app *app, enum err e); /* how its transaction ended; may be NULL */
    enum periodic_flags {
        BY_ITSELF = 1, /* see tx_job */
        GOES_ON = 2,   /* after a run that wrote, the next one begins at once: there may be more to do */
    } flags;
};

/* Every row that a server runs: serve/jobs.c. */
extern const struct periodic periodic_jobs[];

struct periodic_state;
struct periodic_state *periodic_new(struct app *app, const struct periodic *jobs, struct tx_port *port);
/* Called every 250 ms or so on the port's thread. */
void periodic_tick(struct periodic_state *p);
/* No further row begins; running ones end. */
void periodic_drain(struct periodic_state *p);
void periodic_free(struct periodic_state *p);
/* The rows that run before the end. */
void periodic_at_stop(struct app *app, const struct periodic *jobs, struct database *database);
