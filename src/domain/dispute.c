/* domain/dispute.c - see dispute.h. */
#include "domain/dispute.h"

#include "db/rows.h"

#define LISTED_MAX 20

const char *const dispute_status_names[] = {"open", "won", "lost", "withdrawn", NULL};

#define COLUMNS "id, payment_id, ref, status, amount, lost, frozen, due_at, opened_at, closed_at"

static void read_row(struct stmt *st, struct dispute *d)
{
    d->id = col_id(st);
    d->payment_id = col_id(st);
    d->ref = col_text(st);
    d->status = col_choice(st, dispute_status_names);
    d->amount = col_money(st);
    d->lost = col_money(st);
    d->frozen = col_money(st);
    d->due_at = col_time(st);
    d->opened_at = col_time(st);
    d->closed_at = col_time(st);
}
DB_READER(read_row);

enum err dispute_find(struct db *db, Id payment, Str ref, struct dispute *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM dispute WHERE payment_id = $1 AND ref = $2";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, payment);
    bind_text(st, ref);
    return db_row(st, read_row, ret);
}

enum err dispute_add(struct db *db, const struct dispute *want, Time now, struct dispute *ret)
{
    static const char insert[] = "INSERT INTO dispute (payment_id, ref, amount, frozen, due_at, opened_at)"
                                 " VALUES ($1, $2, $3, $4, $5, $6) RETURNING " COLUMNS;

    struct stmt *st = db_prepare(db, insert);
    bind_id(st, want->payment_id);
    bind_text(st, want->ref);
    bind_money(st, want->amount);
    bind_money(st, want->frozen);
    bind_opt_time(st, want->due_at);
    bind_time(st, now);
    return db_row(st, read_row, ret);
}

enum err dispute_set_due(struct db *db, Id id, Time due_at)
{
    static const char set[] = "UPDATE dispute SET due_at = $2 WHERE id = $1 AND status = 'open'";

    if (!time_is(due_at)) return OK;
    struct stmt *st = db_prepare(db, set);
    bind_id(st, id);
    bind_time(st, due_at);
    return db_run(st);
}

enum err dispute_close(struct db *db, Id id, enum dispute_outcome outcome, Money lost, Time now)
{
    static const char close[] = "UPDATE dispute SET status = $2, lost = $3, closed_at = $4, frozen = 0"
                                " WHERE id = $1 AND status = 'open'";

    struct stmt *st = db_prepare(db, close);
    bind_id(st, id);
    bind_choice(st, dispute_outcome_names, outcome);
    bind_money(st, lost);
    bind_time(st, now);
    return db_run(st);
}

enum err dispute_count_open(struct db *db, Id payment, int64_t *ret)
{
    static const char count[] = "SELECT COUNT(*) FROM dispute WHERE payment_id = $1 AND status = 'open'";

    struct stmt *st = db_prepare(db, count);
    bind_id(st, payment);
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) *ret = n;
    return e;
}

enum err dispute_sums(struct db *db, Id payment, Money *ret_lost, Money *ret_reversed)
{
    static const char sums[] =
        "SELECT CAST((SELECT COALESCE(SUM(lost), 0) FROM dispute WHERE payment_id = $1) AS BIGINT),"
        " CAST((SELECT COALESCE(SUM(amount), 0) FROM reversal WHERE payment_id = $1) AS BIGINT)";

    Money lost = {0}, reversed = {0};
    struct stmt *st = db_prepare(db, sums);
    bind_id(st, payment);
    if (db_step(st)) {
        lost = col_money(st);
        reversed = col_money(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret_lost = lost;
    *ret_reversed = reversed;
    return OK;
}

enum err dispute_add_reversal(struct db *db, Id payment, Str ref, Money amount, Time now, bool *ret_is_new)
{
    static const char insert[] = "INSERT INTO reversal (payment_id, ref, amount, at) VALUES ($1, $2, $3, $4)"
                                 " ON CONFLICT (payment_id, ref) DO NOTHING RETURNING id";

    struct stmt *st = db_prepare(db, insert);
    bind_id(st, payment);
    bind_text(st, ref);
    bind_money(st, amount);
    bind_time(st, now);
    bool is_new = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret_is_new = is_new;
    return e;
}

enum err dispute_list(struct db *db, Id payment, struct dispute **ret, size_t *ret_count)
{
    static const char list[] = "SELECT " COLUMNS " FROM dispute WHERE payment_id = $1 ORDER BY id LIMIT 20";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, payment);
    return db_rows(st, read_row, LISTED_MAX, ret, ret_count);
}
