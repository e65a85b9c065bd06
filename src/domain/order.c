/* domain/order.c - the life of an order, see order.h. Reading them is order_read.c.
 *
 * order_place is the hot path. What it sends: one INSERT for the order, one for each line, the wallet's guarded UPDATE
 * and its transfer, and two INSERTs for each unit; a coupon adds its own. */
#include "domain/order.h"

#include "domain/event.h"
#include "domain/ledger.h"
#include "domain/license.h"
#include "domain/order_row.h"
#include "domain/reservation.h"
#include "domain/timeline.h"

#include <assert.h>

/* What the lines come to. */
static enum err price(struct db *db, const struct order_draft *draft, Time now, struct order *ret)
{
    assert(draft->line_count > 0);
    struct order_item *items = arena_array(db_arena(db), struct order_item, draft->line_count);
    struct coupon_line *lines = arena_array(db_arena(db), struct coupon_line, draft->line_count);
    Money subtotal = {0}, discount = {0}, total;
    int64_t units = 0;
    for (size_t i = 0; i < draft->line_count; i++) units += draft->lines[i].quantity;
    if (units > (draft->units_max ? draft->units_max : ORDER_UNITS_MAX)) return ERR_TOO_MANY_UNITS;
    for (size_t i = 0; i < draft->line_count; i++) {
        const struct order_line *l = &draft->lines[i];
        assert(l->quantity >= 1 && l->quantity <= ORDER_QUANTITY_MAX && l->unit_price.minor >= 0);
        items[i] = (struct order_item){.product_id = l->offer.product_id,
                                       .variant_id = l->offer.variant_id,
                                       .name = l->offer.name,
                                       .variant_name = l->offer.variant_name,
                                       .delivery_type = l->offer.delivery_type,
                                       .quantity = l->quantity,
                                       .unit_price = l->unit_price};
        if (!money_times(l->unit_price, l->quantity, &items[i].subtotal)) return ERR_FIELD_RANGE;
        if (!money_add(subtotal, items[i].subtotal, &subtotal)) return ERR_FIELD_RANGE;
        lines[i] = (struct coupon_line){l->offer.product_id, items[i].subtotal};
    }
    if (draft->coupon) {
        enum err e = coupon_evaluate(db, draft->coupon, draft->account, lines, draft->line_count, now, &discount);
        if (e) return e;
    }
    assert(discount.minor >= 0 && discount.minor <= subtotal.minor);
    total.minor = subtotal.minor - discount.minor;
    *ret = (struct order){.account_id = draft->account,
                          .channel = draft->channel,
                          .subtotal = subtotal,
                          .discount = discount,
                          .total = total,
                          .coupon_code = draft->coupon ? draft->coupon->code : (Str){0},
                          .created_at = now,
                          .items = items,
                          .item_count = draft->line_count};
    return OK;
}

/* PostgreSQL gives the ids of an order and of its items at once and beforehand, so that nobody waits for the rows. On
 * SQLite a row gets its id when it is made, which costs nothing. */
static struct stmt *ask_ids(struct db *db, size_t items)
{
    static const char postgres[] =
        "SELECT CASE n WHEN 0 THEN nextval('orders_id_seq') ELSE nextval('order_item_id_seq') "
        "END FROM generate_series(0, $1) n ORDER BY n";
    struct stmt *st = db_prepare(db, postgres);
    bind_int(st, (int64_t)items);
    return st;
}

static enum err take_ids(struct db *db, struct order *o)
{
    if (!db_is_postgres(db)) return OK;
    struct stmt *st = ask_ids(db, o->item_count);
    if (db_step(st)) o->id = col_id(st);
    for (size_t i = 0; i < o->item_count && db_step(st); i++) o->items[i].id = col_id(st);
    return db_done(st);
}

static enum err insert_item(struct db *db, struct order_item *i)
{
    static const char insert[] =
        "INSERT INTO order_item (id, order_id, product_id, variant_id, name, variant_name, delivery_type, quantity,"
        " unit_price, subtotal) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id";

    struct stmt *st = db_prepare(db, insert);
    bind_opt_id(st, i->id);
    bind_id(st, i->order_id);
    bind_id(st, i->product_id);
    bind_id(st, i->variant_id);
    bind_text(st, i->name);
    bind_text(st, i->variant_name);
    bind_choice(st, delivery_type_names, i->delivery_type);
    bind_int(st, i->quantity);
    bind_money(st, i->unit_price);
    bind_money(st, i->subtotal);
    return db_insert(st, &i->id);
}

static enum err insert_order(struct db *db, const struct order_draft *draft, struct order *o)
{
#define INSERT(columns, values)                                                                                        \
    "INSERT INTO orders (id, account_id, status, channel, paid_with, subtotal, discount, total, coupon_id,"            \
    " coupon_code, created_at, confirmed_at" columns                                                                   \
    ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12" values ") RETURNING id"
    static const char insert[] = INSERT("", "");
    static const char sqlite_with_key[] = INSERT(", key_hash, request_hash", ", $13, $14");
#undef INSERT

    struct stmt *st = db_prepare(db, draft->key ? sqlite_with_key : insert);
    bind_opt_id(st, o->id);
    bind_id(st, o->account_id);
    bind_choice(st, order_status_names, o->status);
    bind_choice(st, order_channel_names, o->channel);
    bind_text(st, o->paid_with);
    bind_money(st, o->subtotal);
    bind_money(st, o->discount);
    bind_money(st, o->total);
    bind_opt_id(st, draft->coupon ? draft->coupon->id : (Id){0});
    bind_text(st, o->coupon_code);
    bind_time(st, o->created_at);
    bind_opt_time(st, o->confirmed_at);
    if (draft->key) {
        bind_blob(st, (Str){(const char *)draft->key->key_hash, sizeof draft->key->key_hash});
        bind_blob(st, (Str){(const char *)draft->key->request_hash, sizeof draft->key->request_hash});
    }
    enum err e = db_insert(st, &o->id);
    if (e || db_is_postgres(db)) return e;
    return draft->key ? idempotency_store_order(db, draft->key, o->id) : key_index_pass(db, o->id);
}

/* Fills in the ids. The coupon has been redeemed. */
static enum err insert(struct db *db, const struct order_draft *draft, struct order *o)
{
    enum err e = insert_order(db, draft, o);
    if (!e && draft->coupon) e = coupon_record(db, draft->coupon, o->account_id, o->id, o->created_at);
    for (size_t i = 0; i < o->item_count && !e; i++) {
        o->items[i].order_id = o->id;
        e = insert_item(db, &o->items[i]);
    }
    return e;
}

static struct transfer transfer_of(struct db *db, enum ledger_kind kind, Money amount, Id order, Time now)
{
    return (struct transfer){.kind = kind,
                             .amount = amount,
                             .reference = order,
                             .description =
                                 str_printf(db_arena(db), "%s #%lld",
                                            kind == LEDGER_REFUND ? "Refund of order" : "Order", (long long)order.v),
                             .at = now};
}

static bool uses_credit(const struct order *o)
{
    return o->channel == CHANNEL_API;
}

/* Reports how much the wallet has when it is too little. */
static enum err fall_short(struct db *db, const struct order *o, struct order_shortfall *ret)
{
    struct wallet w;
    enum err e = wallet_find(db, o->account_id, &w);
    if (e) return e;
    Money available = w.balance;
    if (uses_credit(o) && !money_add(w.balance, w.credit_limit, &available)) available = w.balance;
    *ret = (struct order_shortfall){.required = o->total, .available = available};
    return ERR_INSUFFICIENT_BALANCE;
}

static enum err pay_from_wallet(struct db *db, const struct order *o, Time now, struct order_shortfall *ret_short)
{
    struct transfer t = transfer_of(db, LEDGER_ORDER, o->total, o->id, now);
    enum err e = ledger_debit(db, o->account_id, LEDGER_SALES, &t, uses_credit(o));
    return e == ERR_EXCEEDS_BALANCE ? fall_short(db, o, ret_short) : e;
}

/* What will have to be delivered; the items have no ids yet. */
static struct delivery_job *jobs_of(struct db *db, const struct order_draft *draft, const struct order *o)
{
    struct delivery_job *jobs = arena_array(db_arena(db), struct delivery_job, o->item_count);
    for (size_t i = 0; i < o->item_count; i++) {
        const struct offer *offer = &draft->lines[i].offer;
        jobs[i] = (struct delivery_job){.account = o->account_id,
                                        .product = offer->product_id,
                                        .variant = offer->variant_id,
                                        .type = offer->delivery_type,
                                        .quantity = draft->lines[i].quantity,
                                        .license_days = offer->license_days,
                                        .key_prefix = offer->key_prefix,
                                        .has_download = offer->download_url.len || offer->file_key.len,
                                        .download_limit = offer->download_limit,
                                        .download_days = offer->download_days};
    }
    return jobs;
}

/* Every check that could refuse the order, before anything is written. SQLite has one writer, so what is seen here
 * still holds a moment later, and the order needs no savepoint, which would cost a quarter of its time. A group on
 * PostgreSQL has no savepoints either: it locks the wallet, and a code that somebody takes out of the pool meanwhile
 * undoes the group. An order by itself on PostgreSQL leaves it to the guarded updates; looking would be a wasted round
 * trip. */
static enum err check_first(struct db *db, const struct order *o, const struct delivery_job *jobs,
                            struct ledger_taken *ret_seen, struct order_shortfall *ret_short)
{
    if (db_is_postgres(db) && !db_is_grouped(db)) return OK;
    bool covered = true;
    enum err e = OK;
    if (o->total.minor > 0)
        e = wallet_covers(db, o->account_id, o->total, o->created_at, uses_credit(o), &covered, ret_seen);
    if (e) return e;
    return covered ? delivery_check(db, jobs, o->item_count) : fall_short(db, o, ret_short);
}

/* What an order takes before it is written: each can refuse it. The coupon first: a transaction that holds its row may
 * wait for a wallet, never the other way round. `taken`: what check_first has seen, and then what was taken. */
static enum err take(struct db *db, const struct order_draft *draft, const struct order *o, struct ledger_taken *taken,
                     struct order_shortfall *ret_short)
{
    enum err e = draft->coupon ? coupon_redeem(db, draft->coupon, o->account_id) : OK;
    if (e || o->total.minor == 0) return e;
    if (!db_is_postgres(db)) return ledger_take_seen(db, o->total, taken);
    e = ledger_take(db, o->account_id, o->total, o->created_at, uses_credit(o), taken);
    return e == ERR_EXCEEDS_BALANCE ? fall_short(db, o, ret_short) : e;
}

enum err order_place(struct db *db, const struct order_draft *draft, Time now, struct order *ret,
                     struct order_shortfall *ret_short)
{
    struct order o;
    /* Others wait for the coupon's row until this order has ended. */
    if (draft->coupon && coupon_is_shared(draft->coupon) && db_is_grouped(db)) return ERR_RUN_ALONE;
    enum err e = price(db, draft, now, &o);
    if (e) return e;
    bool is_free = o.total.minor == 0;
    o.status = ORDER_CONFIRMED;
    o.confirmed_at = now;
    o.paid_with = is_free ? STR(PAID_WITH_NOTHING) : STR(PAID_WITH_WALLET);
    struct delivery_job *jobs = jobs_of(db, draft, &o);

    struct ledger_taken taken;
    e = check_first(db, &o, jobs, &taken, ret_short);
    if (!e && db_is_grouped(db)) db_ahead(ask_ids(db, o.item_count)); /* with the wallet's UPDATE */
    if (!e) e = take(db, draft, &o, &taken, ret_short);
    if (!e) e = take_ids(db, &o);
    if (!e) e = insert(db, draft, &o);
    if (e) return e;
    if (!is_free) {
        struct transfer t = transfer_of(db, LEDGER_ORDER, o.total, o.id, now);
        e = ledger_record_taken(db, &taken, LEDGER_SALES, &t);
        if (e) return e;
    }
    e = event_add_placed(db, o.id, now);
    if (e) return e;
    for (size_t i = 0; i < o.item_count; i++) {
        jobs[i].order_item = o.items[i].id;
        e = delivery_make(db, &jobs[i], now, &o.items[i].deliveries);
        if (e) return e;
        o.items[i].delivery_count = (size_t)jobs[i].quantity;
    }
    *ret = o;
    return OK;
}

static enum err reserve(struct db *db, const struct order_draft *draft, struct delivery_job *jobs, Time now,
                        struct order *o)
{
    bool made;
    struct reservation want = {.account = o->account_id,
                               .order = o->id,
                               .until = time_add(now, draft->reserve_minutes * TIME_MINUTE),
                               .most = draft->reserve_max};
    for (size_t i = 0; i < o->item_count; i++) jobs[i].order_item = o->items[i].id;
    enum err e = reservation_make(db, &want, jobs, o->item_count, now, &made);
    if (!e && made) o->reserved_until = want.until;
    return e;
}

enum err order_create(struct db *db, const struct order_draft *draft, Time now, struct order *ret)
{
    struct order o;
    enum err e = price(db, draft, now, &o);
    if (e) return e;
    struct delivery_job *jobs = jobs_of(db, draft, &o);
    e = delivery_check(db, jobs, o.item_count);
    if (!e) e = take_ids(db, &o);
    if (!e && draft->coupon) e = coupon_redeem(db, draft->coupon, o.account_id);
    o.status = ORDER_PENDING;
    if (!e) e = insert(db, draft, &o);
    if (!e && draft->reserve_minutes) e = reserve(db, draft, jobs, now, &o);
    if (!e) e = event_add(db, EVENT_ORDER_CREATED, o.id, now);
    if (e) return e;
    *ret = o;
    return OK;
}

enum err order_lock(struct db *db, Id order, struct order *ret)
{
    /* An UPDATE that changes nothing is the row lock that both engines have. */
    static const char lock[] = "UPDATE orders SET status = status WHERE id = $1 RETURNING " ORDER_COLUMNS;

    struct stmt *st = db_prepare(db, lock);
    bind_id(st, order);
    struct order o = {0};
    bool found = db_step(st);
    if (found) order_read_row(st, &o);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    *ret = o;
    return OK;
}

/* The system account that money of orders comes from, where no wallet is involved, and the one that it goes back to. */
static Id source(Str paid_with)
{
    return str_eq(paid_with, STR(PAID_BY_HAND)) ? LEDGER_ADJUSTMENTS : LEDGER_RECEIVED;
}

static Id way_back(Str paid_with)
{
    return str_eq(paid_with, STR(PAID_BY_HAND)) ? LEDGER_ADJUSTMENTS : LEDGER_CLEARING;
}

static enum err mark_confirmed(struct db *db, Id order, Str paid_with, Time now)
{
    static const char mark[] =
        "UPDATE orders SET status = 'confirmed', paid_with = $2, confirmed_at = $3, closed_at = NULL,"
        " reserved_until = NULL"
        " WHERE id = $1";

    struct stmt *st = db_prepare(db, mark);
    bind_id(st, order);
    bind_text(st, paid_with);
    bind_time(st, now);
    return db_run(st);
}

static enum err book_payment(struct db *db, const struct order *o, Str paid_with, Time now)
{
    struct order_shortfall ignored;
    if (str_eq(paid_with, STR(PAID_WITH_WALLET))) return pay_from_wallet(db, o, now, &ignored);
    struct transfer t = transfer_of(db, LEDGER_PAYMENT, o->total, o->id, now);
    return ledger_move(db, source(paid_with), LEDGER_SALES, &t);
}

enum err order_confirm(struct db *db, Id order, Str paid_with, Time now, bool *ret_changed)
{
    struct order o;
    enum err e = order_lock(db, order, &o);
    if (e) return e;
    if (o.status == ORDER_REFUNDED) return ERR_INVALID_STATE;
    if (o.status == ORDER_CONFIRMED) {
        *ret_changed = false;
        return OK;
    }
    struct delivery_job *jobs;
    size_t count;
    e = delivery_jobs(db, order, &jobs, &count);
    if (e) return e;
    e = delivery_check(db, jobs, count);
    if (e) return e;

    if (o.status == ORDER_CANCELLED) {
        e = coupon_reclaim(db, order, now);
        if (e) return e;
    }
    e = mark_confirmed(db, order, paid_with, now);
    if (e) return e;
    if (o.total.minor > 0) {
        e = book_payment(db, &o, paid_with, now);
        if (e) return e;
    }
    for (size_t i = 0; i < count; i++) {
        struct delivery *units;
        e = delivery_make(db, &jobs[i], now, &units);
        /* The stock was there when we looked: the next run will find it gone before changing anything. */
        if (e == ERR_OUT_OF_STOCK) return ERR_UNAVAILABLE;
        if (e) return e;
    }
    *ret_changed = true;
    e = event_add(db, EVENT_ORDER_CONFIRMED, order, now);
    return e || !o.on_hold ? e : license_hold_order(db, order, true, now);
}

enum err order_release_coupon(struct db *db, Id order, Time now)
{
    static const char is_over[] =
        "SELECT 1 FROM orders o WHERE o.id = $1 AND o.status = 'cancelled'"
        " AND NOT EXISTS (SELECT 1 FROM payment p WHERE p.order_id = o.id AND p.ended_at IS NULL)";

    struct stmt *st = db_prepare(db, is_over);
    bind_id(st, order);
    bool over = db_step(st);
    enum err e = db_done(st);
    return e || !over ? e : coupon_release(db, order, now);
}

enum err order_cancel(struct db *db, Id order, Id by, Time now, bool *ret_changed)
{
    static const char cancel[] = "UPDATE orders SET status = 'cancelled', closed_at = $2 WHERE id = $1";

    struct order o;
    enum err e = order_lock(db, order, &o);
    if (e) return e;
    if (o.status == ORDER_CANCELLED) {
        *ret_changed = false;
        return OK;
    }
    if (o.status != ORDER_PENDING) return ERR_INVALID_STATE;

    struct stmt *st = db_prepare(db, cancel);
    bind_id(st, order);
    bind_time(st, now);
    e = db_run(st);
    if (!e) e = timeline_order(db, order, TIMELINE_CANCELLED, by, now);
    if (!e) e = order_release_coupon(db, order, now);
    if (!e && time_is(o.reserved_until)) e = reservation_release(db, order);
    if (!e) e = event_add(db, EVENT_ORDER_CANCELLED, order, now);
    if (e) return e;
    *ret_changed = true;
    return OK;
}

static enum err give_back(struct db *db, const struct order *o, Money amount, Time now)
{
    if (amount.minor == 0) return OK;
    struct transfer t = transfer_of(db, LEDGER_REFUND, amount, o->id, now);
    if (str_eq(o->paid_with, STR(PAID_WITH_WALLET))) return ledger_credit(db, o->account_id, LEDGER_SALES, &t);
    return ledger_move(db, LEDGER_SALES, way_back(o->paid_with), &t);
}

enum err order_refund(struct db *db, Id order, Money refunded_total, Time now, Money *ret_refunded)
{
    static const char refund[] = "UPDATE orders SET refunded_amount = $2, status = $3, closed_at = $4 WHERE id = $1";

    struct order o;
    enum err e = order_lock(db, order, &o);
    if (e) return e;
    if (o.status == ORDER_REFUNDED) {
        *ret_refunded = (Money){0};
        return OK;
    }
    if (o.status != ORDER_CONFIRMED) return ERR_INVALID_STATE;

    Money sum = money_cmp(refunded_total, o.total) > 0 ? o.total : refunded_total;
    if (money_cmp(sum, o.refunded_amount) < 0) sum = o.refunded_amount;
    bool is_full = money_cmp(sum, o.total) == 0;
    Money amount = {sum.minor - o.refunded_amount.minor};
    if (amount.minor == 0 && !is_full) {
        *ret_refunded = amount;
        return OK;
    }
    struct stmt *st = db_prepare(db, refund);
    bind_id(st, order);
    bind_money(st, sum);
    bind_choice(st, order_status_names, is_full ? ORDER_REFUNDED : ORDER_CONFIRMED);
    bind_opt_time(st, is_full ? now : (Time){0});
    e = db_run(st);
    if (e) return e;
    e = give_back(db, &o, amount, now);
    if (e) return e;
    if (is_full) {
        e = delivery_revoke(db, order, now);
        if (e) return e;
    }
    e = event_add(db, EVENT_ORDER_REFUNDED, order, now);
    if (e) return e;
    *ret_refunded = amount;
    return OK;
}

enum err order_set_hold(struct db *db, Id order, bool on_hold, Time now)
{
    static const char hold[] = "UPDATE orders SET on_hold = $2 WHERE id = $1 RETURNING id";

    struct stmt *st = db_prepare(db, hold);
    bind_id(st, order);
    bind_bool(st, on_hold);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    if (on_hold) e = event_add(db, EVENT_ORDER_DISPUTED, order, now);
    return e ? e : license_hold_order(db, order, on_hold, now);
}
