/* domain/notification.c - see notification.h. Rows are written once and never changed. */
#include "domain/notification.h"

#include <assert.h>

#include "domain/mail.h"

enum err notification_add(struct db *db, Id account, const struct notification *n, Time now)
{
    static const char insert[] = "INSERT INTO notification (account_id, kind, message, reference_id, created_at)"
                                 " VALUES ($1, $2, $3, $4, $5)";

    struct stmt *st = db_prepare(db, insert);
    bind_id(st, account);
    bind_text(st, n->kind);
    bind_text(st, n->message);
    bind_id(st, n->reference);
    bind_time(st, now);
    enum err e = db_run(st);
    return e ? e : mail_notification(db, account, n->kind, n->message, now);
}

enum err notification_add_staff(struct db *db, const struct notification *n, Time now)
{
    static const char insert[] =
        "INSERT INTO notification (account_id, kind, message, reference_id, created_at)"
        " SELECT id, CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS BIGINT) FROM account"
        " WHERE role IN ('staff', 'owner') AND role <> 'customer' AND is_active = 1";

    struct stmt *st = db_prepare(db, insert);
    bind_text(st, n->kind);
    bind_text(st, n->message);
    bind_id(st, n->reference);
    bind_time(st, now);
    return db_run(st);
}

enum err notification_list(struct db *db, Id account, Id before, int64_t limit, struct notification **ret,
                           size_t *ret_count)
{
    assert(limit > 0);
    struct notification *items = arena_array(db_arena(db), struct notification, (size_t)limit);
    size_t count = 0;
    struct stmt *st = db_prepare(
        db, DB_PAGE(db, "SELECT id, kind, message, reference_id, created_at FROM notification", "account_id", "id"));
    bind_id(st, account);
    bind_id(st, id_is(before) ? before : (Id){ID_MAX});
    bind_int(st, limit);
    while (db_step(st)) {
        struct notification *n = &items[count++];
        n->id = col_id(st);
        n->kind = col_text(st);
        n->message = col_text(st);
        n->reference = col_id(st);
        n->created_at = col_time(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret = items;
    *ret_count = count;
    return OK;
}
