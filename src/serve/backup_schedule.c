/* serve/backup_schedule.c - see backup_schedule.h. */
#include "serve/backup_schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backup/make.h"
#include "backup/restore.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "domain/backup_record.h"
#include "serve/backup_folder.h"
#include "serve/version.h"

#define TICK_MS 500
#define LOOK_MS (15 * TIME_SECOND) /* another node, or a command, may have made one */
#define AFTER_FAILURE_MS (5 * TIME_MINUTE)
#define NICE 10 /* orders come first */

struct backup_schedule {
    struct database *database;
    const char *data_dir;
    const struct backup_options *options;
    _Atomic int64_t failures;
    int64_t made_ms; /* when the newest was made; 0: never, or not known yet */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    _Atomic bool stop;
    int64_t due_ms, look_ms; /* by the wall clock: a night in which the machine sleeps counts */
};

static enum err read_last(void *arg, struct db *db)
{
    Time *last = arg;
    return backup_record_last(db, &last[0], &last[1]);
}

/* What is recorded decides when the next one is due, also after a restart. */
static void look(struct backup_schedule *s)
{
    Time last[2];
    if (tx_call(s->database, TX_READ, read_last, last, NULL) != OK) return;
    s->made_ms = last[0].ms;
}

static enum err add_record(void *arg, struct db *db)
{
    return backup_record_add(db, arg);
}

static bool record(struct backup_schedule *s, struct backup_record *r)
{
    enum err e = tx_call(s->database, TX_WRITE, add_record, r, NULL);
    if (e) log_event(LOG_ERROR, "backup.not_recorded", LOGC("code", err_info(e)->code));
    look(s);
    return e == OK;
}

/* What a command has left. */
static void read_note(struct backup_schedule *s, const char *name)
{
    char path[PATH_MAX], text[1024];
    if (snprintf(path, sizeof path, "%s/%s", s->data_dir, name) >= (int)sizeof path) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    ssize_t n = read(fd, text, sizeof text);
    close(fd);
    struct backup_record r;
    bool ok = n > 0 && backup_record_parse((Str){text, (size_t)n}, &r);
    if (!ok) log_event(LOG_WARN, "backup.note_unreadable", LOGC("file", path));
    if (!ok || record(s, &r)) unlink(path);
}

static void failed(struct backup_schedule *s, const char *why)
{
    atomic_fetch_add(&s->failures, 1);
    log_event(LOG_ERROR, "backup.failed", LOGC("reason", why));
}

static bool make(struct backup_schedule *s, const char *path, struct backup_made *ret)
{
    char why[ARCHIVE_WHY_BYTES] = "";
    struct database_options options = {.url = s->options->url, .read_only = true, .workers = 1};
    struct database *d;
    enum err e = database_open(&options, &d, why, sizeof why);
    if (!e) {
        struct backup_plan plan = {.database = d,
                                   .data_dir = s->data_dir,
                                   .to = path,
                                   .recipient = s->options->is_sealed ? s->options->recipient : NULL,
                                   .program = SOUK_VERSION,
                                   .stop = &s->stop};
        e = backup_make(&plan, ret, why);
        database_close(d);
    }
    if (e && !atomic_load(&s->stop)) failed(s, why);
    return e == OK;
}

static bool verify(struct backup_schedule *s, const char *path, const struct backup_made *made)
{
    char why[ARCHIVE_WHY_BYTES] = "";
    struct arena scratch = {0};
    struct archive_key key = {.stream_key = made->stream_key};
    struct verified v;
    enum err e =
        backup_verify(path, s->options->is_sealed ? &key : NULL, s->options->folder, &s->stop, &scratch, &v, why);
    arena_done(&scratch);
    if (e && !atomic_load(&s->stop)) failed(s, why);
    return e == OK;
}

static void run_hook(struct backup_schedule *s, const char *path)
{
    char why[128] = "";
    if (!*s->options->hook || backup_hook_run(s->options->hook, path, &s->stop, why, sizeof why)) return;
    log_event(LOG_ERROR, "backup.hook_failed", LOGC("program", s->options->hook), LOGC("reason", why));
}

/* False: to be tried again soon. */
static bool back_up(struct backup_schedule *s)
{
    char path[PATH_MAX];
    struct backup_made made = {0};
    backup_folder_sweep(s->options->folder);
    if (!backup_folder_name(s->options->folder, time_now(), path, sizeof path)) {
        failed(s, "the path of the folder is too long");
        return false;
    }
    bool ok = make(s, path, &made), is_good = ok && (s->options->is_unverified || verify(s, path, &made));
    sodium_memzero(made.stream_key, sizeof made.stream_key);
    if (!ok || atomic_load(&s->stop)) return false;
    struct backup_record r = {.name = str_from(strrchr(path, '/') + 1),
                              .bytes = made.bytes,
                              .rows = made.totals.rows,
                              .made_at = made.made_at,
                              .verified_at = is_good && !s->options->is_unverified ? time_now() : (Time){0}};
    record(s, &r);
    log_event(LOG_INFO, "backup.made", LOGC("file", path), LOGI("bytes", made.bytes), LOGI("rows", made.totals.rows),
              LOGI("files", made.totals.files), LOGI("missing_files", made.totals.missing),
              LOGC("verified", time_is(r.verified_at) ? "yes" : "no"));
    if (!is_good) return false;
    backup_folder_keep(s->options->folder, s->options->keep);
    run_hook(s, path);
    return true;
}

/* Also when it is further away than it can be: the clock has been set back. */
static bool is_due(int64_t due_ms, int64_t every_ms, int64_t now)
{
    return due_ms <= now || due_ms - now > every_ms;
}

static void turn(struct backup_schedule *s)
{
    int64_t now = time_now().ms;
    read_note(s, BACKUP_RECORD_FILE);
    read_note(s, BACKUP_VERIFIED_FILE);
    if (is_due(s->look_ms, LOOK_MS, now)) {
        look(s);
        s->look_ms = now + LOOK_MS;
    }
    if (!*s->options->folder || !is_due(s->due_ms, s->options->every_ms, now)) return;
    int64_t made = s->made_ms;
    if (made && made <= now && now < made + s->options->every_ms) {
        s->due_ms = made + s->options->every_ms;
        return;
    }
    bool ok = back_up(s);
    int64_t wait = ok || s->options->every_ms < AFTER_FAILURE_MS ? s->options->every_ms : AFTER_FAILURE_MS;
    s->due_ms = time_now().ms + wait;
}

static void *run(void *arg)
{
    struct backup_schedule *s = arg;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    while (!atomic_load(&s->stop)) {
        turn(s);
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&s->lock);
        if (!atomic_load(&s->stop)) pthread_cond_timedwait(&s->woken, &s->lock, &until);
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

struct backup_schedule *backup_schedule_start(struct database *database, const char *data_dir,
                                              const struct backup_options *options)
{
    struct backup_schedule *s = memory_zeroed(1, sizeof *s);
    s->database = database;
    s->data_dir = data_dir;
    s->options = options;
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&s->woken, &clock);
    pthread_condattr_destroy(&clock);
    pthread_mutex_init(&s->lock, NULL);
    thread_start(&s->thread, run, s);
    return s;
}

int64_t backup_schedule_failures(const struct backup_schedule *s)
{
    return atomic_load(&s->failures);
}

void backup_schedule_stop(struct backup_schedule *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->stop, true);
    pthread_cond_signal(&s->woken);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_cond_destroy(&s->woken);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
