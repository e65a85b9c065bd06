/* tests/unit/test_background.c - what the server does by itself, on a database that fails: every step fails at its
 * first statement, then at its second … until it gets through, and then has done its work once. */
#include "unit.h"

#include "payment_shop.h"

#include "domain/cart.h"
#include "domain/email_proof.h"
#include "domain/ledger.h"
#include "domain/license.h"
#include "domain/mail.h"
#include "domain/mail_link.h"
#include "domain/password_reset.h"
#include "domain/receipt.h"
#include "domain/reconciliation.h"
#include "domain/reservation.h"
#include "domain/retention.h"
#include "domain/sandbox_play.h"
#include "domain/session.h"
#include "domain/staff.h"
#include "domain/stock_notice.h"
#include "domain/ticket.h"
#include "domain/token.h"
#include "domain/vitals.h"
#include "domain/webhook_delivery.h"
#include "domain/webhook_endpoint.h"
#include "domain/withdrawal.h"
#include "faulty_store.h"
#include "view/view_event.h"

#define LATER ((Time){NOW.ms + 400 * TIME_DAY})

static const char *script; /* what `run` runs */
static int64_t counted;

static enum err run(struct db *db)
{
    return db_script(db, script);
}

static void sql(const char *text)
{
    script = text;
    assert_err(store_tx(TX_WRITE, run), OK);
}

static enum err count(struct db *db)
{
    counted = number(db, script);
    return OK;
}

static int64_t count_of(const char *query)
{
    script = query;
    assert_err(store_tx(TX_READ, count), OK);
    return counted;
}

static enum err make_stock(struct db *db)
{
    stock(db);
    return OK;
}

static int open_shop(void **state)
{
    mail_enable(true);
    event_install(view_event, view_event_finish);
    int failed = store_open_sqlite(state);
    if (failed) return failed;
    assert_err(store_tx(TX_WRITE, make_stock), OK);
    sql("UPDATE account SET role = 'owner' WHERE email = 'staff@example.com';"
        "INSERT INTO setting (name, value) VALUES ('staff_mail', 'desk@example.com')");
    return 0;
}

static int close_shop(void **state)
{
    mail_enable(false);
    event_install(NULL, NULL);
    return store_close(state);
}

/* ---- the sandbox ---- */

static struct sandbox_payment want_payment, sandbox_payment;
static const char *play_name, *refund_key;
static Money refund_amount;
static const struct sandbox_sending twice = {.twice = true, .late_ms = 5};

static enum err sandbox_make(struct db *db)
{
    return sandbox_create(db, &want_payment, NOW, &sandbox_payment);
}

static enum err sandbox_act(struct db *db)
{
    return sandbox_play(db, sandbox_payment.ref, str_from(play_name), &twice, NOW);
}

static enum err sandbox_end(struct db *db)
{
    struct sandbox_payment closed;
    return sandbox_close(db, sandbox_payment.ref, &closed);
}

static enum err sandbox_refund(struct db *db)
{
    Str name;
    return sandbox_give_back(db, sandbox_payment.ref, refund_amount, str_from(refund_key), &twice, NOW, &name);
}

static enum err sandbox_loss(struct db *db)
{
    bool is_lost;
    return sandbox_loses_create(db, &is_lost);
}

/* A payment of its own to which these things happen, each with its end. */
static void happens(int64_t amount, const char *currency, const char *const (*plays)[2])
{
    static int number;
    static char reference[32];
    snprintf(reference, sizeof reference, "ref-%d", ++number);
    want_payment = (struct sandbox_payment){.reference = str_from(reference),
                                            .order_ref = STR("1"),
                                            .description = STR("Order"),
                                            .amount = {amount},
                                            .currency = str_from(currency),
                                            .success_url = STR("http://a/s"),
                                            .cancel_url = STR("http://a/c")};
    assert_err(store_swept(sandbox_make), OK);
    for (; (*plays)[0]; plays++) {
        play_name = (*plays)[0];
        enum err e = store_swept(sandbox_act);
        const char *got = e ? err_info(e)->code : "ok";
        if (strcmp(got, (*plays)[1]) != 0) fail_msg("%s: %s, not %s", play_name, got, (*plays)[1]);
    }
}

#define HAPPENS(amount, currency, ...) happens(amount, currency, (const char *const[][2]){__VA_ARGS__, {NULL, NULL}})
#define NOT_NOW "invalid_state"

static void sandbox_plays(void **state)
{
    (void)state;
    HAPPENS(1000, "USD", {"refund", NOT_NOW}, {"pay", "ok"}, {"pay", NOT_NOW}, {"pay_twice", "ok"},
            {"pay_twice", NOT_NOW}, {"refund_part", "ok"}, {"refund_returned", "ok"}, {"dispute", "ok"},
            {"dispute", NOT_NOW}, {"dispute_won", "ok"}, {"dispute_won", NOT_NOW}, {"dispute", "ok"},
            {"dispute_lost_part", "ok"}, {"refund", "ok"}, {"refund", NOT_NOW}, {"lose_next_create", "ok"});
    HAPPENS(1, "EUR", {"pay_part", "ok"}, {"refund_part", "ok"}, {"dispute", "ok"}, {"dispute_lost_part", "ok"});
    HAPPENS(INT64_MAX, "EUR", {"pay_too_much", NOT_NOW}, {"pay_other_currency", "ok"});
    HAPPENS(500, "USD", {"pay_other_currency", "ok"}, {"dispute", "ok"}, {"dispute_withdrawn", "ok"});
    HAPPENS(500, "USD", {"pay_too_much", "ok"}, {"dispute", "ok"}, {"dispute_lost", "ok"});
    HAPPENS(500, "USD", {"pay_swapped", "ok"}, {"no_such_play", "not_allowed"});
    HAPPENS(500, "USD", {"fail", "ok"});
    assert_err(store_swept(sandbox_end), OK);
    assert_err(store_swept(sandbox_end), ERR_INVALID_STATE);
    HAPPENS(500, "USD", {"expire", "ok"});
    HAPPENS(500, "USD", {"pay", "ok"});
    refund_key = "key";
    refund_amount = (Money){200};
    assert_err(store_swept(sandbox_refund), OK);
    assert_err(store_swept(sandbox_refund), OK);
    refund_key = "another";
    refund_amount = (Money){301};
    assert_err(store_swept(sandbox_refund), ERR_INVALID_STATE);
    assert_int_equal(count_of("SELECT refunded FROM sandbox_payment ORDER BY id DESC LIMIT 1"), 200);
    assert_err(store_swept(sandbox_loss), OK);
}

/* ---- books of gateways ---- */

static struct payment paid, unpaid;
static struct books books;

static enum err sell(struct db *db)
{
    paid = buy(db, editor);
    struct payment_event e = event_of(db, &paid, EVENT_SUCCEEDED);
    receive(db, &e);
    e = event_of(db, &paid, EVENT_DISPUTED);
    e.refund_ref = STR("du_1");
    receive(db, &e);
    e = refund_of(db, &paid, 100);
    e.refund_ref = STR("re_1");
    receive(db, &e);
    unpaid = buy(db, editor);
    e = event_of(db, &unpaid, EVENT_SUCCEEDED);
    receive(db, &e);
    return OK;
}

static enum err refund_other(struct db *db)
{
    struct payment_event e = refund_of(db, &unpaid, 50);
    e.refund_ref = STR("re_other");
    receive(db, &e);
    return OK;
}

static enum err compare(struct db *db)
{
    return reconciliation_compare(db, &gateway, &books, (Time){NOW.ms + 1});
}

static enum err ask_due(struct db *db)
{
    return reconciliation_ask_due(db, LATER);
}

static void books_differ(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, sell), OK);
    static char name[32], other[32], reference[64];
    snprintf(name, sizeof name, "pi_%lld", (long long)paid.id.v);
    snprintf(other, sizeof other, "pi_%lld", (long long)unpaid.id.v);
    sql("UPDATE payment SET reference = 'ours-1' WHERE id = (SELECT MIN(id) FROM payment)");
    snprintf(reference, sizeof reference, "ours-1");
    struct book_entry refunds[] = {
        {.ref = STR("re_10"), .payment_ref = str_from(name), .amount = {9}, .currency = STR("USD"), .is_pending = true},
        {.ref = STR("re_9"), .payment_ref = str_from(name), .amount = {4000}, .currency = STR("USD")},
        {.ref = STR("re_8"), .payment_ref = str_from(name), .amount = {500}, .currency = STR("USD")},
        {.ref = STR("re_7"), .payment_ref = str_from(name), .amount = {1}, .currency = STR("USD"), .is_pending = true},
        {.ref = STR("re_6"), .reference = str_from(reference), .amount = {1}, .currency = STR("USD")},
        {.ref = STR("re_5"), .reference = STR("nobody"), .amount = {1}, .currency = STR("USD")},
        {.ref = STR("re_4"), .payment_ref = STR("pi_strange"), .amount = {1}, .currency = STR("USD")},
        {.ref = STR("re_3"), .payment_ref = str_from(other), .amount = {INT64_MAX}, .currency = STR("USD")},
        {.ref = STR("re_2"), .payment_ref = str_from(other), .amount = {INT64_MAX}, .currency = STR("USD")},
    };
    for (size_t i = 0; i + 1 < sizeof refunds / sizeof *refunds; i++) refunds[i].next = &refunds[i + 1];
    struct book_entry charges[] = {
        {.ref = STR("ch_1"), .payment_ref = str_from(name), .amount = {4999}, .currency = STR("EUR")},
        {.ref = STR("ch_2"), .payment_ref = STR("pi_2"), .order_ref = STR("99"), .amount = {1}, .currency = STR("USD")},
        {.ref = STR("ch_3"), .payment_ref = STR("pi_3"), .amount = {1}, .currency = STR("USD")},
    };
    for (size_t i = 0; i < 2; i++) charges[i].next = &charges[i + 1];
    struct book_entry disputes[] = {
        {.ref = STR("du_1"), .payment_ref = str_from(name), .amount = {1}, .currency = STR("USD"), .is_decided = true},
        {.ref = STR("du_2"), .payment_ref = str_from(name), .amount = {1}, .currency = STR("USD")},
        {.ref = STR("du_3"), .payment_ref = STR("pi_strange"), .amount = {1}, .currency = STR("USD")},
    };
    for (size_t i = 0; i < 2; i++) disputes[i].next = &disputes[i + 1];
    books = (struct books){.entries = {charges, refunds, disputes},
                           .since = {NOW.ms - TIME_DAY},
                           .until = {NOW.ms + TIME_DAY},
                           .has_disputes = true};
    assert_err(store_swept(compare), OK);
    int64_t differences = count_of("SELECT COUNT(*) FROM review WHERE kind = 'reconciliation'");
    assert_true(differences >= 5);
    sql("UPDATE dispute SET status = 'lost'"); /* decided there, and here */
    assert_err(store_swept(compare), OK);
    assert_int_equal(count_of("SELECT COUNT(*) FROM review WHERE kind = 'reconciliation'"), differences);
    sql("UPDATE dispute SET status = 'open'");
    assert_err(store_swept(compare), OK);
    assert_int_equal(count_of("SELECT COUNT(*) FROM review WHERE kind = 'reconciliation'"), differences);
    books = (struct books){.since = books.since, .until = {LATER.ms}, .names_refunds = true, .has_disputes = true};
    assert_err(store_swept(compare), OK);
    books.names_refunds = false;
    struct book_entry much[] = {
        {.ref = STR("re_9"), .payment_ref = str_from(name), .amount = {INT64_MAX}, .currency = STR("USD")},
        {.ref = STR("re_8"), .payment_ref = str_from(name), .amount = {INT64_MAX}, .currency = STR("USD")},
    };
    much[0].next = &much[1];
    books.entries[BOOK_REFUNDS] = much;
    assert_err(store_tx(TX_WRITE, refund_other), OK);
    sql("UPDATE refund SET is_outside = 0"); /* asked for by us: more than enough of one is in the books, the other is
                                                not */
    assert_err(store_swept(compare), OK);
    assert_int_equal(count_of("SELECT COUNT(*) FROM review WHERE reason LIKE '%refund re_other%'"), 1);
    assert_err(store_swept(ask_due), OK);
    int64_t asked = count_of("SELECT COUNT(*) FROM outbox WHERE kind = 'reconcile'");
    assert_err(store_swept(ask_due), OK);
    assert_int_equal(count_of("SELECT COUNT(*) FROM outbox WHERE kind = 'reconcile'"), asked);
    sql("UPDATE reconciliation SET asked_at = 1");
    assert_err(store_tx(TX_READ, ask_due), OK);
    assert_true(count_of("SELECT COUNT(*) FROM outbox WHERE kind = 'reconcile'") > asked);
}

/* ---- webhooks ---- */

static struct webhook_endpoint endpoint, want_endpoint;
static struct webhook_health health;
static struct webhook_due *due;
static Time hook_now;

static enum err hook_create(struct db *db)
{
    return webhook_endpoint_create(db, &want_endpoint, NOW, &endpoint);
}

static enum err hook_due(struct db *db)
{
    Id ids[1];
    size_t n;
    enum err e = webhook_endpoint_due(db, hook_now, ids, 1, &n);
    if (!e) assert_int_equal(n, 1);
    return e;
}

static enum err hook_lease(struct db *db)
{
    return webhook_endpoint_lease(db, endpoint.id, hook_now, TIME_MINUTE, &endpoint);
}

static enum err hook_follow(struct db *db)
{
    enum err e = webhook_endpoint_find(db, endpoint.id, &endpoint);
    return e ? e : webhook_endpoint_follow(db, &endpoint, hook_now, 1000);
}

static enum err hook_try(struct db *db)
{
    size_t n;
    enum err e = webhook_delivery_due(db, endpoint.id, hook_now, 10, &due, &n);
    if (e || !n) return e;
    struct webhook_try t = {.at = hook_now, .took_ms = 5, .status = 500};
    struct webhook_delivery d = due[0].delivery;
    return webhook_delivery_record(db, &d, &t, false, hook_now);
}

static enum err hook_release(struct db *db)
{
    return webhook_endpoint_release(db, &endpoint, &health, hook_now);
}

static enum err hook_change(struct db *db)
{
    return webhook_endpoint_change(db, &want_endpoint, hook_now, &endpoint);
}

static enum err hook_rotate(struct db *db)
{
    return webhook_endpoint_rotate(db, endpoint.id, hook_now, &endpoint);
}

static enum err hook_free(struct db *db)
{
    return webhook_endpoint_free_all(db);
}

static enum err hook_delete(struct db *db)
{
    return webhook_endpoint_delete(db, endpoint.id, hook_now);
}

static void endpoints(void **state)
{
    (void)state;
    hook_now = NOW;
    want_endpoint =
        (struct webhook_endpoint){.url = STR("https://a.example/in"), .events = EVENT_ALL, .is_enabled = true};
    assert_err(store_swept(hook_create), OK);
    want_endpoint.id = endpoint.id;
    assert_err(store_tx(TX_WRITE, sell), OK);
    assert_err(store_swept(hook_due), OK);
    assert_err(store_swept(hook_lease), OK);
    assert_err(store_swept(hook_lease), ERR_NOT_FOUND);
    assert_err(store_swept(hook_follow), OK);
    int64_t made = count_of("SELECT COUNT(*) FROM webhook_delivery");
    assert_true(made > 0);
    assert_err(store_swept(hook_follow), OK);
    assert_int_equal(count_of("SELECT COUNT(*) FROM webhook_delivery"), made);
    assert_err(store_swept(hook_try), OK);
    for (int i = 0; i < 12; i++) { /* rests for longer and longer, up to a limit, and is switched off in the end */
        health = (struct webhook_health){.failed = 1};
        if (i == 1) endpoint.failures = 1000000;
        assert_err(store_swept(hook_release), OK);
        int64_t rest = count_of("SELECT paused_until FROM webhook_endpoint") - hook_now.ms;
        assert_true(i == 0 ? rest > 0 && rest < 30 * TIME_SECOND : rest == 30 * TIME_SECOND);
        hook_now.ms += 2 * TIME_DAY;
        enum err e = store_swept(hook_lease);
        if (e) break;
    }
    assert_int_equal(count_of("SELECT is_enabled FROM webhook_endpoint"), 0);
    want_endpoint.is_enabled = true;
    assert_err(store_swept(hook_change), OK);
    sql("UPDATE webhook_delivery SET status = 'pending', done_at = NULL");
    want_endpoint.is_enabled = false; /* by hand: nothing waits for an endpoint that is off */
    assert_err(store_swept(hook_change), OK);
    assert_int_equal(count_of("SELECT COUNT(*) FROM webhook_delivery WHERE status = 'pending'"), 0);
    want_endpoint.is_enabled = true;
    assert_err(store_swept(hook_change), OK);
    assert_err(store_swept(hook_lease), OK);
    assert_err(store_swept(hook_free), OK);
    assert_err(store_swept(hook_free), OK);
    assert_err(store_swept(hook_lease), OK);
    assert_err(store_tx(TX_READ, hook_free), OK); /* which finds that it has to write */
    assert_int_equal(count_of("SELECT leased_until FROM webhook_endpoint"), 0);
    assert_err(store_swept(hook_lease), OK);
    health = (struct webhook_health){.failed = 1, .is_gone = true};
    assert_err(store_swept(hook_release), OK);
    assert_err(store_swept(hook_release), OK);
    assert_err(store_swept(hook_rotate), OK);
    want_endpoint.is_enabled = false;
    assert_err(store_swept(hook_change), OK);
    assert_err(store_swept(hook_delete), OK);
    assert_err(store_swept(hook_delete), ERR_NOT_FOUND);
}

/* ---- periodic jobs ---- */

static struct vitals_flow flow;

static enum err job_vitals(struct db *db)
{
    struct vitals v;
    return vitals_read(db, &v);
}
static enum err job_flow(struct db *db)
{
    return vitals_follow(db, LATER, 1000, &flow);
}
static enum err job_stock(struct db *db)
{
    return stock_notice_check(db, 5, LATER);
}
static enum err job_reservations(struct db *db)
{
    return reservation_expire(db, LATER);
}
static enum err job_licenses(struct db *db)
{
    return license_tell_expired(db, LATER);
}
static enum err job_events(struct db *db)
{
    return event_expire(db, LATER, 1000);
}
static enum err job_tokens(struct db *db)
{
    return token_purge(db, LATER, 1000);
}
static enum err job_links(struct db *db)
{
    return mail_link_purge(db, LATER, 1000);
}
static enum err job_retention(struct db *db)
{
    struct settings s;
    enum err e = settings_load(db, &s);
    return e ? e : retention_step(db, &s, LATER);
}

static Str reset_token;

static enum err begin_reset(struct db *db)
{
    Id account;
    return password_reset_begin(db, STR("ada@example.com"), NOW, &account, &reset_token);
}

static enum err begin_proof(struct db *db)
{
    return email_proof_begin(db, ada, false, NOW);
}

static enum err begin_change(struct db *db)
{
    return email_change_begin(db, ada, STR("new@example.com"), NOW);
}

static enum err one_more_pool(struct db *db)
{
    store_product(db, "more", "serial_code", 5);
    return OK;
}

static void jobs(void **state)
{
    (void)state;
    static enum err (*const all[])(struct db *) = {job_vitals,   job_flow,   job_flow,   job_stock, job_reservations,
                                                   job_licenses, job_events, job_tokens, job_links, job_retention};
    static enum err (*const links[])(struct db *) = {begin_reset, begin_proof, begin_change};
    assert_err(store_tx(TX_WRITE, sell), OK);
    assert_err(store_tx(TX_WRITE, one_more_pool), OK);
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) assert_err(store_swept(links[i]), OK);
    sql("INSERT INTO variant (product_id, name, price, is_active)"
        " SELECT id, 'Large', 900, 1 FROM product WHERE slug = 'codes'");
    sql("INSERT INTO variant (product_id, name, price, is_active)"
        " SELECT id, 'Small', 400, 1 FROM product WHERE slug = 'codes'");
    sql("UPDATE license SET expires_at = 1700000000001");
    sql("INSERT INTO token (account_id, kind, hash, hint, scopes, created_at, expires_at)"
        " SELECT id, 'login', X'00', '', 1, 1, 2 FROM account WHERE email = 'ada@example.com'");
    sql("INSERT INTO notification (account_id, kind, message, created_at) SELECT id, 'x', 'x', 1 FROM account");
    static const char *const between[] = {
        /* The codes go, come back, and are gone again between the looks. */
        "UPDATE serial SET taken_by = (SELECT MIN(id) FROM order_item), taken_at = 7 WHERE taken_by IS NULL",
        "UPDATE serial SET taken_by = NULL, taken_at = NULL WHERE taken_at = 7",
        "DELETE FROM serial",
        "SELECT 1",
    };
    static const int64_t told[] = {1, 3, 3,
                                   5}; /* that a pool is empty: one always, two each time that they become so */
    assert_err(store_tx(TX_READ, job_links), OK);
    assert_int_equal(count_of("SELECT COUNT(*) FROM mail_link"), 0);
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) assert_err(store_swept(all[i]), OK);
        assert_int_equal(count_of("SELECT COUNT(*) FROM event WHERE type = 'stock.empty'"), told[round]);
        sql(between[round]);
    }
    assert_int_equal(count_of("SELECT COUNT(*) FROM event WHERE type = 'stock.low'"), 2);
    assert_int_equal(count_of("SELECT COUNT(*) FROM mail_link"), 0);
    assert_int_equal(count_of("SELECT COUNT(*) FROM token WHERE expires_at = 2"), 0);
}

/* ---- what people do ---- */

static struct session session;
static Str session_text, setup_token;
static Id cart_from, cart_to, ticket_id, withdrawal_id;
static struct cart cart;

static enum err visit(struct db *db)
{
    return session_create(db, ada, STR("127.0.0.1"), NOW, &session, &session_text);
}
static enum err visit_again(struct db *db)
{
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash(session_text, hash);
    struct session found;
    return session_find(db, hash, (Time){NOW.ms + 2 * TIME_DAY}, &found);
}
static enum err fill_cart(struct db *db)
{
    return cart_add(db, cart_from, ada, editor, (Id){0}, 1, NOW, &cart);
}
static enum err move_cart(struct db *db)
{
    return cart_move(db, cart_from, cart_to, NOW);
}
static enum err refill_cart(struct db *db)
{
    return cart_refill(db, cart_to, paid.order_id, NOW);
}
static enum err ask(struct db *db)
{
    static const char department[] = "SELECT MIN(id) FROM department";
    struct ticket t, want = {.account = ada, .subject = STR("s"), .order_id = paid.order_id};
    struct ticket_unknown unknown;
    struct stmt *st = db_prepare(db, department);
    if (db_step(st)) want.department_id = col_id(st);
    enum err e = db_done(st);
    if (!e) e = ticket_create(db, &want, STR("m"), NOW, &t, &unknown);
    if (!e) ticket_id = t.id;
    return e;
}
static enum err answer(struct db *db)
{
    struct ticket_message m;
    return ticket_reply_staff(db, ticket_id, staff, STR("a"), NOW, &m);
}
static enum err fund(struct db *db)
{
    const struct transfer t = {.kind = LEDGER_ADJUSTMENT, .amount = {100}, .description = STR("x"), .at = NOW};
    return ledger_credit(db, ada, LEDGER_ADJUSTMENTS, &t);
}
static enum err key_check(struct db *db)
{
    return settings_check_key(db);
}
static enum err new_address(struct db *db)
{
    return account_set_email(db, ada, STR("new@example.com"));
}
static enum err taken_address(struct db *db)
{
    return account_set_email(db, ada, STR("bob@example.com"));
}
static enum err withdraw(struct db *db)
{
    struct withdrawal w;
    enum err e = withdrawal_request(db, ada, (Money){5}, STR("iban"), NOW, &w);
    if (!e) withdrawal_id = w.id;
    return e;
}
static enum err reject(struct db *db)
{
    struct withdrawal w;
    return withdrawal_reject(db, withdrawal_id, staff, STR("no"), NOW, &w);
}
static enum err topped_up(struct db *db)
{
    return receipt_topup(db, &paid, NOW);
}
static enum err order_mail(struct db *db)
{
    return receipt_order_again(db, paid.order_id, NOW);
}
static enum err order_cancelled(struct db *db)
{
    return receipt_cancelled(db, paid.order_id, NOW);
}
static enum err order_refunded(struct db *db)
{
    struct order o;
    enum err e = order_find(db, (Id){0}, paid.order_id, &o);
    return e ? e : receipt_refund_order(db, &o, (Money){5}, NOW);
}
static enum err trouble(struct db *db)
{
    return receipt_trouble(db, &paid, (Money){5}, WORD_happened_payment_refused, true, NOW);
}
static enum err topup_trouble(struct db *db)
{
    struct payment p = paid;
    p.order_id = (Id){0};
    return receipt_trouble(db, &p, (Money){5}, WORD_happened_payment_refused, false, NOW);
}
static enum err setup(struct db *db)
{
    return setup_begin(db, NOW, &setup_token);
}

static enum err finish_setup(struct db *db)
{
    struct account owner = {.email = STR("first@example.com"), .role = ROLE_OWNER}, made;
    return setup_finish(db, setup_token, &owner, NOW, &made);
}

static void people(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, sell), OK);
    sql("INSERT INTO department (name, is_active) VALUES ('Help', 1)");
    sql("DELETE FROM setting WHERE name = 'key_fingerprint'"); /* a store that was copied has that of another key */
    static enum err (*const steps[])(struct db *) = {
        visit,     fill_cart,   move_cart,      move_cart,       refill_cart, ask,           answer,
        topped_up, order_mail,  order_refunded, order_cancelled, trouble,     topup_trouble, key_check,
        key_check, new_address, fund,           withdraw,        reject};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i] == fill_cart) cart_from = session.cart;
        if (steps[i] == move_cart) {
            assert_err(store_swept(visit), OK);
            cart_to = session.cart;
        }
        enum err e = store_swept(steps[i]);
        if (e) fail_msg("step %zu: %s", i, err_info(e)->code);
    }
    assert_err(store_swept(visit_again), OK);
    assert_err(store_swept(taken_address), ERR_EMAIL_TAKEN);
    sql("UPDATE account SET role = 'customer'");
    assert_err(store_swept(setup), OK);
    assert_true(setup_token.len > 0);
    assert_err(store_swept(finish_setup), OK);
    assert_err(store_swept(finish_setup), ERR_NOT_FOUND); /* the second who opened the link */
}

#define SWEPT(f)                                                                                                       \
    {                                                                                                                  \
#f, f, open_shop, close_shop, NULL                                                                             \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {SWEPT(sandbox_plays), SWEPT(books_differ), SWEPT(endpoints), SWEPT(jobs),
                                       SWEPT(people)};
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
