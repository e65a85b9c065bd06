/* What SQLite's disk can do to a commit: fail to write, fail to sync, be full. A VFS between SQLite and the real one
 * fails on demand. What must hold: no job is told OK without being durable, none is told that it failed when that is
 * not certain, and what can recover does. */
#include <dlfcn.h>
#include <pthread.h>
#include <sqlite3.h>

#include "database.h"

enum fault { NO_FAULT, WAL_SYNC, WAL_WRITE, WAL_FULL, WAL_OPEN, FILE_SYNC, FILE_READ, FILE_OPEN };

static _Atomic enum fault fault;
static _Atomic int fault_skip; /* so many of its kind still go through */
static _Atomic int fault_hits;

struct file {
    sqlite3_file base;
    bool wal;
    sqlite3_file *real;
};

static sqlite3_vfs real_vfs; /* as it was */
static sqlite3_io_methods methods;

static sqlite3_file *real(sqlite3_file *f)
{
    return ((struct file *)f)->real;
}

static bool strikes(sqlite3_file *f, enum fault kind, bool wal)
{
    if (atomic_load(&fault) != kind || ((struct file *)f)->wal != wal) return false;
    if (atomic_load(&fault_skip) > 0) {
        atomic_fetch_sub(&fault_skip, 1);
        return false;
    }
    atomic_fetch_add(&fault_hits, 1);
    return true;
}

static int f_close(sqlite3_file *f)
{
    int rc = real(f)->pMethods->xClose(real(f));
    free(real(f));
    return rc;
}
static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    if (strikes(f, FILE_READ, false)) return SQLITE_IOERR_READ;
    return real(f)->pMethods->xRead(real(f), p, n, at);
}
static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    if (strikes(f, WAL_WRITE, true)) return SQLITE_IOERR_WRITE;
    if (strikes(f, WAL_FULL, true)) return SQLITE_FULL;
    return real(f)->pMethods->xWrite(real(f), p, n, at);
}
static int f_truncate(sqlite3_file *f, sqlite3_int64 n)
{
    return real(f)->pMethods->xTruncate(real(f), n);
}
static int f_sync(sqlite3_file *f, int flags)
{
    if (strikes(f, WAL_SYNC, true) || strikes(f, FILE_SYNC, false)) return SQLITE_IOERR_FSYNC;
    return real(f)->pMethods->xSync(real(f), flags);
}
static int f_size(sqlite3_file *f, sqlite3_int64 *n)
{
    return real(f)->pMethods->xFileSize(real(f), n);
}
static int f_lock(sqlite3_file *f, int level)
{
    return real(f)->pMethods->xLock(real(f), level);
}
static int f_unlock(sqlite3_file *f, int level)
{
    return real(f)->pMethods->xUnlock(real(f), level);
}
static int f_reserved(sqlite3_file *f, int *ret)
{
    return real(f)->pMethods->xCheckReservedLock(real(f), ret);
}
static int f_control(sqlite3_file *f, int op, void *arg)
{
    return real(f)->pMethods->xFileControl(real(f), op, arg);
}
static int f_sector(sqlite3_file *f)
{
    return real(f)->pMethods->xSectorSize(real(f));
}
static int f_traits(sqlite3_file *f)
{
    return real(f)->pMethods->xDeviceCharacteristics(real(f));
}
static int f_shm_map(sqlite3_file *f, int page, int bytes, int extend, void volatile **ret)
{
    return real(f)->pMethods->xShmMap(real(f), page, bytes, extend, ret);
}
static int f_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return real(f)->pMethods->xShmLock(real(f), at, n, flags);
}
static void f_shm_barrier(sqlite3_file *f)
{
    real(f)->pMethods->xShmBarrier(real(f));
}
static int f_shm_unmap(sqlite3_file *f, int remove_it)
{
    return real(f)->pMethods->xShmUnmap(real(f), remove_it);
}

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
    (void)v;
    struct file *file = (struct file *)f;
    *file = (struct file){.wal = flags & SQLITE_OPEN_WAL};
    if (strikes(f, WAL_OPEN, true) || strikes(f, FILE_OPEN, false)) return SQLITE_CANTOPEN;
    file->real = calloc(1, (size_t)real_vfs.szOsFile);
    int rc = real_vfs.xOpen(&real_vfs, name, file->real, flags, ret_flags);
    if (rc == SQLITE_OK)
        file->base.pMethods = &methods;
    else
        free(file->real);
    return rc;
}

static void install(void)
{
    if (real_vfs.xOpen) return;
    struct test_database first; /* SQLite is to be set up by db/, not by us */
    test_database_open(&first, true, (struct database_options){0});
    test_database_close(&first);
    /* In the place of the system's own, on which the writer's log lies (db/sqlite_log.h). */
    sqlite3_vfs *below = sqlite3_vfs_find(NULL);
    real_vfs = *below;
    assert_true((int)sizeof(struct file) <= below->szOsFile);
    below->xOpen = v_open;
    methods = (sqlite3_io_methods){2,          f_close,       f_read,      f_write,   f_truncate, f_sync,   f_size,
                                   f_lock,     f_unlock,      f_reserved,  f_control, f_sector,   f_traits, f_shm_map,
                                   f_shm_lock, f_shm_barrier, f_shm_unmap, NULL,      NULL};
}

static struct test_database t;
static const char count[] = "SELECT COUNT(*) FROM thing";

static void set_fault(enum fault kind, int skip)
{
    atomic_store(&fault_skip, skip);
    atomic_store(&fault_hits, 0);
    atomic_store(&fault, kind);
}

static int open_it(void **state)
{
    (void)state;
    install();
    test_database_open(&t, true, (struct database_options){0});
    return test_script(t.d, "CREATE TABLE thing (n INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT") != OK;
}

static int close_it(void **state)
{
    (void)state;
    set_fault(NO_FAULT, 0);
    test_database_close(&t);
    return 0;
}

static void reopen(void)
{
    char why[256] = "";
    set_fault(NO_FAULT, 0);
    database_close(t.d);
    if (database_open(&(struct database_options){.url = t.url}, &t.d, why, sizeof why) != OK) fail_msg("%s", why);
}

/* Two rows on pages of their own: both or neither. */
static enum err two_rows(void *arg, struct db *db)
{
    static const char insert[] = "INSERT INTO thing (n, text) VALUES ($1, $2)";
    static char text[5000];
    int64_t n = *(int64_t *)arg;
    memset(text, 'x', sizeof text);
    for (int i = 0; i < 2; i++) {
        struct stmt *st = db_prepare(db, insert);
        bind_int(st, n + i);
        bind_text(st, (Str){text, sizeof text});
        db_run(st);
    }
    return db_err(db);
}

static enum err write_two(int64_t n)
{
    return tx_call(t.d, TX_WRITE, two_rows, &n, NULL);
}

static void test_control(void **state)
{
    (void)state;
    set_fault(WAL_SYNC, 1000);
    assert_int_equal(write_two(1), OK);
    assert_int_equal(atomic_load(&fault_skip), 999); /* one commit, one sync: so commits do sync the log */
    reopen();
    assert_int_equal(test_number(t.d, count), 2);
}

/* The log could not be synced: nobody knows. */
static void test_sync_fails(void **state)
{
    (void)state;
    assert_int_equal(write_two(1), OK);
    set_fault(WAL_SYNC, 0);
    assert_int_equal(write_two(10), ERR_OUTCOME_UNKNOWN);
    assert_int_equal(atomic_load(&fault_hits), 1);
    assert_false(database_is_healthy(t.d));
    set_fault(NO_FAULT, 0);
    assert_int_equal(write_two(20), ERR_UNAVAILABLE); /* nothing is written on top of it */
    assert_int_equal(test_number(t.d, count), 2);     /* reads go on */
    reopen();
    assert_true(database_is_healthy(t.d));
    int64_t rows = test_number(t.d, count);
    assert_true(rows == 2 || rows == 4); /* whole or not at all */
    assert_int_equal(write_two(30), OK);
}

/* Every frame of the commit in turn could not be written. */
static void test_write_fails(void **state)
{
    (void)state;
    for (int skip = 0, hits = 1; hits; skip++) {
        int64_t before = test_number(t.d, count), n = 100 * (skip + 1);
        set_fault(WAL_WRITE, skip);
        enum err e = write_two(n);
        hits = atomic_load(&fault_hits);
        assert_int_equal(e, hits ? ERR_OUTCOME_UNKNOWN : OK);
        assert_int_equal(database_is_healthy(t.d), !hits);
        reopen();
        int64_t rows = test_number(t.d, count);
        assert_true(e == OK ? rows == before + 2 : rows == before || rows == before + 2);
        if (!hits) assert_true(skip > 0); /* the frames of a commit are written at once */
    }
}

/* No room, at every frame in turn: certain, and over as soon as there is room again. */
static void test_full(void **state)
{
    (void)state;
    for (int skip = 0, hits = 1; hits; skip++) {
        int64_t before = test_number(t.d, count), n = 100 * (skip + 1);
        set_fault(WAL_FULL, skip);
        enum err e = write_two(n);
        hits = atomic_load(&fault_hits);
        assert_int_equal(e, hits ? ERR_UNAVAILABLE : OK);
        assert_true(database_is_healthy(t.d));
        assert_int_equal(atomic_load(&database_stats(t.d)->no_room_ms) != 0, hits != 0);
        assert_int_equal(test_number(t.d, count), before + (hits ? 0 : 2));
        if (skip % 2) reopen(); /* the next start reads the log, and finds no more either */
        set_fault(NO_FAULT, 0);
        assert_int_equal(test_number(t.d, count), before + (hits ? 0 : 2));
        assert_int_equal(write_two(n + 50), OK);
        assert_int_equal(atomic_load(&database_stats(t.d)->no_room_ms), 0);
    }
}

/* The jobs of a batch share its fate, the refusals in it too: what they were refused by may never have been. */
struct batch {
    struct tx_job job;
    enum err answer, ended;
    int64_t n;
    bool told;
};

static enum err batch_run(struct tx_job *job, struct db *db)
{
    struct batch *b = (struct batch *)job;
    enum err e = two_rows(&b->n, db);
    return e ? e : b->answer;
}

static void batch_done(struct tx_job *job, enum err e)
{
    struct batch *b = (struct batch *)job;
    b->ended = e;
    b->told = true;
}

/* Six jobs that wait together, of which one is refused; each adds rows from first + 10 * i on. */
static void run_six(struct test_port *port, struct batch b[6], int64_t first)
{
    for (int i = 0; i < 6; i++) {
        b[i] = (struct batch){.job = {.mode = TX_WRITE, .run = batch_run, .done = batch_done}, .n = first + 10 * i};
        if (i == 3) b[i].answer = ERR_CONFLICT;
    }
    for (int i = 0; i < 6; i++) tx_submit(port->port, &b[i].job);
    for (int told = 0; told < 6;) {
        test_port_turn(port);
        told = 0;
        for (int i = 0; i < 6; i++) told += b[i].told;
    }
}

static void run_batch(enum fault kind, enum err expected)
{
    struct test_port port;
    test_port_open(&port, t.d);
    struct batch b[6];
    set_fault(kind, 0);
    /* The writer may take the first alone: what counts is that all are told the same of one broken disk. */
    run_six(&port, b, 0);
    for (int i = 0; i < 6; i++) {
        bool alone = i == 3 && b[i].ended == ERR_CONFLICT && kind == WAL_FULL; /* refusals alone write nothing */
        if (!alone) assert_true(b[i].ended == expected || b[i].ended == ERR_UNAVAILABLE);
    }
    assert_int_equal(b[0].ended, expected);
    test_port_close(&port);
}

static void test_batch_unknown(void **state)
{
    (void)state;
    run_batch(WAL_SYNC, ERR_OUTCOME_UNKNOWN);
    reopen();
    assert_int_equal(test_number(t.d, count) % 2, 0);
}

static void test_batch_full(void **state)
{
    (void)state;
    run_batch(WAL_FULL, ERR_UNAVAILABLE);
    assert_true(database_is_healthy(t.d));
    reopen();
    assert_int_equal(test_number(t.d, count), 0);
}

/* The file itself cannot be synced when the log is brought into it: what is in the log stays there. */
static void test_checkpoint_fails(void **state)
{
    (void)state;
    int64_t rows = 0;
    set_fault(FILE_SYNC, 0);
    for (int i = 0; i < 900 && database_is_healthy(t.d); i++)
        if (write_two(10 * i) == OK) rows += 2;
    assert_false(database_is_healthy(t.d));
    assert_true(rows > 800);
    reopen();
    assert_int_equal(test_number(t.d, count), rows);
    assert_int_equal(write_two(100000), OK);
}

/* ---- statements ---- */

static const char *step_sql; /* statements that begin with it end with step_code, after the next step_skip of them */
static int step_code;
static _Atomic int step_skip, step_times;
static _Atomic bool rollback_fails; /* and the transaction stays */

/* In the place of SQLite's own, for everything in this program. */
int sqlite3_step(sqlite3_stmt *st)
{
    static int (*next)(sqlite3_stmt *);
    if (!next) next = (int (*)(sqlite3_stmt *))dlsym(RTLD_NEXT, "sqlite3_step");
    const char *sql = sqlite3_sql(st);
    if (rollback_fails && sql && strcmp(sql, "ROLLBACK") == 0) return SQLITE_NOMEM;
    if (step_times <= 0 || !sql || strncmp(sql, step_sql, strlen(step_sql)) != 0) return next(st);
    if (step_skip > 0) {
        step_skip--;
        return next(st);
    }
    step_times--;
    return step_code;
}

static int execs_left; /* until one fails; 0: none does */

int sqlite3_exec(sqlite3 *h, const char *sql, int (*row)(void *, int, char **, char **), void *arg, char **ret_why)
{
    typedef int exec(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
    static exec *next;
    if (!next) next = (exec *)dlsym(RTLD_NEXT, "sqlite3_exec");
    if (execs_left > 0 && --execs_left == 0) return SQLITE_IOERR;
    return next(h, sql, row, arg, ret_why);
}

static void fail_steps(const char *sql, int code, int times)
{
    step_sql = sql;
    step_code = code;
    step_skip = 0;
    step_times = times;
}

/* Whatever SQLite says of a statement: what was told is true, and the next job is done. */
static void test_codes(void **state)
{
    (void)state;
    static const int trouble[] = {SQLITE_BUSY,    SQLITE_LOCKED,   SQLITE_NOMEM,    SQLITE_INTERRUPT, SQLITE_IOERR,
                                  SQLITE_CORRUPT, SQLITE_CANTOPEN, SQLITE_PROTOCOL, SQLITE_NOTADB,    SQLITE_FULL};
    for (size_t i = 0; i < sizeof trouble / sizeof *trouble; i++) {
        fail_steps("INSERT", trouble[i], 1);
        assert_int_equal(write_two(100 * (int64_t)i), ERR_UNAVAILABLE);
        assert_int_equal(write_two(100 * (int64_t)i), OK);
    }
    fail_steps("INSERT", SQLITE_MISUSE, 1);
    assert_int_equal(write_two(5000), ERR_INTERNAL);
    fail_steps("BEGIN", SQLITE_BUSY, 1);
    assert_int_equal(write_two(5000), ERR_UNAVAILABLE);
    fail_steps("COMMIT", SQLITE_CONSTRAINT, 1); /* rolled back, and certain */
    assert_int_equal(write_two(5000), ERR_INTERNAL);
    assert_true(database_is_healthy(t.d));
    assert_int_equal(write_two(6000), OK);
    assert_int_equal(test_number(t.d, count), 2 * (int64_t)(sizeof trouble / sizeof *trouble) + 2);
}

/* A transaction that is neither kept nor given up: nobody knows, and nothing is written on top of it. */
static void test_rollback_fails(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        int code;
        enum err expected;
    } cases[] = {{"COMMIT", SQLITE_CONSTRAINT, ERR_OUTCOME_UNKNOWN},
                 {"COMMIT", SQLITE_FULL, ERR_OUTCOME_UNKNOWN},
                 {"INSERT", SQLITE_FULL, ERR_UNAVAILABLE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fail_steps(cases[i].sql, cases[i].code, 1);
        rollback_fails = true;
        assert_int_equal(write_two(10), cases[i].expected);
        assert_false(database_is_healthy(t.d));
        rollback_fails = false;
        assert_int_equal(write_two(20), ERR_UNAVAILABLE);
        reopen();
        assert_int_equal(test_number(t.d, count), 0);
    }
}

static enum err end_transaction(void *arg, struct db *db)
{
    (void)arg;
    return db_script(db, "ROLLBACK");
}

static void test_transaction_is_gone(void **state)
{
    (void)state;
    assert_int_equal(tx_call(t.d, TX_WRITE, end_transaction, NULL, NULL), ERR_UNAVAILABLE);
    assert_true(database_is_healthy(t.d));
    assert_int_equal(write_two(1), OK);
}

/* ---- readers ---- */

struct second {
    pthread_t thread;
    enum err ended;
    int depth; /* of calls in calls, each with a reader of its own */
};

static void *read_beside(void *arg)
{
    struct second *s = arg;
    struct test_number n = {.sql = count};
    s->ended = tx_call(t.d, TX_READ, read_number, &n, NULL);
    return NULL;
}

/* Another thread wants to read while this one does, and nothing more can be opened. */
static enum err read_and_wait(void *arg, struct db *db)
{
    (void)db;
    struct second *s = arg;
    if (s->depth-- > 1) return tx_call(t.d, TX_READ, read_and_wait, s, NULL);
    check(pthread_create(&s->thread, NULL, read_beside, s) == 0);
    if (atomic_load(&fault) == NO_FAULT) usleep(20000); /* time to come and wait; if it comes later, all is well too */
    for (int i = 0; atomic_load(&fault) == FILE_OPEN && !atomic_load(&fault_hits); i++) {
        check(i < 60000);
        usleep(1000);
    }
    return OK;
}

static void test_no_more_readers(void **state)
{
    (void)state;
    assert_int_equal(write_two(1), OK);
    set_fault(FILE_OPEN, 0);
    assert_null(tx_port_new(t.d, NULL, NULL));
    set_fault(FILE_OPEN, 0);
    assert_int_equal(test_number(t.d, count), 2); /* with the one that is open from the start */
    struct second s = {.depth = 1};
    assert_int_equal(tx_call(t.d, TX_READ, read_and_wait, &s, NULL), OK);
    assert_int_equal(pthread_join(s.thread, NULL), 0);
    assert_int_equal(s.ended, OK);
    set_fault(NO_FAULT, 0);
    s.depth = 8; /* as many as there are */
    assert_int_equal(tx_call(t.d, TX_READ, read_and_wait, &s, NULL), OK);
    assert_int_equal(pthread_join(s.thread, NULL), 0);
    assert_int_equal(s.ended, OK);
    /* On a loop: the snapshot cannot be begun. */
    struct test_port port;
    test_port_open(&port, t.d);
    struct batch b = {.job = {.mode = TX_READ, .run = batch_run, .done = batch_done}};
    fail_steps("BEGIN", SQLITE_BUSY, 1);
    tx_submit(port.port, &b.job);
    tx_port_pass(port.port);
    assert_true(b.told);
    assert_int_equal(b.ended, ERR_UNAVAILABLE);
    test_port_close(&port);
}

static int64_t asked;

static enum err count_rows(void *arg, struct db *db)
{
    static const char find[] = "SELECT COUNT(*) FROM thing WHERE n >= $1 AND n < $1 + 10";
    struct stmt *st = db_prepare(db, find);
    bind_int(st, asked);
    if (db_step(st)) *(int64_t *)arg = col_int(st);
    return db_done(st);
}

static int64_t rows_of(int64_t n)
{
    int64_t found = -1;
    asked = n;
    assert_int_equal(tx_call(t.d, TX_READ, count_rows, &found, NULL), OK);
    return found;
}

/* Six jobs in one batch, of which one is refused; a statement of the batch itself fails. */
static void batch_meets(const char *sql, int code)
{
    struct test_port port;
    test_port_open(&port, t.d);
    struct batch b[6];
    static int64_t round;
    round++;
    fail_steps(sql, code, 1);
    run_six(&port, b, 10000 * round);
    step_times = 0;
    test_port_close(&port);
    assert_true(database_is_healthy(t.d));
    for (int i = 0; i < 6; i++) {
        int64_t there = rows_of(10000 * round + 10 * i);
        if (b[i].ended == OK) assert_int_equal(there, 2);
        if (b[i].ended == ERR_UNAVAILABLE || b[i].ended == ERR_CONFLICT) assert_int_equal(there, 0);
    }
}

static void test_batch_meets(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) { /* how the jobs are batched is up to the writer */
        batch_meets("SAVEPOINT", SQLITE_NOMEM);
        batch_meets("ROLLBACK TO", SQLITE_NOMEM);
        batch_meets("RELEASE", SQLITE_NOMEM);
        batch_meets("BEGIN", SQLITE_BUSY);
    }
}

/* A file that cannot be opened: why is said. */
static void test_open_fails(void **state)
{
    (void)state;
    database_close(t.d);
    t.d = NULL;
    int failed = 0;
    for (int skip = 0; skip < 40; skip++) {
        char why[256] = "";
        fail_steps("", SQLITE_CANTOPEN, 1);
        step_skip = skip;
        enum err e = database_open(&(struct database_options){.url = t.url}, &t.d, why, sizeof why);
        step_times = 0;
        if (e == OK) {
            database_close(t.d);
            t.d = NULL;
            continue;
        }
        failed++;
        assert_true(why[0]);
    }
    assert_true(failed > 0);
    for (int i = 0; i < 2; i++) {
        char why[256] = "";
        set_fault(i ? WAL_OPEN : FILE_OPEN, 0);
        assert_int_equal(database_open(&(struct database_options){.url = t.url}, &t.d, why, sizeof why),
                         ERR_UNAVAILABLE);
        assert_non_null(strstr(why, "cannot be opened"));
        set_fault(NO_FAULT, 0);
    }
    char without[sizeof t.url + 8], reason[256] = "";
    snprintf(without, sizeof without, "%s.new", t.url);
    methods.iVersion = 1; /* a file system without shared memory */
    struct database_options new_one = {.url = without, .may_create = true};
    assert_int_equal(database_open(&new_one, &t.d, reason, sizeof reason), ERR_UNAVAILABLE);
    assert_non_null(strstr(reason, "write-ahead log"));
    methods.iVersion = 2;
    for (int n = 1, met = 1; met; n++) {
        char why[256] = "";
        execs_left = n;
        enum err e = database_open(&(struct database_options){.url = t.url}, &t.d, why, sizeof why);
        met = execs_left == 0;
        execs_left = 0;
        if (e == OK)
            database_close(t.d);
        else
            assert_true(why[0]);
        t.d = NULL;
    }
    reopen();
    assert_int_equal(write_two(1), OK);
}

/* A page that cannot be read fails its readers, and only them. */
static void test_read_fails(void **state)
{
    (void)state;
    assert_int_equal(write_two(1), OK);
    reopen();
    set_fault(FILE_READ, 0);
    struct test_number n = {.sql = count};
    assert_int_equal(tx_call(t.d, TX_READ, read_number, &n, NULL), ERR_UNAVAILABLE);
    set_fault(NO_FAULT, 0);
    assert_int_equal(test_number(t.d, count), 2);
    assert_true(database_is_healthy(t.d));
    /* The log cannot be emptied while somebody reads in it: it stays for the next start. */
    sqlite3 *other;
    assert_int_equal(sqlite3_open_v2(t.url, &other, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN; SELECT count(*) FROM thing", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(write_two(10), OK);
    reopen();
    assert_int_equal(test_number(t.d, count), 4);
    sqlite3_close(other);
}

int main(void)
{
    log_setup(LOG_ERROR + 1, LOG_LOGFMT); /* the failures here are wanted */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_control, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_sync_fails, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_write_fails, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_full, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_batch_unknown, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_batch_full, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_checkpoint_fails, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_read_fails, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_codes, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_rollback_fails, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_transaction_is_gone, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_no_more_readers, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_batch_meets, open_it, close_it),
        cmocka_unit_test_setup_teardown(test_open_fails, open_it, close_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
