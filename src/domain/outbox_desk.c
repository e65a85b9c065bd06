/* domain/outbox_desk.c - see outbox_desk.h. */
#include "domain/outbox_desk.h"

#include "domain/mail.h"

const char *const outbox_group_names[] = {"mail", "gateway", "event", NULL};
const char *const outbox_status_names[] = {"waiting", "failed", NULL};

enum outbox_group outbox_group_of(enum outbox_kind kind)
{
    return kind == OUTBOX_MAIL || kind == OUTBOX_RESET ? OUTBOX_GROUP_MAIL : OUTBOX_GROUP_GATEWAY;
}

/* A message's receiver and subject; its text stays private. */
static Str mail_text(struct arena *a, Str payload)
{
    struct queued_mail m;
    if (!payload.len || !queued_mail_unpack(payload, &m)) return STR("a message that cannot be read");
    Str subject = mail_subject(a, m.kind, mail_defaults[m.lang][m.kind].subject, &m.values);
    return str_printf(a, "%.*s: %.*s", STR_FMT(m.to), STR_FMT(subject));
}

static Str what_text(struct arena *a, const struct outbox_item *item, Str gateway)
{
    static const char *const words[] = {[OUTBOX_CREATE] = "make payment",
                                        [OUTBOX_CAPTURE] = "capture payment",
                                        [OUTBOX_REFUND] = "refund of payment",
                                        [OUTBOX_ASK] = "ask about payment",
                                        [OUTBOX_CLOSE] = "close payment"};
    if (item->kind == OUTBOX_MAIL) return mail_text(a, item->payload);
    if (item->kind == OUTBOX_RESET) return str_printf(a, "%.*s: a new password", STR_FMT(item->payload));
    if (item->kind == OUTBOX_RECONCILE) return STR("compare a gateway's books with ours");
    if (item->kind == OUTBOX_SANDBOX) return STR("a webhook of the sandbox");
    return str_printf(a, "%s #%lld at %.*s", words[item->kind], (long long)item->payment.v, STR_FMT(gateway));
}

#define COLUMNS                                                                                                        \
    "o.id, o.kind, o.payment_id, o.refund_id, o.amount, o.payload, o.attempts, o.created_at, o.status, o.due_at, "     \
    "o.last_error,"                                                                                                    \
    " p.order_id, g.label FROM outbox o LEFT JOIN payment p ON p.id = o.payment_id"                                    \
    " LEFT JOIN gateway g ON g.id = p.gateway_id"

static void read_view(struct db *db, struct stmt *st, struct outbox_view *ret)
{
    struct arena *a = db_arena(db);
    struct outbox_view v = {0};
    outbox_read_row(a, st, &v.item);
    v.status = col_choice(st, outbox_status_names);
    v.due_at = col_time(st);
    v.last_error = str_dup(a, col_text(st));
    v.order_id = col_id(st);
    v.what = what_text(a, &v.item, col_text(st));
    v.item.payload = (Str){0};
    *ret = v;
}

enum err outbox_list(struct db *db, const struct outbox_filter *filter, Id before, int64_t limit,
                     struct outbox_view **ret, size_t *ret_count)
{
    static const char list[] =
        "SELECT " COLUMNS " WHERE o.status <> 'done' AND o.id < $1 AND (CAST($2 AS TEXT) = '' OR o.status = $2)"
        " AND (CAST($3 AS TEXT) = '' OR $3 = CASE WHEN o.kind IN ('mail', 'reset') THEN 'mail' ELSE 'gateway' END)"
        " ORDER BY o.id DESC LIMIT $4";

    struct outbox_view *views = arena_array(db_arena(db), struct outbox_view, (size_t)limit);
    size_t count = 0;
    struct stmt *st = db_prepare(db, list);
    bind_id(st, id_is(before) ? before : (Id){ID_MAX});
    bind_text(st, filter->has_status ? str_from(outbox_status_names[filter->status]) : STR(""));
    bind_text(st, filter->has_group ? str_from(outbox_group_names[filter->group]) : STR(""));
    bind_int(st, limit);
    while (db_step(st)) read_view(db, st, &views[count++]);
    enum err e = db_done(st);
    if (e) return e;
    *ret = views;
    *ret_count = count;
    return OK;
}

enum err outbox_view(struct db *db, Id id, struct outbox_view *ret)
{
    static const char find[] = "SELECT " COLUMNS " WHERE o.id = $1 AND o.status <> 'done'";

    struct outbox_view v;
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    bool found = db_step(st);
    if (found) read_view(db, st, &v);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    *ret = v;
    return OK;
}

/* A row that exists and did not change may not be changed. */
static enum err changed_or(struct stmt *st)
{
    bool changed = db_step(st);
    enum err e = db_done(st);
    return e ? e : changed ? OK : ERR_INVALID_STATE;
}

enum err outbox_try_now(struct db *db, Id id, Time now)
{
    static const char again[] = "UPDATE outbox SET status = 'waiting', due_at = $2, set_at = $2, attempts = 0, claims "
                                "= 0, done_at = NULL WHERE id = $1"
                                " AND (status = 'waiting' AND claims = 0 OR status = 'failed' AND payload IS NOT NULL"
                                " AND kind IN ('mail', 'reset', 'sandbox', 'reconcile')) RETURNING id";

    struct stmt *st = db_prepare(db, again);
    bind_id(st, id);
    bind_time(st, now);
    return changed_or(st);
}

enum err outbox_drop(struct db *db, Id id)
{
    static const char drop[] = "DELETE FROM outbox WHERE id = $1 AND (status = 'failed' OR status = 'waiting'"
                               " AND claims = 0 AND kind IN ('mail', 'reset', 'sandbox')) RETURNING id";

    struct stmt *st = db_prepare(db, drop);
    bind_id(st, id);
    return changed_or(st);
}
