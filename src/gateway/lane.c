/* gateway/lane.c - see lane.h. */
#include "gateway/lane.h"

#include <assert.h>

#include "base/log.h"
#include "base/timestamp.h"

#define OPEN_FIRST_NS (INT64_C(5) * 1000000000)
#define OPEN_MAX_NS (INT64_C(60) * 1000000000)

void lanes_init(struct lanes *l)
{
    pthread_mutex_init(&l->lock, NULL);
}

void lanes_done(struct lanes *l)
{
    pthread_mutex_destroy(&l->lock);
}

/* There are as many lanes as there can be gateways, and gateways are never deleted: one is always free. */
static struct lane *lane_of(struct lanes *l, Id gateway)
{
    for (size_t i = 0; i < GATEWAYS_MAX; i++) {
        struct lane *lane = &l->lanes[i];
        if (!id_is(lane->gateway)) lane->gateway = gateway;
        if (lane->gateway.v == gateway.v) return lane;
    }
    assert(false && "more gateways than GATEWAYS_MAX");
    return &l->lanes[0];
}

static enum lane_verdict verdict(struct lane *lane, bool in_background)
{
    if (lane->busy >= LANE_PLACES || (in_background && lane->busy_background >= LANE_PLACES_BACKGROUND))
        return LANE_FULL;
    if (!lane->open_until_ns) return LANE_FREE;
    if (lane->is_probing || time_monotonic_ns() < lane->open_until_ns) return LANE_OPEN;
    lane->is_probing = true;
    return LANE_FREE;
}

enum lane_verdict lane_enter(struct lanes *l, const struct gateway_config *gateway, bool in_background)
{
    pthread_mutex_lock(&l->lock);
    struct lane *lane = lane_of(l, gateway->id);
    enum lane_verdict v = verdict(lane, in_background);
    if (v == LANE_FREE) {
        lane->busy++;
        if (in_background) lane->busy_background++;
    }
    pthread_mutex_unlock(&l->lock);
    return v;
}

static void close_circuit(struct lane *lane, const struct gateway_config *gateway)
{
    if (lane->open_until_ns) log_event(LOG_INFO, "gateway_answers_again", LOGS("gateway", gateway->label));
    lane->failures = 0;
    lane->open_until_ns = lane->open_ns = 0;
    lane->is_probing = false;
}

static void count_failure(struct lane *lane, const struct gateway_config *gateway)
{
    int64_t now = time_monotonic_ns();
    lane->is_probing = false;
    if (lane->failures < LANE_FAILURES) lane->failures++;
    if (lane->failures < LANE_FAILURES || now < lane->open_until_ns) return;
    lane->open_ns = !lane->open_ns ? OPEN_FIRST_NS : lane->open_ns * 2 < OPEN_MAX_NS ? lane->open_ns * 2 : OPEN_MAX_NS;
    lane->open_until_ns = now + lane->open_ns;
    log_event(LOG_WARN, "gateway_left_alone", LOGS("gateway", gateway->label),
              LOGI("seconds", lane->open_ns / 1000000000));
}

void lane_leave(struct lanes *l, const struct gateway_config *gateway, bool in_background, bool has_answered)
{
    pthread_mutex_lock(&l->lock);
    struct lane *lane = lane_of(l, gateway->id);
    assert(lane->busy > 0);
    lane->busy--;
    if (in_background) lane->busy_background--;
    if (has_answered)
        close_circuit(lane, gateway);
    else
        count_failure(lane, gateway);
    pthread_mutex_unlock(&l->lock);
}

int lanes_open(struct lanes *l)
{
    int n = 0;
    pthread_mutex_lock(&l->lock);
    for (int i = 0; i < GATEWAYS_MAX; i++) n += l->lanes[i].open_until_ns != 0;
    pthread_mutex_unlock(&l->lock);
    return n;
}
