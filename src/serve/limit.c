/* serve/limit.c - see limit.h. Sixteen shards with a lock each; a shard is a table of buckets of eight slots, so a
 * lookup touches one or two cache lines, and memory never grows. A keyed hash stands for the caller: two callers share
 * a slot only if 64 bits collide, which no outsider can arrange. */
#include "serve/limit.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"

#define SHARDS 16
#define BUCKETS 4096 /* per shard */
#define SLOTS 8

struct limit_slot {
    uint64_t caller;
    int64_t arrival_ns; /* theoretical arrival time; a past one is a free slot */
};

struct shard {
    pthread_mutex_t lock;
    struct limit_slot slots[BUCKETS][SLOTS];
};

struct limiter {
    unsigned char key[crypto_shorthash_KEYBYTES];
    struct shard shards[SHARDS];
};

struct limiter *limiter_new(void)
{
    struct limiter *l = memory_zeroed(1, sizeof *l);
    random_bytes(l->key, sizeof l->key);
    for (int i = 0; i < SHARDS; i++) pthread_mutex_init(&l->shards[i].lock, NULL);
    return l;
}

void limiter_free(struct limiter *l)
{
    if (!l) return;
    for (int i = 0; i < SHARDS; i++) pthread_mutex_destroy(&l->shards[i].lock);
    free(l);
}

static uint64_t caller_hash(const struct limiter *l, char name, Str caller)
{
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t h;
    crypto_shorthash(out, (const unsigned char *)caller.ptr, caller.len, l->key);
    memcpy(&h, out, sizeof h);
    return h ^ (uint64_t)(unsigned char)name * UINT64_C(0x9e3779b97f4a7c15);
}

/* The caller's slot, or the slot to give to the caller: the one that has been free for longest, or will be free
 * soonest. */
static struct limit_slot *find_slot(struct limit_slot slots[SLOTS], uint64_t caller)
{
    struct limit_slot *oldest = &slots[0];
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].caller == caller) return &slots[i];
        if (slots[i].arrival_ns < oldest->arrival_ns) oldest = &slots[i];
    }
    return oldest;
}

struct limit_pace {
    int64_t calls, seconds;
    int64_t amount; /* that is charged at once */
};

static struct limit_result charge(struct limiter *l, char name, Str caller, struct limit_pace pace, int64_t now_ns,
                                  bool count)
{
    const int64_t second = INT64_C(1000000000);
    int64_t interval = pace.seconds * second / pace.calls;
    if (interval < 1) interval = 1;
    int64_t window = interval * pace.calls, cost = interval * pace.amount;
    uint64_t hash = caller_hash(l, name, caller);
    struct shard *shard = &l->shards[hash % SHARDS];

    pthread_mutex_lock(&shard->lock);
    struct limit_slot *slot = find_slot(shard->slots[hash / SHARDS % BUCKETS], hash);
    int64_t arrival = slot->caller == hash && slot->arrival_ns > now_ns ? slot->arrival_ns : now_ns;
    bool allowed = arrival + cost - now_ns <= window;
    if (allowed) {
        arrival += cost;
        if (count) *slot = (struct limit_slot){hash, arrival};
    }
    pthread_mutex_unlock(&shard->lock);

    int64_t ahead = arrival - now_ns;
    return (struct limit_result){
        .allowed = allowed,
        .remaining = (window - ahead) / interval,
        .reset_s = (ahead + second - 1) / second,
        .retry_after_s = allowed ? 0 : (ahead + cost - window + second - 1) / second,
    };
}

struct limit_result limiter_charge(struct limiter *l, char name, Str caller, int64_t per_minute, int64_t now_ns)
{
    return charge(l, name, caller, (struct limit_pace){per_minute, 60, 1}, now_ns, true);
}

struct limit_result limiter_charge_day(struct limiter *l, char name, Str caller, int64_t per_day, int64_t now_ns)
{
    return charge(l, name, caller, (struct limit_pace){per_day, 86400, 1}, now_ns, true);
}

struct limit_result limiter_spend_day(struct limiter *l, char name, Str caller, int64_t amount, int64_t per_day,
                                      int64_t now_ns)
{
    return charge(l, name, caller, (struct limit_pace){per_day, 86400, amount}, now_ns, true);
}

struct limit_result limiter_look(struct limiter *l, char name, Str caller, int64_t per_minute, int64_t now_ns)
{
    return charge(l, name, caller, (struct limit_pace){per_minute, 60, 1}, now_ns, false);
}
