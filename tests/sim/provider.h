/* tests/sim/provider.h - a payment provider that answers late, twice, never or wrongly: Stripe, as far as the store
 * calls it.
 *
 * What happens there outlives the server. Each change has the step of the disk at which it was made, so that after a
 * power cut the provider is as it was then. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SESSIONS 48
#define REFUNDS 4 /* of one payment */
#define REF_MAX 80
#define NOT_YET SIZE_MAX

enum hook { HOOK_FAILED, HOOK_INTENT, HOOK_SESSION, HOOK_REFUNDED, HOOKS };

struct session {
    size_t made_at, paid_at, closed_at;
    char key[REF_MAX];       /* of the call that made it: a repeated one finds it */
    char order_ref[REF_MAX]; /* what the store calls it */
    int64_t amount, paid;
    struct {
        size_t made_at;
        char key[REF_MAX];
        int64_t amount;
    } refunds[REFUNDS];
    struct {
        int times;       /* sent and answered with 2xx */
        size_t heard_at; /* the first time */
        bool is_open;
    } hooks[HOOKS];
};

struct paying {
    struct session sessions[SESSIONS];
    const size_t *steps; /* of the disk */
};

void provider_make(struct paying *p);
/* The provider that is called from now on; NULL: nobody is there. */
void provider_use(struct paying *p, const size_t *steps, uint64_t seed);
/* As it was after so many steps. */
void provider_cut(struct paying *p, size_t step);
struct session *provider_find(struct paying *p, const char *key);
/* The customer pays so much. False: the page is closed. */
bool provider_pay(struct paying *p, struct session *s, int64_t amount);
int64_t provider_refunded(const struct session *s, size_t step);
/* Sends one of the events that somebody waits for, again or for the first time. False: there is none. */
bool provider_tell(struct paying *p, uint64_t choice);
/* The name of an event, at most 31 characters. */
void provider_event(const struct paying *p, const struct session *s, enum hook hook, char *ret);
/* The webhook's secret, in the gateway's configuration. */
#define PROVIDER_SECRET "whsec_sim"
