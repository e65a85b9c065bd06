/* serve/refusal.c - refusals when there is no room, at a pace.
 *
 * A crowd that asks again at once would keep the loops so busy with refusing that those who were let in wait for the
 * processor. So refusals are earned: by the clock, and by calls that were let in and have ended. A refusal costs much
 * less than what earns it, so the work that is done stays nearly what it is without a crowd. Past that a refusal waits
 * for those before it; it holds memory and its connection, which asks nothing else meanwhile. */
#include "base/timestamp.h"
#include "serve/call.h"

#define PRICE 4         /* of a refusal; a call that was let in earns 1 */
#define EARNED_PER_MS 4 /* by each loop */
#define EARNED_MAX (64 * PRICE)

void refusals_init(struct refusals *r)
{
    *r = (struct refusals){.end = &r->first, .earned = EARNED_MAX};
}

static void earn(struct refusals *r, int64_t more)
{
    r->earned = more < EARNED_MAX - r->earned ? r->earned + more : EARNED_MAX;
}

void refusals_earn(struct refusals *r)
{
    earn(r, 1);
}

static void earn_by_clock(struct refusals *r)
{
    int64_t now = time_monotonic_ns(), more = (now - r->earned_ns) / (1000000 / EARNED_PER_MS);
    if (!more) return;
    r->earned_ns = now;
    earn(r, more);
}

void call_overloaded(struct call *c)
{
    struct refusals *r = &c->loop->refusals;
    if (!r->first) earn_by_clock(r);
    if (!r->first && r->earned >= PRICE) {
        r->earned -= PRICE;
        call_finish(c, ERR_OVERLOADED);
        return;
    }
    c->home.next = NULL;
    *r->end = &c->home;
    r->end = &c->home.next;
    http_loop_soon(c->loop->http);
}

void refusals_pass(struct loop *loop)
{
    struct refusals *r = &loop->refusals;
    if (!r->first) return;
    for (earn_by_clock(r); r->first && r->earned >= PRICE; r->earned -= PRICE) {
        struct call *c = call_of(r->first, home);
        r->first = c->home.next;
        if (!r->first) r->end = &r->first;
        call_finish(c, ERR_OVERLOADED);
    }
    if (r->first) http_loop_soon(loop->http);
}
