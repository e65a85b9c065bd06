/* domain/customer.c - see customer.h. */
#include "domain/customer.h"

#include "base/text.h"
#include "db/rows.h"
#include "domain/token.h"

/* Two lookups by key instead of a join: PostgreSQL would merge the two tables from their start up to the page. */
#define CUSTOMER_COLUMNS                                                                                               \
    "SELECT a.id, a.email, a.name, a.role, a.is_active, a.created_at, "                                                \
    " COALESCE((SELECT balance FROM ledger_account WHERE owner_id = a.id), 0),"                                        \
    " COALESCE((SELECT credit_limit FROM ledger_account WHERE owner_id = a.id), 0) FROM account a"

static void customer_read(struct stmt *st, struct customer *c)
{
    c->account.id = col_id(st);
    c->account.email = col_text(st);
    c->account.name = col_text(st);
    c->account.role = col_choice(st, role_names);
    c->account.is_active = col_bool(st);
    c->account.created_at = col_time(st);
    c->balance = col_money(st);
    c->credit_limit = col_money(st);
}
DB_READER(customer_read);

enum err customer_list(struct db *db, Str q, Id before, int64_t limit, struct customer **ret, size_t *ret_count)
{
    static const char list[] =
        CUSTOMER_COLUMNS " WHERE a.id < $1 AND a.role = 'customer'"
                         " AND (a.email LIKE $2 ESCAPE '\\' OR LOWER(a.name) LIKE $2 ESCAPE '\\')"
                         " ORDER BY a.id DESC LIMIT $3";
    Str pattern = text_like_pattern(db_arena(db), q);
    struct stmt *st = db_prepare(db, list);
    bind_int(st, id_is(before) ? before.v : INT64_MAX);
    bind_text(st, pattern);
    bind_int(st, limit);
    return db_rows(st, customer_read, limit, ret, ret_count);
}

enum err customer_list_after(struct db *db, Id after, int64_t limit, struct customer **ret, size_t *ret_count)
{
    static const char list[] = CUSTOMER_COLUMNS " WHERE a.id > $1 ORDER BY a.id LIMIT $2";
    struct stmt *st = db_prepare(db, list);
    bind_id(st, after);
    bind_int(st, limit);
    return db_rows(st, customer_read, limit, ret, ret_count);
}

enum err customer_find(struct db *db, Id id, struct customer *ret)
{
    static const char find[] = CUSTOMER_COLUMNS " WHERE a.id = $1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return db_row(st, customer_read, ret);
}

enum err customer_change(struct db *db, Id id, const struct customer_change *change)
{
    static const char set_name[] = "UPDATE account SET name = $1 WHERE id = $2 AND role = 'customer' RETURNING id";
    static const char set_active[] =
        "UPDATE account SET is_active = $1 WHERE id = $2 AND role = 'customer' RETURNING id";
    enum err e = OK;
    bool found = true;
    if (change->has_name) {
        struct stmt *st = db_prepare(db, set_name);
        bind_text(st, change->name);
        bind_id(st, id);
        found = db_step(st);
        e = db_done(st);
    }
    if (!e && found && change->has_is_active) {
        struct stmt *st = db_prepare(db, set_active);
        bind_bool(st, change->is_active);
        bind_id(st, id);
        found = db_step(st);
        e = db_done(st);
        if (!e && found && !change->is_active) e = token_revoke_all(db, id);
    }
    if (e) return e;
    return found ? OK : ERR_NOT_FOUND;
}
