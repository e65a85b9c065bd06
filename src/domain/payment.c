/* domain/payment.c - see payment.h. */
#include "domain/payment.h"

#include <assert.h>

#include "base/random.h"
#include "db/rows.h"
#include "domain/outbox.h"

#define REFERENCE_CHARS 24
#define OF_ORDER_MAX 50
#define FIRST_ASK_MS (5 * TIME_MINUTE)

const char *const payment_status_names[] = {"open", "failed", "succeeded", "expired", "closed", NULL};

/* In the order in which read_row takes them. */
#define COLUMNS                                                                                                        \
    "id, gateway_id, account_id, order_id, (SELECT g.label FROM gateway g WHERE g.id = payment.gateway_id),"           \
    " reference, status, amount, currency, group_ref, payment_ref, url, success_url, cancel_url, received, waiting,"   \
    " credited, refunded_total, lost_total, returned, paid_order, is_disputed, created_at, expires_at, ends_at,"       \
    " ended_at, succeeded_at"

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
    p->received = col_money(st);
    p->waiting = col_money(st);
    p->credited = col_money(st);
    p->refunded_total = col_money(st);
    p->lost_total = col_money(st);
    p->returned = col_money(st);
    p->paid_order = col_bool(st);
    p->is_disputed = col_bool(st);
    p->created_at = col_time(st);
    p->expires_at = col_time(st);
    p->ends_at = col_time(st);
    p->ended_at = col_time(st);
    p->succeeded_at = col_time(st);
}
DB_READER(read_row);

enum err payment_create(struct db *db, const struct payment *want, Time now, struct payment *ret)
{
    static const char insert[] =
        "INSERT INTO payment (gateway_id, account_id, order_id, reference, amount, currency, success_url, cancel_url,"
        " created_at, expires_at, ends_at, payment_ref)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id";

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
    bind_opt_time(st, want->ends_at);
    bind_opt_text(st, want->payment_ref);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    bool has_page = time_is(want->expires_at) || !time_is(want->ends_at);
    struct outbox_item ask = {.kind = OUTBOX_ASK, .payment = id};
    e = outbox_add(db, &ask, has_page ? time_add(now, FIRST_ASK_MS) : want->ends_at, now, NULL);
    return e ? e : payment_find(db, id, ret);
}

enum err payment_find(struct db *db, Id id, struct payment *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM payment WHERE id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return db_row(st, read_row, ret);
}

enum err payment_find_reference(struct db *db, Id account, Str reference, struct payment *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM payment WHERE reference = $1 AND account_id = $2";

    struct stmt *st = db_prepare(db, find);
    bind_text(st, reference);
    bind_id(st, account);
    return db_row(st, read_row, ret);
}

enum err payment_find_order(struct db *db, Id order, struct payment *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM payment WHERE order_id = $1 ORDER BY paid_order DESC,"
                               " CASE WHEN waiting > 0 THEN 0 ELSE 1 END, id DESC LIMIT 1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, order);
    return db_row(st, read_row, ret);
}

enum err payment_find_paying(struct db *db, Id order, struct payment *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM payment WHERE order_id = $1 AND paid_order = 1 LIMIT 1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, order);
    return db_row(st, read_row, ret);
}

enum err payment_list_order(struct db *db, Id order, struct payment **ret, size_t *ret_count)
{
    static const char list[] = "SELECT " COLUMNS " FROM payment WHERE order_id = $1 ORDER BY id LIMIT 50";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, order);
    return db_rows(st, read_row, OF_ORDER_MAX, ret, ret_count);
}

enum err payment_list(struct db *db, const struct payment_filter *filter, Id before, int64_t limit,
                      struct payment **ret, size_t *ret_count)
{
    static const char list[] =
        "SELECT " COLUMNS " FROM payment WHERE id < $1 AND (CAST($2 AS TEXT) = '' OR status = $2)"
        " AND (CAST($3 AS TEXT) = '' OR gateway_id IN (SELECT g.id FROM gateway g WHERE g.label = $3))"
        " AND (CAST($4 AS BIGINT) = 0 OR order_id = $4) ORDER BY id DESC LIMIT $5";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, id_is(before) ? before : (Id){ID_MAX});
    bind_text(st, filter->has_status ? str_from(payment_status_names[filter->status]) : STR(""));
    bind_text(st, filter->gateway_label);
    bind_id(st, filter->order_id);
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}

/* An UPDATE that changes nothing is the row lock that both engines have. */
static enum err lock_one(struct db *db, Id id, struct payment *ret)
{
    static const char lock[] = "UPDATE payment SET status = status WHERE id = $1 RETURNING " COLUMNS;

    struct stmt *st = db_prepare(db, lock);
    bind_id(st, id);
    return db_row(st, read_row, ret);
}

enum err payment_lock(struct db *db, Id id, struct payment *ret)
{
    static const char siblings[] = "SELECT s.id FROM payment p JOIN payment s ON s.order_id = p.order_id"
                                   " WHERE p.id = $1 ORDER BY s.id LIMIT 50";

    Id ids[OF_ORDER_MAX];
    size_t count = 0;
    struct stmt *st = db_prepare(db, siblings);
    bind_id(st, id);
    while (count < OF_ORDER_MAX && db_step(st)) ids[count++] = col_id(st);
    enum err e = db_done(st);
    struct payment p;
    for (size_t i = 0; !e && count > 1 && i < count; i++) e = lock_one(db, ids[i], &p);
    return e ? e : lock_one(db, id, ret);
}

static enum err lock_name(struct db *db, Id gateway, Str name)
{
    static const char postgres[] =
        "SELECT CAST(1 AS BIGINT) FROM (SELECT pg_advisory_xact_lock(hashtextextended($2, $1))) AS lock";

    if (!name.len) return OK;
    struct stmt *st = db_prepare(db, postgres);
    bind_id(st, gateway);
    bind_text(st, name);
    db_step(st);
    return db_done(st);
}

enum err payment_lock_names(struct db *db, Id gateway, Str first, Str second)
{
    if (!db_is_postgres(db)) return OK; /* one writer: its whole transaction is such a lock */
    size_t n = first.len < second.len ? first.len : second.len;
    int order = n ? memcmp(first.ptr, second.ptr, n) : 0;
    bool swap = order > 0 || (order == 0 && first.len > second.len);
    enum err e = lock_name(db, gateway, swap ? second : first);
    return e || str_eq(first, second) ? e : lock_name(db, gateway, swap ? first : second);
}

enum err payment_save(struct db *db, const struct payment *p)
{
    static const char save[] =
        "UPDATE payment SET status = $2, group_ref = $3, payment_ref = $4, received = $5, waiting = $6, credited = $7,"
        " refunded_total = $8, lost_total = $9, returned = $10, paid_order = $11, is_disputed = $12, ended_at = $13,"
        " succeeded_at = $14 WHERE id = $1";

    struct stmt *st = db_prepare(db, save);
    bind_id(st, p->id);
    bind_choice(st, payment_status_names, p->status);
    bind_opt_text(st, p->group_ref);
    bind_opt_text(st, p->payment_ref);
    bind_money(st, p->received);
    bind_money(st, p->waiting);
    bind_money(st, p->credited);
    bind_money(st, p->refunded_total);
    bind_money(st, p->lost_total);
    bind_money(st, p->returned);
    bind_bool(st, p->paid_order);
    bind_bool(st, p->is_disputed);
    bind_opt_time(st, p->ended_at);
    bind_opt_time(st, p->succeeded_at);
    return db_run(st);
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
