/* domain/timeline.c - see timeline.h. */
#include "domain/timeline.h"

const char *const timeline_kind_names[] = {
    [TIMELINE_PLACED] = "placed",
    [TIMELINE_PAYMENT_BEGUN] = "payment_begun",
    [TIMELINE_DELIVERED] = "delivered",
    [TIMELINE_REFUND_REQUESTED] = "refund_requested",
    [TIMELINE_DISPUTE_OPENED] = "dispute_opened",
    [TIMELINE_DISPUTE_WON] = "dispute_won",
    [TIMELINE_DISPUTE_LOST] = "dispute_lost",
    [TIMELINE_DISPUTE_WITHDRAWN] = "dispute_withdrawn",
    [TIMELINE_PAYMENT_REVERSED] = "payment_reversed",
    [TIMELINE_REVIEW_OPENED] = "review_opened",
    [TIMELINE_REVIEW_SETTLED] = "review_settled",
    [TIMELINE_REVEALED] = "revealed",
    [TIMELINE_PAYMENT_FAILED] = "payment_failed",
    [TIMELINE_PAYMENT_REFUSED] = "payment_refused",
    [TIMELINE_PAYMENT_EXPIRED] = "payment_expired",
    [TIMELINE_PAYMENT_CLOSED] = "payment_closed",
    [TIMELINE_PAYMENT_RECEIVED] = "payment_received",
    [TIMELINE_PAYMENT_CORRECTED] = "payment_corrected",
    [TIMELINE_LATE_ACCEPTED] = "late_accepted",
    [TIMELINE_SHORT_ACCEPTED] = "short_accepted",
    [TIMELINE_CREDITED] = "credited",
    [TIMELINE_CONFIRMED] = "confirmed",
    [TIMELINE_CANCELLED] = "cancelled",
    [TIMELINE_REFUND_DONE] = "refund_done",
    [TIMELINE_REFUND_FAILED] = "refund_failed",
    [TIMELINE_REFUND_RETRIED] = "refund_retried",
    [TIMELINE_REFUND_SETTLED] = "refund_settled",
    [TIMELINE_NOTE] = "note",
    [TIMELINE_SENT_AGAIN] = "sent_again",
    [TIMELINE_CODE_REPLACED] = "code_replaced",
    NULL,
};

bool timeline_concerns_customer(enum timeline_kind kind)
{
    switch (kind) {
    case TIMELINE_REVIEW_SETTLED:
    case TIMELINE_REVEALED:
    case TIMELINE_PAYMENT_CORRECTED:
    case TIMELINE_SHORT_ACCEPTED:
    case TIMELINE_CONFIRMED:
    case TIMELINE_REFUND_FAILED:
    case TIMELINE_NOTE:
    case TIMELINE_SENT_AGAIN:
    case TIMELINE_REFUND_RETRIED: return false;
    default: return true;
    }
}

/* Every part gives: when, its place among what happened in the same moment, kind, amount, payment, actor, note, and
 * what keeps its own rows in order. */
#define PLACED                                                                                                         \
    "SELECT o.created_at AS at, 0 AS place, 'placed' AS kind, o.total AS amount,"                                      \
    " CAST(NULL AS BIGINT) AS payment_id, CAST(NULL AS BIGINT) AS actor_id, o.channel AS note, o.id AS id"             \
    " FROM orders o WHERE o.id = $1"
#define BEGUN                                                                                                          \
    "SELECT p.created_at, 1, 'payment_begun', p.amount, p.id, NULL, p.reference, p.id"                                 \
    " FROM payment p WHERE p.order_id = $1"
#define WRITTEN                                                                                                        \
    "SELECT e.at, CASE WHEN e.kind IN ('payment_received', 'payment_corrected', 'late_accepted',"                      \
    " 'short_accepted', 'confirmed') THEN 2 WHEN e.kind IN ('cancelled', 'credited') THEN 5 WHEN e.kind LIKE "         \
    "'refund%'"                                                                                                        \
    " THEN 8 ELSE 4 END, e.kind, e.amount, e.payment_id, e.actor_id, e.note, e.id"                                     \
    " FROM order_event e WHERE e.order_id = $1"
#define DELIVERED                                                                                                      \
    "SELECT o.confirmed_at, 3, 'delivered', NULL, NULL, NULL, o.paid_with, o.id"                                       \
    " FROM orders o WHERE o.id = $1 AND o.confirmed_at IS NOT NULL"
#define REQUESTED                                                                                                      \
    "SELECT r.requested_at, 7, 'refund_requested', r.amount, r.payment_id, r.requested_by, r.reason,"                  \
    " r.id FROM refund r WHERE r.order_id = $1 AND r.is_outside = 0"
#define DISPUTED                                                                                                       \
    "SELECT d.opened_at, 5, 'dispute_opened', d.amount, d.payment_id, NULL, d.ref, d.id"                               \
    " FROM payment p JOIN dispute d ON d.payment_id = p.id WHERE p.order_id = $1"
#define DECIDED                                                                                                        \
    "SELECT d.closed_at, 6, CASE d.status WHEN 'won' THEN 'dispute_won' WHEN 'lost' THEN 'dispute_lost'"               \
    " ELSE 'dispute_withdrawn' END, CASE d.status WHEN 'lost' THEN d.lost END, d.payment_id, NULL, d.ref, d.id"        \
    " FROM payment p JOIN dispute d ON d.payment_id = p.id WHERE p.order_id = $1 AND d.closed_at IS NOT NULL"
#define REVERSED                                                                                                       \
    "SELECT r.at, 6, 'payment_reversed', r.amount, r.payment_id, NULL, r.ref, r.id"                                    \
    " FROM payment p JOIN reversal r ON r.payment_id = p.id WHERE p.order_id = $1"
#define WAITS                                                                                                          \
    "SELECT v.created_at, 9, 'review_opened', NULL, v.payment_id, NULL, v.reason, v.id"                                \
    " FROM review v WHERE v.order_id = $1"
/* Only reviews that a person settled: the others are explained by the event that settled them. */
#define SETTLED                                                                                                        \
    "SELECT v.settled_at, 1, 'review_settled', NULL, v.payment_id, v.settled_by,"                                      \
    " v.action || CASE v.note WHEN '' THEN '' ELSE ': ' || v.note END, v.id"                                           \
    " FROM review v WHERE v.order_id = $1 AND v.settled_by IS NOT NULL"
#define REVEALED                                                                                                       \
    "SELECT a.created_at, 9, 'revealed', NULL, NULL, a.actor_id, '', a.id"                                             \
    " FROM audit a WHERE a.resource_id = $1 AND a.action = 'order.reveal'"

enum err timeline_list(struct db *db, Id order, struct timeline_entry **ret, size_t *ret_count)
{
    static const char list[] =
        "SELECT t.at, t.kind, t.amount, (SELECT g.label FROM payment p JOIN gateway g ON g.id = p.gateway_id"
        " WHERE p.id = t.payment_id), t.actor_id, (SELECT c.email FROM account c WHERE c.id = t.actor_id), t.note"
        " FROM (" PLACED " UNION ALL " BEGUN " UNION ALL " WRITTEN " UNION ALL " DELIVERED " UNION ALL " REQUESTED
        " UNION ALL " DISPUTED " UNION ALL " DECIDED " UNION ALL " REVERSED " UNION ALL " WAITS " UNION ALL " SETTLED
        " UNION ALL " REVEALED ") t ORDER BY t.at, t.place, t.id LIMIT 300";

    struct timeline_entry *all = arena_array(db_arena(db), struct timeline_entry, TIMELINE_MAX);
    size_t count = 0;
    struct stmt *st = db_prepare(db, list);
    bind_id(st, order);
    while (count < TIMELINE_MAX && db_step(st)) {
        struct timeline_entry *t = &all[count++];
        t->at = col_time(st);
        t->kind = col_choice(st, timeline_kind_names);
        t->has_amount = !col_is_null(st);
        t->amount = col_money(st);
        t->gateway_label = col_text(st);
        t->actor = col_id(st);
        t->actor_email = col_text(st);
        t->note = col_text(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret = all;
    *ret_count = count;
    return OK;
}

enum err order_history_find(struct db *db, Id order, struct order_history *ret)
{
    enum err e = payment_list_order(db, order, &ret->payments, &ret->payment_count);
    if (!e) e = refund_list_order(db, order, &ret->refunds, &ret->refund_count);
    return e ? e : timeline_list(db, order, &ret->timeline, &ret->timeline_count);
}

void order_history_as_placed(struct arena *a, const struct order *o, struct order_history *ret)
{
    struct timeline_entry *both = arena_array(a, struct timeline_entry, 2);
    both[0] = (struct timeline_entry){.kind = TIMELINE_PLACED,
                                      .has_amount = true,
                                      .amount = o->total,
                                      .note = str_from(order_channel_names[o->channel]),
                                      .at = o->created_at};
    both[1] = (struct timeline_entry){.kind = TIMELINE_DELIVERED, .note = o->paid_with, .at = o->confirmed_at};
    *ret = (struct order_history){.timeline = both, .timeline_count = 2};
}

static enum err add(struct db *db, Id order, Id payment, const struct timeline_entry *entry)
{
    static const char insert[] = "INSERT INTO order_event (order_id, kind, payment_id, amount, actor_id, note, at)"
                                 " VALUES ($1, $2, $3, $4, $5, $6, $7)";

    if (!id_is(order)) return OK;
    struct stmt *st = db_prepare(db, insert);
    bind_id(st, order);
    bind_choice(st, timeline_kind_names, entry->kind);
    bind_opt_id(st, payment);
    if (entry->has_amount)
        bind_money(st, entry->amount);
    else
        bind_null(st);
    bind_opt_id(st, entry->actor);
    bind_text(st, entry->note);
    bind_time(st, entry->at);
    return db_run(st);
}

enum err timeline_payment(struct db *db, const struct payment *p, enum timeline_kind kind, Time now)
{
    return add(db, p->order_id, p->id, &(struct timeline_entry){.kind = kind, .at = now});
}

enum err timeline_money(struct db *db, const struct payment *p, enum timeline_kind kind, Money amount, Str note,
                        Time now)
{
    return add(db, p->order_id, p->id,
               &(struct timeline_entry){.kind = kind, .has_amount = true, .amount = amount, .note = note, .at = now});
}

enum err timeline_refund(struct db *db, const struct refund *r, enum timeline_kind kind, Id by, Str note, Time now)
{
    return add(db, r->order_id, r->payment_id,
               &(struct timeline_entry){
                   .kind = kind, .has_amount = true, .amount = r->amount, .actor = by, .note = note, .at = now});
}

enum err timeline_note(struct db *db, Id order, Id by, Str note, Time now)
{
    return add(db, order, (Id){0},
               &(struct timeline_entry){.kind = TIMELINE_NOTE, .actor = by, .note = note, .at = now});
}

enum err timeline_order(struct db *db, Id order, enum timeline_kind kind, Id by, Time now)
{
    return add(db, order, (Id){0}, &(struct timeline_entry){.kind = kind, .actor = by, .at = now});
}
