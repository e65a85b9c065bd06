/* serve/turn.c - see turn.h. One lock: it is held for a few instructions. */
#include "serve/turn.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>

#define PLACES 4096

struct line {
    int taken, waiting;
    struct turn *first, *last;
};

struct turns {
    pthread_mutex_t lock;
    int most, waiting_max;
    struct line lines[PLACES];
};

struct turns *turns_new(int most, int waiting_max)
{
    struct turns *s = memory_zeroed(1, sizeof *s);
    s->most = most;
    s->waiting_max = waiting_max;
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void turns_free(struct turns *s)
{
    if (!s) return;
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void take(struct turns *s, struct turn *t, size_t place)
{
    s->lines[place % PLACES].taken++;
    t->of = s;
    t->place = place % PLACES;
    t->is_taken = true;
}

bool turn_try(struct turns *s, struct turn *t, size_t place)
{
    if (t->is_taken) return true;
    pthread_mutex_lock(&s->lock);
    struct line *l = &s->lines[place % PLACES];
    if (l->taken < s->most) take(s, t, place); /* then nobody waits */
    pthread_mutex_unlock(&s->lock);
    return t->is_taken;
}

enum turn_result turn_wait(struct turns *s, struct turn *t, size_t place, void (*resume)(struct turn *t))
{
    if (t->is_taken) return TURN_TAKEN;
    enum turn_result result = TURN_WAITS;
    pthread_mutex_lock(&s->lock);
    struct line *l = &s->lines[place % PLACES];
    if (l->taken < s->most) {
        take(s, t, place);
        result = TURN_TAKEN;
    } else if (l->waiting >= s->waiting_max) {
        result = TURN_REFUSED;
    } else {
        *t = (struct turn){.of = s, .place = place % PLACES, .resume = resume};
        *(l->first ? &l->last->next : &l->first) = t;
        l->last = t;
        l->waiting++;
    }
    pthread_mutex_unlock(&s->lock);
    return result;
}

void turn_give(struct turn *t)
{
    if (!t->is_taken) return;
    struct turns *s = t->of;
    pthread_mutex_lock(&s->lock);
    struct line *l = &s->lines[t->place];
    struct turn *next = l->first;
    t->is_taken = false;
    if (next) {
        l->first = next->next;
        l->waiting--;
        next->is_taken = true; /* handed on: as many are taken as before */
    } else {
        l->taken--;
    }
    pthread_mutex_unlock(&s->lock);
    if (next) next->resume(next);
}
