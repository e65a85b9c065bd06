/* domain/refund.c - see refund.h. */
#include "domain/refund.h"

#include "db/rows.h"

const char *const refund_status_names[] = {"requested", "done", "failed", NULL};

/* In the order in which read_row takes them. */
#define COLUMNS                                                                                                        \
    "id, payment_id, order_id, amount, status, reason, error, note, refund_ref, claim_url, tries, is_outside,"         \
    " requested_by, requested_at, done_at"

static void read_row(struct stmt *st, struct refund *r)
{
    r->id = col_id(st);
    r->payment_id = col_id(st);
    r->order_id = col_id(st);
    r->amount = col_money(st);
    r->status = col_choice(st, refund_status_names);
    r->reason = col_text(st);
    r->error = col_text(st);
    r->note = col_text(st);
    r->refund_ref = col_text(st);
    r->claim_url = col_text(st);
    r->tries = col_int(st);
    r->is_outside = col_bool(st);
    r->requested_by = col_id(st);
    r->requested_at = col_time(st);
    r->done_at = col_time(st);
}
DB_READER(read_row);

enum err refund_add(struct db *db, const struct refund *want, Time now, struct refund *ret)
{
    static const char insert[] =
        "INSERT INTO refund (payment_id, order_id, amount, status, reason, error, note, refund_ref, claim_url, tries,"
        " is_outside, requested_by, requested_at, done_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING " COLUMNS;

    struct stmt *st = db_prepare(db, insert);
    bind_opt_id(st, want->payment_id);
    bind_opt_id(st, want->order_id);
    bind_money(st, want->amount);
    bind_choice(st, refund_status_names, want->status);
    bind_text(st, want->reason);
    bind_text(st, want->error);
    bind_text(st, want->note);
    bind_text(st, want->refund_ref);
    bind_text(st, want->claim_url);
    bind_int(st, want->tries);
    bind_bool(st, want->is_outside);
    bind_opt_id(st, want->requested_by);
    bind_time(st, now);
    bind_opt_time(st, want->status == REFUND_DONE ? now : (Time){0});
    return db_row(st, read_row, ret);
}

enum err refund_save(struct db *db, const struct refund *r)
{
    static const char save[] = "UPDATE refund SET status = $2, error = $3, note = $4, refund_ref = $5, claim_url = $6,"
                               " tries = $7, done_at = $8 WHERE id = $1";

    struct stmt *st = db_prepare(db, save);
    bind_id(st, r->id);
    bind_choice(st, refund_status_names, r->status);
    bind_text(st, r->error);
    bind_text(st, r->note);
    bind_text(st, r->refund_ref);
    bind_text(st, r->claim_url);
    bind_int(st, r->tries);
    bind_opt_time(st, r->done_at);
    return db_run(st);
}

enum err refund_find(struct db *db, Id id, struct refund *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM refund WHERE id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return db_row(st, read_row, ret);
}

enum err refund_find_ref(struct db *db, Id payment, Str refund_ref, struct refund *ret)
{
    static const char find[] =
        "SELECT " COLUMNS " FROM refund WHERE payment_id = $1 AND refund_ref = $2 ORDER BY id LIMIT 1";

    if (!refund_ref.len) return ERR_NOT_FOUND;
    struct stmt *st = db_prepare(db, find);
    bind_id(st, payment);
    bind_text(st, refund_ref);
    return db_row(st, read_row, ret);
}

enum err refund_list_order(struct db *db, Id order, struct refund **ret, size_t *ret_count)
{
    static const char list[] = "SELECT " COLUMNS " FROM refund WHERE order_id = $1 ORDER BY id LIMIT 100";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, order);
    return db_rows(st, read_row, REFUNDS_LISTED_MAX, ret, ret_count);
}

enum err refund_list_payment(struct db *db, Id payment, struct refund **ret, size_t *ret_count)
{
    static const char list[] = "SELECT " COLUMNS " FROM refund WHERE payment_id = $1 ORDER BY id LIMIT 100";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, payment);
    return db_rows(st, read_row, REFUNDS_LISTED_MAX, ret, ret_count);
}

enum err refund_sum_requested(struct db *db, Id payment, Money *ret)
{
    static const char sum[] = "SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM refund"
                              " WHERE payment_id = $1 AND status = 'requested'";

    struct stmt *st = db_prepare(db, sum);
    bind_id(st, payment);
    Money m = db_step(st) ? col_money(st) : (Money){0};
    enum err e = db_done(st);
    if (!e) *ret = m;
    return e;
}
