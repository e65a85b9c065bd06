/* Tickets and departments: who may, what follows, in which order. On both engines. */
#include "store.h"

#include "domain/department.h"
#include "domain/notification.h"
#include "domain/ticket.h"

static const Id nothing = {0}, unknown = {999};

static Id department(struct db *db, const char *name, bool is_active)
{
    struct department d;
    assert_int_equal(department_create(db, str_from(name), is_active, &d), OK);
    assert_true(id_is(d.id) && str_eq(d.name, str_from(name)) && d.is_active == is_active);
    return d.id;
}

static struct ticket ticket(struct db *db, Id account, Id dep, const char *subject, int64_t at)
{
    struct ticket t;
    struct ticket_unknown unknown_ids;
    struct ticket want = {.account = account, .department_id = dep, .subject = str_from(subject)};
    assert_int_equal(ticket_create(db, &want, STR("help"), (Time){at}, &t, &unknown_ids), OK);
    return t;
}

static struct ticket find(struct db *db, Id id)
{
    struct ticket t;
    assert_int_equal(ticket_find(db, id, nothing, &t), OK);
    return t;
}

static enum err departments(struct db *db)
{
    struct department d, *items;
    size_t count;
    Id sales = department(db, "Sales", true), billing = department(db, "Billing", true);
    Id old = department(db, "Old", false);
    assert_int_equal(department_create(db, STR("Sales"), true, &d), ERR_NAME_TAKEN);

    assert_int_equal(department_list(db, true, &items, &count), OK);
    assert_true(count == 2 && id_eq(items[0].id, billing) && id_eq(items[1].id, sales));
    assert_int_equal(department_list(db, false, &items, &count), OK);
    assert_int_equal(count, 3);

    d = (struct department){sales, STR("Billing"), true};
    assert_int_equal(department_update(db, &d), ERR_NAME_TAKEN);
    d = (struct department){unknown, STR("New"), true};
    assert_int_equal(department_update(db, &d), ERR_NOT_FOUND);
    d = (struct department){sales, STR("Sales"), false};
    assert_int_equal(department_update(db, &d), OK); /* its own name is not taken */
    assert_int_equal(department_find(db, sales, &d), OK);
    assert_false(d.is_active);

    ticket(db, ada, billing, "a", 1);
    assert_int_equal(department_delete(db, billing), ERR_INVALID_STATE);
    assert_int_equal(department_delete(db, old), OK);
    assert_int_equal(department_delete(db, old), ERR_NOT_FOUND);
    assert_int_equal(department_find(db, old, &d), ERR_NOT_FOUND);
    assert_true(department(db, "Old", true).v > old.v); /* a number is never given twice */
    return OK;
}

static void test_departments(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, departments), OK);
}

/* More than the list's first step. */
static enum err many_departments(struct db *db)
{
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "D%02d", i);
        department(db, name, i % 2 == 0);
    }
    struct department *items;
    size_t count;
    assert_int_equal(department_list(db, false, &items, &count), OK);
    assert_int_equal(count, 50);
    assert_true(str_eq(items[0].name, STR("D00")) && str_eq(items[49].name, STR("D49")));
    assert_int_equal(department_list(db, true, &items, &count), OK);
    assert_int_equal(count, 25);
    return OK;
}

static void test_many_departments(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, many_departments), OK);
}

static enum err conversation(struct db *db)
{
    Id sales = department(db, "Sales", true), closed = department(db, "Closed", false);
    struct ticket t;
    struct ticket_unknown u;
    struct ticket want = {.account = ada, .department_id = closed, .subject = STR("s")};
    assert_int_equal(ticket_create(db, &want, STR("m"), (Time){1}, &t, &u), ERR_FIELD_NOT_FOUND);
    assert_true(u.department && !u.order && !u.license);
    want = (struct ticket){
        .account = ada, .department_id = unknown, .subject = STR("s"), .order_id = unknown, .license_id = unknown};
    assert_int_equal(ticket_create(db, &want, STR("m"), (Time){1}, &t, &u), ERR_FIELD_NOT_FOUND);
    assert_true(u.department && u.order && u.license);

    t = ticket(db, ada, sales, "Where is it?", 10);
    assert_true(t.status == TICKET_OPEN && str_eq(t.department, STR("Sales")) && t.last_reply_at.ms == 10);
    assert_int_equal(ticket_find(db, t.id, bob, &t), ERR_NOT_FOUND);
    assert_int_equal(ticket_find(db, unknown, nothing, &t), ERR_NOT_FOUND);
    assert_int_equal(ticket_find(db, t.id, ada, &t), OK);
    Id id = t.id;

    struct ticket_message m;
    assert_int_equal(ticket_reply(db, id, bob, STR("mine?"), (Time){20}, &m), ERR_NOT_FOUND);
    assert_int_equal(ticket_reply(db, unknown, ada, STR("?"), (Time){20}, &m), ERR_NOT_FOUND);
    assert_int_equal(ticket_reply_staff(db, unknown, staff, STR("?"), (Time){20}, &m), ERR_NOT_FOUND);

    assert_int_equal(ticket_reply_staff(db, id, staff, STR("On its way"), (Time){30}, &m), OK);
    assert_true(m.by_staff && str_eq(m.author_name, STR("Support")) && str_eq(m.body, STR("On its way")));
    assert_true(find(db, id).status == TICKET_ANSWERED && find(db, id).last_reply_at.ms == 30);

    struct notification *told;
    size_t count;
    assert_int_equal(notification_list(db, ada, nothing, 10, &told, &count), OK);
    assert_true(count == 1 && str_eq(told[0].kind, STR("ticket_answered")) && id_eq(told[0].reference, id));
    assert_true(str_eq(told[0].message, STR("Your ticket “Where is it?” was answered.")));

    assert_int_equal(ticket_reply(db, id, ada, STR("Thanks"), (Time){25}, &m), OK); /* a clock that lies behind */
    assert_true(!m.by_staff && str_eq(m.author_name, STR("Ada")) && m.created_at.ms == 30);
    assert_true(find(db, id).status == TICKET_OPEN && find(db, id).last_reply_at.ms == 30);

    assert_int_equal(ticket_close(db, id, bob, time_now(), &t), ERR_NOT_FOUND);
    assert_true(find(db, id).status == TICKET_OPEN);
    assert_int_equal(ticket_close(db, id, ada, time_now(), &t), OK);
    assert_true(t.status == TICKET_CLOSED && t.last_reply_at.ms == 30);
    assert_int_equal(ticket_close(db, id, ada, time_now(), &t), OK);
    assert_true(t.status == TICKET_CLOSED);
    assert_int_equal(ticket_reply(db, id, ada, STR("Again"), (Time){40}, &m), OK);
    assert_true(find(db, id).status == TICKET_OPEN);

    struct ticket_message *items;
    assert_int_equal(ticket_messages(db, id, nothing, 100, &items, &count), OK);
    assert_int_equal(count, 4);
    static const char *const bodies[] = {"help", "On its way", "Thanks", "Again"};
    for (size_t i = 0; i < 4; i++) assert_true(str_eq(items[i].body, str_from(bodies[i])));
    assert_int_equal(ticket_messages(db, id, items[3].id, 2, &items, &count), OK);
    assert_true(count == 2 && str_eq(items[0].body, STR("On its way")) && str_eq(items[1].body, STR("Thanks")));
    assert_int_equal(ticket_messages(db, id, items[0].id, 2, &items, &count), OK);
    assert_true(count == 1 && str_eq(items[0].body, STR("help")));

    t = ticket(db, bob, sales, "No name", 50);
    assert_int_equal(ticket_messages(db, t.id, nothing, 100, &items, &count), OK);
    assert_true(count == 1 && str_eq(items[0].author_name, STR("bob@example.com")));
    assert_int_equal(notification_list(db, bob, nothing, 10, &told, &count), OK);
    assert_int_equal(count, 0);
    return OK;
}

static void test_conversation(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, conversation), OK);
}

static enum err by_staff(struct db *db)
{
    Id sales = department(db, "Sales", true), closed = department(db, "Closed", false);
    struct ticket t = ticket(db, ada, sales, "a", 10);
    assert_int_equal(ticket_move(db, t.id, unknown, &t), ERR_FIELD_NOT_FOUND);
    assert_int_equal(ticket_move(db, unknown, closed, &t), ERR_NOT_FOUND);
    assert_int_equal(ticket_move(db, t.id, closed, &t), OK);
    assert_true(id_eq(t.department_id, closed) && str_eq(t.department, STR("Closed")) && t.last_reply_at.ms == 10);
    for (enum ticket_status s = TICKET_OPEN; s <= TICKET_CLOSED; s++) {
        assert_int_equal(ticket_set_status(db, t.id, s, time_now(), &t), OK);
        assert_true(t.status == s && t.last_reply_at.ms == 10);
    }
    assert_int_equal(ticket_set_status(db, unknown, TICKET_OPEN, time_now(), &t), ERR_NOT_FOUND);
    struct ticket_message m;
    assert_int_equal(ticket_reply_staff(db, t.id, staff, STR("still here"), (Time){11}, &m), OK);
    assert_int_equal(find(db, t.id).status, TICKET_ANSWERED);
    return OK;
}

static void test_by_staff(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, by_staff), OK);
}

/* Walks a list in pages of `step`; gives how many tickets came, each behind the one before. */
static size_t walk(struct db *db, Id account, int status, Id dep, int64_t step)
{
    struct ticket_page page = {.limit = step};
    struct ticket *items;
    size_t count, seen = 0;
    for (;;) {
        if (id_is(account))
            assert_int_equal(ticket_list_account(db, account, &page, &items, &count), OK);
        else
            assert_int_equal(ticket_list_all(db, status, dep, &page, &items, &count), OK);
        for (size_t i = 0; i < count; i++) {
            if (id_is(account)) assert_true(id_eq(items[i].account, account));
            if (status >= 0) assert_true((int)items[i].status == status);
            if (id_is(dep)) assert_true(id_eq(items[i].department_id, dep));
            if (id_is(page.after_id))
                assert_true(items[i].last_reply_at.ms < page.after.ms ||
                            (items[i].last_reply_at.ms == page.after.ms && items[i].id.v < page.after_id.v));
            page.after = items[i].last_reply_at;
            page.after_id = items[i].id;
        }
        seen += count;
        if (count < (size_t)step) return seen;
    }
}

static enum err lists(struct db *db)
{
    Id sales = department(db, "Sales", true), billing = department(db, "Billing", true);
    struct ticket t;
    for (int i = 0; i < 30; i++) {
        t = ticket(db, i % 3 == 0 ? bob : ada, i % 2 == 0 ? sales : billing, "t", 100 + i / 4); /* many at one time */
        if (i % 5 == 0) assert_int_equal(ticket_set_status(db, t.id, TICKET_CLOSED, time_now(), &t), OK);
    }
    for (int64_t step = 1; step <= 31; step += 5) {
        assert_int_equal(walk(db, ada, -1, nothing, step), 20);
        assert_int_equal(walk(db, bob, -1, nothing, step), 10);
        assert_int_equal(walk(db, nothing, -1, nothing, step), 30);
        assert_int_equal(walk(db, nothing, TICKET_OPEN, nothing, step), 24);
        assert_int_equal(walk(db, nothing, -1, sales, step), 15);
        assert_int_equal(walk(db, nothing, TICKET_CLOSED, billing, step), 3);
        assert_int_equal(walk(db, nothing, TICKET_ANSWERED, billing, step), 0);
    }
    /* Newest activity first: a reply brings the oldest to the front. */
    struct ticket_page page = {.limit = 100};
    struct ticket *items;
    size_t count;
    assert_int_equal(ticket_list_account(db, ada, &page, &items, &count), OK);
    Id oldest = items[count - 1].id;
    struct ticket_message m;
    assert_int_equal(ticket_reply(db, oldest, ada, STR("hello?"), (Time){500}, &m), OK);
    assert_int_equal(ticket_list_account(db, ada, &page, &items, &count), OK);
    assert_true(id_eq(items[0].id, oldest) && items[0].last_reply_at.ms == 500 && items[0].created_at.ms == 100);
    return OK;
}

static void test_lists(void **state)
{
    (void)state;
    assert_int_equal(store_tx(TX_WRITE, lists), OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_departments), ON_BOTH(test_many_departments), ON_BOTH(test_conversation), ON_BOTH(test_by_staff),
        ON_BOTH(test_lists),
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
