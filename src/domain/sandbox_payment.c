/* domain/sandbox_payment.c - see sandbox_payment.h. Messages are queued in the transaction of the event; each becomes a
 * signed webhook when it is sent (outbox/sandbox_errand.c). */
#include "domain/sandbox_payment.h"

#include <assert.h>

#include "base/random.h"
#include "db/rows.h"
#include "domain/outbox.h"
#include "domain/sandbox_message.h"

#define REF_CHARS 24

const char *const sandbox_status_names[] = {"open", "paid", "failed", "expired", "closed", NULL};
const char *const sandbox_mood_names[] = {"willing", "refuses_refunds", "loses_answer", "loses_create", NULL};

#define COLUMNS                                                                                                        \
    "id, ref, reference, order_ref, description, amount, refunded, currency, status, success_url, cancel_url,"         \
    " received, paid_currency, dispute_ref, mood"

static void read_row(struct stmt *st, struct sandbox_payment *p)
{
    p->id = col_id(st);
    p->ref = col_text(st);
    p->reference = col_text(st);
    p->order_ref = col_text(st);
    p->description = col_text(st);
    p->amount = col_money(st);
    p->refunded = col_money(st);
    p->currency = col_text(st);
    p->status = col_choice(st, sandbox_status_names);
    p->success_url = col_text(st);
    p->cancel_url = col_text(st);
    p->received = col_money(st);
    p->paid_currency = col_text(st);
    p->dispute_ref = col_text(st);
    p->mood = col_choice(st, sandbox_mood_names);
}
DB_READER(read_row);

Str sandbox_ref(struct arena *a, Str prefix)
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
    bind_text(st, sandbox_ref(db_arena(db), STR("sbx_")));
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
    return db_row(st, read_row, ret);
}

enum err sandbox_find(struct db *db, Str ref, struct sandbox_payment *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM sandbox_payment WHERE ref = $1";

    struct stmt *st = db_prepare(db, find);
    bind_text(st, ref);
    return db_row(st, read_row, ret);
}

enum err sandbox_lock(struct db *db, Str ref, struct sandbox_payment *ret)
{
    static const char lock[] = "UPDATE sandbox_payment SET status = status WHERE ref = $1 RETURNING " COLUMNS;

    struct stmt *st = db_prepare(db, lock);
    bind_text(st, ref);
    return db_row(st, read_row, ret);
}

enum err sandbox_save(struct db *db, const struct sandbox_payment *p)
{
    static const char save[] = "UPDATE sandbox_payment SET status = $2, received = $3, paid_currency = $4,"
                               " dispute_ref = $5, mood = $6 WHERE id = $1";

    struct stmt *st = db_prepare(db, save);
    bind_id(st, p->id);
    bind_choice(st, sandbox_status_names, p->status);
    bind_money(st, p->received);
    bind_text(st, p->paid_currency);
    bind_text(st, p->dispute_ref);
    bind_choice(st, sandbox_mood_names, p->mood);
    return db_run(st);
}

enum err sandbox_loses_create(struct db *db, bool *ret)
{
    static const char take[] = "UPDATE sandbox_payment SET mood = 'willing' WHERE mood = 'loses_create' RETURNING id";

    bool found = false;
    struct stmt *st = db_prepare(db, take);
    while (db_step(st)) found = true;
    enum err e = db_done(st);
    if (!e) *ret = found;
    return e;
}

enum err sandbox_tell(struct db *db, const struct sandbox_payment *p, const struct sandbox_message *given,
                      const struct sandbox_sending *how, Time now)
{
    struct sandbox_message m = *given;
    m.event_id = sandbox_ref(db_arena(db), STR("sbx_evt_"));
    m.payment_ref = p->ref;
    m.order_ref = p->order_ref;
    if (!m.amount.minor) m.amount = p->amount;
    if (!m.currency.len) m.currency = p->paid_currency.len ? p->paid_currency : p->currency;
    m.refunded_total = p->refunded;
    m.at = now;
    struct outbox_item item = {.kind = OUTBOX_SANDBOX, .payload = sandbox_message_pack(db_arena(db), &m)};
    enum err e = OK;
    for (int i = 0; i < (how->silent ? 0 : how->twice ? 2 : 1) && !e; i++)
        e = outbox_add(db, &item, time_add(now, how->late_ms), now, NULL);
    return e;
}

static Str name_of(struct db *db, Id refund)
{
    return str_printf(db_arena(db), "sbx_refund_%lld", (long long)refund.v);
}

static enum err refund_name(struct db *db, const struct sandbox_payment *p, Money amount, Str key, bool *ret_is_new,
                            Str *ret_name)
{
    static const char insert[] = "INSERT INTO sandbox_refund (payment_id, key, amount) VALUES ($1, $2, $3)"
                                 " ON CONFLICT (key) DO NOTHING RETURNING id";
    static const char find[] = "SELECT id FROM sandbox_refund WHERE key = $1";

    if (!key.len) key = sandbox_ref(db_arena(db), STR("page-"));
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
    *ret_name = name_of(db, id);
    return OK;
}

enum err sandbox_give_back(struct db *db, Str ref, Money amount, Str key, const struct sandbox_sending *how, Time now,
                           Str *ret_refund)
{
    static const char take[] = "UPDATE sandbox_payment SET refunded = refunded + $2"
                               " WHERE id = $1 AND status = 'paid' AND refunded + $2 <= received RETURNING refunded";

    struct sandbox_payment p;
    bool is_new = false;
    enum err e = sandbox_lock(db, ref, &p);
    if (!e) e = refund_name(db, &p, amount, key, &is_new, ret_refund);
    if (e || !is_new) return e;
    struct stmt *st = db_prepare(db, take);
    bind_id(st, p.id);
    bind_money(st, amount);
    bool taken = db_step(st);
    if (taken) p.refunded = col_money(st);
    e = db_done(st);
    if (e) return e;
    if (!taken) return ERR_INVALID_STATE;
    struct sandbox_message m = {.kind = EVENT_REFUNDED, .amount = amount, .refund_ref = *ret_refund};
    return sandbox_tell(db, &p, &m, how, now);
}

enum err sandbox_return_refund(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    static const char take[] =
        "UPDATE sandbox_refund SET is_returned = 1 WHERE id = (SELECT MAX(id) FROM sandbox_refund"
        " WHERE payment_id = $1 AND is_returned = 0) RETURNING id, amount";
    static const char set[] = "UPDATE sandbox_payment SET refunded = $2 WHERE id = $1";

    struct sandbox_message m = {.kind = EVENT_REFUND_FAILED};
    struct stmt *st = db_prepare(db, take);
    bind_id(st, p->id);
    bool found = db_step(st);
    if (found) {
        m.refund_ref = name_of(db, col_id(st));
        m.amount = col_money(st);
    }
    enum err e = db_done(st);
    if (e || !found) return e ? e : ERR_INVALID_STATE;
    p->refunded.minor -= m.amount.minor;
    st = db_prepare(db, set);
    bind_id(st, p->id);
    bind_money(st, p->refunded);
    e = db_run(st);
    return e ? e : sandbox_tell(db, p, &m, how, now);
}

enum err sandbox_close(struct db *db, Str ref, struct sandbox_payment *ret)
{
    struct sandbox_payment p;
    enum err e = sandbox_lock(db, ref, &p);
    if (e) return e;
    if (p.status != SANDBOX_OPEN && p.status != SANDBOX_FAILED) return ERR_INVALID_STATE;
    p.status = SANDBOX_CLOSED;
    e = sandbox_save(db, &p);
    if (!e) *ret = p;
    return e;
}
