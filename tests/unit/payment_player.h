/* tests/unit/payment_player.h - a store with one payment in it, which is told what a gateway can tell and compared with
 * the model after each event. */
#pragma once

#include "store.h"

#include "payment_model.h"
#include "payment_state.h"
#include "state_set.h"

#include "domain/invariant.h"
#include "domain/ledger.h"
#include "domain/order.h"
#include "domain/payment_apply.h"
#include "domain/serial.h"

#define NOW ((Time){1700000000000})

/* One of a sequence: something new, or the one so many before it again. */
struct item {
    enum told what;
    int again; /* 0: new */
};

struct sequence {
    struct item items[MODEL_EVENTS_MAX];
    int count;
};

struct kind {
    const char *name;
    bool is_topup, in_stock, spends;
};
static const struct kind kinds[] = {{"order, in stock", .in_stock = true},
                                    {"order, sold out", .in_stock = false},
                                    {"top-up", .is_topup = true},
                                    {"top-up, spent", .is_topup = true, .spends = true}};
#define KIND_COUNT (sizeof kinds / sizeof *kinds)

/* A walk, and where it is. */
static struct walk {
    const struct kind *kind;
    int length;
    bool merges;
    int64_t check_every;
    enum fault fault;
    const char *tamper;   /* a statement that spoils the store after each event, to see that it is noticed */
    bool renames_repeats; /* what is repeated has another name: to see that it is noticed */
    /* at */
    struct db *db;
    struct payment payment;
    struct payment_event told[MODEL_EVENTS_MAX];
    char names[MODEL_EVENTS_MAX][16];
    struct sequence so_far;
    /* found */
    struct state_set states;
    int64_t events, repeats, merged, checks;
    char problem[1024]; /* empty: none */
} w;

static Id editor, codes, buyer;
static struct gateway_config gateway;
static struct arena scratch;

/* ---- the store ---- */

static enum err open_shop(struct db *db)
{
    struct gateway_config want;
    Str code = STR("CODE-1");
    int64_t added, duplicates;
    buyer = store_account(db, "buyer@example.com", "", "customer");
    editor = store_product(db, "editor", "license_key", 600);
    codes = store_product(db, "codes", "serial_code", 400);
    check(serial_import(db, codes, (Id){0}, &code, 1, &added, &duplicates) == OK);
    check(gateway_config_find(db, STR("card_gateway_a"), &want) == OK);
    want.is_enabled = true;
    want.secrets[0] = STR("whsec_1");
    want.secret_count = 1;
    return gateway_config_save(db, &want, NOW, &gateway);
}

/* A licence and a code; what is sold out was there when it was ordered. */
static void place_order(struct db *db, Id *ret)
{
    struct order_line lines[2] = {{.quantity = 1}, {.quantity = 1}};
    struct order o;
    check(catalog_offer(db, editor, (Id){0}, VARIANT_DEFAULT, &lines[0].offer) == OK);
    check(catalog_offer(db, codes, (Id){0}, VARIANT_DEFAULT, &lines[1].offer) == OK);
    for (int i = 0; i < 2; i++) lines[i].unit_price = lines[i].offer.price;
    struct order_draft draft = {.account = buyer, .channel = CHANNEL_CART, .lines = lines, .line_count = 2};
    check(order_create(db, &draft, NOW, &o) == OK && o.total.minor == MODEL_AMOUNT);
    if (!w.kind->in_stock) check(db_run(db_prepare(db, "DELETE FROM serial")) == OK);
    *ret = o.id;
}

static void begin(struct db *db)
{
    struct payment want = {
        .gateway_id = gateway.id, .account_id = buyer, .amount = {MODEL_AMOUNT}, .currency = STR("USD")};
    if (!w.kind->is_topup) place_order(db, &want.order_id);
    check(payment_create(db, &want, NOW, &w.payment) == OK);
}

/* ---- telling ---- */

static struct payment_event event_of(enum told what, int n)
{
    static const enum payment_event_kind event_kinds[] = {
        [SUCCESS] = EVENT_SUCCEEDED,       [FAILURE] = EVENT_FAILED,     [EXPIRY] = EVENT_EXPIRED,
        [PART_BACK] = EVENT_REFUNDED,      [ALL_BACK] = EVENT_REFUNDED,  [REFUND_RETURNED] = EVENT_REFUND_FAILED,
        [OPENED] = EVENT_DISPUTED,         [WON] = EVENT_DISPUTE_CLOSED, [LOST] = EVENT_DISPUTE_CLOSED,
        [WITHDRAWN] = EVENT_DISPUTE_CLOSED};
    bool is_refund = what == PART_BACK || what == ALL_BACK;
    snprintf(w.names[n], sizeof w.names[n], "evt-%d", n);
    return (struct payment_event){
        .kind = event_kinds[what],
        .type = STR("test"),
        .mode = EVENT_MODE_TEST,
        .event_id = str_from(w.names[n]),
        .payment_ref = STR("pi_1"),
        .order_ref = payment_order_ref(db_arena(w.db), &w.payment),
        .has_amount = what != REFUND_RETURNED,
        .amount = {what == PART_BACK ? MODEL_PART : MODEL_AMOUNT},
        .currency = STR("USD"),
        .refund_ref = what >= OPENED ? STR("dp_1") : (Str){0},
        .has_refunded_total = is_refund,
        .refunded_total = {what == PART_BACK ? MODEL_PART : MODEL_AMOUNT},
        .outcome = what == WON         ? DISPUTE_WON
                   : what == WITHDRAWN ? DISPUTE_WITHDRAWN
                                       : DISPUTE_LOST,
    };
}

static void write_story(char *ret, size_t bytes)
{
    size_t at = (size_t)snprintf(ret, bytes, "%s:", w.kind->name);
    for (int i = 0; i < w.so_far.count && at < bytes; i++) {
        const struct item *it = &w.so_far.items[i];
        at += (size_t)(it->again ? snprintf(ret + at, bytes - at, " again the %d before,", it->again)
                                 : snprintf(ret + at, bytes - at, " %s,", told_names[it->what]));
    }
}

/* False, so that a walk can stop with it. */
static bool problem(const char *what, long long got, long long want)
{
    if (w.problem[0]) return false;
    write_story(w.problem, sizeof w.problem - 200);
    size_t at = strlen(w.problem);
    snprintf(w.problem + at, sizeof w.problem - at, " %s is %lld, should be %lld", what, got, want);
    return false;
}

static bool same_word(const char *what, Str got, const char *const *words, unsigned want)
{
    for (unsigned i = 0; words[i]; i++)
        if (str_eq(got, str_from(words[i]))) return i == want || problem(what, i, want);
    return problem(what, -1, want);
}

static bool compare(const struct model *m)
{
    static const char *const payments[] = {"open", "failed", "succeeded", "expired", NULL};
    static const char *const orders[] = {"pending", "confirmed", "cancelled", "refunded", NULL};
    struct facts f;
    check(facts_read(w.db, &f) == OK);
    bool on_hold = m->dispute == OPEN_DISPUTE, is_order = !m->is_topup;
    const struct {
        const char *what;
        int64_t got, want;
    } figures[] = {
        {"received", f.received, m->came ? MODEL_AMOUNT : 0},
        {"waiting", f.waiting, m->waiting},
        {"refunded", f.refunded, m->refunded},
        {"lost", f.lost, m->lost},
        {"returned", f.returned, m->returned},
        {"disputed", f.is_disputed, on_hold},
        {"refunded_amount", f.order_refunded, m->sold_back},
        {"on_hold", f.on_hold, on_hold && is_order},
        {"delivered", f.delivered, m->is_delivered ? 2 : 0},
        {"licence closed", f.is_closed, m->is_delivered && (on_hold || m->order == MODEL_REFUNDED)},
        {"wallet", f.wallet, m->wallet},
        {"frozen", f.frozen, m->frozen},
        {"debt", f.debt, m->debt},
        {"stock reviews", f.asks_stock, m->asks_stock},
        {"dispute reviews", f.asks_dispute, m->asks_dispute},
        {"refund_failed reviews", f.asks_refunds, m->asks_refunds},
        {"unmatched reviews", f.asks_unmatched, m->asks_unmatched},
        {"other reviews", f.asks_other, 0},
        {"told that it is here", f.told_arrival, m->told_arrival},
        {"told of refunds", f.told_refunds, m->told_refunds},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (figures[i].got != figures[i].want) return problem(figures[i].what, figures[i].got, figures[i].want);
    return same_word("payment", f.payment, payments, m->payment) &&
           (m->is_topup || same_word("order", f.order, orders, m->order));
}

static void add_line(void *arg, Str text)
{
    crypto_generichash_update(arg, (const unsigned char *)text.ptr, text.len);
}

static struct state_key key_of(const struct model *m)
{
    struct state_key key;
    char text[512];
    crypto_generichash_state h;
    crypto_generichash_init(&h, NULL, 0, sizeof key.bytes);
    check(state_read(w.db, add_line, &h) == OK);
    crypto_generichash_update(&h, (const unsigned char *)text, model_write(m, text, sizeof text));
    crypto_generichash_final(&h, key.bytes, sizeof key.bytes);
    return key;
}

static bool check_books(void)
{
    struct check_result *results;
    size_t count;
    check(check_run(w.db, &results, &count) == OK);
    for (size_t i = 0; i < count; i++)
        if (results[i].is_broken) return problem(results[i].name, 1, 0);
    return true;
}

static void receive(const struct payment_event *e)
{
    struct payment_outcome o;
    check(payment_receive(w.db, &gateway, e, STR("{}"), NOW, &o) == OK);
    check(db_run_endings(w.db, OK) == OK); /* each message is a transaction elsewhere */
}

static void spend(void)
{
    struct transfer t = {.kind = LEDGER_ADJUSTMENT, .amount = {MODEL_SPENT}, .description = STR("Spent"), .at = NOW};
    check(ledger_debit(w.db, buyer, LEDGER_ADJUSTMENTS, &t, false) == OK);
}

/* Tells something new and looks whether the store is where the model is. */
static bool tell(struct model *m, enum told what, struct state_key *ret)
{
    int n = w.so_far.count++;
    bool is_new;
    arena_reset(&scratch);
    w.so_far.items[n] = (struct item){.what = what};
    w.told[n] = event_of(what, n);
    receive(&w.told[n]);
    if (w.tamper) check(db_run(db_prepare(w.db, w.tamper)) == OK);
    model_tell(m, what);
    if (model_spend(m)) spend();
    w.events++;
    if (!compare(m)) return false;
    *ret = key_of(m);
    state_find(&w.states, ret, &is_new);
    if (!is_new || (int64_t)w.states.count % w.check_every != 0) return true;
    w.checks++;
    return check_books();
}

/* All that a store and its model are, history included. */
struct whole {
    struct state_key key;
    int64_t history;
};

static inline struct whole whole_of(const struct model *m)
{
    struct whole all = {.key = key_of(m)};
    check(history_length(w.db, &all.history) == OK);
    return all;
}

/* Tells the one so many before once more: nothing is written. */
static bool tell_again(const struct model *m, const struct whole *before, int back)
{
    arena_reset(&scratch);
    struct payment_event e = w.told[w.so_far.count - back];
    e.order_ref = payment_order_ref(db_arena(w.db), &w.payment);
    if (w.renames_repeats) e.event_id = STR("evt-renamed");
    w.so_far.items[w.so_far.count++] = (struct item){.again = back};
    receive(&e);
    w.repeats++;
    struct whole after = whole_of(m);
    if (memcmp(&before->key, &after.key, sizeof after.key) != 0 || before->history != after.history)
        return problem("rows after the repeated event", after.history, before->history);
    w.so_far.count--;
    return true;
}
