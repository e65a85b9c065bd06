/* What leaves the store: the outbox, mails in it, links for forgotten passwords. On both engines. */
#include "payment_shop.h"

#include "domain/department.h"
#include "domain/ledger.h"
#include "domain/mail.h"
#include "domain/outbox.h"
#include "domain/outbox_desk.h"
#include "domain/password_reset.h"
#include "domain/retention.h"
#include "domain/settings.h"
#include "domain/ticket.h"
#include "domain/withdrawal.h"

static enum err outbox(struct db *db)
{
    struct outbox_item *items;
    size_t count;
    Id id;
    Time next;
    struct outbox_item mail = {.kind = OUTBOX_MAIL, .payload = STR("to\nsubject\ntext")};
    assert_int_equal(outbox_next(db, &next), OK);
    assert_int_equal(next.ms, 0);
    assert_int_equal(outbox_add(db, &mail, NOW, NOW, &id), OK);
    assert_int_equal(outbox_claim(db, time_add(NOW, -1), 60000, 10, &items, &count), OK);
    assert_int_equal(count, 0);
    assert_int_equal(outbox_claim(db, NOW, 60000, 10, &items, &count), OK);
    assert_int_equal(count, 1);
    assert_true(str_eq(items[0].payload, STR("to\nsubject\ntext")));
    assert_int_equal(items[0].attempts, 1);
    /* It is leased; when the worker is gone it comes back. */
    assert_int_equal(outbox_claim(db, NOW, 60000, 10, &items, &count), OK);
    assert_int_equal(count, 0);
    assert_int_equal(outbox_next(db, &next), OK);
    assert_int_equal(next.ms, NOW.ms + 60000);
    assert_int_equal(outbox_claim(db, time_add(NOW, 60000), 60000, 10, &items, &count), OK);
    assert_int_equal(count, 1);
    assert_int_equal(items[0].attempts, 2);
    assert_int_equal(outbox_retry(db, id, NOW, 500, STR("no answer")), OK);
    assert_int_equal(outbox_claim(db, time_add(NOW, 500), 60000, 10, &items, &count), OK);
    assert_int_equal(count, 1);
    assert_int_equal(outbox_done(db, id, NOW), OK);
    assert_int_equal(outbox_fail(db, id, STR("too late"), NOW), OK);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM outbox WHERE status = 'done' AND payload IS NULL"), 1);
    struct settings keeps = {.keep_outbox_days = 30};
    assert_int_equal(retention_step(db, &keeps, time_add(NOW, 29 * TIME_DAY)), OK);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM outbox"), 1);
    assert_int_equal(retention_step(db, &keeps, time_add(NOW, 31 * TIME_DAY)), OK);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM outbox"), 0);
    for (int64_t n = 1; n <= 10; n++) assert_true(outbox_delay_ms(n) > 0);
    assert_int_equal(outbox_delay_ms(11), 0);
    return OK;
}

/* What staff read of each; no text of a message, and no link. */
static enum err desk(struct db *db)
{
    static const struct {
        struct outbox_item item;
        const char *what;
        enum outbox_group group;
    } rows[] = {
        {{.kind = OUTBOX_RECONCILE, .payload = STR("1")}, "compare a gateway's books with ours", OUTBOX_GROUP_GATEWAY},
        {{.kind = OUTBOX_RESET, .payload = STR("ada@example.com")},
         "ada@example.com: a new password",
         OUTBOX_GROUP_MAIL},
        {{.kind = OUTBOX_MAIL, .payload = STR("not a mail")}, "a message that cannot be read", OUTBOX_GROUP_MAIL},
    };
    const size_t n = sizeof rows / sizeof *rows;
    struct outbox_view *views;
    size_t count;
    Id id;
    for (size_t i = 0; i < n; i++) assert_int_equal(outbox_add(db, &rows[i].item, NOW, NOW, &id), OK);
    assert_int_equal(outbox_list(db, &(struct outbox_filter){0}, (Id){0}, 10, &views, &count), OK);
    assert_int_equal(count, n);
    for (size_t i = 0; i < n; i++) { /* the newest first */
        assert_true(str_eq(views[n - 1 - i].what, str_from(rows[i].what)));
        assert_int_equal(outbox_group_of(rows[i].item.kind), rows[i].group);
    }
    return OK;
}

static enum err resets(struct db *db)
{
    Id account, owner;
    Str token, newer;
    assert_int_equal(password_reset_begin(db, STR("nobody@example.com"), NOW, &account, &token), OK);
    assert_int_equal(token.len, 0);
    assert_int_equal(password_reset_begin(db, STR("ada@example.com"), NOW, &account, &token), OK);
    assert_int_equal(account.v, ada.v);
    assert_int_equal(password_reset_look(db, token, NOW, &owner), OK);
    assert_int_equal(owner.v, ada.v);
    assert_int_equal(password_reset_begin(db, STR("ada@example.com"), NOW, &account, &newer), OK);
    assert_int_equal(password_reset_look(db, token, NOW, &owner), OK); /* a newer one does not void it */
    assert_int_equal(password_reset_finish(db, newer, STR("hash"), time_add(NOW, 30 * TIME_MINUTE)), ERR_NOT_FOUND);
    assert_int_equal(password_reset_finish(db, newer, STR("hash"), time_add(NOW, 30 * TIME_MINUTE - 1)), OK);
    Time later = time_add(NOW, 30 * TIME_MINUTE - 1);
    assert_int_equal(password_reset_finish(db, newer, STR("hash2"), later), ERR_NOT_FOUND);
    assert_int_equal(password_reset_look(db, token, later, &owner), ERR_NOT_FOUND); /* using one up ends the others */
    assert_int_equal(number(db, "SELECT COUNT(*) FROM account WHERE password_hash = 'hash'"), 1);
    /* Who was switched off gets no link, and no answer that differs. */
    assert_int_equal(db_script(db, "UPDATE account SET is_active = 0 WHERE email = 'ada@example.com'"), OK);
    assert_int_equal(password_reset_begin(db, STR("ada@example.com"), NOW, &account, &token), OK);
    assert_int_equal(token.len, 0);
    assert_false(id_is(account));
    return OK;
}

static enum err mails(struct db *db)
{
    stock(db);
    mail_enable(false);
    struct mail_draft draft;
    assert_int_equal(mail_begin(db, ada, MAIL_verify, &draft), OK);
    assert_int_equal(mail_queue(db, &draft, NOW), OK);
    assert_int_equal(number(db, "SELECT COUNT(*) FROM outbox"), 0);
    mail_enable(true);
    mail_set_base_url("https://shop.example");
    struct payment p = buy(db, editor);
    struct payment_event e = event_of(db, &p, EVENT_SUCCEEDED);
    receive(db, &e);
    struct outbox_item *items;
    size_t count;
    assert_int_equal(outbox_claim(db, NOW, 1000, 10, &items, &count), OK);
    assert_int_equal(count, 1);
    struct queued_mail m;
    assert_true(queued_mail_unpack(items[0].payload, &m));
    assert_true(str_eq(m.to, STR("ada@example.com")));
    struct order o;
    assert_int_equal(order_find(db, ada, p.order_id, &o), OK);
    Str list = m.values.of[PARAM_items], value = o.items[0].deliveries[0].value;
    assert_int_equal(m.kind, MAIL_order);
    assert_non_null(memmem(list.ptr, list.len, value.ptr, value.len));
    assert_int_equal(number(db, "SELECT COUNT(*) FROM outbox WHERE payload IS NOT NULL"), 1);
    /* Another address: the link goes there, a notice to the present one. */
    assert_int_equal(mail_email_change(db, ada, STR("new@example.com"), STR("https://shop.example/x"), 3, NOW), OK);
    assert_int_equal(outbox_claim(db, NOW, 1000, 10, &items, &count), OK);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        assert_true(queued_mail_unpack(items[i].payload, &m));
        bool is_link = m.kind == MAIL_email_change;
        assert_true(str_eq(m.to, str_from(is_link ? "new@example.com" : "ada@example.com")));
        assert_true(str_eq(m.values.of[PARAM_link], str_from(is_link ? "https://shop.example/x" : "")));
        assert_true(str_eq(m.values.of[PARAM_new_address], str_from("new@example.com")));
    }
    assert_int_equal(mail_email_changed(db, ada, STR("old@example.com"), NOW), OK);
    assert_int_equal(outbox_claim(db, NOW, 1000, 10, &items, &count), OK);
    assert_int_equal(count, 1);
    assert_true(queued_mail_unpack(items[0].payload, &m));
    assert_true(str_eq(m.to, str_from("old@example.com")));
    /* A notice goes to proved addresses alone. */
    for (int is_proved = 0; is_proved < 2; is_proved++) {
        assert_int_equal(db_script(db, is_proved
                                           ? "UPDATE account SET is_unproven = 0 WHERE email = 'ada@example.com'"
                                           : "UPDATE account SET is_unproven = 1 WHERE email = 'ada@example.com'"),
                         OK);
        assert_int_equal(mail_notice(db, ada, MAIL_password_changed, NOW), OK);
        assert_int_equal(outbox_claim(db, NOW, 1000, 10, &items, &count), OK);
        assert_int_equal(count, is_proved);
    }
    assert_true(queued_mail_unpack(items[0].payload, &m));
    assert_true(str_eq(m.values.of[PARAM_link], STR("https://shop.example/forgot")));
    mail_enable(false);
    return OK;
}

/* What a customer can do again and again for nothing writes few mails in an hour, and short ones. */
static enum err few_mails(struct db *db)
{
    enum { MANY = 14 };
    const char *mails_now = "SELECT COUNT(*) FROM outbox";
    struct ticket t;
    struct ticket_unknown unknown;
    struct withdrawal w;
    struct outbox_item *items;
    size_t count;
    struct queued_mail m;
    stock(db);
    struct department sales;
    assert_int_equal(department_create(db, STR("Sales"), true, &sales), OK);
    assert_int_equal(settings_set(db, "staff_mail", STR("desk@example.com")), OK);
    mail_enable(true);
    mail_set_base_url("https://shop.example");

    char *longest = arena_alloc(db_arena(db), 30001);
    for (int i = 0; i < 30000; i += 3) memcpy(longest + i, "\xe2\x82\xac", 3);
    const struct ticket want = {.account = ada, .department_id = sales.id, .subject = STR("s")};
    for (int i = 0; i < MANY; i++)
        assert_int_equal(ticket_create(db, &want, (Str){longest, 30000}, NOW, &t, &unknown), OK);
    assert_int_equal(number(db, mails_now), 10);
    assert_int_equal(outbox_claim(db, NOW, 1000, 20, &items, &count), OK);
    assert_true(queued_mail_unpack(items[0].payload, &m));
    Str message = m.values.of[PARAM_message];
    assert_true(message.len > 7900 && message.len <= 8010 && utf8_valid(message));
    Time later = time_add(NOW, TIME_HOUR + 1);
    assert_int_equal(ticket_create(db, &want, STR("m"), later, &t, &unknown), OK);
    assert_int_equal(number(db, mails_now), 11);

    const struct transfer gift = {
        .kind = LEDGER_ADJUSTMENT, .amount = {100000}, .description = STR("Gift"), .at = later};
    assert_int_equal(ledger_credit(db, ada, LEDGER_ADJUSTMENTS, &gift), OK);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(withdrawal_request(db, ada, (Money){100}, STR(""), later, &w), OK);
        assert_int_equal(withdrawal_cancel(db, w.id, ada, later, &w), OK);
    }
    assert_int_equal(number(db, mails_now), 31);
    later = time_add(later, TIME_HOUR + 1);
    assert_int_equal(withdrawal_request(db, ada, (Money){100}, STR(""), later, &w), OK);
    assert_int_equal(number(db, mails_now), 32);
    mail_enable(false);
    return OK;
}

TEST(outbox)
TEST(desk)
TEST(resets)
TEST(mails)
TEST(few_mails)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_outbox), ON_BOTH(test_desk), ON_BOTH(test_resets), ON_BOTH(test_mails), ON_BOTH(test_few_mails),
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
