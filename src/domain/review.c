/* domain/review.c - see review.h. */
#include "domain/review.h"

#include "db/rows.h"
#include "domain/event.h"
#include "domain/mail.h"
#include "domain/notification.h"

const char *const review_kind_names[] = {"unmatched", "amount",    "late",           "stock", "refund_failed",
                                         "dispute",   "duplicate", "reconciliation", NULL};
const char *const review_status_names[] = {"open", "settled", NULL};
const char *const review_action_names[] = {"confirm", "refund", "credit", "cancel", "settle", NULL};

/* An open review about the same thing: its event where it has no payment, else its refund, dispute or payment. */
static enum err find_open(struct db *db, const struct review *want, Id *ret)
{
    static const char find[] =
        "SELECT id FROM review WHERE status = 'open' AND kind = $1 AND COALESCE(payment_id, 0) = $2"
        " AND COALESCE(refund_id, 0) = $3 AND COALESCE(dispute_id, 0) = $4"
        " AND (payment_id IS NOT NULL OR COALESCE(event_id, 0) = $5) ORDER BY id LIMIT 1";

    struct stmt *st = db_prepare(db, find);
    bind_choice(st, review_kind_names, want->kind);
    bind_id(st, want->payment_id);
    bind_id(st, want->refund_id);
    bind_id(st, want->dispute_id);
    bind_id(st, want->event_id);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (!e) *ret = id;
    return e;
}

static enum err update(struct db *db, Id id, const struct review *want)
{
    static const char update[] = "UPDATE review SET event_id = COALESCE($2, event_id), amount = $3, currency = $4,"
                                 " reason = $5, due_at = COALESCE($6, due_at) WHERE id = $1";

    struct stmt *st = db_prepare(db, update);
    bind_id(st, id);
    bind_opt_id(st, want->event_id);
    bind_money(st, want->amount);
    bind_text(st, want->currency);
    bind_text(st, want->reason);
    bind_opt_time(st, want->due_at);
    return db_run(st);
}

static enum err insert(struct db *db, const struct review *want, Time now, Id *ret)
{
    static const char insert[] =
        "INSERT INTO review (kind, payment_id, order_id, event_id, refund_id, dispute_id, account_id, amount, currency,"
        " reason, due_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING id";

    struct stmt *st = db_prepare(db, insert);
    bind_choice(st, review_kind_names, want->kind);
    bind_opt_id(st, want->payment_id);
    bind_opt_id(st, want->order_id);
    bind_opt_id(st, want->event_id);
    bind_opt_id(st, want->refund_id);
    bind_opt_id(st, want->dispute_id);
    bind_opt_id(st, want->account_id);
    bind_money(st, want->amount);
    bind_text(st, want->currency);
    bind_text(st, want->reason);
    bind_opt_time(st, want->due_at);
    bind_time(st, now);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (!e) *ret = id;
    return e;
}

/* Books that differ differ in many places at once: staff get one mail until all are settled. */
static enum err is_only_difference(struct db *db, bool *ret)
{
    static const char count[] = "SELECT COUNT(*) FROM (SELECT 1 AS one FROM review WHERE status = 'open' AND kind = "
                                "'reconciliation' LIMIT 2) r";

    struct stmt *st = db_prepare(db, count);
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) *ret = n <= 1;
    return e;
}

static enum err mail_staff(struct db *db, Id id, const struct review *r, Time now)
{
    struct mail_draft m;
    enum mail_kind kind = r->kind == REVIEW_DISPUTE         ? MAIL_staff_dispute
                          : r->kind == REVIEW_REFUND_FAILED ? MAIL_staff_refund_failed
                                                            : MAIL_staff_review;
    bool wanted = mail_is_enabled();
    enum err e = wanted && r->kind == REVIEW_RECONCILIATION ? is_only_difference(db, &wanted) : OK;
    if (e || !wanted) return e;
    e = mail_begin_staff(db, kind, &m);
    if (e) return e;
    m.values.of[PARAM_what] = mail_what(&m, r->order_id, r->payment_id);
    if (r->amount.minor) m.values.of[PARAM_amount] = mail_amount(&m, r->amount, r->currency);
    m.values.of[PARAM_reason] = r->reason;
    if (kind == MAIL_staff_dispute && time_is(r->due_at)) m.values.of[PARAM_due] = page_moment(&m.page, r->due_at);
    m.values.of[PARAM_link] = mail_address(&m, "/admin/#/reviews/%lld", (long long)id.v);
    return mail_queue(db, &m, now);
}

enum err review_open(struct db *db, const struct review *want, Time now, Id *ret)
{
    Id id = {0};
    /* The comparison itself distinguishes differences between books. */
    enum err e = want->kind == REVIEW_RECONCILIATION ? OK : find_open(db, want, &id);
    if (e) return e;
    if (id_is(id)) {
        *ret = id;
        return update(db, id, want);
    }
    e = insert(db, want, now, &id);
    if (e) return e;
    *ret = id;
    struct notification n = {
        .kind = STR("payment_review"),
        .message = str_printf(db_arena(db), "Review #%lld (%s): %.*s.", (long long)id.v, review_kind_names[want->kind],
                              STR_FMT(want->reason)),
        .reference = id,
    };
    e = notification_add_staff(db, &n, now);
    if (!e) e = event_add(db, EVENT_PAYMENT_REVIEW, id, now);
    return e ? e : mail_staff(db, id, want, now);
}

/* Marks the event of a settled review as handled. */
static enum err settle_event(struct db *db, Id event)
{
    static const char settle[] =
        "UPDATE webhook_event SET status = 'handled' WHERE id = $1 AND status IN ('review', 'unmatched')";

    if (!id_is(event)) return OK;
    struct stmt *st = db_prepare(db, settle);
    bind_id(st, event);
    return db_run(st);
}

enum err review_settle(struct db *db, Id id, Str action, Str note, Id by, Time now)
{
    static const char settle[] = "UPDATE review SET status = 'settled', action = $2, note = $3, settled_by = $4,"
                                 " settled_at = $5 WHERE id = $1 AND status = 'open' RETURNING event_id";

    struct stmt *st = db_prepare(db, settle);
    bind_id(st, id);
    bind_text(st, action);
    bind_text(st, note);
    bind_opt_id(st, by);
    bind_time(st, now);
    bool settled = db_step(st);
    Id event = settled ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    return settled ? settle_event(db, event) : ERR_INVALID_STATE;
}

#define SETTLED_AT_ONCE_MAX 50

static enum err settle_all(struct db *db, struct stmt *st, unsigned kinds, Str note, Time now)
{
    Id ids[SETTLED_AT_ONCE_MAX];
    size_t count = 0;
    while (count < SETTLED_AT_ONCE_MAX && db_step(st)) {
        Id id = col_id(st);
        unsigned kind = col_choice(st, review_kind_names);
        if (kinds & 1u << kind) ids[count++] = id;
    }
    enum err e = db_done(st);
    for (size_t i = 0; !e && i < count; i++) e = review_settle(db, ids[i], STR("none"), note, (Id){0}, now);
    return e;
}

#define OPEN_OF(column) "SELECT id, kind FROM review WHERE status = 'open' AND " column " = $1 ORDER BY id"
#define ALL_KINDS (~0u)

enum err review_settle_payment(struct db *db, Id payment, unsigned kinds, Str note, Time now)
{
    static const char open[] = OPEN_OF("payment_id");
    struct stmt *st = db_prepare(db, open);
    bind_id(st, payment);
    return settle_all(db, st, kinds, note, now);
}

enum err review_settle_event(struct db *db, Id event, Str note, Time now)
{
    static const char open[] = OPEN_OF("event_id");
    struct stmt *st = db_prepare(db, open);
    bind_id(st, event);
    return settle_all(db, st, 1u << REVIEW_UNMATCHED, note, now);
}

enum err review_settle_refund(struct db *db, Id refund, Str note, Time now)
{
    static const char open[] = OPEN_OF("refund_id");
    struct stmt *st = db_prepare(db, open);
    bind_id(st, refund);
    return settle_all(db, st, ALL_KINDS, note, now);
}

enum err review_settle_dispute(struct db *db, Id dispute, Str note, Time now)
{
    static const char open[] = OPEN_OF("dispute_id");
    struct stmt *st = db_prepare(db, open);
    bind_id(st, dispute);
    return settle_all(db, st, ALL_KINDS, note, now);
}

/* In the order in which read_row takes them. */
#define COLUMNS                                                                                                        \
    "r.id, r.kind, r.status, r.payment_id, r.order_id, r.event_id, r.refund_id, r.dispute_id, r.account_id, r.amount," \
    " r.currency, r.reason, r.due_at, r.created_at, r.settled_at, r.action, r.note, r.settled_by,"                     \
    " (SELECT a.email FROM account a WHERE a.id = r.account_id),"                                                      \
    " COALESCE((SELECT g.label FROM payment p JOIN gateway g ON g.id = p.gateway_id WHERE p.id = r.payment_id),"       \
    " (SELECT g.label FROM webhook_event w JOIN gateway g ON g.id = w.gateway_id WHERE w.id = r.event_id))"

static void read_row(struct stmt *st, struct review *r)
{
    r->id = col_id(st);
    r->kind = col_choice(st, review_kind_names);
    r->status = col_choice(st, review_status_names);
    r->payment_id = col_id(st);
    r->order_id = col_id(st);
    r->event_id = col_id(st);
    r->refund_id = col_id(st);
    r->dispute_id = col_id(st);
    r->account_id = col_id(st);
    r->amount = col_money(st);
    r->currency = col_text(st);
    r->reason = col_text(st);
    r->due_at = col_time(st);
    r->created_at = col_time(st);
    r->settled_at = col_time(st);
    r->action = col_text(st);
    r->note = col_text(st);
    r->settled_by = col_id(st);
    r->email = col_text(st);
    r->gateway_label = col_text(st);
}
DB_READER(read_row);

enum err review_find(struct db *db, Id id, struct review *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM review r WHERE r.id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return db_row(st, read_row, ret);
}

enum err review_list(struct db *db, const struct review_filter *filter, Id before, int64_t limit, struct review **ret,
                     size_t *ret_count)
{
    static const char list[] = "SELECT " COLUMNS " FROM review r WHERE r.id < $1"
                               " AND (CAST($2 AS TEXT) = '' OR r.status = $2)"
                               " AND (CAST($3 AS TEXT) = '' OR r.kind = $3) ORDER BY r.id DESC LIMIT $4";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, id_is(before) ? before : (Id){ID_MAX});
    bind_text(st, filter->has_status ? str_from(review_status_names[filter->status]) : STR(""));
    bind_text(st, filter->has_kind ? str_from(review_kind_names[filter->kind]) : STR(""));
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}
