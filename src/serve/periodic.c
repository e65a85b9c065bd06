/* serve/periodic.c - see periodic.h. */
#include "serve/periodic.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"

struct slot {
    struct tx_job job; /* first */
    struct periodic_state *state;
    const struct periodic *row;
    struct arena arena;
    int64_t next_ns;
    bool is_running;
};

struct periodic_state {
    struct app *app;
    struct tx_port *port;
    bool is_draining;
    size_t count;
    struct slot slots[];
};

struct periodic_state *periodic_new(struct app *app, const struct periodic *jobs, struct tx_port *port)
{
    size_t count = 0;
    while (jobs[count].name) count++;
    struct periodic_state *p = memory_zeroed(1, sizeof *p + count * sizeof *p->slots);
    p->app = app;
    p->port = port;
    p->count = count;
    for (size_t i = 0; i < count; i++) {
        p->slots[i].state = p;
        p->slots[i].row = &jobs[i];
        p->slots[i].next_ns = time_monotonic_ns() + jobs[i].every_ms * 1000000;
    }
    return p;
}

void periodic_drain(struct periodic_state *p)
{
    p->is_draining = true;
}

void periodic_free(struct periodic_state *p)
{
    if (!p) return;
    periodic_drain(p);
    for (size_t i = 0; i < p->count; i++) {
        /* The loop has ended: waits here for jobs that are still running on other threads, or about to. */
        while (p->slots[i].is_running) {
            tx_port_pass(p->port);
            tx_port_drain(p->port);
            if (p->slots[i].is_running) usleep(500);
        }
        arena_done(&p->slots[i].arena);
    }
    free(p);
}

static enum err slot_run(struct tx_job *job, struct db *db)
{
    struct slot *s = (struct slot *)job;
    return s->row->run(s->state->app, db);
}

static void slot_done(struct tx_job *job, enum err e);

static void begin_slot(struct slot *s)
{
    bool by_itself = s->row->flags & BY_ITSELF;
    s->is_running = true;
    s->job = (struct tx_job){.mode = s->row->mode,
                             .is_first = by_itself, /* for its place in the queue; others are run before it */
                             .by_itself = by_itself,
                             .run = slot_run,
                             .done = slot_done,
                             .arena = &s->arena};
    tx_submit(s->state->port, &s->job);
}

static void slot_done(struct tx_job *job, enum err e)
{
    struct slot *s = (struct slot *)job;
    bool goes_on = !e && job->mode != s->row->mode && s->row->flags & GOES_ON && !s->state->is_draining;
    if (e) log_event(LOG_WARN, "periodic_failed", LOGC("job", s->row->name), LOGC("code", err_info(e)->code));
    if (s->row->done) s->row->done(s->state->app, e);
    arena_reset(&s->arena);
    s->next_ns = time_monotonic_ns() + s->row->every_ms * 1000000;
    s->is_running = false;
    if (goes_on) begin_slot(s);
}

void periodic_tick(struct periodic_state *p)
{
    int64_t now = time_monotonic_ns();
    for (size_t i = 0; i < p->count && !p->is_draining; i++) {
        struct slot *s = &p->slots[i];
        if (!s->is_running && now >= s->next_ns) begin_slot(s);
    }
    tx_port_pass(p->port);
}

struct last_run {
    struct app *app;
    const struct periodic *row;
};

static enum err last_run(void *arg, struct db *db)
{
    struct last_run *l = arg;
    return l->row->run(l->app, db);
}

void periodic_at_stop(struct app *app, const struct periodic *jobs, struct database *database)
{
    for (const struct periodic *row = jobs; row->name; row++) {
        enum err e = OK;
        while (row->is_left && !e && row->is_left(app)) {
            struct arena arena = {0};
            struct last_run l = {app, row};
            e = tx_call(database, TX_WRITE, last_run, &l, &arena);
            if (e) log_event(LOG_WARN, "periodic_failed", LOGC("job", row->name), LOGC("code", err_info(e)->code));
            if (row->done) row->done(app, e);
            arena_done(&arena);
        }
    }
}
