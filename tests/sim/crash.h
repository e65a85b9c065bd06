/* tests/sim/crash.h - what a power cut after each step of a disk's log can leave behind.
 *
 * Walks through the log of a run. At each step it holds what is certain (all that was synced) and what is not: the
 * operations since. An image is the certain part and a choice of the rest. */
#pragma once

#include "disk.h"
#include "seed.h"

enum crash_kind {
    CRASH_LOST,      /* nothing of what was not synced */
    CRASH_KEPT,      /* all of it */
    CRASH_TORN,      /* all of it, but of the last write only some sectors */
    CRASH_SOME_512,  /* some sectors of 512 bytes, whichever */
    CRASH_SOME_4096, /* of 4096 */
    CRASH_KINDS
};

struct crash;

/* `image` becomes the disk `start`, on which the log of `run` began; from then on it is changed in place. `lies`: syncs
 * are not believed. */
struct crash *crash_new(struct disk *image, const struct disk *start, const struct disk *run, bool lies);
void crash_free(struct crash *c);
/* One more step is done; false: there is none. */
bool crash_next(struct crash *c);
size_t crash_step(const struct crash *c);
/* Makes the image of that kind, or says that it would be the same as another one of this step. The same seed gives the
 * same choice. */
bool crash_make(struct crash *c, enum crash_kind kind, uint64_t seed);
/* A number for the image's content: the same for the same bytes. */
uint64_t crash_hash(const struct crash *c);
/* Back to what is certain. */
void crash_undo(struct crash *c);
