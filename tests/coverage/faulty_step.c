/* tests/coverage/faulty_step.c - a library for LD_PRELOAD: a statement of SQLite's fails when told so, as if the disk
 * could not be read. The file FAULTY_STEP has two numbers (int32_t) that a test writes and reads: how many statements
 * are still run until one fails (0: none fails), and how many have failed. BEGIN, COMMIT and their like never do. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct orders {
    _Atomic int32_t left;
    _Atomic int32_t failed;
};

typedef int step_fn(sqlite3_stmt *);

static struct orders *orders;
static step_fn *real_step;

__attribute__((constructor)) static void open_orders(void)
{
    const char *path = getenv("FAULTY_STEP");
    real_step = (step_fn *)dlsym(RTLD_NEXT, "sqlite3_step");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) orders = at;
}

static int is_countable(sqlite3_stmt *st)
{
    const char *sql = sqlite3_sql(st);
    return sql && !sqlite3_stmt_busy(st) && strchr("SIUDW", sql[0]) && strncmp(sql, "SAVEPOINT", 9) != 0;
}

int sqlite3_step(sqlite3_stmt *st)
{
    if (!orders || orders->left <= 0 || !is_countable(st)) return real_step(st);
    if (--orders->left != 0) return real_step(st);
    orders->failed++;
    return SQLITE_IOERR;
}
