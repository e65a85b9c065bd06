/* tests/sim/control.c - see control.h. The linker puts these functions in front of the server's own. */
#include "control.h"

#include <string.h>

#include "db/sqlite.h"

static enum control current;
static struct db *late; /* its transaction should have been committed */

/* Statements that are replaced. */
static const struct {
    enum control control;
    const char *begins, *instead;
} changed[] = {
    {CONTROL_KEYLESS, "SELECT id, request_hash, -1, NULL FROM orders WHERE id",
     "SELECT id, request_hash, -1, NULL FROM orders WHERE id = $1 AND key_hash = $2 AND created_at > $3 AND 1 = 0"},
    {CONTROL_KEYLESS, "SELECT id, request_hash, status, answer FROM idempotency WHERE id",
     "SELECT id, request_hash, status, answer FROM idempotency WHERE id = $1 AND key_hash = $2 AND 1 = 0"},
    {CONTROL_UNPAID, "INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)",
     "INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)"
     " SELECT $1, $2, $3, $4, $5, $6, $7 WHERE $4 <> 'order'"},
    {CONTROL_SERIAL, "INSERT INTO delivery (order_item_id, unit, type, serial_id, created_at)",
     "INSERT INTO delivery (order_item_id, unit, type, serial_id, created_at)"
     " SELECT $1, $2, 'serial_code', COALESCE(MIN(serial_id), $3), $4 FROM delivery WHERE serial_id IS NOT NULL"},
    {CONTROL_COUPON, "UPDATE coupon SET uses = uses + 1 WHERE id",
     "UPDATE coupon SET uses = uses WHERE id = $1 RETURNING max_uses_per_customer"},
};

void control_set(enum control c)
{
    current = c;
}

const char *control_name(enum control c)
{
    static const char *const names[CONTROLS] = {
        "none",
        "answer before the commit",
        "keys are not looked for",
        "delivered without an entry",
        "one code for everybody",
        "coupons are not counted",
    };
    return names[c];
}

/* The database would refuse the same code twice by itself. */
static enum err drop_guard(void *arg, struct db *db)
{
    (void)arg;
    return db_script(db, "DROP INDEX IF EXISTS delivery_serial");
}

void control_started(struct database *d)
{
    late = NULL;
    if (current == CONTROL_SERIAL) tx_call(d, TX_WRITE, drop_guard, NULL, NULL);
}

struct stmt *__wrap_db_prepare(struct db *db, const char *sql);
struct stmt *__real_db_prepare(struct db *db, const char *sql);
enum sqlite_end __wrap_sqlite_commit(struct db *db);
enum sqlite_end __real_sqlite_commit(struct db *db);
enum err __wrap_sqlite_begin(struct db *db);
enum err __real_sqlite_begin(struct db *db);
enum err __wrap_sqlite_checkpoint(struct db *db, bool truncate);
enum err __real_sqlite_checkpoint(struct db *db, bool truncate);

struct stmt *__wrap_db_prepare(struct db *db, const char *sql)
{
    for (size_t i = 0; current && i < sizeof changed / sizeof *changed; i++)
        if (changed[i].control == current && strncmp(sql, changed[i].begins, strlen(changed[i].begins)) == 0)
            return __real_db_prepare(db, changed[i].instead);
    return __real_db_prepare(db, sql);
}

static void catch_up(void)
{
    struct db *db = late;
    late = NULL;
    if (db) __real_sqlite_commit(db);
}

enum sqlite_end __wrap_sqlite_commit(struct db *db)
{
    if (current != CONTROL_EARLY || !db->can_write) return __real_sqlite_commit(db);
    late = db;
    return SQLITE_ENDED;
}

enum err __wrap_sqlite_begin(struct db *db)
{
    if (db == late) catch_up();
    return __real_sqlite_begin(db);
}

enum err __wrap_sqlite_checkpoint(struct db *db, bool truncate)
{
    if (db == late) catch_up();
    return __real_sqlite_checkpoint(db, truncate);
}
