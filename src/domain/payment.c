/* domain/payment.c - see payment.h. */
#include "domain/payment.h"

#include <assert.h>

#include "base/random.h"

#define REFERENCE_CHARS 24

/* In the order in which read_row takes them. */
#define COLUMNS                                                                                                        \
    "id, gateway_id, account_id, order_id, (SELECT g.label FROM gateway g WHERE g.id = payment.gateway_id),"           \
    " reference, status, amount, currency, group_ref, payment_ref, url, success_url, cancel_url, refunded_total,"      \
    " refunded_booked, is_disputed, created_at, expires_at, succeeded_at"

const char *const payment_status_names[] = {"pending", "failed", "succeeded", "refunded", NULL};

static void read_row(struct stmt *st, struct payment *p)
{
    p->id = col_id(st);
    p->gateway_id = col_id(st);
    p->account_id = col_id(st);
    p->order_id = col_id(st);
    p->gateway_label = col_text(st);
    p->reference = col_text(st);
    p->status = col_choice(st, payment_status_names);
    p->amount = col_money(st);
    p->currency = col_text(st);
    p->group_ref = col_text(st);
    p->payment_ref = col_text(st);
    p->url = col_text(st);
    p->success_url = col_text(st);
    p->cancel_url = col_text(st);
    p->refunded_total = col_money(st);
    p->refunded_booked = col_money(st);
    p->is_disputed = col_bool(st);
    p->created_at = col_time(st);
    p->expires_at = col_time(st);
    p->succeeded_at = col_time(st);
}

static enum err read_one(struct stmt *st, struct payment *ret)
{
    struct payment p = {0};
    bool found = db_step(st);
    if (found) read_row(st, &p);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    *ret = p;
    return OK;
}

enum err payment_create(struct db *db, const struct payment *want, Time now, struct payment *ret)
{
    static const char insert[] =
        "INSERT INTO payment (gateway_id, account_id, order_id, reference, amount, currency, success_url, cancel_url,"
        " created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id";

    assert(want->amount.minor > 0 && want->currency.len == 3);
    char reference[REFERENCE_CHARS + 5];
    memcpy(reference, "souk_", 5);
    random_base62(reference + 5, REFERENCE_CHARS);
    struct stmt *st = db_prepare(db, insert);
    bind_id(st, want->gateway_id);
    bind_id(st, want->account_id);
    bind_opt_id(st, want->order_id);
    bind_text(st, (Str){reference, sizeof reference});
    bind_money(st, want->amount);
    bind_text(st, want->currency);
    bind_text(st, want->success_url);
    bind_text(st, want->cancel_url);
    bind_time(st, now);
    bind_opt_time(st, want->expires_at);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    return e ? e : payment_find(db, id, ret);
}

enum err payment_find(struct db *db, Id id, struct payment *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM payment WHERE id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return read_one(st, ret);
}

enum err payment_find_reference(struct db *db, Id account, Str reference, struct payment *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM payment WHERE reference = $1 AND account_id = $2";

    struct stmt *st = db_prepare(db, find);
    bind_text(st, reference);
    bind_id(st, account);
    return read_one(st, ret);
}

enum err payment_find_order(struct db *db, Id order, struct payment *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM payment WHERE order_id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, order);
    return read_one(st, ret);
}

enum err payment_lock(struct db *db, Id id, struct payment *ret)
{
    /* An UPDATE that changes nothing is the row lock that both engines have. */
    static const char lock[] = "UPDATE payment SET status = status WHERE id = $1 RETURNING " COLUMNS;

    struct stmt *st = db_prepare(db, lock);
    bind_id(st, id);
    return read_one(st, ret);
}

Str payment_order_ref(struct arena *a, const struct payment *p)
{
    if (id_is(p->order_id)) return str_printf(a, "%lld", (long long)p->order_id.v);
    return str_printf(a, "topup-%lld", (long long)p->id.v);
}

bool payment_order_ref_parse(Str ref, bool *ret_is_topup, Id *ret)
{
    Str topup = STR("topup-");
    bool is_topup = str_starts(ref, topup);
    int64_t v;
    if (is_topup) ref = (Str){ref.ptr + topup.len, ref.len - topup.len};
    if (!str_to_int64(ref, &v) || v < 1 || v > ID_MAX || ref.ptr[0] == '0') return false;
    *ret_is_topup = is_topup;
    *ret = (Id){v};
    return true;
}

Str payment_description(struct arena *a, const struct payment *p, const char *store_name)
{
    if (id_is(p->order_id)) return str_printf(a, "%s: order %lld", store_name, (long long)p->order_id.v);
    return str_printf(a, "%s: wallet top-up", store_name);
}

enum err payment_set_refunded(struct db *db, const struct payment *p)
{
    static const char set[] = "UPDATE payment SET refunded_total = $2, refunded_booked = $3, status = $4 WHERE id = $1";

    struct stmt *st = db_prepare(db, set);
    bind_id(st, p->id);
    bind_money(st, p->refunded_total);
    bind_money(st, p->refunded_booked);
    bind_choice(st, payment_status_names, p->status);
    return db_run(st);
}
