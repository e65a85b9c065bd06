/* Errands of the outbox: what each answer of a gateway or mail server changes, with every statement of the change
 * failing first. SQLite. */
#include "faulty_store.h"

#include "payment_shop.h"

#include "domain/mail.h"
#include "domain/payment_refund.h"
#include "domain/sandbox_message.h"
#include "outbox/errand.h"
#include "outbox/mail_errand.h"

static struct outbox_stats stats;
static struct dispatch_options options = {
    .shop_url = "https://shop.example", .stats = &stats, .mail.url = "", .mail.from = ""};
static struct outbox_item item;
static struct errand errand;
static struct payment bought;

static enum err begin(struct db *db)
{
    stock(db);
    bought = buy(db, editor);
    return OK;
}

/* A store in which somebody is about to pay, and a mail server that is told of what goes wrong. */
static void open_shop(void)
{
    assert_int_equal(store_tx(TX_WRITE, begin), OK);
    mail_enable(true);
    mail_set_base_url("https://shop.example");
}

static enum err add_item(struct db *db)
{
    return outbox_add(db, &item, NOW, NOW, &item.id);
}

static enum err read_item(struct db *db)
{
    const struct errand_kind *kinds[] = {
        [OUTBOX_CREATE] = &errand_create,   [OUTBOX_CAPTURE] = &errand_capture, [OUTBOX_REFUND] = &errand_refund,
        [OUTBOX_ASK] = &errand_ask,         [OUTBOX_CLOSE] = &errand_close,     [OUTBOX_MAIL] = &errand_mail,
        [OUTBOX_SANDBOX] = &errand_sandbox, [OUTBOX_RESET] = &errand_reset,     [OUTBOX_RECONCILE] = &errand_reconcile,
    };
    return kinds[item.kind]->read(&errand, db);
}

/* A row for the payment, read by its errand. */
static void prepare(enum outbox_kind kind, int64_t attempts)
{
    item = (struct outbox_item){
        .kind = kind, .payment = bought.id, .attempts = attempts, .payload = item.payload, .refund = item.refund};
    assert_int_equal(store_tx(TX_WRITE, add_item), OK);
    errand = (struct errand){.options = &options, .item = &item, .arena = &store_arena, .now = NOW, .error = "why"};
    assert_int_equal(store_swept(read_item), OK);
}

static const struct errand_kind *recorded;

static enum err record_it(struct db *db)
{
    return recorded->record(&errand, db);
}

static const char *row_status;

static enum err look_at_row(struct db *db)
{
    static const char *const names[] = {"waiting", "done", "failed"};
    struct stmt *st = db_prepare(db, "SELECT status FROM outbox WHERE id = $1");
    bind_id(st, item.id);
    row_status = "none";
    if (db_step(st)) {
        Str text = col_text(st);
        for (size_t i = 0; i < 3; i++)
            if (str_eq(text, str_from(names[i]))) row_status = names[i];
    }
    return db_done(st);
}

/* Records the answer, failing at each statement first, and gives what has become of the row. */
static const char *record(const struct errand_kind *kind, enum reply reply)
{
    recorded = kind;
    errand.reply = reply;
    assert_int_equal(store_swept(record_it), OK);
    assert_int_equal(store_tx(TX_READ, look_at_row), OK);
    return row_status;
}

static enum err find_payment(struct db *db)
{
    return payment_find(db, bought.id, &bought);
}

static void creation(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_CREATE, 1);
    assert_string_equal(record(&errand_create, REPLY_RETRY), "waiting");
    errand.op.retry_after_s = 100;
    assert_string_equal(record(&errand_create, REPLY_RETRY), "waiting");
    errand.op.retry_after_s = 1; /* sooner than the table has it */
    assert_string_equal(record(&errand_create, REPLY_RETRY), "waiting");
    errand.op.retry_after_s = 7200; /* later than anybody waits */
    assert_string_equal(record(&errand_create, REPLY_RETRY), "waiting");
    errand.op.page = (struct pay_page){.group_ref = STR("cs_1"), .url = STR("https://pay/1")};
    assert_string_equal(record(&errand_create, REPLY_OK), "done");
    prepare(OUTBOX_CREATE, 1); /* a second attempt fails after the first has made the page */
    assert_string_equal(record(&errand_create, REPLY_RETRY), "done");
    errand_create.carry_out(&errand);
    assert_true(errand.is_settled);
}

static void creation_given_up(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_CREATE, 11);
    assert_string_equal(record(&errand_create, REPLY_RETRY), "failed");
}

static void creation_refused(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_CREATE, 1);
    errand.op = (struct gateway_op){0};
    assert_string_equal(record(&errand_create, REPLY_REFUSED), "failed");
}

static void creation_too_late(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_CREATE, 1);
    errand.payment.expires_at = time_add(NOW, 1);
    assert_string_equal(record(&errand_create, REPLY_RETRY), "waiting");
    errand.payment.expires_at = time_add(NOW, -1);
    assert_string_equal(record(&errand_create, REPLY_RETRY), "failed");
}

static void told(enum payment_event_kind kind)
{
    errand.op.event = (struct payment_event){.kind = kind,
                                             .type = STR("test"),
                                             .mode = EVENT_MODE_TEST,
                                             .currency = STR("USD"),
                                             .payment_ref = STR("pi_1"),
                                             .order_ref = payment_order_ref(&store_arena, &bought),
                                             .has_amount = true,
                                             .amount = bought.amount};
}

static void captures(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_CAPTURE, 1);
    assert_string_equal(record(&errand_capture, REPLY_RETRY), "waiting");
    assert_string_equal(record(&errand_capture, REPLY_REFUSED), "failed");
    prepare(OUTBOX_CAPTURE, 11);
    assert_string_equal(record(&errand_capture, REPLY_RETRY), "failed");
    prepare(OUTBOX_CAPTURE, 1);
    told(EVENT_SUCCEEDED);
    assert_string_equal(record(&errand_capture, REPLY_OK), "done");
    prepare(OUTBOX_CAPTURE, 1);
    errand_capture.carry_out(&errand); /* it is paid: there is nothing to take */
    assert_true(errand.is_settled);
}

static enum err pay_and_want_back(struct db *db)
{
    struct refund r;
    struct payment_event e = event_of(db, &bought, EVENT_SUCCEEDED);
    receive(db, &e);
    assert_int_equal(payment_find(db, bought.id, &bought), OK);
    enum err err = payment_refund_request(db, &bought, (Money){100}, STR("late"), staff, NOW, &r);
    item.refund = r.id;
    return err;
}

static void refunds(void **state)
{
    (void)state;
    open_shop();
    assert_int_equal(store_tx(TX_WRITE, pay_and_want_back), OK);
    prepare(OUTBOX_REFUND, 1);
    assert_string_equal(record(&errand_refund, REPLY_RETRY), "waiting");
    errand.op.refunded = (struct refund_page){.refund_ref = STR("re_1")};
    assert_string_equal(record(&errand_refund, REPLY_OK), "done");
    prepare(OUTBOX_REFUND, 1);
    errand_refund.carry_out(&errand);
    assert_true(errand.is_settled);
    item.refund = (Id){0};
}

static void refund_given_up(void **state)
{
    (void)state;
    open_shop();
    assert_int_equal(store_tx(TX_WRITE, pay_and_want_back), OK);
    prepare(OUTBOX_REFUND, 11);
    assert_string_equal(record(&errand_refund, REPLY_RETRY), "failed");
    item.refund = (Id){0};
}

static void refund_refused(void **state)
{
    (void)state;
    open_shop();
    assert_int_equal(store_tx(TX_WRITE, pay_and_want_back), OK);
    prepare(OUTBOX_REFUND, 1);
    assert_string_equal(record(&errand_refund, REPLY_REFUSED), "failed");
    item.refund = (Id){0};
}

/* The page's time is over: what the gateway must have said for the payment to end. */
static void questions(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_ASK, 1);
    assert_string_equal(record(&errand_ask, REPLY_OK), "waiting"); /* nothing has happened */
    told(EVENT_FAILED);
    assert_string_equal(record(&errand_ask, REPLY_RETRY), "waiting");
    told(EVENT_PENDING);
    errand.payment.ends_at = time_add(NOW, TIME_MINUTE); /* sooner than the next question would be */
    assert_string_equal(record(&errand_ask, REPLY_OK), "waiting");
    errand.payment.ends_at = time_add(NOW, TIME_DAY);
    assert_string_equal(record(&errand_ask, REPLY_OK), "waiting");
    errand.payment.ends_at = time_add(NOW, -1);
    assert_string_equal(record(&errand_ask, REPLY_RETRY), "waiting"); /* it does not say */
    assert_string_equal(record(&errand_ask, REPLY_UNAUTHORIZED), "waiting");
    errand.payment.ends_at = time_add(NOW, -8 * TIME_DAY);
    assert_string_equal(record(&errand_ask, REPLY_RETRY), "waiting"); /* and has been asked too few times */
    item.attempts = 10;
    assert_string_equal(record(&errand_ask, REPLY_RETRY), "done");
    assert_int_equal(store_tx(TX_READ, find_payment), OK);
    assert_true(time_is(bought.ended_at));
}

static void questions_about_what_was_agreed(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_ASK, 1);
    told(EVENT_APPROVED);
    errand.payment.ends_at = time_add(NOW, -1);
    assert_string_equal(record(&errand_ask, REPLY_OK), "waiting"); /* a capture is under way */
    errand.payment.status = PAYMENT_FAILED;
    assert_string_equal(record(&errand_ask, REPLY_OK), "waiting");
    errand.payment.status = PAYMENT_SUCCEEDED;
    assert_string_equal(record(&errand_ask, REPLY_OK), "done");
}

static void questions_about_a_dead_page(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_ASK, 1);
    told(EVENT_FAILED);
    errand.gateway.provider = PROVIDER_PAYPAL; /* its pages stay open for another attempt */
    assert_string_equal(record(&errand_ask, REPLY_OK), "waiting");
    errand.gateway.provider = PROVIDER_STRIPE;
    assert_string_equal(record(&errand_ask, REPLY_OK), "done");
}

static void questions_that_are_refused(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_ASK, 1);
    errand.payment.ends_at = time_add(NOW, -1);
    assert_string_equal(record(&errand_ask, REPLY_REFUSED), "done");
    prepare(OUTBOX_ASK, 1);
    errand.gateway.api_key = (Str){0};
    errand.payment.group_ref = STR("cs_1");
    errand_ask.carry_out(&errand); /* nobody can be asked */
    assert_int_equal(errand.reply, REPLY_OK);
}

static void closings(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_CLOSE, 1);
    errand.op.kind = OP_CLOSE;
    assert_string_equal(record(&errand_close, REPLY_RETRY), "waiting");
    assert_string_equal(record(&errand_close, REPLY_UNAUTHORIZED), "waiting");
    errand.op.kind = OP_ASK; /* it could not be closed, and was asked about */
    assert_string_equal(record(&errand_close, REPLY_REFUSED), "done");
    prepare(OUTBOX_CLOSE, 1);
    errand.op.kind = OP_CLOSE; /* it could not be asked about either: nothing says that the page is closed */
    assert_string_equal(record(&errand_close, REPLY_REFUSED), "done");
    assert_int_equal(store_tx(TX_READ, find_payment), OK);
    assert_false(time_is(bought.ended_at));
    prepare(OUTBOX_CLOSE, 11);
    errand.op.kind = OP_CLOSE;
    assert_string_equal(record(&errand_close, REPLY_RETRY), "failed");
    prepare(OUTBOX_CLOSE, 1);
    errand.op.kind = OP_ASK;
    told(EVENT_PENDING);
    assert_string_equal(record(&errand_close, REPLY_OK), "done");
    prepare(OUTBOX_CLOSE, 1);
    errand.op.kind = OP_ASK;
    told(EVENT_EXPIRED);
    assert_string_equal(record(&errand_close, REPLY_OK), "done");
    prepare(OUTBOX_CLOSE, 1);
    errand.op.kind = OP_CLOSE;
    assert_string_equal(record(&errand_close, REPLY_OK), "done");
    prepare(OUTBOX_CLOSE, 1);
    errand_close.carry_out(&errand); /* it has no page, or has ended */
    assert_true(errand.is_settled);
}

static void closings_where_there_is_nothing_to_close(void **state)
{
    (void)state;
    open_shop();
    prepare(OUTBOX_CLOSE, 1);
    errand.gateway.provider = PROVIDER_PAYPAL; /* nothing is paid unless we capture it */
    errand_close.carry_out(&errand);
    assert_string_equal(record(&errand_close, REPLY_OK), "done");
}

static void mails(void **state)
{
    (void)state;
    open_shop();
    item.payload = STR("not a mail");
    prepare(OUTBOX_MAIL, 1);
    errand_mail.carry_out(&errand);
    assert_int_equal(errand.reply, REPLY_REFUSED);
    assert_string_equal(record(&errand_mail, errand.reply), "failed");
    prepare(OUTBOX_MAIL, 1);
    assert_string_equal(record(&errand_mail, REPLY_RETRY), "waiting");
    assert_string_equal(record(&errand_mail, REPLY_OK), "done");
    prepare(OUTBOX_MAIL, 11);
    assert_string_equal(record(&errand_mail, REPLY_RETRY), "failed");
    item.payload = STR("ada@example.com");
    prepare(OUTBOX_RESET, 1);
    assert_string_equal(record(&errand_reset, REPLY_OK), "done");
    item.payload = (Str){0};
}

/* Nothing goes out that no server would take; a queue that has outlived its mail server says so. */
static void mails_that_are_not_sent(void **state)
{
    (void)state;
    static const struct {
        struct mail_options options;
        const char *to, *error;
    } mails[] = {
        {{.url = "", .from = "shop@shop.example"}, "ada@example.com", MAIL_OFF_ERROR},
        {{.url = "smtp://127.0.0.1:1", .from = "shop"}, "ada@example.com", "the message cannot be sent as it is"},
        {{.url = "smtp://127.0.0.1:1", .from = "shop@shop.example"}, "ada", "the message cannot be sent as it is"},
    };
    const struct mail_parts parts = {.subject = STR("Hello"), .text = STR("Hello")};
    for (size_t i = 0; i < sizeof mails / sizeof *mails; i++) {
        const char *error = NULL;
        assert_int_equal(mail_send(NULL, &mails[i].options, str_from(mails[i].to), &parts, STR("Shop"), (Id){1}, NOW,
                                   &store_arena, &error),
                         REPLY_REFUSED);
        assert_string_equal(error, mails[i].error);
    }
    const struct settings without_logo = {.mail_logo = true}; /* wanted, and not there */
    assert_int_equal(mail_look_of(&store_arena, &without_logo).logo.len, 0);
}

static void books(void **state)
{
    (void)state;
    open_shop();
    item.payload = str_printf(&store_arena, "%lld", (long long)gateway.id.v);
    prepare(OUTBOX_RECONCILE, 1);
    assert_string_equal(record(&errand_reconcile, REPLY_RETRY), "waiting");
    assert_string_equal(record(&errand_reconcile, REPLY_OK), "done");
    prepare(OUTBOX_RECONCILE, 5);
    assert_string_equal(record(&errand_reconcile, REPLY_RETRY), "failed");
    prepare(OUTBOX_RECONCILE, 1);
    assert_string_equal(record(&errand_reconcile, REPLY_REFUSED), "failed");
    item.payload = STR("a gateway");
    assert_int_equal(store_tx(TX_READ, read_item), ERR_INTERNAL);
    item.payload = (Str){0};
}

/* The sandbox is asked for nothing while it is off, and sends nothing that is not its own. */
static void sandbox(void **state)
{
    (void)state;
    open_shop();
    item.payload = STR("not a message");
    prepare(OUTBOX_SANDBOX, 1);
    errand.gateway.is_enabled = false;
    errand_sandbox.carry_out(&errand);
    assert_int_equal(errand.reply, REPLY_REFUSED);
    errand.gateway.is_enabled = true;
    errand.gateway.secret_count = 0;
    errand_sandbox.carry_out(&errand);
    assert_int_equal(errand.reply, REPLY_REFUSED);
    errand.gateway.secret_count = 1;
    errand.gateway.secrets[0] = STR("s");
    errand_sandbox.carry_out(&errand);
    assert_int_equal(errand.reply, REPLY_REFUSED);
    const struct sandbox_message message = {.event_id = STR("e1"), .payment_ref = STR("p1"), .currency = STR("USD")};
    item.payload = sandbox_message_pack(&store_arena, &message);
    errand.gateway.base_url = STR("http://127.0.0.1:1"); /* nobody is there */
    options.outbound = outbound_start(&(struct outbound_options){0});
    errand_sandbox.carry_out(&errand);
    assert_int_equal(errand.reply, REPLY_RETRY);
    assert_true(strlen(errand.error) > 0);
    outbound_stop(options.outbound);
    options.outbound = NULL;
    item.payload = (Str){0};
}

#define ON_SQLITE(f)                                                                                                   \
    {                                                                                                                  \
#f, f, store_open_sqlite, store_close, NULL                                                                    \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_SQLITE(creation),
        ON_SQLITE(creation_given_up),
        ON_SQLITE(creation_refused),
        ON_SQLITE(creation_too_late),
        ON_SQLITE(captures),
        ON_SQLITE(refunds),
        ON_SQLITE(refund_given_up),
        ON_SQLITE(refund_refused),
        ON_SQLITE(questions),
        ON_SQLITE(questions_about_what_was_agreed),
        ON_SQLITE(questions_about_a_dead_page),
        ON_SQLITE(questions_that_are_refused),
        ON_SQLITE(closings),
        ON_SQLITE(closings_where_there_is_nothing_to_close),
        ON_SQLITE(mails),
        ON_SQLITE(mails_that_are_not_sent),
        ON_SQLITE(books),
        ON_SQLITE(sandbox),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
