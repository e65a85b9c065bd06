/* domain/reconciliation.c - see reconciliation.h. */
#include "domain/reconciliation.h"

#include "db/rows.h"
#include "domain/outbox.h"
#include "domain/payment.h"
#include "domain/review.h"

#define EVERY_MS TIME_DAY

static void read_row(struct stmt *st, struct reconciliation *r)
{
    r->gateway_id = col_id(st);
    r->gateway_label = col_text(st);
    r->asked_at = col_time(st);
    r->ran_at = col_time(st);
    for (int i = 0; i < BOOK_COUNT; i++) r->counts[i] = col_int(st);
    r->differences = col_int(st);
    r->error = col_text(st);
}
DB_READER(read_row);

enum err reconciliation_list(struct db *db, struct reconciliation **ret, size_t *ret_count)
{
    static const char list[] =
        "SELECT g.id, g.label, r.asked_at, r.ran_at, r.charges, r.refunds, r.disputes, r.differences, r.error"
        " FROM gateway g LEFT JOIN reconciliation r ON r.gateway_id = g.id"
        " WHERE g.api_key IS NOT NULL AND g.provider <> 'sandbox' ORDER BY g.id LIMIT 32";

    struct stmt *st = db_prepare(db, list);
    return db_rows(st, read_row, GATEWAYS_MAX, ret, ret_count);
}

enum err reconciliation_ask(struct db *db, Id gateway, Time now)
{
    static const char asked[] = "INSERT INTO reconciliation (gateway_id, asked_at) VALUES ($1, $2)"
                                " ON CONFLICT (gateway_id) DO UPDATE SET asked_at = excluded.asked_at";

    struct stmt *st = db_prepare(db, asked);
    bind_id(st, gateway);
    bind_time(st, now);
    enum err e = db_run(st);
    if (e) return e;
    struct outbox_item item = {.kind = OUTBOX_RECONCILE,
                               .payload = str_printf(db_arena(db), "%lld", (long long)gateway.v)};
    return outbox_add(db, &item, now, now, NULL);
}

enum err reconciliation_ask_due(struct db *db, Time now)
{
    struct reconciliation *all;
    size_t count;
    enum err e = reconciliation_list(db, &all, &count);
    for (size_t i = 0; !e && i < count; i++) {
        if (time_is(all[i].asked_at) && time_since(all[i].asked_at, now) < EVERY_MS) continue;
        if (!db_can_write(db)) return ERR_NEEDS_WRITE;
        e = reconciliation_ask(db, all[i].gateway_id, now);
    }
    return e;
}

struct comparing {
    struct db *db;
    const struct gateway_config *gateway;
    const struct books *books;
    Time now;
    int64_t differences;
};

/* `key` identifies the difference; each is reported to staff once. */
static enum err differ(struct comparing *c, const struct review *review, Str key)
{
    static const char remember[] = "INSERT INTO reconciliation_difference (gateway_id, name, found_at)"
                                   " VALUES ($1, $2, $3) ON CONFLICT (gateway_id, name) DO NOTHING RETURNING found_at";

    c->differences++;
    struct stmt *st = db_prepare(c->db, remember);
    bind_id(st, c->gateway->id);
    bind_text(st, key);
    bind_time(st, c->now);
    bool is_new = db_step(st);
    enum err e = db_done(st);
    if (e || !is_new) return e;
    struct review want = *review;
    Id id;
    want.kind = REVIEW_RECONCILIATION;
    return review_open(c->db, &want, c->now, &id);
}

static Str key_of(struct comparing *c, const char *what, Str ref, Money amount)
{
    return str_printf(db_arena(c->db), "%s %.*s %lld", what, STR_FMT(ref), (long long)amount.minor);
}

static enum err find_payment(struct comparing *c, Str ref, struct payment *ret, bool *ret_found)
{
    static const char find[] = "SELECT id FROM payment WHERE gateway_id = $1 AND payment_ref = $2";

    struct stmt *st = db_prepare(c->db, find);
    bind_id(st, c->gateway->id);
    bind_text(st, ref);
    bool found = db_step(st);
    Id id = found ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (!e && found) e = payment_find(c->db, id, ret);
    if (!e) *ret_found = found;
    return e;
}

static struct review about(const struct payment *p, const struct book_entry *entry, Str reason)
{
    return (struct review){.payment_id = p->id,
                           .order_id = p->order_id,
                           .account_id = p->account_id,
                           .amount = entry->amount,
                           .currency = entry->currency,
                           .reason = reason};
}

static enum err compare_charge(struct comparing *c, const struct book_entry *entry)
{
    struct payment p = {0};
    bool found;
    enum err e = find_payment(c, entry->payment_ref, &p, &found);
    if (e) return e;
    if (!found && !entry->order_ref.len) return OK; /* from another business at the same provider */
    bool same = found && str_eq(entry->currency, p.currency) && money_cmp(entry->amount, p.received) == 0;
    if (same) return OK;
    Str reason = str_printf(db_arena(c->db),
                            found && p.received.minor > 0 ? "%.*s has another amount for the payment %.*s than we do"
                                                          : "%.*s has the payment %.*s, and we do not",
                            STR_FMT(c->gateway->label), STR_FMT(entry->payment_ref));
    struct review r = about(&p, entry, reason);
    return differ(c, &r, key_of(c, "charge", entry->payment_ref, entry->amount));
}

/* All refunds of a payment together: events may have merged several into one. */
static enum err compare_refund(struct comparing *c, const struct book_entry *entry)
{
    struct payment p;
    bool found;
    struct book_entry sum = *entry;
    if (entry->is_pending) return OK;
    enum err e = find_payment(c, entry->payment_ref, &p, &found);
    if (e || !found) return e;
    for (const struct book_entry *o = c->books->entries[BOOK_REFUNDS]; o != entry; o = o->next)
        if (str_eq(o->payment_ref, entry->payment_ref) && !o->is_pending) return OK; /* counted with that one */
    for (const struct book_entry *o = entry->next; o; o = o->next)
        if (str_eq(o->payment_ref, entry->payment_ref) && !o->is_pending &&
            !money_add(sum.amount, o->amount, &sum.amount))
            return OK;
    if (money_cmp(sum.amount, p.refunded_total) <= 0) return OK;
    Str reason = str_printf(db_arena(c->db), "%.*s has given back more of the payment %.*s than we know",
                            STR_FMT(c->gateway->label), STR_FMT(entry->payment_ref));
    struct review r = about(&p, &sum, reason);
    return differ(c, &r, key_of(c, "refund", entry->payment_ref, sum.amount));
}

static enum err compare_dispute(struct comparing *c, const struct book_entry *entry)
{
    static const char find[] = "SELECT CASE WHEN status = 'open' THEN 1 ELSE 0 END FROM dispute"
                               " WHERE payment_id = $1 AND ref = $2";

    struct payment p;
    bool found, is_open = false;
    enum err e = find_payment(c, entry->payment_ref, &p, &found);
    if (e || !found) return e;
    struct stmt *st = db_prepare(c->db, find);
    bind_id(st, p.id);
    bind_text(st, entry->ref);
    found = db_step(st);
    if (found) is_open = col_bool(st);
    e = db_done(st);
    if (e || (found && !(is_open && entry->is_decided))) return e;
    Str reason = str_printf(db_arena(c->db),
                            found ? "%.*s has decided the dispute %.*s, and here it is open"
                                  : "%.*s has a dispute %.*s that we do not know",
                            STR_FMT(c->gateway->label), STR_FMT(entry->ref));
    struct review r = about(&p, entry, reason);
    return differ(c, &r, key_of(c, found ? "decided dispute" : "dispute", entry->ref, entry->amount));
}

/* Entries that tell our own name of their payment get the gateway's. */
static enum err name_payments(struct comparing *c)
{
    static const char find[] = "SELECT payment_ref FROM payment WHERE gateway_id = $1 AND reference = $2";

    for (struct book_entry *o = c->books->entries[BOOK_REFUNDS]; o; o = o->next) {
        if (o->payment_ref.len || !o->reference.len) continue;
        struct stmt *st = db_prepare(c->db, find);
        bind_id(st, c->gateway->id);
        bind_text(st, o->reference);
        if (db_step(st)) o->payment_ref = str_dup(db_arena(c->db), col_text(st));
        enum err e = db_done(st);
        if (e) return e;
    }
    return OK;
}

#define OURS_MAX 10000
#define TOLD_LATE_MS (3 * TIME_DAY) /* how long gateways go on trying to tell us */

/* Something that we believe the gateway to have. */
struct ours {
    Id payment;
    Str ref, payment_ref;
    Money amount;
};
struct our_list {
    struct ours *items;
    size_t count;
};

static bool has_entry(const struct comparing *c, enum book book, Str ref)
{
    for (const struct book_entry *o = c->books->entries[book]; o; o = o->next)
        if (str_eq(o->ref, ref)) return true;
    return false;
}

static bool has_charge(const struct comparing *c, const struct our_list *all, const struct ours *one)
{
    (void)all;
    for (const struct book_entry *o = c->books->entries[BOOK_CHARGES]; o; o = o->next)
        if (str_eq(o->payment_ref, one->payment_ref)) return true;
    return false;
}

static bool has_dispute(const struct comparing *c, const struct our_list *all, const struct ours *one)
{
    (void)all;
    return has_entry(c, BOOK_DISPUTES, one->ref);
}

/* A book that may use other names has it when all of the payment's refunds together are there. */
static bool has_refund(const struct comparing *c, const struct our_list *all, const struct ours *one)
{
    Money booked = {0}, known = {0};
    if (has_entry(c, BOOK_REFUNDS, one->ref)) return true;
    if (c->books->names_refunds) return false;
    for (const struct book_entry *o = c->books->entries[BOOK_REFUNDS]; o; o = o->next)
        if (str_eq(o->payment_ref, one->payment_ref) && !money_add(booked, o->amount, &booked)) return true;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].payment.v == one->payment.v && !money_add(known, all->items[i].amount, &known)) return true;
    return money_cmp(booked, known) >= 0;
}

struct our_kind {
    const char *noun, *key;
    bool (*has)(const struct comparing *c, const struct our_list *all, const struct ours *one);
};

static enum err report_missing(struct comparing *c, const struct our_kind *kind, const struct ours *one)
{
    struct payment p;
    enum err e = payment_find(c->db, one->payment, &p);
    if (e) return e;
    struct book_entry entry = {.amount = one->amount, .currency = p.currency};
    struct review r = about(&p, &entry,
                            str_printf(db_arena(c->db), "we have the %s %.*s, and %.*s does not", kind->noun,
                                       STR_FMT(one->ref), STR_FMT(c->gateway->label)));
    return differ(c, &r, key_of(c, kind->key, one->ref, one->amount));
}

/* `st` lists ours: payment, name, the payment's name, amount. */
static enum err compare_listed(struct comparing *c, const struct our_kind *kind, struct stmt *st)
{
    struct our_list all = {arena_array(db_arena(c->db), struct ours, OURS_MAX), 0};
    while (db_step(st)) {
        struct ours *one = &all.items[all.count++];
        one->payment = col_id(st);
        one->ref = str_dup(db_arena(c->db), col_text(st));
        one->payment_ref = str_dup(db_arena(c->db), col_text(st));
        one->amount = col_money(st);
    }
    enum err e = db_done(st);
    for (size_t i = 0; !e && i < all.count; i++)
        if (!kind->has(c, &all, &all.items[i])) e = report_missing(c, kind, &all.items[i]);
    return e;
}

/* Money that we believe we have and the gateway's books do not show. */
static enum err compare_our_charges(struct comparing *c)
{
    static const char ours[] = "SELECT id, payment_ref, payment_ref, received FROM payment WHERE gateway_id = $1"
                               " AND payment_ref IS NOT NULL AND created_at >= $2 AND succeeded_at >= $2"
                               " AND succeeded_at < $3 AND received > 0 ORDER BY id LIMIT 10000";
    static const struct our_kind kind = {"payment", "missing", has_charge};

    struct stmt *st = db_prepare(c->db, ours);
    bind_id(st, c->gateway->id);
    bind_time(st, c->books->since);
    bind_time(st, c->books->until);
    return compare_listed(c, &kind, st);
}

/* Refunds that we believe to be made. */
static enum err compare_our_refunds(struct comparing *c)
{
    static const char ours[] =
        "SELECT r.payment_id, r.refund_ref, COALESCE(p.payment_ref, ''), r.amount FROM refund r JOIN payment p"
        " ON p.id = r.payment_id WHERE p.gateway_id = $1 AND r.status = 'done' AND r.is_outside = 0"
        " AND r.refund_ref <> '' AND r.requested_at >= $2 AND r.requested_at < $3 AND r.done_at < $3"
        " ORDER BY r.requested_at, r.id LIMIT 10000";
    static const struct our_kind kind = {"refund", "missing refund", has_refund};

    struct stmt *st = db_prepare(c->db, ours);
    bind_id(st, c->gateway->id);
    bind_time(st, c->books->since);
    bind_time(st, c->books->until);
    return compare_listed(c, &kind, st);
}

/* Disputes that hold an order here. News of one can arrive days after it began, which may be before the books do. */
static enum err compare_our_disputes(struct comparing *c)
{
    static const char ours[] =
        "SELECT d.payment_id, d.ref, COALESCE(p.payment_ref, ''), d.amount FROM dispute d JOIN payment p"
        " ON p.id = d.payment_id WHERE p.gateway_id = $1 AND d.ref <> '' AND d.opened_at >= $2 AND d.opened_at < $3"
        " ORDER BY d.opened_at, d.id LIMIT 10000";
    static const struct our_kind kind = {"dispute", "missing dispute", has_dispute};

    if (!c->books->has_disputes) return OK;
    struct stmt *st = db_prepare(c->db, ours);
    bind_id(st, c->gateway->id);
    bind_time(st, time_add(c->books->since, TOLD_LATE_MS));
    bind_time(st, c->books->until);
    return compare_listed(c, &kind, st);
}

static enum err keep(struct db *db, Id gateway, const int64_t counts[BOOK_COUNT], int64_t differences, Str error,
                     Time now)
{
    static const char keep[] = "UPDATE reconciliation SET ran_at = $2, charges = $3, refunds = $4, disputes = $5,"
                               " differences = $6, error = $7 WHERE gateway_id = $1";

    struct stmt *st = db_prepare(db, keep);
    bind_id(st, gateway);
    bind_time(st, now);
    for (int i = 0; i < BOOK_COUNT; i++) bind_int(st, counts[i]);
    bind_int(st, differences);
    bind_text(st, error);
    return db_run(st);
}

enum err reconciliation_compare(struct db *db, const struct gateway_config *gateway, const struct books *books,
                                Time now)
{
    static enum err (*const compare[BOOK_COUNT])(struct comparing *, const struct book_entry *) = {
        compare_charge, compare_refund, compare_dispute};
    struct comparing c = {.db = db, .gateway = gateway, .books = books, .now = now};
    int64_t counts[BOOK_COUNT] = {0};
    enum err e = name_payments(&c);
    for (int i = 0; i < BOOK_COUNT; i++) {
        for (const struct book_entry *entry = books->entries[i]; entry && !e; entry = entry->next) {
            counts[i] += entry->payment_ref.len ? 1 : 0;
            e = compare[i](&c, entry);
        }
    }
    if (!e) e = compare_our_charges(&c);
    if (!e) e = compare_our_refunds(&c);
    if (!e) e = compare_our_disputes(&c);
    return e ? e : keep(db, gateway->id, counts, c.differences, (Str){0}, now);
}

enum err reconciliation_failed(struct db *db, Id gateway, Str why, Time now)
{
    static const char fail[] = "UPDATE reconciliation SET ran_at = $2, error = $3 WHERE gateway_id = $1";

    struct stmt *st = db_prepare(db, fail);
    bind_id(st, gateway);
    bind_time(st, now);
    bind_text(st, why);
    return db_run(st);
}
