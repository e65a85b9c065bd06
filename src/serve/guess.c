/* serve/guess.c - see guess.h. A table of buckets of eight slots behind a lock; a keyed hash stands for the guesser, so
 * that no outsider can make two of them share a slot. A full bucket gives up its longest-waiting slot. */
#include "serve/guess.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/random.h"

#define BUCKETS 4096
#define SLOTS 8
#define SECOND INT64_C(1000000000)
#define WAIT_FIRST (15 * SECOND)
#define WAIT_MAX (900 * SECOND)
#define REMEMBERED (3600 * SECOND) /* after the end of the last wait */

struct guess_slot {
    uint64_t who;
    int64_t failures;
    int64_t last_ns;  /* the latest guess */
    int64_t until_ns; /* no guess before this */
};

struct guesses {
    unsigned char key[crypto_shorthash_KEYBYTES];
    pthread_mutex_t lock;
    struct guess_slot slots[BUCKETS][SLOTS];
};

struct guesses *guesses_new(void)
{
    struct guesses *g = memory_zeroed(1, sizeof *g);
    random_bytes(g->key, sizeof g->key);
    pthread_mutex_init(&g->lock, NULL);
    return g;
}

void guesses_free(struct guesses *g)
{
    if (!g) return;
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static uint64_t hash_of(const struct guesses *g, char name, Str who)
{
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t h;
    crypto_shorthash(out, (const unsigned char *)who.ptr, who.len, g->key);
    memcpy(&h, out, sizeof h);
    return h ^ (uint64_t)(unsigned char)name * UINT64_C(0x9e3779b97f4a7c15);
}

static struct guess_slot *find_slot(struct guesses *g, uint64_t who)
{
    struct guess_slot *slots = g->slots[who % BUCKETS], *oldest = slots;
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i].who == who) return &slots[i];
        if (slots[i].last_ns < oldest->last_ns) oldest = &slots[i];
    }
    return oldest;
}

static int64_t wait_after(int64_t failures, int64_t free)
{
    if (failures < free) return 0;
    int64_t doublings = failures - free;
    return doublings >= 6 ? WAIT_MAX : WAIT_FIRST << doublings;
}

bool guess_begin(struct guesses *g, char name, Str who, int64_t free, int64_t now_ns, int64_t *ret_wait_s)
{
    uint64_t hash = hash_of(g, name, who);
    pthread_mutex_lock(&g->lock);
    struct guess_slot *s = find_slot(g, hash);
    bool is_old = s->who != hash || (now_ns > s->until_ns + REMEMBERED && now_ns > s->last_ns + REMEMBERED);
    if (is_old) *s = (struct guess_slot){.who = hash};
    bool allowed = now_ns >= s->until_ns;
    if (allowed) {
        s->failures++;
        s->last_ns = now_ns;
        s->until_ns = now_ns + wait_after(s->failures, free);
    } else {
        *ret_wait_s = (s->until_ns - now_ns + SECOND - 1) / SECOND;
    }
    pthread_mutex_unlock(&g->lock);
    return allowed;
}

void guess_right(struct guesses *g, char name, Str who)
{
    uint64_t hash = hash_of(g, name, who);
    pthread_mutex_lock(&g->lock);
    struct guess_slot *s = find_slot(g, hash);
    if (s->who == hash) *s = (struct guess_slot){0};
    pthread_mutex_unlock(&g->lock);
}

void guess_undo(struct guesses *g, char name, Str who, int64_t free)
{
    uint64_t hash = hash_of(g, name, who);
    pthread_mutex_lock(&g->lock);
    struct guess_slot *s = find_slot(g, hash);
    if (s->who == hash && s->failures > 0) {
        s->failures--;
        /* A guesser who was let in after a wait has waited: the next guess may follow at once. */
        s->until_ns = s->failures < free ? 0 : s->last_ns;
    }
    pthread_mutex_unlock(&g->lock);
}
