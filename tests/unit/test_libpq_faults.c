/* Every call of libpq fails once, and so does poll. Skipped without SOUK_TEST_PG. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "base/sanitized.h"
#include "postgres_job.h"

enum how { CALL_FAILS, POLL_INTERRUPTED, POLL_LATE };

static _Atomic int calls_left; /* until one fails; 0: none does */
static _Atomic int calls_failed;
static enum how how;
static pthread_t tester;

static bool fails(enum how can)
{
    if (calls_left <= 0 || how != can || pthread_equal(pthread_self(), proxy.thread)) return false;
    if (--calls_left != 0) return false;
    calls_failed++;
    return true;
}

/* In the place of the real one, for everything in this program. */
#define CALL(type, name, params, args, failure)                                                                        \
    type name params                                                                                                   \
    {                                                                                                                  \
        static type(*real) params;                                                                                     \
        if (!real) real = (type(*) params)dlsym(RTLD_NEXT, #name);                                                     \
        return fails(CALL_FAILS) ? (failure) : real args;                                                              \
    }

CALL(int, PQsendPrepare, (PGconn * c, const char *name, const char *text, int n, const Oid *types),
     (c, name, text, n, types), 0)
CALL(int, PQsendQueryPrepared,
     (PGconn * c, const char *name, int n, const char *const *values, const int *lengths, const int *formats, int f),
     (c, name, n, values, lengths, formats, f), 0)
CALL(int, PQpipelineSync, (PGconn * c), (c), 0)
CALL(int, PQconsumeInput, (PGconn * c), (c), 0)
CALL(int, PQexitPipelineMode, (PGconn * c), (c), 0)
CALL(int, PQenterPipelineMode, (PGconn * c), (c), 0)
CALL(int, PQsetnonblocking, (PGconn * c, int on), (c, on), -1)
CALL(int, PQsendQuery, (PGconn * c, const char *text), (c, text), 0)
CALL(PGresult *, PQgetResult, (PGconn * c), (c), NULL)
CALL(const char *, PQparameterStatus, (const PGconn *c, const char *name), (c, name), NULL)

/* The sanitizers have a poll of their own. */
#if !defined(WITH_ASAN) && !defined(WITH_TSAN)
#define HAS_POLL true
int poll(struct pollfd *fds, nfds_t n, int ms)
{
    static int (*real)(struct pollfd *, nfds_t, int);
    if (!real) real = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    if (n != 1 || pthread_equal(pthread_self(), tester)) return real(fds, n, ms);
    if (fails(POLL_LATE)) return 0;
    bool is_interrupted = fails(POLL_INTERRUPTED);
    if (!is_interrupted && !fails(CALL_FAILS)) return real(fds, n, ms);
    errno = is_interrupted ? EINTR : EIO;
    return -1;
}
#else
#define HAS_POLL false
#endif

static enum err many_things(void *arg, struct db *db)
{
    struct job *j = arg;
    enum err e = job_run(j, db);
    return e ? e : db_script(db, "SET LOCAL work_mem = '4MB'");
}

/* A pool that is opened and used once with its n-th call failing. False: it has fewer calls. */
static bool fails_at(int n)
{
    struct job j = {.n = 1000 + n};
    calls_failed = 0;
    calls_left = n;
    why[0] = '\0';
    if (open_through(8, 2000) != OK) {
        assert_true(why[0]);
        calls_left = 0;
        return true;
    }
    int64_t before = rows();
    enum err e = tx_call(d, TX_WRITE, n % 2 ? job_run : many_things, &j, NULL);
    bool met = calls_failed > 0;
    calls_left = 0;
    if (e == OK) assert_int_equal(rows(), before + 1);
    if (e != OK && e != ERR_OUTCOME_UNKNOWN) {
        assert_int_equal(e, ERR_UNAVAILABLE);
        assert_int_equal(rows(), before);
    }
    j = (struct job){.n = 100000 + n};
    assert_int_equal(write_job(&j), OK);
    database_close(d);
    d = NULL;
    test_psql(direct.url, "DELETE FROM thing WHERE n >= 1000");
    return met;
}

/* Whatever libpq says: what was told is true, and the next job is done. SOUK_SWEEP (./dev coverage): every call, not
 * some. */
static void test_calls_fail(void **state)
{
    (void)state;
    if (!test_postgres()) skip();
    tester = pthread_self();
    static const enum how hows[] = {CALL_FAILS, POLL_INTERRUPTED, POLL_LATE};
    for (size_t i = 0; i < 3; i++) {
        how = hows[i];
        int n = 1;
        while (n < 400 && fails_at(n)) n += getenv("SOUK_SWEEP") ? 1 : 11;
        if (how == CALL_FAILS || (how == POLL_INTERRUPTED && HAS_POLL)) assert_true(n > 3);
    }
}

int main(void)
{
    log_setup(LOG_ERROR + 1, LOG_LOGFMT); /* the failures here are wanted */
    const struct CMUnitTest tests[] = {ON(test_calls_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
