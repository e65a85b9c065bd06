/* tests/sim/sim.c - the store in one process on one thread, with the power cut after every step of its disk.
 *
 *   sim [--seed N] [--runs N] [--seconds N] [--step K]
 *
 * One run of a seed: a store, customers and staff, until all have done what they wanted; its disk keeps a log of every
 * write and sync. Then for every step of this log, images of what a power cut there can leave are made, opened by
 * SQLite and checked against what clients had been told by then. From some of the images the server is started again,
 * clients repeat what they had no answer to, and the run goes on to its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "client.h"
#include "control.h"
#include "crash.h"
#include "schedule.h"
#include "seed.h"

#define LEVELS 2          /* a power cut, and one more in what comes after it */
#define RESTART_EVERY 400 /* images */
#define FAULT_EVERY 400
#define BIRTH_EVERY 60 /* images of the first start */
#define FAILURES_MAX 10
#define SECOND_EVERY 40 /* steps of the second level */
#define THOROUGH_EVERY 64
#define SEEN_SLOTS (1 << 20)

static const char *const kind_names[CRASH_KINDS] = {"lost", "kept", "torn", "some-512", "some-4096"};

static struct {
    int64_t runs, deeds, charges, events, steps, images, checked, restarts, births, faults, read_faults, failures;
} counts;
static struct {
    uint64_t seed;
    int64_t runs, seconds, step; /* -1: all */
} options = {.seed = 1, .runs = 1, .seconds = 0, .step = -1};

static struct disk start; /* the store as it is first made */
static struct store_facts store;
static struct {
    struct disk image;
    struct checker *checker;
    struct fact facts[FACTS_MAX];
} levels[LEVELS];
static size_t top_step; /* of the first power cut: what --step takes */

/* ---- images that were already checked ---- */

static uint64_t *seen;

static bool is_new(uint64_t hash)
{
    if (!hash) hash = 1;
    for (uint64_t i = hash % SEEN_SLOTS;; i = (i + 1) % SEEN_SLOTS) {
        if (seen[i] == hash) return false;
        if (seen[i]) continue;
        seen[i] = hash;
        return true;
    }
}

/* ---- failures ---- */

static struct {
    bool is_quiet; /* a control: failures are wanted */
    int64_t found;
    char first[512];
} hunt;

static void fail(uint64_t seed, int level, size_t step, const char *image, const char *why)
{
    hunt.found++;
    if (hunt.found == 1) snprintf(hunt.first, sizeof hunt.first, "step %zu, %s: %s", step, image, why);
    if (hunt.is_quiet) return;
    counts.failures++;
    printf("FAILED: seed %llu, power cut %d after step %zu, image %s: %s\n  again: sim --seed %llu --step %zu\n",
           (unsigned long long)seed, level + 1, step, image, why, (unsigned long long)seed, top_step);
    fflush(stdout);
}

/* ---- a run ---- */

static void sweep(const struct disk *from, const struct disk *run, const struct world *w, int level, bool lies);

/* The server on this disk, until everybody has done everything. False: it did not go well. */
static bool live(struct disk *d, struct world *w, uint64_t seed, char *why, size_t bytes)
{
    w->disk = d;
    provider_use(&w->provider, &d->steps, seed);
    if (!store_start(d, why, bytes)) return false;
    world_run(w, d, seed);
    if (store_is_healthy() && !*w->trouble) world_repeat(w);
    store_stop();
    provider_use(NULL, NULL, 0);
    if (*w->trouble) snprintf(why, bytes, "%s", w->trouble);
    return !*w->trouble;
}

/* Checks the disk as it is, with a new connection. */
static bool check_disk(struct disk *d, const struct facts *facts, char *why, size_t bytes)
{
    vfs_forget_shm(d);
    struct checker *c = checker_open(d, "after.db");
    bool good = c && checker_run(c, facts, true, why, bytes);
    if (!c) snprintf(why, bytes, "the database cannot be opened");
    checker_close(c);
    return good;
}

static bool check_end(struct disk *d, const struct world *w, char *why, size_t bytes)
{
    struct fact *list = calloc(FACTS_MAX, sizeof *list);
    if (!list) abort();
    struct facts facts = world_facts(w, SIZE_MAX - 1, list);
    bool good = check_disk(d, &facts, why, bytes);
    free(list);
    return good;
}

static void restart(const struct disk *image, const struct world *before, size_t step, int level, const char *name,
                    struct random *r)
{
    struct disk d = {0}, first = {0};
    struct world *w = malloc(sizeof *w);
    char why[512];
    if (!w) abort();
    *w = *before;
    world_cut(w, step);
    disk_copy(&d, image);
    disk_copy(&first, image);
    counts.restarts++;
    if (!live(&d, w, random_next(r), why, sizeof why) || !check_end(&d, w, why, sizeof why))
        fail(before->seed, level, step, name, why);
    else if (level + 1 < LEVELS && random_under(r, 4) == 0)
        sweep(&first, &d, w, level + 1, false);
    disk_done(&d);
    disk_done(&first);
    free(w);
}

/* The disk fails at some step, for a moment or for good. What the server cannot write it refuses (503), clients ask
 * again; when it gives up, as it should once the outcome of a commit is not known, it is started afresh on whatever the
 * failing disk has kept. */
static void break_disk(const struct disk *image, const struct world *before, size_t step, int level, struct random *r)
{
    static const char *const names[] = {"none", "EIO", "ENOSPC", "EIO of reads"};
    struct disk d = {0}, first = {0}, after = {0};
    struct world *w = malloc(sizeof *w);
    char why[512] = "", name[64];
    if (!w) abort();
    *w = *before;
    world_cut(w, step);
    disk_copy(&d, image);
    disk_copy(&first, image);
    d.fault = FAULT_EIO + random_under(r, 3);
    d.fault_at = 20 + random_under(r, 400);
    d.fault_length = 1 + random_under(r, 3) * random_under(r, 40);
    snprintf(name, sizeof name, "%s x%zu at %zu", names[d.fault], d.fault_length, d.fault_at);
    counts.faults++;
    bool good = live(&d, w, random_next(r), why, sizeof why);
    if (good && d.faults == 0)
        counts.faults--; /* the end came first */
    else if (d.fault == FAULT_READ)
        counts.read_faults++;
    /* A restart, often with a power cut: what was not synced, or could not be, is anybody's guess. */
    struct crash *c = crash_new(&after, &first, &d, false);
    while (crash_next(c)) {
    }
    crash_make(c, (enum crash_kind)random_under(r, CRASH_KINDS), random_next(r));
    first.fault = FAULT_NONE;
    disk_copy(&first, &after);
    crash_free(c);
    world_cut(w, d.steps);
    good = good && live(&first, w, random_next(r), why, sizeof why) && check_end(&first, w, why, sizeof why);
    if (!good) fail(before->seed, level, step, name, why);
    disk_done(&after);
    disk_done(&first);
    disk_done(&d);
    free(w);
}

/* The next step at which clients know more; facts are the same until then. */
static void earlier(size_t at, size_t step, size_t *next)
{
    if (at != NOT_YET && at > step && at < *next) *next = at;
}

static size_t next_news(const struct world *w, size_t step)
{
    size_t next = SIZE_MAX;
    for (int i = 0; i < SESSIONS; i++) {
        const struct session *s = &w->provider.sessions[i];
        if (s->made_at == NOT_YET) continue;
        earlier(s->paid_at, step, &next);
        for (int n = 0; n < REFUNDS; n++) earlier(s->refunds[n].made_at, step, &next);
        for (int n = 0; n < HOOKS; n++) earlier(s->hooks[n].heard_at, step, &next);
    }
    for (int c = 0; c < CLIENTS; c++) {
        for (int i = 0; i < DEEDS; i++) {
            const struct deed *d = &w->deeds[c][i];
            earlier(d->sent_at, step, &next);
            earlier(d->heard_at, step, &next);
        }
    }
    return next;
}

/* Everything by chance follows from the seed and the step, so that one step can be tried again alone. */
static struct random chance_at(uint64_t seed, size_t step, int level, int kind)
{
    struct random r;
    random_seed(&r, random_mix(seed * 1000003 + top_step) ^ random_mix(step * 64 + (size_t)level * 8 + (size_t)kind));
    random_next(&r);
    return r;
}

static bool wants_step(uint64_t seed, size_t step, int level)
{
    struct random r = chance_at(seed, step, level, CRASH_KINDS);
    if (level > 0) return random_under(&r, SECOND_EVERY) == 0;
    return options.step < 0 || (size_t)options.step == step;
}

static void sweep(const struct disk *from, const struct disk *run, const struct world *w, int level, bool lies)
{
    struct crash *c = crash_new(&levels[level].image, from, run, lies);
    vfs_forget_shm(&levels[level].image);
    static const char *const names[LEVELS] = {"image.db", "second.db"};
    levels[level].checker = checker_open(&levels[level].image, names[level]);
    if (!levels[level].checker) fail(w->seed, level, 0, "start", "the database cannot be opened");
    struct facts facts = {0};
    size_t news = 0, version = 0;
    int64_t limit = hunt.is_quiet ? 1 : FAILURES_MAX;
    while (levels[level].checker && hunt.found < limit && crash_next(c)) {
        size_t step = crash_step(c);
        if (level == 0) top_step = step;
        if (!wants_step(w->seed, step, level)) continue;
        if (step >= news) {
            facts = world_facts(w, step, levels[level].facts);
            news = next_news(w, step);
            version++;
        }
        counts.steps++;
        for (int kind = 0; kind < CRASH_KINDS; kind++) {
            char why[512];
            struct random r = chance_at(w->seed, step, level, kind);
            if (!crash_make(c, (enum crash_kind)kind, random_next(&r))) continue;
            counts.images++;
            if (!is_new(crash_hash(c) + version * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)level)) continue;
            counts.checked++;
            bool thorough = random_under(&r, THOROUGH_EVERY) == 0;
            bool good = checker_run(levels[level].checker, &facts, thorough, why, sizeof why);
            if (!good) fail(w->seed, level, step, kind_names[kind], why);
            if (!good || hunt.is_quiet) continue;
            if (random_under(&r, FAULT_EVERY) == 0) break_disk(&levels[level].image, w, step, level, &r);
            if (random_under(&r, RESTART_EVERY) == 0)
                restart(&levels[level].image, w, step, level, kind_names[kind], &r);
        }
    }
    checker_close(levels[level].checker);
    crash_free(c);
}

/* Power cuts while the store is first made: the next start must make what is missing. */
static void run_births(void)
{
    struct disk nothing = {0}, *image = &levels[0].image;
    struct crash *c = crash_new(image, &nothing, &start, false);
    seed_all(options.seed);
    while (hunt.found < FAILURES_MAX && crash_next(c)) {
        top_step = crash_step(c);
        for (int kind = 0; kind < CRASH_KINDS; kind++) {
            struct random r = chance_at(options.seed, top_step, LEVELS, kind);
            char why[512] = "";
            if (random_under(&r, BIRTH_EVERY) || !crash_make(c, (enum crash_kind)kind, random_next(&r))) continue;
            struct disk d = {0};
            disk_copy(&d, image);
            disk_create(&d, DISK_DB); /* 'souk serve' makes a missing file */
            counts.births++;
            bool good = store_start(&d, why, sizeof why);
            if (good) store_stop();
            struct facts none = {0};
            if (!good || !check_disk(&d, &none, why, sizeof why))
                fail(options.seed, 0, top_step, kind_names[kind], why);
            disk_done(&d);
        }
    }
    crash_free(c);
    disk_done(&nothing);
}

static void run_seed(uint64_t seed, bool lies)
{
    struct disk d = {0};
    struct world *w = malloc(sizeof *w);
    char why[512] = "";
    if (!w) abort();
    seed_all(seed);
    memset(seen, 0, SEEN_SLOTS * sizeof *seen);
    disk_copy(&d, &start);
    world_make(w, &store, seed);
    if (!live(&d, w, seed, why, sizeof why) || !check_end(&d, w, why, sizeof why)) fail(seed, -1, 0, "none", why);
    counts.runs++;
    for (int c = 0; c < CLIENTS; c++)
        for (int i = 0; i < DEEDS; i++) counts.deeds += w->deeds[c][i].heard_at != NOT_YET;
    for (int i = 0; i < SESSIONS; i++) {
        const struct session *s = &w->provider.sessions[i];
        if (s->made_at == NOT_YET) continue;
        counts.charges += s->paid_at != NOT_YET;
        for (int n = 0; n < HOOKS; n++) counts.events += s->hooks[n].times;
    }
    if (!hunt.found) sweep(&start, &d, w, 0, lies);
    disk_done(&d);
    free(w);
}

/* ---- controls: what is broken on purpose must be found ---- */

static bool control_is_caught(const char *name, bool lies)
{
    hunt.is_quiet = true;
    hunt.found = 0;
    int64_t tried = 0;
    for (uint64_t seed = options.seed; !hunt.found && tried < 8; seed++, tried++) run_seed(seed, lies);
    bool caught = hunt.found > 0;
    printf("control %-28s %s\n", name, caught ? hunt.first : "NOT CAUGHT");
    hunt.is_quiet = false;
    hunt.found = 0;
    return caught;
}

static bool controls_are_caught(void)
{
    int64_t before[sizeof counts / sizeof(int64_t)];
    memcpy(before, &counts, sizeof counts);
    bool good = control_is_caught("lying fsync", true);
    for (int i = 1; i < CONTROLS; i++) {
        control_set((enum control)i);
        good = control_is_caught(control_name((enum control)i), false) && good;
        control_set(CONTROL_NONE);
    }
    memcpy(&counts, before, sizeof counts);
    return good;
}

static int64_t number_after(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc) {
        fprintf(stderr, "sim: %s needs a number\n", argv[*i]);
        exit(2);
    }
    return strtoll(argv[++*i], NULL, 10);
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0)
            options.seed = (uint64_t)number_after(argc, argv, &i);
        else if (strcmp(argv[i], "--runs") == 0)
            options.runs = number_after(argc, argv, &i);
        else if (strcmp(argv[i], "--seconds") == 0)
            options.seconds = number_after(argc, argv, &i);
        else if (strcmp(argv[i], "--step") == 0)
            options.step = number_after(argc, argv, &i);
        else {
            fprintf(stderr, "sim: unknown option %s\n", argv[i]);
            exit(2);
        }
    }
}

static void report(clock_t began)
{
    double cpu = (double)(clock() - began) / CLOCKS_PER_SEC;
    printf("%lld runs from seed %llu, %lld answers, %lld payments at the provider with %lld webhooks, %lld steps, %lld "
           "crash images (%lld of them different, all checked),"
           " %lld restarts, %lld of the first start, %lld failing disks (%lld when read), %lld failures; %.1f s of CPU "
           "time, %.0f "
           "images a minute\n",
           (long long)counts.runs, (unsigned long long)options.seed, (long long)counts.deeds, (long long)counts.charges,
           (long long)counts.events, (long long)counts.steps, (long long)counts.images, (long long)counts.checked,
           (long long)counts.restarts, (long long)counts.births, (long long)counts.faults,
           (long long)counts.read_faults, (long long)counts.failures, cpu,
           cpu > 0 ? (double)counts.images / cpu * 60 : 0);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/souk-sim-XXXXXX";
    read_options(argc, argv);
    seen = calloc(SEEN_SLOTS, sizeof *seen);
    if (!seen || !mkdtemp(folder)) abort();
    seed_install();
    seed_all(options.seed);
    store_folder(folder);
    store_make(&start, &store);

    clock_t began = clock();
    time_t end = time(NULL) + options.seconds;
    bool good = options.step >= 0 || controls_are_caught();
    began = clock();
    if (options.step < 0) run_births();
    /* A run that fails is the last: somebody should look at it. */
    for (int64_t n = 0; !hunt.found && (options.seconds ? time(NULL) < end : n < options.runs); n++)
        run_seed(options.seed + (uint64_t)n, false);
    report(began);
    disk_done(&start);
    free(seen);
    store_remove();
    return good && !counts.failures ? 0 : 1;
}
