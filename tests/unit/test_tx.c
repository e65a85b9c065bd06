/* Transactions: who runs them, in which company, and when their end is told. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <sys/stat.h>

#include "database.h"
#include "db/job_queue.h"

static struct test_database t;
static struct test_port port;

static const char count[] = "SELECT COUNT(*) FROM thing";

static int open_with(bool sqlite, struct database_options o)
{
    test_database_open(&t, sqlite, o);
    test_port_open(&port, t.d);
    return test_script(t.d, "CREATE TABLE thing (n BIGINT NOT NULL UNIQUE, CHECK (n >= 0));"
                            "CREATE TABLE counter (id BIGINT PRIMARY KEY, v BIGINT NOT NULL, CHECK (v >= 0));"
                            "INSERT INTO counter VALUES (1, 100);") != OK;
}

static int open_sqlite(void **state)
{
    (void)state;
    return open_with(true, (struct database_options){0});
}

static int open_postgres(void **state)
{
    (void)state;
    return open_with(false, (struct database_options){0});
}

static int close_it(void **state)
{
    (void)state;
    test_port_close(&port);
    test_database_close(&t);
    return 0;
}

/* A job that writes one row and ends as told. */
struct put {
    struct tx_job job;
    int64_t n;
    enum err answer; /* of run */
    enum err ended;  /* as told to done */
    int runs, told;
    int64_t seen_by_done; /* rows that another connection saw when done was called; -1: not looked */
    bool look;
};

static enum err put_run(struct tx_job *job, struct db *db)
{
    static const char insert[] = "INSERT INTO thing (n) VALUES ($1)";
    struct put *p = (struct put *)job;
    p->runs++;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    struct stmt *st = db_prepare(db, insert);
    bind_int(st, p->n);
    db_run(st);
    return p->answer;
}

static void put_done(struct tx_job *job, enum err e)
{
    struct put *p = (struct put *)job;
    p->told++;
    p->ended = e;
    p->seen_by_done = p->look ? test_number(t.d, count) : -1;
}

static struct put *new_puts(int n)
{
    struct put *puts = calloc((size_t)n, sizeof *puts);
    assert_non_null(puts);
    for (int i = 0; i < n; i++) {
        puts[i].job = (struct tx_job){.mode = TX_WRITE, .run = put_run, .done = put_done};
        puts[i].n = i;
    }
    return puts;
}

static void wait_for(const struct put *puts, int n)
{
    for (;;) {
        int told = 0;
        for (int i = 0; i < n; i++) told += puts[i].told;
        if (told == n) return;
        test_port_turn(&port);
    }
}

/* A job that holds the writer until it is let go, so that the next batch is known. */
struct gate {
    struct tx_job job;
    sem_t entered, open;
    bool told;
};

static enum err gate_run(struct tx_job *job, struct db *db)
{
    (void)db;
    struct gate *g = (struct gate *)job;
    sem_post(&g->entered);
    sem_wait(&g->open);
    return OK;
}

static void gate_done(struct tx_job *job, enum err e)
{
    check(e == OK);
    ((struct gate *)job)->told = true;
}

static void gate_close(struct gate *g)
{
    *g = (struct gate){.job = {.mode = TX_WRITE, .run = gate_run, .done = gate_done}};
    sem_init(&g->entered, 0, 0);
    sem_init(&g->open, 0, 0);
    tx_submit(port.port, &g->job);
    sem_wait(&g->entered);
}

static int64_t batches(void)
{
    return atomic_load(&database_stats(t.d)->batches);
}

/* Alone: one batch. And when done is called, everybody sees what was done. */
static void test_alone(void **state)
{
    (void)state;
    int64_t before = batches();
    for (int i = 1; i <= 3; i++) {
        struct put *p = new_puts(1);
        p->n = i;
        p->look = true;
        tx_submit(port.port, &p->job);
        wait_for(p, 1);
        assert_int_equal(p->ended, OK);
        assert_int_equal(p->runs, 1);
        assert_int_equal(p->seen_by_done, i);
        assert_int_equal(port.wakes, i);
        free(p);
    }
    assert_int_equal(batches(), before + 3);
}

/* A thousand that wait together take four commits and at most four wake-ups, not a thousand. */
static void test_together(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct put *puts = new_puts(N);
    struct gate gate;
    gate_close(&gate);
    int64_t before = batches(), jobs_before = atomic_load(&database_stats(t.d)->batch_jobs);
    int wakes_before = port.wakes;
    for (int i = 0; i < N; i++) tx_submit(port.port, &puts[i].job);
    assert_int_equal(atomic_load(&database_stats(t.d)->queue_length), N);
    sem_post(&gate.open);
    wait_for(puts, N);
    for (int i = 0; i < N; i++) {
        assert_int_equal(puts[i].ended, OK);
        assert_int_equal(puts[i].told, 1);
        assert_int_equal(puts[i].runs, 1);
    }
    assert_true(gate.told);
    assert_int_equal(batches() - before, 4); /* 256 + 256 + 256 + 232 */
    assert_int_equal(atomic_load(&database_stats(t.d)->batch_jobs) - jobs_before, N);
    assert_int_equal(atomic_load(&database_stats(t.d)->batch_buckets[8]), 4);
    assert_true(port.wakes - wakes_before <= 5);
    assert_int_equal(atomic_load(&database_stats(t.d)->queue_length), 0);
    assert_int_equal(test_number(t.d, count), N);
    free(puts);
}

/* Jobs that fail in the middle of a batch take nothing and nobody with them: a refusal after writing, a broken
 * constraint, a statement that is wrong. */
static void run_mixed(bool no_savepoint)
{
    enum { N = 60 };
    struct put *puts = new_puts(N);
    struct gate gate;
    gate_close(&gate);
    int64_t before = batches();
    for (int i = 0; i < N; i++) {
        puts[i].job.no_savepoint = no_savepoint;
        if (i % 3 == 1) puts[i].answer = ERR_OUT_OF_STOCK;
        if (i % 3 == 2) puts[i].n = i % 2 ? -1 : puts[i - 2].n; /* CHECK, or the number of one that is good */
        tx_submit(port.port, &puts[i].job);
    }
    sem_post(&gate.open);
    wait_for(puts, N);
    for (int i = 0; i < N; i++) {
        enum err expected = i % 3 == 0 ? OK : i % 3 == 1 ? ERR_OUT_OF_STOCK : ERR_INTERNAL;
        assert_int_equal(puts[i].ended, expected);
        assert_int_equal(puts[i].told, 1);
        if (!no_savepoint) assert_int_equal(puts[i].runs, 1);
    }
    assert_int_equal(puts[0].runs, no_savepoint ? 2 : 1);
    assert_int_equal(batches() - before, 1);
    static const char good[] = "SELECT COUNT(*) FROM thing WHERE n % 3 = 0";
    assert_int_equal(test_number(t.d, count), N / 3);
    assert_int_equal(test_number(t.d, good), N / 3);
    free(puts);
}

static void test_failures(void **state)
{
    (void)state;
    run_mixed(false);
}

/* The same when they had promised to check first and wrote all the same: all are run again, none is wrong. */
static void test_broken_promise(void **state)
{
    (void)state;
    run_mixed(true);
}

/* A constraint that is looked at only by COMMIT: those who kept it are not made to pay. */
static enum err orphan_run(struct tx_job *job, struct db *db)
{
    static const char insert[] = "INSERT INTO child (n, parent) VALUES ($1, $2)";
    struct put *p = (struct put *)job;
    p->runs++;
    struct stmt *st = db_prepare(db, insert);
    bind_int(st, p->n);
    bind_int(st, p->n == 3 ? 77 : 1);
    return db_run(st);
}

static void test_deferred_constraint(void **state)
{
    (void)state;
    assert_int_equal(test_script(t.d, "CREATE TABLE child (n BIGINT, parent BIGINT REFERENCES counter (id)"
                                      " DEFERRABLE INITIALLY DEFERRED)"),
                     OK);
    enum { N = 8 };
    struct put *puts = new_puts(N);
    struct gate gate;
    gate_close(&gate);
    for (int i = 0; i < N; i++) {
        puts[i].job.run = orphan_run;
        tx_submit(port.port, &puts[i].job);
    }
    sem_post(&gate.open);
    wait_for(puts, N);
    for (int i = 0; i < N; i++) assert_int_equal(puts[i].ended, i == 3 ? ERR_INTERNAL : OK);
    static const char children[] = "SELECT COUNT(*) FROM child WHERE n <> 3";
    assert_int_equal(test_number(t.d, children), N - 1);
    while (!gate.told) test_port_turn(&port);
    free(puts);
}

static enum err refuse_run(struct tx_job *job, struct db *db)
{
    static const char guarded[] = "UPDATE counter SET v = v - 1000 WHERE id = 1 AND v >= 1000 RETURNING v";
    struct put *p = (struct put *)job;
    p->runs++;
    struct stmt *st = db_prepare(db, guarded);
    bool enough = db_step(st);
    enum err e = db_done(st);
    return e ? e : enough ? OK : ERR_INSUFFICIENT_BALANCE;
}

/* Refusals alone make nothing durable. */
static void test_refusals(void **state)
{
    (void)state;
    enum { N = 20 };
    struct put *puts = new_puts(N);
    int64_t before = batches();
    for (int i = 0; i < N; i++) {
        if (i % 2)
            puts[i].job.run = refuse_run;
        else
            puts[i].answer = ERR_CONFLICT; /* after a write */
        tx_submit(port.port, &puts[i].job);
    }
    wait_for(puts, N);
    for (int i = 0; i < N; i++) assert_int_equal(puts[i].ended, i % 2 ? ERR_INSUFFICIENT_BALANCE : ERR_CONFLICT);
    assert_int_equal(batches(), before);
    assert_int_equal(test_number(t.d, count), 0);
    free(puts);
}

/* A read that finds that it has to write. */
static void test_needs_write(void **state)
{
    (void)state;
    struct put *p = new_puts(1);
    p->job.mode = TX_READ;
    p->look = true;
    tx_submit(port.port, &p->job);
    tx_port_pass(port.port);
    wait_for(p, 1);
    assert_int_equal(p->ended, OK);
    assert_int_equal(p->runs, 2);
    assert_int_equal(p->job.mode, TX_WRITE);
    assert_int_equal(p->seen_by_done, 1);
    free(p);
}

/* Reads of one pass see one state; those submitted by their done see what has happened since. */
struct get {
    struct tx_job job;
    int64_t saw;
    struct get *then; /* submitted by done, after a write */
};

static enum err get_run(struct tx_job *job, struct db *db)
{
    static const char other_write[] = "INSERT INTO thing (n) VALUES (1)";
    struct get *g = (struct get *)job;
    struct stmt *st = db_prepare(db, count);
    g->saw = db_step(st) ? col_int(st) : -1;
    enum err e = db_done(st);
    if (!e && g->then) e = test_write(t.d, other_write); /* somebody else, in the middle of the pass */
    return e;
}

static void get_done(struct tx_job *job, enum err e)
{
    struct get *g = (struct get *)job;
    check(e == OK);
    if (g->then) tx_submit(port.port, &g->then->job);
}

static void test_pass(void **state)
{
    (void)state;
    struct get g[3];
    for (int i = 0; i < 3; i++)
        g[i] = (struct get){.job = {.mode = TX_READ, .run = get_run, .done = get_done}, .saw = -1};
    g[0].then = &g[2];
    tx_submit(port.port, &g[0].job);
    tx_submit(port.port, &g[1].job);
    assert_int_equal(g[0].saw, -1); /* nothing runs before the pass */
    tx_port_pass(port.port);
    assert_int_equal(g[0].saw, 0);
    assert_int_equal(g[1].saw, 0); /* written meanwhile, not in this snapshot */
    assert_int_equal(g[2].saw, 1);
    assert_int_equal(port.wakes, 0);
}

/* Many threads take from one counter, guarded: exactly as much as is there goes out. */
enum { THREADS = 8, TAKES = 25 };

static enum err take(void *arg, struct db *db)
{
    static const char guarded[] = "UPDATE counter SET v = v - 1 WHERE id = 1 AND v >= 1 RETURNING v";
    static const char note[] = "INSERT INTO thing (n) VALUES ($1)";
    int64_t *left = arg;
    struct stmt *st = db_prepare(db, guarded);
    bool got = db_step(st);
    *left = got ? col_int(st) : -1;
    enum err e = db_done(st);
    if (e) return e;
    if (!got) return ERR_OUT_OF_STOCK;
    st = db_prepare(db, note);
    bind_int(st, *left);
    return db_run(st);
}

static void *taker(void *arg)
{
    int *got = arg;
    for (int i = 0; i < TAKES; i++) {
        int64_t left = -2;
        enum err e = tx_call(t.d, TX_WRITE, take, &left, NULL);
        check(e == OK || e == ERR_OUT_OF_STOCK);
        *got += e == OK;
        if (e == OK) { /* what was told is there for a read that begins afterwards */
            static const char newest[] = "SELECT MIN(n) FROM thing";
            struct test_number n = {.sql = newest};
            check(tx_call(t.d, TX_READ, read_number, &n, NULL) == OK);
            check(n.v <= left);
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int got[THREADS] = {0}, sum = 0;
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, taker, &got[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += got[i];
    }
    static const char left[] = "SELECT v FROM counter WHERE id = 1";
    static const char distinct[] = "SELECT COUNT(DISTINCT n) FROM thing";
    assert_int_equal(sum, 100);
    assert_int_equal(test_number(t.d, left), 0);
    assert_int_equal(test_number(t.d, distinct), 100);
}

/* Two loops, each with its port, share the writer; each job comes back to its own. */
static void test_ports(void **state)
{
    (void)state;
    struct test_port second;
    test_port_open(&second, t.d);
    struct put *puts = new_puts(40);
    struct gate gate;
    gate_close(&gate);
    for (int i = 0; i < 40; i++) tx_submit(i % 2 ? second.port : port.port, &puts[i].job);
    sem_post(&gate.open);
    for (int told = 0; told < 20;) {
        test_port_turn(&port);
        told = 0;
        for (int i = 0; i < 40; i++) told += puts[i].told;
        for (int i = 1; i < 40; i += 2) assert_int_equal(puts[i].told, 0);
    }
    test_port_turn(&second);
    for (int i = 0; i < 40; i++) assert_int_equal(puts[i].told, 1);
    assert_int_equal(second.wakes, 1);
    free(puts);
    test_port_close(&second);
}

static void add(struct job_queue *q, struct tx_job *jobs, int n)
{
    for (int i = 0; i < n; i++) {
        jobs[i] = (struct tx_job){.port = port.port};
        assert_true(queue_has_room(q, &jobs[i]));
        assert_true(queue_put(q, &jobs[i]));
    }
}

/* A queue takes what is worked off in QUEUE_WAIT_MS, and an urgent job has a lane of its own. */
static void test_queue_pace(void **state)
{
    static struct tx_job jobs[QUEUE_FIRST], late;
    static struct tx_job *taken[QUEUE_FIRST];
    (void)state;
    _Atomic int64_t length = 0;
    struct job_queue q;
    queue_init(&q, &length);
    add(&q, jobs, QUEUE_FIRST);
    late = (struct tx_job){.port = port.port};
    assert_false(queue_has_room(&q, &late));
    assert_false(queue_put(&q, &late));
    late.is_first = true;
    assert_true(queue_put(&q, &late));
    assert_int_equal(queue_take_now(&q, taken, 1), 1);
    assert_ptr_equal(taken[0], &late);

    assert_int_equal(queue_take_now(&q, taken, 100), 100);
    q.lanes[1].left_ns -= 100 * INT64_C(1000000);
    assert_int_equal(queue_take_now(&q, taken, 600), 600); /* 700 in a tenth of a second */
    assert_in_range(q.lanes[1].length_max, QUEUE_LEAST + 1, 3500);
    q.lanes[1].left_ns -= 10 * INT64_C(1000000000);
    assert_int_equal(queue_take_now(&q, taken, 1), 1); /* in ten seconds */
    assert_int_equal(q.lanes[1].length_max, QUEUE_LEAST);
    assert_int_equal(length, QUEUE_FIRST - 701);
    late = (struct tx_job){.port = port.port};
    assert_false(queue_put(&q, &late));
    while (queue_take_now(&q, taken, QUEUE_FIRST)) continue;
    assert_int_equal(length, 0);
    queue_done(&q);
}

/* What was submitted is run before the database closes, with nobody to take the answers but tx_call's caller. */
static void *late_caller(void *arg)
{
    (void)arg;
    static const char insert[] = "INSERT INTO thing (n) VALUES (7)";
    check(test_write(t.d, insert) == OK);
    return NULL;
}

static void test_close_waits(void **state)
{
    (void)state;
    struct gate gate;
    pthread_t caller;
    gate_close(&gate);
    assert_int_equal(pthread_create(&caller, NULL, late_caller, NULL), 0);
    while (atomic_load(&database_stats(t.d)->queue_length) == 0) usleep(1000);
    sem_post(&gate.open);
    while (!gate.told) test_port_turn(&port);
    test_port_close(&port);
    database_close(t.d);
    pthread_join(caller, NULL);
    char why[256] = "";
    assert_int_equal(database_open(&(struct database_options){.url = t.url}, &t.d, why, sizeof why), OK);
    test_port_open(&port, t.d);
    assert_int_equal(test_number(t.d, count), 1);
}

/* The file: its mode, its lock, its log. */
static void test_lock(void **state)
{
    (void)state;
    struct database *other;
    char why[256] = "", pid[32];
    assert_int_equal(database_open(&(struct database_options){.url = t.url}, &other, why, sizeof why), ERR_CONFLICT);
    snprintf(pid, sizeof pid, "(pid %ld)", (long)getpid());
    assert_non_null(strstr(why, "is in use by another souk"));
    assert_non_null(strstr(why, pid));

    char link_path[512];
    snprintf(link_path, sizeof link_path, "%s/link.db", t.folder);
    assert_int_equal(symlink(t.url, link_path), 0);
    assert_int_equal(database_open(&(struct database_options){.url = link_path}, &other, why, sizeof why),
                     ERR_CONFLICT);

    /* Looking is allowed, writing is not. */
    static const char write[] = "INSERT INTO thing (n) VALUES (1)";
    struct database_options look = {.url = t.url, .read_only = true};
    assert_int_equal(database_open(&look, &other, why, sizeof why), OK);
    assert_int_equal(test_write(t.d, write), OK);
    assert_int_equal(test_number(other, count), 1);
    assert_int_equal(test_write(other, "DELETE FROM thing"), ERR_UNAVAILABLE);
    database_close(other);
    assert_int_equal(test_number(t.d, count), 1);

    test_port_close(&port);
    database_close(t.d);
    assert_int_equal(database_open(&(struct database_options){.url = t.url}, &t.d, why, sizeof why), OK);
    test_port_open(&port, t.d);
}

static off_t file_size(const char *suffix, mode_t *ret_mode)
{
    char path[600];
    struct stat info;
    snprintf(path, sizeof path, "%s%s", t.url, suffix);
    if (stat(path, &info) != 0) return -1;
    *ret_mode = info.st_mode & 0777;
    return info.st_size;
}

static void test_file(void **state)
{
    (void)state;
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
    mode_t mode = 0;
    static const char write[] = "INSERT INTO thing (n) VALUES (1)";
    assert_int_equal(test_write(t.d, write), OK);
    for (int i = 0; i < 4; i++) {
        assert_true(file_size(suffixes[i], &mode) > 0);
        assert_int_equal(mode, 0600);
    }
    test_port_close(&port);
    database_close(t.d);
    assert_int_equal(file_size("-wal", &mode), 0); /* everything is in the file */
    char why[256] = "";
    assert_int_equal(database_open(&(struct database_options){.url = t.url}, &t.d, why, sizeof why), OK);
    test_port_open(&port, t.d);
    assert_int_equal(test_number(t.d, count), 1);
}

static void refuse(const char *url, bool read_only, enum err expected, const char *words)
{
    struct database *d = NULL;
    char why[512] = "";
    struct database_options o = {.url = url, .read_only = read_only, .may_create = !read_only};
    assert_int_equal(database_open(&o, &d, why, sizeof why), expected);
    assert_null(d);
    if (!strstr(why, words)) fail_msg("%s", why);
}

static void test_refused(void **state)
{
    (void)state;
    char path[600], log[] = "2026-11-15 this is some other file that happens to be here\n";
    snprintf(path, sizeof path, "%s/notes.txt", t.folder);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(fd, log, sizeof log), sizeof log);
    close(fd);
    refuse(path, false, ERR_UNAVAILABLE, "is not a SQLite database");
    refuse(t.folder, false, ERR_UNAVAILABLE, "is not a SQLite database");
    snprintf(path, sizeof path, "%s/none.db", t.folder);
    refuse(path, true, ERR_NOT_FOUND, "there is no database");
    assert_int_equal(access(path, F_OK), -1); /* looking made nothing */
    snprintf(path, sizeof path, "%s/no/such/folder.db", t.folder);
    refuse(path, false, ERR_UNAVAILABLE, "cannot be created");

    /* The head of a SQLite file, and nonsense behind it. */
    snprintf(path, sizeof path, "%s/broken.db", t.folder);
    char page[4096];
    memset(page, 'x', sizeof page);
    memcpy(page, "SQLite format 3", 16);
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(fd, page, sizeof page), sizeof page);
    close(fd);
    refuse(path, false, ERR_CONFLICT, "belongs to another program");

    /* The same with our name on it. */
    memcpy(page + 68, "souk", 4);
    fd = open(path, O_WRONLY);
    assert_int_equal(write(fd, page, sizeof page), sizeof page);
    close(fd);
    refuse(path, false, ERR_UNAVAILABLE, "cannot be opened");
}

/* The log is brought into the file as it grows, by the writer. */
static enum err fill(void *arg, struct db *db)
{
    static const char insert[] = "INSERT INTO filler (id, text) VALUES ($1, $2)";
    static char text[3000];
    int64_t *id = arg;
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 100; i++) {
        struct stmt *st = db_prepare(db, insert);
        bind_int(st, ++*id);
        bind_text(st, (Str){text, sizeof text});
        db_run(st);
    }
    return db_err(db);
}

static void test_checkpoint(void **state)
{
    (void)state;
    int64_t id = 0;
    mode_t mode;
    off_t largest = 0;
    assert_int_equal(test_script(t.d, "CREATE TABLE filler (id INTEGER PRIMARY KEY, text TEXT)"), OK);
    for (int i = 0; i < 120; i++) { /* 12,000 pages or more */
        assert_int_equal(tx_call(t.d, TX_WRITE, fill, &id, NULL), OK);
        off_t size = file_size("-wal", &mode);
        if (size > largest) largest = size;
    }
    assert_in_range(atomic_load(&database_stats(t.d)->checkpoints), 4, 10);
    assert_true(largest < 3000 * 4200);
    static const char filled[] = "SELECT COUNT(*) FROM filler";
    assert_int_equal(test_number(t.d, filled), 12000);
}

#define ON(engine, f)                                                                                                  \
    {                                                                                                                  \
#engine " " #f, f, open_##engine, close_it, NULL                                                               \
    }

int main(void)
{
    log_setup(LOG_ERROR + 1, LOG_LOGFMT); /* the failures here are wanted */
    const struct CMUnitTest tests[] = {
        ON(sqlite, test_alone),
        ON(postgres, test_alone),
        ON(sqlite, test_together),
        ON(sqlite, test_failures),
        ON(sqlite, test_broken_promise),
        ON(sqlite, test_deferred_constraint),
        ON(postgres, test_deferred_constraint),
        ON(sqlite, test_refusals),
        ON(sqlite, test_needs_write),
        ON(postgres, test_needs_write),
        ON(sqlite, test_pass),
        ON(sqlite, test_threads),
        ON(postgres, test_threads),
        ON(sqlite, test_ports),
        ON(sqlite, test_queue_pace),
        ON(sqlite, test_close_waits),
        ON(sqlite, test_lock),
        ON(sqlite, test_file),
        ON(sqlite, test_refused),
        ON(sqlite, test_checkpoint),
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
