/* What seldom happens to a payment: money that comes late, twice, short or under another's name. */
#include "payment_edges.h"

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

static void twice(void **state)
{
    (void)state;
    gateway.late = POLICY_ACCEPT;
    /* Two pages of one order: the second closes the first, which is paid all the same. */
    struct payment first = with_page(bought(editor)), second = with_page(paid_again());
    assert_int_equal(now_of(&first).status, PAYMENT_CLOSED);
    with_page(first); /* it was being made while it was closed */
    tell_page(&first, EVENT_APPROVED, WEBHOOK_HANDLED);
    tell_page(&first, EVENT_SUCCEEDED, WEBHOOK_HANDLED);
    assert_int_equal(order_of(&first), ORDER_CONFIRMED);
    tell_page(&first, EVENT_APPROVED, WEBHOOK_HANDLED);
    /* And the second, too: the order is paid already, so the money goes back. */
    tell_page(&second, EVENT_SUCCEEDED, WEBHOOK_HANDLED);
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

    /* One of two payments fails, or ends: the other may still be paid. */
    first = with_page(bought(editor));
    second = paid_again();
    tell_page(&first, EVENT_FAILED, WEBHOOK_HANDLED);
    assert_int_equal(now_of(&first).status, PAYMENT_FAILED);
    assert_int_equal(order_of(&first), ORDER_PENDING);
    tell_paid(&second, 4999, WEBHOOK_HANDLED);
    assert_int_equal(now_of(&first).status, PAYMENT_CLOSED);
    first = with_page(bought(editor));
    second = paid_again();
    tell_page(&first, EVENT_EXPIRED, WEBHOOK_HANDLED);
    assert_int_equal(order_of(&first), ORDER_PENDING);
    tell_page(&first, EVENT_SUCCEEDED, WEBHOOK_HANDLED);
    assert_int_equal(order_of(&first), ORDER_CONFIRMED);
    /* One was paid too little and waits for a person when the other fails. */
    gateway.underpaid = POLICY_REVIEW;
    first = bought(editor);
    tell_paid(&first, 10, WEBHOOK_REVIEW);
    second = with_page(paid_again());
    tell_page(&second, EVENT_FAILED, WEBHOOK_HANDLED);
    tell_kind(&first, EVENT_EXPIRED, WEBHOOK_HANDLED);
    assert_int_equal(order_of(&first), ORDER_PENDING);
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        EDGE(late), EDGE(off_the_price), EDGE(twice), EDGE(names), EDGE(approved),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
