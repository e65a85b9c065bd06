/* What seldom happens to a payment: money that comes late, twice, short or under another's name, refunds and disputes
 * that go wrong, and staff who decide about it. Every step fails first at each of its statements (faulty_store.h). */
#include "faulty_store.h"
#include "payment_shop.h"

#include "domain/coupon.h"
#include "domain/payment_desk.h"
#include "domain/payment_end.h"
#include "domain/payment_refund.h"
#include "domain/review.h"
#include "domain/signing_key.h"

static struct payment p, q;
static struct payment_event event;
static struct payment_outcome outcome;

static enum err make_stock(struct db *db)
{
    stock(db);
    return OK;
}

static int open_shop(void **state)
{
    (void)state;
    return store_open(true) || store_tx(TX_WRITE, make_stock) != OK;
}

/* ---- steps ---- */

static Id wanted;
static int64_t wanted_amount;

static enum err do_buy(struct db *db)
{
    p = buy(db, wanted);
    return OK;
}

static enum err do_top_up(struct db *db)
{
    p = top_up(db, wanted_amount);
    return OK;
}

/* Another payment of the same order. */
static enum err do_pay_again(struct db *db)
{
    struct payment want = {.gateway_id = gateway.id,
                           .account_id = ada,
                           .order_id = p.order_id,
                           .amount = p.amount,
                           .currency = STR("USD")};
    return payment_create(db, &want, NOW, &q);
}

static enum err do_receive(struct db *db)
{
    return payment_receive(db, &gateway, &event, STR("{}"), NOW, &outcome);
}

static struct payment bought(Id what)
{
    wanted = what;
    assert_int_equal(store_tx(TX_WRITE, do_buy), OK);
    return p;
}

static struct payment topped_up(int64_t amount)
{
    wanted_amount = amount;
    assert_int_equal(store_tx(TX_WRITE, do_top_up), OK);
    return p;
}

static struct payment paid_again(void)
{
    assert_int_equal(store_swept(do_pay_again), OK);
    return q;
}

static struct payment_event of(const struct payment *about, enum payment_event_kind kind)
{
    static int counter;
    struct payment_event e = {.kind = kind,
                              .type = STR("test"),
                              .mode = EVENT_MODE_TEST,
                              .currency = STR("USD"),
                              .has_amount = true,
                              .amount = about->amount};
    e.event_id = str_printf(&store_arena, "edge_%d", ++counter);
    e.payment_ref = str_printf(&store_arena, "pi_%lld", (long long)about->id.v);
    e.order_ref = payment_order_ref(&store_arena, about);
    return e;
}

static void tell(struct payment_event e, enum webhook_status want)
{
    event = e;
    enum err err = store_swept(do_receive);
    if (err || outcome.status != want)
        fail_msg("%s: %s, status %d (%s), want %d", payment_event_kind_names[e.kind], err_info(err)->code,
                 outcome.status, outcome.reason, want);
}

static void tell_kind(const struct payment *about, enum payment_event_kind kind, enum webhook_status want)
{
    tell(of(about, kind), want);
}

static void tell_paid(const struct payment *about, int64_t amount, enum webhook_status want)
{
    struct payment_event e = of(about, EVENT_SUCCEEDED);
    e.amount.minor = amount;
    tell(e, want);
}

static enum err read_payment(struct db *db)
{
    return payment_find(db, p.id, &p);
}

static struct payment now_of(const struct payment *about)
{
    p = *about;
    assert_int_equal(store_tx(TX_READ, read_payment), OK);
    return p;
}

static enum err read_order(struct db *db)
{
    wanted.v = (int64_t)order_status(db, &p);
    return OK;
}

static enum order_status order_of(const struct payment *about)
{
    p = *about;
    assert_int_equal(store_tx(TX_READ, read_order), OK);
    return (enum order_status)wanted.v;
}

static enum err check_books(struct db *db)
{
    assert_books(db);
    return OK;
}

static int close_shop(void **state)
{
    assert_int_equal(store_tx(TX_READ, check_books), OK);
    return store_close(state);
}

/* ---- money that comes late, short, twice ---- */

static void late(void **state)
{
    (void)state;
    static const enum payment_policy policies[] = {POLICY_ACCEPT, POLICY_CREDIT, POLICY_REFUND, POLICY_REVIEW};
    for (size_t i = 0; i < 4; i++) {
        gateway.late = policies[i];
        struct payment one = bought(editor);
        tell_kind(&one, EVENT_EXPIRED, WEBHOOK_HANDLED);
        tell_paid(&one, 4999, policies[i] == POLICY_REVIEW ? WEBHOOK_REVIEW : WEBHOOK_HANDLED);
        assert_int_equal(order_of(&one), policies[i] == POLICY_ACCEPT ? ORDER_CONFIRMED : ORDER_CANCELLED);
    }
    /* Nothing can be called: what would be given back is credited. */
    gateway.late = POLICY_REFUND;
    Str key = gateway.api_key;
    gateway.api_key = STR("");
    struct payment one = bought(editor);
    tell_kind(&one, EVENT_EXPIRED, WEBHOOK_HANDLED);
    tell_paid(&one, 4999, WEBHOOK_HANDLED);
    assert_int_equal(now_of(&one).credited.minor, 4999);
    gateway.api_key = key;
}

static void off_the_price(void **state)
{
    (void)state;
    static const enum payment_policy policies[] = {POLICY_CREDIT, POLICY_REFUND, POLICY_REVIEW};
    for (size_t i = 0; i < 3; i++) {
        gateway.underpaid = gateway.overpaid = policies[i];
        enum webhook_status want = policies[i] == POLICY_REVIEW ? WEBHOOK_REVIEW : WEBHOOK_HANDLED;
        struct payment under = bought(editor), over = bought(editor);
        tell_paid(&under, 100, want);
        tell_paid(&over, 5099, want);
        under = topped_up(1000);
        tell_paid(&under, 900, want);
        over = topped_up(1000);
        tell_paid(&over, 1100, want);
        /* More, when the order has been paid. */
        struct payment more = bought(editor);
        tell_paid(&more, 4999, WEBHOOK_HANDLED);
        tell_paid(&more, 6000, want);
        tell_paid(&more, 10, WEBHOOK_HANDLED); /* less than what has been used: not believed */
    }
    gateway.tolerance = 500;
    struct payment near = topped_up(1000);
    tell_paid(&near, 990, WEBHOOK_HANDLED);
    assert_int_equal(now_of(&near).credited.minor, 990);
    near = bought(editor);
    tell_paid(&near, 4990, WEBHOOK_HANDLED);
    assert_int_equal(order_of(&near), ORDER_CONFIRMED);
    gateway.tolerance = 0;
}

static enum err do_set_page(struct db *db)
{
    return payment_set_page(db, &gateway, q.id, str_printf(&store_arena, "cs_%lld", (long long)q.id.v), STR(""),
                            STR("https://pay.example/"), (Time){0}, NOW);
}

static void twice(void **state)
{
    (void)state;
    gateway.late = POLICY_ACCEPT;
    /* Two pages of one order: the second closes the first, which is paid all the same. */
    struct payment first = bought(editor), second = paid_again();
    q = second;
    assert_int_equal(store_swept(do_set_page), OK);
    assert_int_equal(now_of(&first).status, PAYMENT_CLOSED);
    q = first; /* its page came only now */
    assert_int_equal(store_swept(do_set_page), OK);
    tell_kind(&first, EVENT_APPROVED, WEBHOOK_HANDLED);
    tell_paid(&first, 4999, WEBHOOK_HANDLED);
    assert_int_equal(order_of(&first), ORDER_CONFIRMED);
    tell_kind(&first, EVENT_APPROVED, WEBHOOK_HANDLED);
    /* And the second, too: the order is paid already, so the money goes back. */
    tell_paid(&second, 4999, WEBHOOK_HANDLED);
    assert_int_equal(now_of(&second).status, PAYMENT_SUCCEEDED);

    /* A payment at the gateway that is not the one that succeeded. */
    struct payment_event other = of(&first, EVENT_SUCCEEDED);
    other.payment_ref = STR("pi_other");
    other.has_amount = false;
    tell(other, WEBHOOK_REVIEW);
    other = of(&first, EVENT_SUCCEEDED);
    other.payment_ref = STR("pi_other");
    other.amount.minor = 0;
    tell(other, WEBHOOK_REVIEW);
    other = of(&first, EVENT_SUCCEEDED);
    other.payment_ref = STR("pi_other");
    tell(other, WEBHOOK_REVIEW);

    /* One of two payments fails: the other may still be paid. */
    first = bought(editor);
    second = paid_again();
    tell_kind(&first, EVENT_FAILED, WEBHOOK_HANDLED);
    assert_int_equal(order_of(&first), ORDER_PENDING);
    tell_paid(&second, 4999, WEBHOOK_HANDLED);
    assert_int_equal(now_of(&first).status, PAYMENT_CLOSED);
    /* One was paid too little and waits for a person when the other fails. */
    gateway.underpaid = POLICY_REVIEW;
    first = bought(editor);
    second = paid_again();
    tell_paid(&first, 10, WEBHOOK_REVIEW);
    tell_kind(&second, EVENT_FAILED, WEBHOOK_HANDLED);
    tell_kind(&first, EVENT_EXPIRED, WEBHOOK_HANDLED);
    assert_int_equal(order_of(&first), ORDER_PENDING);
}

/* ---- names ---- */

static void names(void **state)
{
    (void)state;
    struct payment one = bought(editor), two = bought(editor);
    q = one;
    assert_int_equal(store_swept(do_set_page), OK);
    q = two;
    assert_int_equal(store_swept(do_set_page), OK);
    Str page_one = str_printf(&store_arena, "cs_%lld", (long long)one.id.v);
    struct payment_event e = of(&one, EVENT_FAILED);
    e.group_ref = page_one;
    e.amount.minor = 1;
    e.order_ref = payment_order_ref(&store_arena, &two);
    tell(e, WEBHOOK_REVIEW); /* the page of one order, the number of another */
    e = of(&one, EVENT_FAILED);
    e.group_ref = STR("cs_unknown");
    tell(e, WEBHOOK_IGNORED);
    e = of(&one, EVENT_EXPIRED);
    e.group_ref = STR("cs_unknown");
    tell(e, WEBHOOK_IGNORED);
    e = of(&one, EVENT_FAILED);
    e.payment_ref = e.group_ref = STR("");
    e.has_amount = false;
    tell(e, WEBHOOK_IGNORED);
    /* Without a name of the payment, the order's number and the amount will do. */
    e = of(&one, EVENT_SUCCEEDED);
    e.payment_ref = STR("");
    tell(e, WEBHOOK_HANDLED);
    tell_kind(&two, EVENT_SUCCEEDED, WEBHOOK_HANDLED);
    e = of(&two, EVENT_FAILED);
    e.payment_ref = STR("pi_unknown");
    tell(e, WEBHOOK_IGNORED);
    /* The payment of one order, the page of another. */
    e = of(&two, EVENT_PENDING);
    e.group_ref = page_one;
    e.order_ref = STR("");
    tell(e, WEBHOOK_REVIEW);
    e.event_id = STR("edge_unsure");
    e.review = "the provider is not sure";
    tell(e, WEBHOOK_REVIEW);
    e = of(&two, EVENT_PENDING);
    e.payment_ref = e.order_ref = STR("");
    e.review = "the provider is not sure";
    tell(e, WEBHOOK_REVIEW);
    /* Two payments of one order, named together. */
    one = bought(editor);
    two = paid_again();
    q = two;
    assert_int_equal(store_swept(do_set_page), OK);
    tell_paid(&one, 4999, WEBHOOK_HANDLED);
    e = of(&one, EVENT_PENDING);
    e.group_ref = str_printf(&store_arena, "cs_%lld", (long long)two.id.v);
    tell(e, WEBHOOK_HANDLED);

    bool is_topup;
    Id id;
    assert_true(payment_order_ref_parse(STR("9007199254740991"), &is_topup, &id));
    assert_false(payment_order_ref_parse(STR("9007199254740992"), &is_topup, &id));
}

static void approved(void **state)
{
    (void)state;
    struct payment one = bought(editor);
    tell_kind(&one, EVENT_APPROVED, WEBHOOK_HANDLED);
    tell_kind(&one, EVENT_APPROVED, WEBHOOK_HANDLED); /* it is being captured already */
    one = bought(editor);
    tell_kind(&one, EVENT_EXPIRED, WEBHOOK_HANDLED);
    tell_kind(&one, EVENT_APPROVED, WEBHOOK_HANDLED);
}

/* ---- refunds and disputes ---- */

static struct refund refund;

static enum err do_refund(struct db *db)
{
    return payment_refund_order(db, p.order_id, (Money){wanted_amount}, STR("asked"), staff, NOW, &refund);
}
static Str refund_ref;
static bool is_refused;
static enum err do_refund_done(struct db *db)
{
    return payment_refund_done(db, refund.id, refund_ref, STR(""), NOW);
}
static enum err do_refund_failed(struct db *db)
{
    return payment_refund_failed(db, refund.id, STR("refused"), is_refused, NOW);
}
static enum err do_refund_retry(struct db *db)
{
    struct refund r;
    return payment_refund_retry(db, refund.id, staff, NOW, &r);
}
static enum err do_refund_settle(struct db *db)
{
    struct refund r;
    return payment_refund_settle(db, refund.id, STR("by hand"), staff, NOW, &r);
}

static struct payment paid(Id what)
{
    struct payment one = bought(what);
    tell_kind(&one, EVENT_SUCCEEDED, WEBHOOK_HANDLED);
    return now_of(&one);
}

static void ask_back(const struct payment *about, int64_t amount)
{
    p = *about;
    wanted_amount = amount;
    assert_int_equal(store_swept(do_refund), OK);
}

static struct payment_event back(const struct payment *about, int64_t total, const char *ref)
{
    struct payment_event e = of(about, EVENT_REFUNDED);
    e.has_refunded_total = true;
    e.refunded_total.minor = total;
    e.refund_ref = str_from(ref);
    return e;
}

static void refunds(void **state)
{
    (void)state;
    struct payment one = paid(editor);
    ask_back(&one, 100);
    refund_ref = STR("");
    assert_int_equal(store_swept(do_refund_done), OK);
    assert_int_equal(store_swept(do_refund_failed), OK); /* it was done: nothing changes */
    assert_int_equal(store_swept(do_refund_retry), ERR_INVALID_STATE);
    assert_int_equal(store_swept(do_refund_settle), ERR_INVALID_STATE);
    ask_back(&one, 200);
    is_refused = false;
    assert_int_equal(store_swept(do_refund_failed), OK);
    assert_int_equal(store_swept(do_refund_retry), OK);
    is_refused = true;
    assert_int_equal(store_swept(do_refund_failed), OK);
    assert_int_equal(store_swept(do_refund_settle), OK);
    assert_int_equal(now_of(&one).refunded_total.minor, 300);

    /* All of it went back another way: neither can be done any more. */
    ask_back(&one, 4699);
    assert_int_equal(store_swept(do_refund_failed), OK);
    tell(back(&one, 4000, "re_outside"), WEBHOOK_HANDLED);
    assert_int_equal(store_swept(do_refund_retry), ERR_INVALID_STATE);
    assert_int_equal(store_swept(do_refund_settle), ERR_INVALID_STATE);
    tell(back(&one, 99999, "re_outside_2"), WEBHOOK_HANDLED); /* never more than was received */
    assert_int_equal(now_of(&one).returned.minor, 4999);

    /* Refunds with names: told by their name, with others beside them. */
    one = paid(editor);
    ask_back(&one, 100);
    refund_ref = STR("re_1");
    assert_int_equal(store_swept(do_refund_done), OK);
    ask_back(&one, 200);
    Id second = refund.id;
    ask_back(&one, 300);
    is_refused = true;
    assert_int_equal(store_swept(do_refund_failed), OK);
    tell(back(&one, 250, ""), WEBHOOK_HANDLED);     /* of 150 more none of ours is it */
    tell(back(&one, 450, "re_2"), WEBHOOK_HANDLED); /* the second */
    tell(back(&one, 450, "re_2"), WEBHOOK_HANDLED);
    struct payment_event failed = of(&one, EVENT_REFUND_FAILED);
    failed.refund_ref = STR("re_2");
    failed.amount.minor = 200;
    tell(failed, WEBHOOK_HANDLED);
    failed.event_id = STR("edge_again");
    tell(failed, WEBHOOK_HANDLED);                  /* it has failed already */
    tell(back(&one, 450, "re_3"), WEBHOOK_HANDLED); /* made again under another name */
    assert_true(second.v > 0);
    failed = of(&one, EVENT_REFUND_FAILED);
    failed.refund_ref = STR("re_nobody");
    failed.amount.minor = 77;
    tell(failed, WEBHOOK_HANDLED);
    failed.event_id = STR("edge_no_amount");
    failed.has_amount = false;
    tell(failed, WEBHOOK_HANDLED);
    ask_back(&one, 50);
    failed = of(&one, EVENT_REFUND_FAILED);
    failed.refund_ref = STR("re_asked");
    failed.amount.minor = 50;
    tell(failed, WEBHOOK_HANDLED); /* before it was done */

    /* What is no refund of this payment. */
    struct payment_event e = of(&one, EVENT_REFUNDED);
    tell(e, WEBHOOK_REVIEW);
    e = back(&one, 1, "re_x");
    e.currency = STR("EUR");
    tell(e, WEBHOOK_REVIEW);
    e = back(&one, 1, "re_x");
    e.payment_ref = STR("pi_else");
    tell(e, WEBHOOK_REVIEW);
}

static void paypal_refunds(void **state)
{
    (void)state;
    struct payment one = paid(editor);
    gateway.provider = PROVIDER_PAYPAL;
    struct payment_event e = back(&one, 100, "R1");
    e.amount.minor = 100;
    tell(e, WEBHOOK_HANDLED);
    e = back(&one, 100, "R1");
    e.amount.minor = 100;
    tell(e, WEBHOOK_HANDLED); /* the same again */
    e = back(&one, 150, "R2");
    e.has_amount = false;
    tell(e, WEBHOOK_HANDLED);
    e = back(&one, 200, "");
    e.amount.minor = 50;
    tell(e, WEBHOOK_HANDLED);
    assert_int_equal(now_of(&one).refunded_total.minor, 200);
    ask_back(&one, 30);
    refund_ref = STR("R3");
    is_refused = true;
    assert_int_equal(store_swept(do_refund_failed), OK);
    struct payment_event failed = of(&one, EVENT_REFUND_FAILED);
    failed.refund_ref = STR("R1");
    failed.amount.minor = 100;
    tell(failed, WEBHOOK_HANDLED);
    e = back(&one, 300, "R1");
    e.amount.minor = 100;
    tell(e, WEBHOOK_HANDLED); /* after all */
    gateway.provider = PROVIDER_STRIPE;
}

static struct payment_event disputed(const struct payment *about, enum payment_event_kind kind, const char *ref,
                                     int64_t amount)
{
    struct payment_event e = of(about, kind);
    e.refund_ref = str_from(ref);
    e.amount.minor = amount;
    return e;
}

static void disputes(void **state)
{
    (void)state;
    struct payment one = paid(editor);
    tell(disputed(&one, EVENT_DISPUTED, "d1", 100), WEBHOOK_REVIEW);
    struct payment_event e = disputed(&one, EVENT_DISPUTED, "d2", 0);
    e.has_amount = false;
    tell(e, WEBHOOK_REVIEW);
    e = disputed(&one, EVENT_DISPUTED, "d3", 5);
    e.currency = STR("EUR");
    tell(e, WEBHOOK_REVIEW);
    e = disputed(&one, EVENT_DISPUTE_CLOSED, "d1", 100);
    e.outcome = DISPUTE_WON;
    tell(e, WEBHOOK_HANDLED);
    assert_true(now_of(&one).is_disputed); /* two are open */
    e = disputed(&one, EVENT_DISPUTE_CLOSED, "d2", 0);
    e.has_amount = false;
    tell(e, WEBHOOK_HANDLED);
    assert_int_equal(now_of(&one).lost_total.minor, 4999);
    tell(back(&one, 4999, "re_late"), WEBHOOK_HANDLED);
    e = disputed(&one, EVENT_DISPUTE_CLOSED, "d3", 5);
    tell(e, WEBHOOK_HANDLED); /* nothing is left to lose */

    one = paid(editor);
    tell(disputed(&one, EVENT_REVERSED, "v1", 100), WEBHOOK_HANDLED);
    tell(disputed(&one, EVENT_REVERSED, "v1", 100), WEBHOOK_HANDLED);
    e = disputed(&one, EVENT_REVERSED, "v2", 100);
    e.has_amount = false;
    tell(e, WEBHOOK_REVIEW);
    e = disputed(&one, EVENT_REVERSED, "v2", 100);
    e.payment_ref = STR("pi_else");
    tell(e, WEBHOOK_REVIEW);

    one = topped_up(1000);
    tell_paid(&one, 1000, WEBHOOK_HANDLED);
    tell(disputed(&one, EVENT_DISPUTED, "d4", 1000), WEBHOOK_REVIEW);
    e = disputed(&one, EVENT_DISPUTE_CLOSED, "d4", 1000);
    tell(e, WEBHOOK_HANDLED);
}

/* ---- staff ---- */

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

/* ---- orders without a payment, payments without an end ---- */

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

/* ---- the key that verdicts are signed with ---- */

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
        "UPDATE setting SET value = '00' || substr(value, 3) WHERE name = 'license_key_seed'",
    };
    for (size_t i = 0; i < 2; i++) {
        key_sql = changes[i];
        assert_int_equal(store_tx(TX_WRITE, change_key), OK);
        assert_int_equal(store_swept(open_key), ERR_CONFLICT);
    }
}

#define EDGE(f)                                                                                                        \
    {                                                                                                                  \
#f, f, open_shop, close_shop, NULL                                                                             \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        EDGE(late),           EDGE(off_the_price), EDGE(twice),     EDGE(names),  EDGE(approved),    EDGE(refunds),
        EDGE(paypal_refunds), EDGE(disputes),      EDGE(decisions), EDGE(others), EDGE(signing_key),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
