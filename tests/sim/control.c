/* tests/sim/control.c - see control.h. The linker puts these functions in front of the server's own. */
#include "control.h"

#include "db/sqlite.h"

static enum control current;
static struct db *late; /* its transaction should have been committed */

void control_set(enum control c)
{
    current = c;
}

const char *control_name(enum control c)
{
    static const char *const names[CONTROLS] = {"none", "answer before the commit"};
    return names[c];
}

enum sqlite_end __wrap_sqlite_commit(struct db *db);
enum sqlite_end __real_sqlite_commit(struct db *db);
enum err __wrap_sqlite_begin(struct db *db);
enum err __real_sqlite_begin(struct db *db);
enum err __wrap_sqlite_checkpoint(struct db *db, bool truncate);
enum err __real_sqlite_checkpoint(struct db *db, bool truncate);

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
