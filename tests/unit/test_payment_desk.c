/* What staff decide about payments, and what belongs to no payment. Every step fails first at each of its statements
 * (faulty_store.h). */
#include "payment_edges.h"

#include "domain/ledger.h"
#include "domain/payment_end.h"
#include "domain/review.h"
#include "domain/signing_key.h"

static bool changed;
static Money given;
static enum spare_money how;
static enum review_action action;

static enum err do_confirm(struct db *db)
{
    return payment_confirm_order(db, p.order_id, staff, NOW, &changed);
}
static enum err do_cancel(struct db *db)
{
    return payment_cancel_order(db, p.order_id, how, staff, NOW, &changed, &given);
}
static enum err do_pay_from_wallet(struct db *db)
{
    return payment_pay_from_wallet(db, p.order_id, NOW);
}
static enum err do_resolve(struct db *db)
{
    struct review *all;
    size_t count;
    const struct review_filter open = {.has_status = true, .status = REVIEW_OPEN};
    enum err e = review_list(db, &open, (Id){0}, 1, &all, &count); /* the newest */
    if (e) return e;
    return count ? payment_review_resolve(db, all[0].id, action, STR("seen"), staff, NOW) : ERR_NOT_FOUND;
}
static enum err do_give_up(struct db *db)
{
    return payment_give_up(db, p.id, NOW);
}

static void resolve(enum review_action as, enum err want)
{
    action = as;
    assert_int_equal(store_swept(do_resolve), want);
}

static struct payment underpaid(void)
{
    gateway.underpaid = POLICY_REVIEW;
    struct payment one = bought(editor);
    tell_paid(&one, 10, WEBHOOK_REVIEW);
    return p = one;
}

static void decisions(void **state)
{
    (void)state;
    /* Orders whose money waits. */
    underpaid();
    assert_int_equal(store_swept(do_pay_from_wallet), ERR_INVALID_STATE);
    assert_int_equal(store_swept(do_confirm), OK);
    assert_true(changed);
    assert_int_equal(store_swept(do_confirm), OK);
    assert_false(changed);
    for (how = SPARE_REFUND; how <= SPARE_CREDIT; how++) {
        underpaid();
        assert_int_equal(store_swept(do_cancel), OK);
        assert_int_equal(given.minor, 10);
        assert_int_equal(store_swept(do_cancel), OK);
        assert_false(changed);
    }
    static const enum review_action actions[] = {REVIEW_CONFIRM, REVIEW_REFUND, REVIEW_CREDIT, REVIEW_CANCEL,
                                                 REVIEW_SETTLE};
    for (size_t i = 0; i < 5; i++) {
        underpaid();
        resolve(actions[i], OK);
    }
    /* Given back before it was sold after all. */
    struct payment one = underpaid();
    tell(back(&one, 10, "re_before"), WEBHOOK_HANDLED);
    gateway.late = POLICY_REVIEW;
    tell_paid(&one, 4999, WEBHOOK_REVIEW);
    resolve(REVIEW_CONFIRM, OK);

    /* Top-ups. */
    gateway.overpaid = POLICY_REVIEW;
    one = topped_up(1000);
    tell_paid(&one, 1500, WEBHOOK_REVIEW);
    resolve(REVIEW_CONFIRM, OK);
    assert_int_equal(now_of(&one).credited.minor, 1500);
    one = topped_up(1000);
    tell_paid(&one, 1500, WEBHOOK_REVIEW);
    resolve(REVIEW_SETTLE, OK);

    /* The order was paid, more came and waits; confirmed again: nothing happens to it. */
    one = paid(editor);
    tell_paid(&one, 6000, WEBHOOK_REVIEW);
    p = one;
    assert_int_equal(store_swept(do_confirm), OK);
    assert_false(changed);
    /* Paid late, after staff had confirmed it: the order is delivered already. */
    one = bought(editor);
    assert_int_equal(store_swept(do_confirm), OK);
    tell_paid(&one, 4999, WEBHOOK_REVIEW);
    p = one;
    assert_int_equal(store_swept(do_confirm), OK);
    assert_false(changed);
    resolve(REVIEW_CANCEL, ERR_INVALID_STATE);
    resolve(REVIEW_SETTLE, OK);

    /* Refunds that failed. */
    static const enum review_action ends[] = {REVIEW_REFUND, REVIEW_SETTLE};
    for (size_t i = 0; i < 2; i++) {
        one = paid(editor);
        ask_back(&one, 100);
        is_refused = true;
        assert_int_equal(store_swept(do_refund_failed), OK);
        resolve(ends[i], OK);
    }
    one = paid(editor);
    ask_back(&one, 4999);
    assert_int_equal(store_swept(do_refund_failed), OK);
    tell(back(&one, 4000, "re_elsewhere"), WEBHOOK_HANDLED);
    resolve(REVIEW_SETTLE, OK); /* most of it has gone back another way */

    one = paid(editor);
    tell(disputed(&one, EVENT_DISPUTED, "d9", 100), WEBHOOK_REVIEW);
    resolve(REVIEW_SETTLE, OK);

    /* Given up, twice. */
    one = bought(editor);
    assert_int_equal(store_swept(do_give_up), OK);
    assert_int_equal(store_swept(do_give_up), OK);
}

static Id free_thing;

static enum err make_unpaid(struct db *db)
{
    struct order_line l = {.quantity = 1};
    struct order o;
    assert_int_equal(catalog_offer(db, wanted, (Id){0}, VARIANT_DEFAULT, &l.offer), OK);
    l.unit_price = l.offer.price;
    struct order_draft draft = {.account = ada, .channel = CHANNEL_CART, .lines = &l, .line_count = 1};
    assert_int_equal(order_create(db, &draft, NOW, &o), OK);
    p = (struct payment){.order_id = o.id};
    return OK;
}
static enum err make_free_thing(struct db *db)
{
    free_thing = store_product(db, "free", "license_key", 0);
    return OK;
}
static enum err make_many(struct db *db)
{
    for (int i = 0; i < 60; i++) assert_int_equal(do_pay_again(db), OK);
    return OK;
}
static enum err list_some(struct db *db)
{
    struct payment *all;
    size_t count;
    enum err e = payment_list(db, &(struct payment_filter){.order_id = p.order_id}, q.id, 10, &all, &count);
    if (e) return e;
    assert_int_equal(count, 10);
    return payment_lock(db, q.id, &q);
}

static Id coupon_order;

/* As when the coupon of a cancelled order was given back, and the order's payment comes after all. */
static enum err release_coupon(struct db *db)
{
    static const char coupon[] = "INSERT INTO coupon (code, kind, value, is_active, created_at) VALUES ('TEN', "
                                 "'percent', 1000, 1, 1) RETURNING id";
    static const char use[] = "INSERT INTO coupon_use (coupon_id, account_id, order_id, created_at, released_at)"
                              " VALUES ($1, $2, $3, 1, 2)";
    struct stmt *st = db_prepare(db, coupon);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    assert_int_equal(db_done(st), OK);
    st = db_prepare(db, use);
    bind_id(st, id);
    bind_id(st, ada);
    bind_id(st, coupon_order);
    return db_run(st);
}

static enum err place(struct db *db, Id what, enum order_channel channel)
{
    struct order_line l = {.quantity = 1};
    struct order o;
    struct order_shortfall short_of;
    enum err e = catalog_offer(db, what, (Id){0}, VARIANT_DEFAULT, &l.offer);
    if (e) return e;
    l.unit_price = l.offer.price;
    struct order_draft draft = {.account = ada, .channel = channel, .lines = &l, .line_count = 1};
    return order_place(db, &draft, NOW, &o, &short_of);
}

static enum err spend(struct db *db)
{
    return place(db, codes, CHANNEL_CART);
}

static enum err allow_credit(struct db *db)
{
    return wallet_set_credit_limit(db, ada, (Money){10000});
}

static enum err spend_on_credit(struct db *db)
{
    return place(db, editor, CHANNEL_API);
}

static enum err read_wallet(struct db *db)
{
    struct wallet w;
    enum err e = wallet_find(db, ada, &w);
    given = w.frozen;
    return e;
}

static void wallets_and_coupons(void **state)
{
    (void)state;
    /* More is disputed than is left: what is there is frozen. */
    struct payment one = topped_up(1000);
    tell_paid(&one, 1000, WEBHOOK_HANDLED);
    assert_int_equal(store_swept(spend), OK);
    tell(disputed(&one, EVENT_DISPUTED, "d5", 1000), WEBHOOK_REVIEW);
    assert_int_equal(store_tx(TX_READ, read_wallet), OK);
    assert_int_equal(given.minor, 500);

    /* On credit, and in debt: a little money repays nothing yet. */
    one = topped_up(1000);
    tell_paid(&one, 1000, WEBHOOK_HANDLED);
    assert_int_equal(store_swept(allow_credit), OK);
    assert_int_equal(store_swept(spend_on_credit), OK);
    tell(back(&one, 1000, "re_debt"), WEBHOOK_HANDLED);
    one = topped_up(10);
    tell_paid(&one, 10, WEBHOOK_HANDLED);

    one = bought(editor);
    coupon_order = one.order_id;
    assert_int_equal(store_tx(TX_WRITE, release_coupon), OK);
    tell_paid(&one, 4999, WEBHOOK_REVIEW);
}

static void others(void **state)
{
    (void)state;
    wanted = editor;
    assert_int_equal(store_tx(TX_WRITE, make_unpaid), OK);
    assert_int_equal(store_swept(do_confirm), OK);
    ask_back(&p, 0);
    assert_int_equal(store_swept(do_refund_retry), ERR_INVALID_STATE); /* no payment to give it back to */

    assert_int_equal(store_tx(TX_WRITE, make_free_thing), OK);
    wanted = free_thing;
    assert_int_equal(store_tx(TX_WRITE, make_unpaid), OK);
    assert_int_equal(store_swept(do_confirm), OK);
    wanted_amount = 0;
    assert_int_equal(store_swept(do_refund), OK);
    assert_false(id_is(refund.id));

    bought(editor);
    assert_int_equal(store_tx(TX_WRITE, make_many), OK);
    assert_int_equal(store_swept(list_some), OK);
}

static enum err open_key(struct db *db)
{
    return signing_key_open(db);
}
static const char *key_sql;
static enum err change_key(struct db *db)
{
    return db_script(db, key_sql);
}

static void signing_key(void **state)
{
    (void)state;
    assert_int_equal(store_swept(open_key), OK);
    assert_int_equal(store_swept(open_key), OK);
    static const char *const changes[] = {
        "UPDATE setting SET value = value || 'x' WHERE name = 'license_key_seed'",
        "UPDATE setting SET value = substr(value, 1, length(value) - 3) || '00' WHERE name = 'license_key_seed'",
    };
    for (size_t i = 0; i < 2; i++) {
        key_sql = changes[i];
        assert_int_equal(store_tx(TX_WRITE, change_key), OK);
        assert_int_equal(store_swept(open_key), ERR_CONFLICT);
    }
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        EDGE(decisions),
        EDGE(others),
        EDGE(wallets_and_coupons),
        EDGE(signing_key),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
