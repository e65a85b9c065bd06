/* domain/notification.c - see notification.h. Only a row's read flag ever changes. */
#include "domain/notification.h"

#include "db/rows.h"
#include "page/words.h"

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
    return db_run(st);
}

enum err notification_say(struct db *db, Id account, const struct notification *n, struct page *reader, enum word word,
                          const Str *args, size_t arg_count, Time now)
{
    struct notification said = *n;
    said.message = words_fill(reader, word, 0, args, arg_count);
    return notification_add(db, account, &said, now);
}

/* The condition on role lets the partial index of those who work here find them. */
#define TO_THOSE(roles)                                                                                                \
    "INSERT INTO notification (account_id, kind, message, reference_id, created_at)"                                   \
    " SELECT id, CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS BIGINT), CAST($4 AS BIGINT) FROM account"              \
    " WHERE role IN (" roles ") AND role <> 'customer' AND is_active = 1"

static enum err tell_those(struct db *db, const char *insert, const struct notification *n, Time now)
{
    struct stmt *st = db_prepare(db, insert);
    bind_text(st, n->kind);
    bind_text(st, n->message);
    bind_id(st, n->reference);
    bind_time(st, now);
    return db_run(st);
}

enum err notification_add_staff(struct db *db, const struct notification *n, Time now)
{
    static const char insert[] = TO_THOSE("'staff', 'owner'");
    return tell_those(db, insert, n, now);
}

enum err notification_add_owners(struct db *db, const struct notification *n, Time now)
{
    static const char insert[] = TO_THOSE("'owner'");
    return tell_those(db, insert, n, now);
}

#define SELECT_NOTIFICATION "SELECT id, kind, message, reference_id, is_read, created_at FROM notification"

static void read_row(struct stmt *st, struct notification *n)
{
    n->id = col_id(st);
    n->kind = col_text(st);
    n->message = col_text(st);
    n->reference = col_id(st);
    n->is_read = col_bool(st);
    n->created_at = col_time(st);
}
DB_READER(read_row);

enum err notification_list(struct db *db, Id account, Id before, int64_t limit, struct notification **ret,
                           size_t *ret_count)
{
    struct stmt *st = db_prepare(db, DB_PAGE(db, SELECT_NOTIFICATION, "account_id", "id"));
    bind_id(st, account);
    bind_id(st, id_is(before) ? before : (Id){ID_MAX});
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}

enum err notification_list_unread(struct db *db, Id account, int64_t limit, struct notification **ret,
                                  size_t *ret_count)
{
    static const char list[] =
        SELECT_NOTIFICATION " WHERE account_id = $1 AND is_read = 0 ORDER BY account_id DESC, id DESC LIMIT $2";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, account);
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}

enum err notification_mark_read(struct db *db, Id account, Id up_to, int64_t *ret_marked)
{
    static const char mark[] = "UPDATE notification SET is_read = 1 WHERE account_id = $1 AND id <= $2 AND is_read = 0"
                               " RETURNING id";

    int64_t n = 0;
    struct stmt *st = db_prepare(db, mark);
    bind_id(st, account);
    bind_id(st, up_to);
    while (db_step(st)) n++;
    enum err e = db_done(st);
    if (!e) *ret_marked = n;
    return e;
}
