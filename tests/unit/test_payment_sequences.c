/* Every sequence of what a gateway can say about a payment, against a model of what must become of it: order and
 * top-up, in stock and not, on both engines. All sequences of up to SOUK_SEQUENCES events (3 on SQLite, 2 on PostgreSQL
 * without it), then random ones of up to SOUK_SEQUENCE_MAX (6). The books are checked along the way. */
#include "store.h"

#include <stdlib.h>

#include "base/random.h"
#include "domain/invariant.h"
#include "domain/ledger.h"
#include "domain/order.h"
#include "domain/payment_apply.h"
#include "domain/serial.h"
#include "domain/vault.h"

#define NOW ((Time){1700000000000})
#define AMOUNT 1000
#define PART 300
#define RANDOM_SEQUENCES 100
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ALL_OF 1 /* they take ten times as long */
#else
#define ALL_OF (store.folder[0] ? 3 : 2)
#endif
#define BOOKS_EVERY 1000
#define LENGTH_MAX 32

enum told {
    SUCCESS,
    FAILURE,
    EXPIRY,
    PART_BACK,
    ALL_BACK,
    REFUND_FAILED_,
    OPENED,
    WON,
    LOST,
    WITHDRAWN,
    AGAIN,
    TOLD_COUNT
};
static const char *const told_names[] = {"success",  "failure", "expiry", "part back", "all back", "refund failed",
                                         "disputed", "won",     "lost",   "withdrawn", "again"};

struct scene {
    bool is_topup, in_stock;
    enum told events[LENGTH_MAX];
    int count;
};

/* ---- the model: what must be true, worked out from the events alone ---- */

enum dispute_state { NO_DISPUTE, OPEN_DISPUTE, OVER_DISPUTE };

struct model {
    bool is_topup, in_stock;
    bool came, is_ended, is_delivered;
    enum payment_status payment;
    enum order_status order;
    int64_t refunded, lost, returned; /* told, lost, booked */
    int64_t waiting, sold_back;       /* sold_back: what the order gave back */
    int64_t wallet, debt, frozen;
    int64_t refunds[LENGTH_MAX];
    int refund_count;
    enum dispute_state dispute;
    enum told early[LENGTH_MAX];
    int early_count;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Money goes: out of what waits, else out of the sale, else out of the wallet, where the rest is owed. */
static void go(struct model *m)
{
    int64_t gone = least(m->refunded + m->lost, AMOUNT), more = gone - m->returned;
    if (more <= 0) return;
    m->returned = gone;
    int64_t waiting = least(more, m->waiting);
    m->waiting -= waiting;
    more -= waiting;
    if (m->is_delivered) {
        m->sold_back += more;
        if (m->sold_back == AMOUNT) m->order = ORDER_REFUNDED;
    } else if (m->is_topup) {
        int64_t there = least(more, m->wallet);
        m->wallet -= there;
        m->debt += more - there;
    }
    if (!m->is_topup && !m->is_delivered && gone == AMOUNT && m->order == ORDER_PENDING) m->order = ORDER_CANCELLED;
}

static void come_into_wallet(struct model *m, int64_t amount)
{
    int64_t repaid = least(amount, m->debt);
    m->debt -= repaid;
    m->wallet += amount - repaid;
}

static void tell(struct model *m, enum told what);

static void succeed(struct model *m)
{
    if (m->came) return;
    m->came = m->is_ended = true;
    m->payment = PAYMENT_SUCCEEDED;
    if (m->is_topup) {
        come_into_wallet(m, AMOUNT);
    } else if (m->in_stock) {
        m->is_delivered = true;
        m->order = ORDER_CONFIRMED;
    } else {
        m->waiting = AMOUNT;
    }
    for (int i = 0; i < m->early_count; i++) tell(m, m->early[i]);
}

static void refund(struct model *m, int64_t total)
{
    if (total <= m->refunded) return;
    m->refunds[m->refund_count++] = total - m->refunded;
    m->refunded = total;
    go(m);
}

static void fail_refund(struct model *m)
{
    if (!m->refund_count) return;
    m->refunded -= m->refunds[--m->refund_count];
    int64_t back = m->returned - least(m->refunded + m->lost, AMOUNT);
    m->returned -= back;
    if (m->is_topup)
        come_into_wallet(m, back);
    else
        m->waiting += back;
}

static void dispute(struct model *m, enum told what)
{
    int64_t left = AMOUNT - m->returned;
    if (m->dispute == OVER_DISPUTE) return;
    if (m->dispute == NO_DISPUTE && m->is_topup) m->frozen = left;
    m->dispute = OPEN_DISPUTE;
    if (what == OPENED) return;
    m->dispute = OVER_DISPUTE;
    m->frozen = 0;
    if (what == LOST) m->lost = left;
    go(m);
}

static void tell(struct model *m, enum told what)
{
    bool about_money = what >= PART_BACK && what <= WITHDRAWN;
    if (about_money && !m->came) {
        m->early[m->early_count++] = what;
        return;
    }
    switch (what) {
    case SUCCESS: succeed(m); break;
    case FAILURE:
        if (m->payment != PAYMENT_OPEN) break;
        m->payment = PAYMENT_FAILED;
        m->order = ORDER_CANCELLED;
        break;
    case EXPIRY:
        if (m->is_ended) break;
        m->is_ended = true;
        m->payment = PAYMENT_EXPIRED;
        m->order = ORDER_CANCELLED;
        break;
    case PART_BACK: refund(m, PART); break;
    case ALL_BACK: refund(m, AMOUNT); break;
    case REFUND_FAILED_: fail_refund(m); break;
    case OPENED:
    case WON:
    case LOST:
    case WITHDRAWN: dispute(m, what); break;
    case AGAIN:
    case TOLD_COUNT: break;
    }
}

/* ---- the store ---- */

static Id editor, codes, buyer;
static struct gateway_config gateway;
static const struct scene *scene;
static int64_t played;

static int open_vault(void **state)
{
    (void)state;
    char why[256] = "";
    return vault_open(NULL, "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", false, why,
                      sizeof why) != OK;
}

static Id product(struct db *db, const char *slug, const char *type)
{
    static const char insert[] =
        "INSERT INTO product (slug, name, price, delivery_type, is_active, created_at, updated_at)"
        " VALUES ($1, $1, 1000, $2, 1, 1, 1) RETURNING id";
    struct stmt *st = db_prepare(db, insert);
    bind_text(st, str_from(slug));
    bind_text(st, str_from(type));
    Id id = db_step(st) ? col_id(st) : (Id){0};
    assert_int_equal(db_done(st), OK);
    return id;
}

static enum err open_shop(struct db *db)
{
    struct gateway_config want;
    editor = product(db, "editor", "license_key");
    codes = product(db, "codes", "serial_code");
    assert_int_equal(gateway_config_find(db, STR("card_gateway_a"), &want), OK);
    want.is_enabled = true;
    want.secrets[0] = STR("whsec_1");
    want.secret_count = 1;
    return gateway_config_save(db, &want, NOW, &gateway);
}

static enum err check_books(struct db *db)
{
    struct check_result *results;
    size_t count;
    assert_int_equal(check_run(db, &results, &count), OK);
    for (size_t i = 0; i < count; i++)
        if (results[i].is_broken)
            fail_msg("%s: %s (%lld)", results[i].name, results[i].sentence, (long long)results[i].ids[0].v);
    return OK;
}

/* What is sold out has been there when it was ordered. */
static struct payment begin(struct db *db)
{
    struct payment p,
        want = {.gateway_id = gateway.id, .account_id = buyer, .amount = {AMOUNT}, .currency = STR("USD")};
    if (!scene->is_topup) {
        struct order_line l = {.quantity = 1};
        struct order o;
        int64_t added, duplicates;
        Str code = str_printf(db_arena(db), "C-%lld", (long long)played);
        assert_int_equal(serial_import(db, codes, (Id){0}, &code, 1, &added, &duplicates), OK);
        assert_int_equal(catalog_offer(db, scene->in_stock ? editor : codes, (Id){0}, VARIANT_DEFAULT, &l.offer), OK);
        l.unit_price = l.offer.price;
        struct order_draft draft = {.account = buyer, .channel = CHANNEL_CART, .lines = &l, .line_count = 1};
        assert_int_equal(order_create(db, &draft, NOW, &o), OK);
        assert_int_equal(db_run(db_prepare(db, "DELETE FROM serial")), OK);
        want.order_id = o.id;
    }
    assert_int_equal(payment_create(db, &want, NOW, &p), OK);
    return p;
}

static struct payment_event event_of(struct db *db, const struct payment *p, enum told what, int n)
{
    static const enum payment_event_kind kinds[] = {
        [SUCCESS] = EVENT_SUCCEEDED,       [FAILURE] = EVENT_FAILED,     [EXPIRY] = EVENT_EXPIRED,
        [PART_BACK] = EVENT_REFUNDED,      [ALL_BACK] = EVENT_REFUNDED,  [REFUND_FAILED_] = EVENT_REFUND_FAILED,
        [OPENED] = EVENT_DISPUTED,         [WON] = EVENT_DISPUTE_CLOSED, [LOST] = EVENT_DISPUTE_CLOSED,
        [WITHDRAWN] = EVENT_DISPUTE_CLOSED};
    bool is_dispute = what >= OPENED && what <= WITHDRAWN;
    return (struct payment_event){
        .kind = kinds[what],
        .type = STR("test"),
        .mode = EVENT_MODE_TEST,
        .event_id = str_printf(db_arena(db), "evt-%lld-%d", (long long)played, n),
        .payment_ref = str_printf(db_arena(db), "pi_%lld", (long long)p->id.v),
        .order_ref = payment_order_ref(db_arena(db), p),
        .has_amount = what != REFUND_FAILED_,
        .amount = {what == PART_BACK ? PART : AMOUNT},
        .currency = STR("USD"),
        .refund_ref = is_dispute ? STR("dp_1") : (Str){0},
        .has_refunded_total = what == PART_BACK || what == ALL_BACK,
        .refunded_total = {what == PART_BACK ? PART : AMOUNT},
        .outcome = what == WON         ? DISPUTE_WON
                   : what == WITHDRAWN ? DISPUTE_WITHDRAWN
                                       : DISPUTE_LOST,
    };
}

static char story[512];

static void write_story(void)
{
    size_t at = 0;
    at += (size_t)snprintf(story, sizeof story, "%s, %s:", scene->is_topup ? "top-up" : "order",
                           scene->in_stock ? "in stock" : "out of stock");
    for (int i = 0; i < scene->count && at < sizeof story - 20; i++)
        at += (size_t)snprintf(story + at, sizeof story - at, " %s,", told_names[scene->events[i]]);
}

#define SAME(what, got, want)                                                                                          \
    if ((int64_t)(got) != (int64_t)(want))                                                                             \
    fail_msg("%s %s is %lld, should be %lld", story, what, (long long)(got), (long long)(want))

static void compare(struct db *db, const struct payment *p, const struct model *m)
{
    struct payment now;
    struct wallet w;
    assert_int_equal(payment_find(db, p->id, &now), OK);
    assert_int_equal(wallet_find(db, buyer, &w), OK);
    SAME("payment", now.status, m->payment);
    SAME("received", now.received.minor, m->came ? AMOUNT : 0);
    SAME("waiting", now.waiting.minor, m->waiting);
    SAME("refunded", now.refunded_total.minor, m->refunded);
    SAME("lost", now.lost_total.minor, m->lost);
    SAME("returned", now.returned.minor, m->returned);
    SAME("disputed", now.is_disputed, m->dispute == OPEN_DISPUTE);
    SAME("wallet", w.balance.minor + w.frozen.minor, m->wallet);
    SAME("frozen", w.frozen.minor, least(m->frozen, m->wallet));
    SAME("debt", w.debt.minor, m->debt);
    if (m->is_topup) return;
    struct order o;
    assert_int_equal(order_find(db, (Id){0}, p->order_id, &o), OK);
    SAME("order", o.status, m->order);
    SAME("refunded_amount", o.refunded_amount.minor, m->sold_back);
    SAME("on_hold", o.on_hold, m->dispute == OPEN_DISPUTE);
    SAME("delivered", o.items[0].delivery_count, m->is_delivered);
}

static enum err play(struct db *db)
{
    struct model m = {.is_topup = scene->is_topup, .in_stock = scene->in_stock};
    played++;
    write_story();
    char email[64];
    snprintf(email, sizeof email, "buyer-%lld@example.com", (long long)played);
    buyer = store_account(db, email, "", "customer");
    struct payment p = begin(db);
    struct payment_event e = {0};
    for (int i = 0; i < scene->count; i++) {
        enum told what = scene->events[i];
        struct payment_outcome o;
        if (what != AGAIN) e = event_of(db, &p, what, i);
        if (!e.event_id.len) continue;
        assert_int_equal(payment_receive(db, &gateway, &e, STR("{}"), NOW, &o), OK);
        tell(&m, what);
    }
    compare(db, &p, &m);
    return OK;
}

static void play_scene(const struct scene *s)
{
    scene = s;
    assert_int_equal(store_tx(TX_WRITE, play), OK);
    arena_done(&store_arena);
    if (played % BOOKS_EVERY == 0) assert_int_equal(store_tx(TX_READ, check_books), OK);
}

/* All with this many events more; a top-up has no stock. */
static void play_all(struct scene *s, int more)
{
    play_scene(s);
    for (int what = 0; more > 0 && what < TOLD_COUNT; what++) {
        s->events[s->count++] = (enum told)what;
        play_all(s, more - 1);
        s->count--;
    }
}

static int setting(const char *name, int otherwise)
{
    const char *text = getenv(name);
    int64_t v;
    return text && str_to_int64(str_from(text), &v) ? (int)v : otherwise;
}

static void sequences(int length)
{
    static const struct scene kinds[] = {{.in_stock = true}, {.in_stock = false}, {.is_topup = true, .in_stock = true}};
    int longest = setting("SOUK_SEQUENCE_MAX", 6);
    assert_true(longest >= 1 && longest <= LENGTH_MAX);
    assert_int_equal(store_tx(TX_WRITE, open_shop), OK);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct scene s = kinds[k];
        play_all(&s, setting("SOUK_SEQUENCES", length));
        for (int i = 0; i < setting("SOUK_RANDOM_SEQUENCES", RANDOM_SEQUENCES); i++) {
            s.count = 1 + (int)random_below((uint32_t)longest);
            for (int n = 0; n < s.count; n++) s.events[n] = (enum told)random_below(TOLD_COUNT);
            play_scene(&s);
        }
    }
    assert_int_equal(store_tx(TX_READ, check_books), OK);
}

static void test_sequences(void **state)
{
    (void)state;
    sequences(ALL_OF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_BOTH(test_sequences)};
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
