/* domain/credit_request.c - see credit_request.h. */
#include "domain/credit_request.h"

static enum err add(struct db *db, const struct credit_request *want, Id by, Time now, bool *ret_added)
{
    static const char insert[] =
        "INSERT INTO credit_request (account_id, amount, description, requested_by, requested_at)"
        " VALUES ($1, $2, $3, $4, $5) ON CONFLICT (account_id, amount, description) DO NOTHING RETURNING id";

    struct stmt *st = db_prepare(db, insert);
    bind_id(st, want->account);
    bind_money(st, want->amount);
    bind_text(st, want->description);
    bind_id(st, by);
    bind_time(st, now);
    bool added = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret_added = added;
    return e;
}

enum err credit_request_ask(struct db *db, const struct credit_request *want, Id by, Time now, bool *ret_may)
{
    static const char take[] = "DELETE FROM credit_request WHERE account_id = $1 AND amount = $2 AND description = $3"
                               " AND requested_by <> $4 RETURNING id";

    bool added;
    enum err e = add(db, want, by, now, &added);
    *ret_may = false;
    if (e || added) return e;
    struct stmt *st = db_prepare(db, take);
    bind_id(st, want->account);
    bind_money(st, want->amount);
    bind_text(st, want->description);
    bind_id(st, by);
    *ret_may = db_step(st);
    e = db_done(st);
    return e ? e : *ret_may ? OK : ERR_SECOND_PERSON_NEEDED;
}
