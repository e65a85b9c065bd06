/* domain/sandbox_payment.c - see sandbox_payment.h. What is told is queued in the transaction of what happened; it
 * becomes a signed webhook when it leaves (outbox/errand.c). */
#include "domain/sandbox_payment.h"

#include <assert.h>

#include "base/random.h"
#include "domain/outbox.h"
#include "domain/sandbox_message.h"

#define REF_CHARS 24

const char *const sandbox_status_names[] = {"open", "paid", "failed", NULL};

#define COLUMNS                                                                                                        \
    "id, ref, reference, order_ref, description, amount, refunded, currency, status, success_url, cancel_url"

static enum err read_one(struct stmt *st, struct sandbox_payment *ret)
{
    struct sandbox_payment p = {0};
    bool found = db_step(st);
    if (found) {
        p.id = col_id(st);
        p.ref = col_text(st);
        p.reference = col_text(st);
        p.order_ref = col_text(st);
        p.description = col_text(st);
        p.amount = col_money(st);
        p.refunded = col_money(st);
        p.currency = col_text(st);
        p.status = col_choice(st, sandbox_status_names);
        p.success_url = col_text(st);
        p.cancel_url = col_text(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    *ret = p;
    return OK;
}

static Str random_ref(struct arena *a, Str prefix)
{
    char *text = arena_alloc(a, prefix.len + REF_CHARS);
    memcpy(text, prefix.ptr, prefix.len);
    random_base62(text + prefix.len, REF_CHARS);
    return (Str){text, prefix.len + REF_CHARS};
}

enum err sandbox_create(struct db *db, const struct sandbox_payment *want, Time now, struct sandbox_payment *ret)
{
    static const char insert[] =
        "INSERT INTO sandbox_payment (ref, reference, order_ref, description, amount, currency,"
        " success_url, cancel_url, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        " ON CONFLICT (reference) DO NOTHING";
    static const char find[] = "SELECT " COLUMNS " FROM sandbox_payment WHERE reference = $1";

    struct stmt *st = db_prepare(db, insert);
    bind_text(st, random_ref(db_arena(db), STR("sbx_")));
    bind_text(st, want->reference);
    bind_text(st, want->order_ref);
    bind_text(st, want->description);
    bind_money(st, want->amount);
    bind_text(st, want->currency);
    bind_text(st, want->success_url);
    bind_text(st, want->cancel_url);
    bind_time(st, now);
    enum err e = db_run(st);
    if (e) return e;
    st = db_prepare(db, find);
    bind_text(st, want->reference);
    return read_one(st, ret);
}

enum err sandbox_find(struct db *db, Str ref, struct sandbox_payment *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM sandbox_payment WHERE ref = $1";

    struct stmt *st = db_prepare(db, find);
    bind_text(st, ref);
    return read_one(st, ret);
}

static enum err lock(struct db *db, Str ref, struct sandbox_payment *ret)
{
    static const char lock[] = "UPDATE sandbox_payment SET status = status WHERE ref = $1 RETURNING " COLUMNS;

    struct stmt *st = db_prepare(db, lock);
    bind_text(st, ref);
    return read_one(st, ret);
}

static enum err set_status(struct db *db, const struct sandbox_payment *p, enum sandbox_status status)
{
    static const char set[] = "UPDATE sandbox_payment SET status = $2 WHERE id = $1";

    struct stmt *st = db_prepare(db, set);
    bind_id(st, p->id);
    bind_choice(st, sandbox_status_names, status);
    return db_run(st);
}

static enum err tell(struct db *db, const struct sandbox_payment *p, enum payment_event_kind kind, Str refund,
                     const struct sandbox_sending *how, Time now)
{
    struct sandbox_message m = {
        .event_id = random_ref(db_arena(db), STR("sbx_evt_")),
        .kind = kind,
        .payment_ref = p->ref,
        .order_ref = p->order_ref,
        .amount = p->amount,
        .currency = p->currency,
        .refund_ref = refund,
        .refunded_total = p->refunded,
        .at = now,
    };
    struct outbox_item item = {.kind = OUTBOX_SANDBOX, .payload = sandbox_message_pack(db_arena(db), &m)};
    enum err e = OK;
    for (int i = 0; i < (how->twice ? 2 : 1) && !e; i++)
        e = outbox_add(db, &item, time_add(now, how->late_ms), now, NULL);
    return e;
}

enum err sandbox_pay(struct db *db, Str ref, const struct sandbox_sending *how, Time now)
{
    struct sandbox_payment p;
    enum err e = lock(db, ref, &p);
    if (e) return e;
    if (p.status == SANDBOX_PAID) return ERR_INVALID_STATE;
    e = set_status(db, &p, SANDBOX_PAID);
    return e ? e : tell(db, &p, EVENT_SUCCEEDED, (Str){0}, how, now);
}

enum err sandbox_fail(struct db *db, Str ref, const struct sandbox_sending *how, Time now)
{
    struct sandbox_payment p;
    enum err e = lock(db, ref, &p);
    if (e) return e;
    if (p.status == SANDBOX_PAID) return ERR_INVALID_STATE;
    e = set_status(db, &p, SANDBOX_FAILED);
    return e ? e : tell(db, &p, EVENT_FAILED, (Str){0}, how, now);
}

static enum err refund_name(struct db *db, const struct sandbox_payment *p, Money amount, Str key, bool *ret_is_new,
                            Str *ret_name)
{
    static const char insert[] = "INSERT INTO sandbox_refund (payment_id, key, amount) VALUES ($1, $2, $3)"
                                 " ON CONFLICT (key) DO NOTHING RETURNING id";
    static const char find[] = "SELECT id FROM sandbox_refund WHERE key = $1";

    if (!key.len) key = random_ref(db_arena(db), STR("page-"));
    struct stmt *st = db_prepare(db, insert);
    bind_id(st, p->id);
    bind_text(st, key);
    bind_money(st, amount);
    bool is_new = db_step(st);
    Id id = is_new ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (!e && !is_new) {
        st = db_prepare(db, find);
        bind_text(st, key);
        if (db_step(st)) id = col_id(st);
        e = db_done(st);
    }
    if (e) return e;
    *ret_is_new = is_new;
    *ret_name = str_printf(db_arena(db), "sbx_refund_%lld", (long long)id.v);
    return OK;
}

enum err sandbox_give_back(struct db *db, Str ref, Money amount, Str key, const struct sandbox_sending *how, Time now,
                           Str *ret_refund)
{
    static const char take[] = "UPDATE sandbox_payment SET refunded = refunded + $2"
                               " WHERE id = $1 AND status = 'paid' AND refunded + $2 <= amount RETURNING refunded";

    struct sandbox_payment p;
    bool is_new = false;
    enum err e = lock(db, ref, &p);
    if (!e) e = refund_name(db, &p, amount, key, &is_new, ret_refund);
    if (e || !is_new) return e;
    struct stmt *st = db_prepare(db, take);
    bind_id(st, p.id);
    bind_money(st, amount);
    bool taken = db_step(st);
    if (taken) p.refunded = col_money(st);
    e = db_done(st);
    if (e) return e;
    return taken ? tell(db, &p, EVENT_REFUNDED, *ret_refund, how, now) : ERR_INVALID_STATE;
}

enum err sandbox_dispute(struct db *db, Str ref, const struct sandbox_sending *how, Time now)
{
    struct sandbox_payment p;
    enum err e = lock(db, ref, &p);
    if (e) return e;
    if (p.status != SANDBOX_PAID) return ERR_INVALID_STATE;
    return tell(db, &p, EVENT_DISPUTED, random_ref(db_arena(db), STR("sbx_dispute_")), how, now);
}
