/* tests/sim/provider.c - the outside world: takes the place of outbound/outbound.h. */
#include <stdlib.h>

#include "outbound/outbound.h"

struct outbound {
    int jobs;
};

struct outbound *__wrap_outbound_start(const struct outbound_options *options);
void __wrap_outbound_cancel(struct outbound *o);
void __wrap_outbound_stop(struct outbound *o);
void __wrap_outbound_submit(struct outbound *o, struct outbound_job *job);
void __wrap_outbound_call(struct outbound *o, struct outbound_job *job);

struct outbound *__wrap_outbound_start(const struct outbound_options *options)
{
    (void)options;
    return calloc(1, sizeof(struct outbound));
}

void __wrap_outbound_cancel(struct outbound *o)
{
    (void)o;
}

void __wrap_outbound_stop(struct outbound *o)
{
    free(o);
}

void __wrap_outbound_call(struct outbound *o, struct outbound_job *job)
{
    o->jobs++;
    job->reply = (struct http_reply){0};
    job->failure = "nobody is there";
}

void __wrap_outbound_submit(struct outbound *o, struct outbound_job *job)
{
    __wrap_outbound_call(o, job);
    job->done(job);
}
