/* Wallets, transfers and withdrawals: what is refused changes nothing, what is done happens once. On both engines. */
#include "store.h"

#include "domain/invariant.h"
#include "domain/ledger.h"
#include "domain/notification.h"
#include "domain/withdrawal.h"

static struct transfer adjustment(int64_t minor, int64_t at)
{
    return (struct transfer){LEDGER_ADJUSTMENT, {minor}, {0}, STR("by hand"), {at}};
}

static enum err give(struct db *db, Id account, int64_t minor, int64_t at)
{
    struct transfer t = adjustment(minor, at);
    return ledger_credit(db, account, LEDGER_ADJUSTMENTS, &t);
}

static enum err take(struct db *db, Id account, int64_t minor, int64_t at, bool on_credit)
{
    struct transfer t = adjustment(minor, at);
    t.kind = LEDGER_ORDER;
    return ledger_debit(db, account, LEDGER_SALES, &t, on_credit);
}

static struct wallet wallet_of(struct db *db, Id account)
{
    struct wallet w;
    assert_int_equal(wallet_find(db, account, &w), OK);
    return w;
}

static size_t history(struct db *db, Id account, Id before, int64_t limit, struct wallet_transaction **ret)
{
    size_t count;
    assert_int_equal(wallet_transactions(db, wallet_of(db, account).ledger_id, before, limit, ret, &count), OK);
    return count;
}

/* The money rules alone: the orders that these transfers speak of do not exist here. */
static void assert_books(struct db *db)
{
    struct check_result *results;
    size_t count;
    assert_int_equal(check_run(db, &results, &count), OK);
    assert_true(count > 15);
    for (size_t i = 0; i < count; i++)
        if (results[i].is_broken && strcmp(results[i].name, "order_transfer") != 0) fail_msg("%s", results[i].name);
}

static enum err empty_wallet(struct db *db)
{
    struct wallet w = wallet_of(db, ada);
    assert_true(w.balance.minor == 0 && w.held.minor == 0 && w.credit_limit.minor == 0);
    struct wallet_transaction *items;
    assert_int_equal(history(db, ada, (Id){0}, 100, &items), 0);
    assert_books(db);
    return OK;
}

static void test_empty_wallet(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_READ, empty_wallet), OK);
}

static enum err guards(struct db *db)
{
    assert_int_equal(take(db, ada, 1, 5, false), ERR_EXCEEDS_BALANCE); /* no wallet yet */
    assert_int_equal(give(db, ada, 30, 10), OK);
    assert_int_equal(give(db, ada, 12, 11), OK);
    assert_int_equal(take(db, ada, 43, 12, false), ERR_EXCEEDS_BALANCE);
    assert_int_equal(take(db, ada, INT64_MAX, 12, false), ERR_EXCEEDS_BALANCE);
    assert_int_equal(take(db, ada, INT64_MAX, 12, true), ERR_EXCEEDS_BALANCE);
    assert_true(wallet_of(db, ada).balance.minor == 42);
    assert_int_equal(take(db, ada, 42, 13, false), OK);
    assert_int_equal(take(db, ada, 1, 14, false), ERR_EXCEEDS_BALANCE);
    assert_true(wallet_of(db, ada).balance.minor == 0);
    assert_true(wallet_of(db, bob).balance.minor == 0);

    struct wallet_transaction *items;
    assert_int_equal(history(db, ada, (Id){0}, 100, &items), 3); /* refusals leave no trace */
    assert_true(items[0].is_credit && items[0].amount.minor == 30 && items[0].created_at.ms == 10);
    assert_true(items[1].is_credit && items[1].amount.minor == 12);
    assert_true(!items[2].is_credit && items[2].amount.minor == 42);
    assert_true(str_eq(items[2].description, STR("by hand")));
    assert_books(db);
    return OK;
}

static void test_guards(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, guards), OK);
}

static enum err credit_limits(struct db *db)
{
    assert_int_equal(wallet_set_credit_limit(db, ada, (Money){100}), OK); /* before any money: makes the wallet */
    assert_int_equal(take(db, ada, 1, 1, false), ERR_EXCEEDS_BALANCE);    /* only where credit is meant */
    assert_int_equal(take(db, ada, 101, 1, true), ERR_EXCEEDS_BALANCE);
    assert_int_equal(take(db, ada, 60, 1, true), OK);
    assert_int_equal(take(db, ada, 41, 1, true), ERR_EXCEEDS_BALANCE);
    assert_true(wallet_of(db, ada).balance.minor == -60);
    assert_int_equal(wallet_set_credit_limit(db, ada, (Money){59}), ERR_INVALID_STATE);
    assert_true(wallet_of(db, ada).credit_limit.minor == 100);
    assert_int_equal(wallet_set_credit_limit(db, ada, (Money){60}), OK);
    assert_int_equal(give(db, ada, 61, 2), OK);
    assert_true(wallet_of(db, ada).balance.minor == 1);

    struct withdrawal w; /* credit cannot be withdrawn */
    assert_int_equal(withdrawal_request(db, ada, (Money){2}, (Str){0}, (Time){3}, &w), ERR_EXCEEDS_BALANCE);
    return ERR_ROLLED_BACK;
}

static void test_credit_limits(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, credit_limits), ERR_ROLLED_BACK);
}

static enum err edges(struct db *db)
{
    assert_int_equal(give(db, ada, INT64_MAX, 1), OK);
    assert_int_equal(give(db, ada, 1, 1), ERR_FIELD_RANGE);
    assert_int_equal(wallet_set_credit_limit(db, ada, (Money){INT64_MAX}), OK);
    assert_int_equal(take(db, ada, INT64_MAX, 1, true), OK);
    assert_int_equal(take(db, ada, INT64_MAX, 1, true), OK);
    assert_true(wallet_of(db, ada).balance.minor == -INT64_MAX);
    assert_int_equal(take(db, ada, 1, 1, true), ERR_EXCEEDS_BALANCE);
    assert_int_equal(give(db, ada, INT64_MAX, 1), OK);
    assert_int_equal(give(db, ada, INT64_MAX, 1), OK);
    assert_true(wallet_of(db, ada).balance.minor == INT64_MAX);
    assert_int_equal(give(db, bob, INT64_MAX, 1), OK);
    assert_books(db); /* whose sums are far past an int64 */
    return OK;
}

static void test_edges(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, edges), OK);
}

static enum err pages(struct db *db)
{
    for (int i = 1; i <= 25; i++) {
        assert_int_equal(give(db, ada, 2 * i, i), OK);
        assert_int_equal(give(db, bob, 1000, i), OK);
        assert_int_equal(take(db, ada, i, i, false), OK);
    }
    struct wallet_transaction *items;
    int64_t balance = 0, seen = 0;
    Id before = {0};
    for (size_t n; (n = history(db, ada, before, 7, &items)) > 0; before = items[0].id) {
        for (size_t i = 0; i < n; i++) {
            balance += items[i].is_credit ? items[i].amount.minor : -items[i].amount.minor;
            if (i > 0) assert_true(items[i - 1].id.v < items[i].id.v);
            if (id_is(before)) assert_true(items[i].id.v < before.v);
        }
        seen += (int64_t)n;
    }
    assert_int_equal(seen, 50);
    assert_true(balance == wallet_of(db, ada).balance.minor);
    assert_int_equal(history(db, ada, (Id){0}, 1000, &items), 50);
    assert_int_equal(history(db, ada, (Id){1}, 1000, &items), 0);
    return OK;
}

static void test_pages(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, pages), OK);
}

static enum err clock_back(struct db *db)
{
    assert_int_equal(give(db, ada, 5, 1000), OK);
    assert_int_equal(take(db, ada, 1, 900, false), OK);
    assert_int_equal(give(db, ada, 5, 800), OK);
    struct wallet_transaction *items;
    assert_int_equal(history(db, ada, (Id){0}, 10, &items), 3);
    for (size_t i = 0; i < 3; i++) assert_int_equal(items[i].created_at.ms, 1000);
    return OK;
}

static void test_clock_back(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, clock_back), OK);
}

static enum err too_much(struct db *db)
{
    struct withdrawal w;
    assert_int_equal(give(db, ada, 100, 1), OK);
    assert_int_equal(withdrawal_request(db, ada, (Money){101}, (Str){0}, (Time){2}, &w), ERR_EXCEEDS_BALANCE);
    return ERR_ROLLED_BACK;
}

static Id first, second;

static enum err request_two(struct db *db)
{
    struct withdrawal w;
    assert_int_equal(give(db, ada, 100, 1), OK);
    assert_int_equal(withdrawal_request(db, ada, (Money){60}, (Str){0}, (Time){2}, &w), OK);
    assert_true(w.amount.minor == 60 && w.status == WITHDRAWAL_PENDING && w.requested_at.ms == 2);
    first = w.id;
    assert_int_equal(withdrawal_request(db, ada, (Money){40}, (Str){0}, (Time){3}, &w), OK);
    second = w.id;
    struct wallet wallet = wallet_of(db, ada);
    assert_true(wallet.balance.minor == 0 && wallet.held.minor == 100);
    assert_books(db);
    return OK;
}

static enum err decide_two(struct db *db)
{
    struct withdrawal w;
    assert_int_equal(withdrawal_approve(db, first, staff, (Money){0}, (Time){4}, &w), OK);
    assert_true(w.status == WITHDRAWAL_APPROVED && w.decided_at.ms == 4 && id_eq(w.decided_by, staff));
    assert_int_equal(withdrawal_reject(db, second, staff, STR("no such bank"), (Time){5}, &w), OK);
    assert_true(w.status == WITHDRAWAL_REJECTED && str_eq(w.reason, STR("no such bank")));

    struct wallet wallet = wallet_of(db, ada);
    assert_true(wallet.balance.minor == 40 && wallet.held.minor == 0);
    assert_books(db);

    static const Id unknown = {999};
    assert_int_equal(withdrawal_approve(db, first, staff, (Money){0}, (Time){6}, &w), ERR_INVALID_STATE);
    assert_int_equal(withdrawal_reject(db, first, staff, STR(""), (Time){6}, &w), ERR_INVALID_STATE);
    assert_int_equal(withdrawal_approve(db, second, staff, (Money){0}, (Time){6}, &w), ERR_INVALID_STATE);
    assert_int_equal(withdrawal_reject(db, second, staff, STR(""), (Time){6}, &w), ERR_INVALID_STATE);
    assert_int_equal(withdrawal_approve(db, unknown, staff, (Money){0}, (Time){6}, &w), ERR_NOT_FOUND);
    assert_int_equal(withdrawal_reject(db, unknown, staff, STR(""), (Time){6}, &w), ERR_NOT_FOUND);
    wallet = wallet_of(db, ada);
    assert_true(wallet.balance.minor == 40 && wallet.held.minor == 0);

    struct wallet_transaction *items;
    assert_int_equal(history(db, ada, (Id){0}, 10, &items), 4); /* credit, two holds, one given back */
    assert_true(items[3].is_credit && items[3].amount.minor == 40);

    struct notification *told;
    size_t count;
    assert_int_equal(notification_list(db, ada, (Id){0}, 10, &told, &count), OK);
    assert_int_equal(count, 2);
    assert_true(str_eq(told[0].kind, STR("withdrawal_rejected")) && id_eq(told[0].reference, second));
    assert_true(str_ends(told[0].message, STR("was rejected: no such bank")));
    assert_true(str_eq(told[1].kind, STR("withdrawal_approved")) && id_eq(told[1].reference, first));
    assert_int_equal(notification_list(db, bob, (Id){0}, 10, &told, &count), OK);
    assert_int_equal(count, 0);
    assert_books(db);
    return OK;
}

static enum err read_withdrawals(struct db *db)
{
    struct withdrawal w, *items;
    size_t count;
    assert_int_equal(withdrawal_find(db, first, ada, &w), OK);
    assert_int_equal(withdrawal_find(db, first, bob, &w), ERR_NOT_FOUND);
    assert_int_equal(withdrawal_find(db, first, (Id){0}, &w), OK);
    assert_int_equal(withdrawal_list_account(db, ada, (Id){0}, 10, &items, &count), OK);
    assert_true(count == 2 && id_eq(items[0].id, second) && id_eq(items[1].id, first));
    assert_int_equal(withdrawal_list_account(db, ada, second, 10, &items, &count), OK);
    assert_true(count == 1 && id_eq(items[0].id, first));
    assert_int_equal(withdrawal_list_account(db, bob, (Id){0}, 10, &items, &count), OK);
    assert_int_equal(count, 0);
    assert_int_equal(withdrawal_list_status(db, WITHDRAWAL_REJECTED, (Id){0}, 10, &items, &count), OK);
    assert_true(count == 1 && id_eq(items[0].id, second));
    assert_int_equal(withdrawal_list_status(db, WITHDRAWAL_PENDING, (Id){0}, 10, &items, &count), OK);
    assert_int_equal(count, 0);
    assert_int_equal(withdrawal_list_all(db, (Id){0}, 1, &items, &count), OK);
    assert_true(count == 1 && id_eq(items[0].id, second));
    return OK;
}

static void test_withdrawals(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, too_much), ERR_ROLLED_BACK);
    assert_int_equal(store_tx(TX_READ, empty_wallet), OK); /* a refused request leaves nothing behind */
    assert_int_equal(store_tx(TX_WRITE, request_two), OK);
    assert_int_equal(store_tx(TX_WRITE, decide_two), OK);
    assert_int_equal(store_tx(TX_READ, read_withdrawals), OK);
}

/* A wallet that is full by the time of the rejection: the decision fails as a whole. */
static enum err fill_up(struct db *db)
{
    return give(db, ada, INT64_MAX, 3);
}
static enum err reject_first(struct db *db)
{
    struct withdrawal w;
    return withdrawal_reject(db, first, staff, STR(""), (Time){4}, &w);
}
static enum err first_is_pending(struct db *db)
{
    struct withdrawal w;
    assert_int_equal(withdrawal_find(db, first, ada, &w), OK);
    assert_int_equal(w.status, WITHDRAWAL_PENDING);
    assert_books(db);
    return OK;
}

static void test_no_room(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, request_two), OK);
    assert_int_equal(store_tx(TX_WRITE, fill_up), OK);
    assert_int_equal(store_tx(TX_WRITE, reject_first), ERR_FIELD_RANGE);
    assert_int_equal(store_tx(TX_READ, first_is_pending), OK);
}

/* A system account to another, as gateways and approvals do it. */
static enum err moves(struct db *db)
{
    struct transfer t = {LEDGER_PAYMENT, {250}, {7}, STR("order 7"), {1}};
    assert_int_equal(ledger_move(db, LEDGER_CLEARING, LEDGER_SALES, &t), OK);
    assert_books(db);
    return OK;
}

static void test_moves(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, moves), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_empty_wallet), ON_BOTH(test_guards),  ON_BOTH(test_credit_limits),
        ON_BOTH(test_edges),        ON_BOTH(test_pages),   ON_BOTH(test_clock_back),
        ON_BOTH(test_withdrawals),  ON_BOTH(test_no_room), ON_BOTH(test_moves),
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
