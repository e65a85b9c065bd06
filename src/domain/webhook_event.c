/* domain/webhook_event.c - see webhook_event.h. */
#include "domain/webhook_event.h"

#include <assert.h>
#include <sodium.h>

#include "db/rows.h"

const char *const webhook_status_names[] = {"handled", "unmatched", "review", "ignored", NULL};

static const char *const mode_names[] = {"", "test", "live", NULL}; /* enum event_mode */

/* In the order in which read_row takes them. */
#define COLUMNS                                                                                                        \
    "w.id, w.gateway_id, (SELECT g.label FROM gateway g WHERE g.id = w.gateway_id), w.event_id, w.delivery_id,"        \
    " w.type, w.kind, w.status, w.reason, w.payment_id,"                                                               \
    " (SELECT p.order_id FROM payment p WHERE p.id = w.payment_id), w.payment_ref, w.group_ref, w.order_ref,"          \
    " w.refund_ref, w.amount, w.currency, w.refunded_total, w.outcome, w.due_at, w.mode, w.occurred_at,"               \
    " w.received_at"

static void read_row(struct stmt *st, struct webhook_event *w)
{
    struct payment_event *e = &w->event;
    w->id = col_id(st);
    w->gateway_id = col_id(st);
    w->gateway_label = col_text(st);
    e->event_id = col_text(st);
    e->delivery_id = col_text(st);
    e->type = col_text(st);
    e->kind = col_choice(st, payment_event_kind_names);
    w->status = col_choice(st, webhook_status_names);
    w->reason = col_text(st);
    w->payment_id = col_id(st);
    w->order_id = col_id(st);
    e->payment_ref = col_text(st);
    e->group_ref = col_text(st);
    e->order_ref = col_text(st);
    e->refund_ref = col_text(st);
    e->has_amount = !col_is_null(st);
    e->amount = col_money(st);
    e->currency = col_text(st);
    e->has_refunded_total = !col_is_null(st);
    e->refunded_total = col_money(st);
    e->outcome = col_choice(st, dispute_outcome_names);
    e->due_at = col_time(st);
    e->mode = col_choice(st, mode_names);
    e->occurred_at = col_time(st);
    w->received_at = col_time(st);
}
DB_READER(read_row);

static void read_whole(struct stmt *st, struct webhook_event *w)
{
    read_row(st, w);
    w->body = col_blob(st);
}
DB_READER(read_whole);

static void bind_opt_money(struct stmt *st, bool has, Money m)
{
    if (has)
        bind_money(st, m);
    else
        bind_null(st);
}

/* Everything about the event that may become known after it was added. */
static void bind_details(struct stmt *st, const struct payment_event *e)
{
    bind_choice(st, payment_event_kind_names, e->kind);
    bind_text(st, e->payment_ref);
    bind_text(st, e->group_ref);
    bind_text(st, e->order_ref);
    bind_text(st, e->refund_ref);
    bind_opt_money(st, e->has_amount, e->amount);
    bind_text(st, e->currency);
    bind_opt_money(st, e->has_refunded_total, e->refunded_total);
    if (e->kind == EVENT_DISPUTE_CLOSED)
        bind_choice(st, dispute_outcome_names, e->outcome);
    else
        bind_opt_text(st, (Str){0});
    bind_opt_time(st, e->due_at);
}

/* Was this envelope seen with another body? */
static enum err check_envelope(struct db *db, Id gateway, Str delivery_id, const unsigned char *hash)
{
    static const char find[] = "SELECT body_hash FROM webhook_event WHERE gateway_id = $1 AND delivery_id = $2";

    if (!delivery_id.len) return OK;
    struct stmt *st = db_prepare(db, find);
    bind_id(st, gateway);
    bind_text(st, delivery_id);
    Str seen = db_step(st) ? col_blob(st) : (Str){0};
    enum err e = db_done(st);
    if (e) return e;
    bool same = !seen.len || (seen.len == crypto_hash_sha256_BYTES && memcmp(seen.ptr, hash, seen.len) == 0);
    return same ? OK : ERR_SIGNATURE_INVALID;
}

enum err webhook_event_add(struct db *db, Id gateway, const struct payment_event *e, Str body, Time now, Id *ret_id)
{
    static const char insert[] =
        "INSERT INTO webhook_event (kind, payment_ref, group_ref, order_ref, refund_ref, amount, currency,"
        " refunded_total, outcome, due_at, gateway_id, event_id, delivery_id, type, status, mode, body, body_hash,"
        " occurred_at, received_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'unmatched',"
        " $15, $16, $17, $18, $19) ON CONFLICT DO NOTHING RETURNING id";

    assert(e->event_id.len);
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)body.ptr, body.len);
    struct stmt *st = db_prepare(db, insert);
    bind_details(st, e);
    bind_id(st, gateway);
    bind_text(st, e->event_id);
    bind_opt_text(st, e->delivery_id);
    bind_text(st, e->type);
    bind_choice(st, mode_names, e->mode);
    bind_blob(st, body);
    bind_blob(st, (Str){(const char *)hash, sizeof hash});
    bind_opt_time(st, e->occurred_at);
    bind_time(st, now);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err err = db_done(st);
    if (err) return err;
    /* There is a row already: either this very event, or the same envelope around another body. */
    if (!id_is(id)) err = check_envelope(db, gateway, e->delivery_id, hash);
    if (!err && !id_is(id)) err = db_confirm_read(db); /* the gateway will not send it again */
    if (!err) *ret_id = id;
    return err;
}

enum err webhook_event_settle(struct db *db, Id id, const struct payment_event *e, enum webhook_status status,
                              Str reason, Id payment)
{
    static const char settle[] =
        "UPDATE webhook_event SET kind = $1, payment_ref = $2, group_ref = $3, order_ref = $4, refund_ref = $5,"
        " amount = $6, currency = $7, refunded_total = $8, outcome = $9, due_at = $10, status = $11, reason = $12,"
        " payment_id = $13 WHERE id = $14";

    struct stmt *st = db_prepare(db, settle);
    bind_details(st, e);
    bind_choice(st, webhook_status_names, status);
    bind_text(st, reason);
    bind_opt_id(st, payment);
    bind_id(st, id);
    return db_run(st);
}

enum err webhook_event_find(struct db *db, Id id, struct webhook_event *ret)
{
    static const char find[] = "SELECT " COLUMNS ", w.body FROM webhook_event w WHERE w.id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return db_row(st, read_whole, ret);
}

enum err webhook_event_list(struct db *db, const struct webhook_filter *filter, Id before, int64_t limit,
                            struct webhook_event **ret, size_t *ret_count)
{
    static const char list[] = "SELECT " COLUMNS " FROM webhook_event w WHERE w.id < $1"
                               " AND (CAST($2 AS TEXT) = '' OR w.status = $2) ORDER BY w.id DESC LIMIT $3";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, id_is(before) ? before : (Id){ID_MAX});
    bind_text(st, filter->has_status ? str_from(webhook_status_names[filter->status]) : STR(""));
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}

#define UNMATCHED_MAX 20

enum err webhook_event_unmatched(struct db *db, Id gateway, const struct payment_event *names,
                                 struct webhook_event **ret, size_t *ret_count)
{
    static const char list[] =
        "SELECT " COLUMNS " FROM webhook_event w WHERE w.status = 'unmatched' AND w.gateway_id = $1"
        " AND ((w.payment_ref <> '' AND w.payment_ref = $2) OR (w.group_ref <> '' AND w.group_ref = $3)"
        " OR (w.payment_ref = '' AND w.group_ref = '' AND w.order_ref = $4)) ORDER BY w.id LIMIT 20";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, gateway);
    bind_text(st, names->payment_ref);
    bind_text(st, names->group_ref);
    bind_text(st, names->order_ref);
    return db_rows(st, read_row, UNMATCHED_MAX, ret, ret_count);
}
