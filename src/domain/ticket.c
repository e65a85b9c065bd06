/* domain/ticket.c - see ticket.h. */
#include "domain/ticket.h"

#include "db/rows.h"
#include "domain/account.h"
#include "domain/addressee.h"
#include "domain/department.h"
#include "domain/event.h"
#include "domain/license.h"
#include "domain/mail.h"
#include "domain/notification.h"
#include "domain/order.h"
#include "page/words.h"

#define STAFF_MAILS_AN_HOUR 10 /* about tickets of one customer */
#define STAFF_MAIL_BYTES 8000

#include <assert.h>

const char *const ticket_status_names[] = {"open", "answered", "closed", NULL};
static const char *const author_names[] = {"customer", "staff", NULL}; /* by_staff: false, true */

/* A ticket is always read together with the name of its department. */
#define SELECT_TICKET                                                                                                  \
    "SELECT t.id, t.account_id, t.department_id, t.subject, t.order_id, t.license_id, d.name, t.status, t.created_at," \
    " t.last_reply_at FROM ticket t JOIN department d ON d.id = t.department_id"

static void read_ticket(struct stmt *st, struct ticket *t)
{
    t->id = col_id(st);
    t->account = col_id(st);
    t->department_id = col_id(st);
    t->subject = col_text(st);
    t->order_id = col_id(st);
    t->license_id = col_id(st);
    t->department = col_text(st);
    t->status = col_choice(st, ticket_status_names);
    t->created_at = col_time(st);
    t->last_reply_at = col_time(st);
}
DB_READER(read_ticket);

enum err ticket_find(struct db *db, Id id, Id account, struct ticket *ret)
{
    static const char find[] = SELECT_TICKET " WHERE t.id = $1";

    struct ticket t = {0};
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    bool found = db_step(st);
    if (found) read_ticket(st, &t);
    enum err e = db_done(st);
    if (e) return e;
    if (!found || (id_is(account) && !id_eq(t.account, account))) return ERR_NOT_FOUND;
    *ret = t;
    return OK;
}

/* Binds the page (the last three parameters) and reads the list. */
static enum err read_list(struct stmt *st, const struct ticket_page *page, struct ticket **ret, size_t *ret_count)
{
    assert(page->limit > 0);
    bind_time(st, id_is(page->after_id) ? page->after : (Time){INT64_MAX});
    bind_id(st, id_is(page->after_id) ? page->after_id : (Id){ID_MAX});
    bind_int(st, page->limit);
    return db_rows(st, read_ticket, page->limit, ret, ret_count);
}

enum err ticket_list_account(struct db *db, Id account, const struct ticket_page *page, struct ticket **ret,
                             size_t *ret_count)
{
    struct stmt *st = db_prepare(db, DB_PAGE_2(db, SELECT_TICKET, "t.account_id", "t.last_reply_at", "t.id"));
    bind_id(st, account);
    return read_list(st, page, ret, ret_count);
}

enum err ticket_list_all(struct db *db, int status, Id department, const struct ticket_page *page, struct ticket **ret,
                         size_t *ret_count)
{
    /* One text for each pair of filters, so that each walks one index. */
    static const char any[] = SELECT_TICKET " WHERE (t.last_reply_at, t.id) < ($1, $2)"
                                            " ORDER BY t.last_reply_at DESC, t.id DESC LIMIT $3";
    static const char both[] =
        SELECT_TICKET " WHERE t.status = $1 AND t.department_id = $2 AND (t.last_reply_at, t.id) < ($3, $4)"
                      " ORDER BY t.last_reply_at DESC, t.id DESC LIMIT $5";
    const char *by_status = DB_PAGE_2(db, SELECT_TICKET, "t.status", "t.last_reply_at", "t.id");
    const char *by_department = DB_PAGE_2(db, SELECT_TICKET, "t.department_id", "t.last_reply_at", "t.id");
    const char *texts[2][2] = {{any, by_department}, {by_status, both}};

    struct stmt *st = db_prepare(db, texts[status >= 0][id_is(department)]);
    if (status >= 0) bind_choice(st, ticket_status_names, (unsigned)status);
    if (id_is(department)) bind_id(st, department);
    return read_list(st, page, ret, ret_count);
}

#define SELECT_MESSAGE                                                                                                 \
    "SELECT m.id, m.author, a.name, a.email, m.body, m.created_at"                                                     \
    " FROM ticket_message m JOIN account a ON a.id = m.author_id"

static struct ticket_message read_message(struct stmt *st)
{
    struct ticket_message m;
    m.id = col_id(st);
    m.by_staff = col_choice(st, author_names) == 1;
    Str name = col_text(st), email = col_text(st);
    m.author_name = name.len > 0 ? name : m.by_staff ? STR("Support") : email;
    m.body = col_text(st);
    m.created_at = col_time(st);
    return m;
}

enum err ticket_messages(struct db *db, Id id, Id before, int64_t limit, struct ticket_message **ret, size_t *ret_count)
{
    assert(limit > 0);
    struct ticket_message *items = arena_array(db_arena(db), struct ticket_message, (size_t)limit);
    size_t count = 0;
    struct stmt *st = db_prepare(db, DB_PAGE(db, SELECT_MESSAGE, "m.ticket_id", "m.id"));
    bind_id(st, id);
    bind_id(st, id_is(before) ? before : (Id){ID_MAX});
    bind_int(st, limit);
    size_t bytes = 0;
    while (bytes <= TICKET_PAGE_BYTES && db_step(st)) {
        items[count] = read_message(st);
        bytes += items[count].body.len;
        if (bytes <= TICKET_PAGE_BYTES || !count) count++;
    }
    enum err e = db_done(st);
    if (e) return e;
    for (size_t i = 0; i < count / 2; i++) {
        struct ticket_message swap = items[i];
        items[i] = items[count - 1 - i];
        items[count - 1 - i] = swap;
    }
    *ret = items;
    *ret_count = count;
    return OK;
}

static Id add_message(struct db *db, Id ticket, bool by_staff, Id author, Str body, Time at)
{
    static const char insert[] = "INSERT INTO ticket_message (ticket_id, author, author_id, body, created_at)"
                                 " VALUES ($1, $2, $3, $4, $5) RETURNING id";

    struct stmt *st = db_prepare(db, insert);
    bind_id(st, ticket);
    bind_choice(st, author_names, by_staff);
    bind_id(st, author);
    bind_text(st, body);
    bind_time(st, at);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    db_done(st);
    return id;
}

/* Every ticket is a mail to everybody who works here: of one customer's there are few in an hour. */
static enum err staff_know(struct db *db, Id account, Time now, bool *ret)
{
    static const char count[] = "SELECT COUNT(*) FROM (SELECT 1 FROM ticket WHERE account_id = $1"
                                " AND last_reply_at > $2 AND created_at > $2 LIMIT 11) AS t";

    struct stmt *st = db_prepare(db, count);
    bind_id(st, account);
    bind_time(st, time_add(now, -TIME_HOUR));
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) *ret = n > STAFF_MAILS_AN_HOUR;
    return e;
}

/* The beginning of a long message: the rest is in the panel. */
static Str for_mail(struct db *db, Str message)
{
    if (message.len <= STAFF_MAIL_BYTES) return message;
    size_t n = STAFF_MAIL_BYTES;
    while (((unsigned char)message.ptr[n] & 0xc0) == 0x80) n--;
    return str_printf(db_arena(db), "%.*s …", (int)n, message.ptr);
}

static enum err mail_staff(struct db *db, Id ticket, Id account, Str subject, Str message, Time now)
{
    struct mail_draft m;
    struct account customer;
    bool is_enough;
    if (!mail_is_enabled()) return OK;
    enum err e = staff_know(db, account, now, &is_enough);
    if (e || is_enough) return e;
    e = account_find(db, account, &customer);
    if (!e) e = mail_begin_staff(db, MAIL_staff_ticket, &m);
    if (e) return e;
    m.values.of[PARAM_number] = mail_number(&m, ticket);
    m.values.of[PARAM_subject] = subject;
    m.values.of[PARAM_message] = for_mail(db, message);
    m.values.of[PARAM_customer] = customer.email;
    m.values.of[PARAM_link] = mail_address(&m, "/admin/#/tickets/%lld", (long long)ticket.v);
    return mail_queue(db, &m, now);
}

static enum err mail_answer(struct db *db, Id ticket, Id account, Str subject, Str answer, Time now)
{
    struct mail_draft m;
    if (!mail_is_enabled()) return OK;
    enum err e = mail_begin(db, account, MAIL_ticket_answered, &m);
    if (e) return e;
    m.values.of[PARAM_number] = mail_number(&m, ticket);
    m.values.of[PARAM_subject] = subject;
    m.values.of[PARAM_answer] = answer;
    m.values.of[PARAM_link] = mail_address(&m, "/account/tickets/%lld", (long long)ticket.v);
    return mail_queue(db, &m, now);
}

/* Orders and licences of somebody else are not there. A licence without an order named beside it names its own. */
static enum err check_about(struct db *db, Id account, Id *order, Id license, struct ticket_unknown *ret)
{
    struct license l;
    struct order o;
    enum err e = id_is(license) ? license_find(db, license, &l) : OK;
    if (e && e != ERR_NOT_FOUND) return e;
    ret->license = e == ERR_NOT_FOUND || (id_is(license) && !id_eq(l.account_id, account));
    if (id_is(license) && !ret->license && !id_is(*order)) *order = l.order_id;
    e = id_is(*order) ? order_find(db, account, *order, &o) : OK;
    if (e && e != ERR_NOT_FOUND) return e;
    ret->order = e == ERR_NOT_FOUND;
    return OK;
}

static enum err check_department(struct db *db, Id department, struct department *d, struct ticket_unknown *ret)
{
    enum err e = department_find(db, department, d);
    if (e && e != ERR_NOT_FOUND) return e;
    ret->department = e == ERR_NOT_FOUND || !d->is_active;
    return OK;
}

static bool is_unknown(const struct ticket_unknown *u)
{
    return u->department || u->order || u->license;
}

enum err ticket_create(struct db *db, const struct ticket *want, Str message, Time now, struct ticket *ret,
                       struct ticket_unknown *ret_unknown)
{
    static const char insert[] = "INSERT INTO ticket (account_id, department_id, subject, order_id, license_id,"
                                 " created_at, last_reply_at) VALUES ($1, $2, $3, $4, $5, $6, $6) RETURNING id";

    struct department d = {0};
    struct ticket t = *want;
    *ret_unknown = (struct ticket_unknown){0};
    enum err e = check_department(db, t.department_id, &d, ret_unknown);
    if (!e) e = check_about(db, t.account, &t.order_id, t.license_id, ret_unknown);
    if (e) return e;
    if (is_unknown(ret_unknown)) return ERR_FIELD_NOT_FOUND;

    struct stmt *st = db_prepare(db, insert);
    bind_id(st, t.account);
    bind_id(st, t.department_id);
    bind_text(st, t.subject);
    bind_id(st, t.order_id);
    bind_id(st, t.license_id);
    bind_time(st, now);
    t.id = db_step(st) ? col_id(st) : (Id){0};
    e = db_done(st);
    if (e) return e;
    add_message(db, t.id, false, t.account, message, now);
    e = db_err(db);
    if (!e) e = event_add(db, EVENT_TICKET_CREATED, t.id, now);
    if (!e) e = mail_staff(db, t.id, t.account, t.subject, message, now);
    if (e) return e;
    t.status = TICKET_OPEN;
    t.department = d.name;
    t.created_at = t.last_reply_at = now;
    *ret = t;
    return OK;
}

/* The ticket's row was locked and its time set to `at` by the caller. */
static enum err finish_reply(struct db *db, Id ticket, bool by_staff, Id author, Str body, Time at,
                             struct ticket_message *ret)
{
    static const char find[] = SELECT_MESSAGE " WHERE m.id = $1";

    struct ticket_message m = {0};
    Id id = add_message(db, ticket, by_staff, author, body, at);
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    if (db_step(st)) m = read_message(st);
    enum err e = db_done(st);
    if (!e) e = event_add(db, EVENT_TICKET_REPLIED, ticket, at);
    if (e) return e;
    *ret = m;
    return OK;
}

/* A reply is never older than the one before, whatever the clocks of two requests say. */
#define SET_REPLIED(status)                                                                                            \
    "UPDATE ticket SET status = '" status "', last_reply_at = CASE WHEN last_reply_at > $2 THEN last_reply_at"         \
    " ELSE $2 END WHERE id = $1"

enum err ticket_reply(struct db *db, Id id, Id account, Str message, Time now, struct ticket_message *ret)
{
    static const char update[] = SET_REPLIED("open") " AND account_id = $3 RETURNING last_reply_at";

    struct stmt *st = db_prepare(db, update);
    bind_id(st, id);
    bind_time(st, now);
    bind_id(st, account);
    bool found = db_step(st);
    Time at = found ? col_time(st) : now;
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    return finish_reply(db, id, false, account, message, at, ret);
}

enum err ticket_reply_staff(struct db *db, Id id, Id staff, Str message, Time now, struct ticket_message *ret)
{
    static const char update[] = SET_REPLIED("answered") " RETURNING last_reply_at, account_id, subject";

    struct stmt *st = db_prepare(db, update);
    bind_id(st, id);
    bind_time(st, now);
    bool found = db_step(st);
    Time at = found ? col_time(st) : now;
    Id customer = found ? col_id(st) : (Id){0};
    Str subject = found ? col_text(st) : (Str){0};
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;

    const struct notification n = {.kind = STR("ticket_answered"), .reference = id};
    struct page p;
    e = addressee_of_account(db, customer, &p);
    if (!e) e = notification_say(db, customer, &n, &p, WORD_news_ticket_answered, SAYING(subject), now);
    if (!e) e = mail_answer(db, id, customer, subject, message, now);
    if (e) return e;
    return finish_reply(db, id, true, staff, message, at, ret);
}

enum err ticket_close(struct db *db, Id id, Id account, Time now, struct ticket *ret)
{
    struct ticket t;
    enum err e = ticket_find(db, id, account, &t);
    if (e) return e;
    return ticket_set_status(db, id, TICKET_CLOSED, now, ret);
}

enum err ticket_lock(struct db *db, Id id, struct ticket *ret)
{
    static const char lock[] = "UPDATE ticket SET status = status WHERE id = $1";

    struct stmt *st = db_prepare(db, lock);
    bind_id(st, id);
    enum err e = db_run(st);
    return e ? e : ticket_find(db, id, (Id){0}, ret);
}

enum err ticket_set_status(struct db *db, Id id, enum ticket_status status, Time now, struct ticket *ret)
{
    static const char update[] = "UPDATE ticket SET status = $2 WHERE id = $1 AND status <> $2 RETURNING id";

    struct stmt *st = db_prepare(db, update);
    bind_id(st, id);
    bind_choice(st, ticket_status_names, status);
    bool changed = db_step(st);
    enum err e = db_done(st);
    if (!e && changed && status == TICKET_CLOSED) e = event_add(db, EVENT_TICKET_CLOSED, id, now);
    if (e) return e;
    return ticket_find(db, id, (Id){0}, ret);
}

enum err ticket_move(struct db *db, Id id, Id department, struct ticket *ret)
{
    static const char update[] = "UPDATE ticket SET department_id = $2 WHERE id = $1";

    struct department d;
    enum err e = department_find(db, department, &d);
    if (e == ERR_NOT_FOUND) return ERR_FIELD_NOT_FOUND;
    if (e) return e;
    struct stmt *st = db_prepare(db, update);
    bind_id(st, id);
    bind_id(st, department);
    e = db_run(st);
    if (e) return e;
    return ticket_find(db, id, (Id){0}, ret);
}

enum err ticket_set_about(struct db *db, Id id, Id order, Id license, struct ticket *ret,
                          struct ticket_unknown *ret_unknown)
{
    static const char update[] = "UPDATE ticket SET order_id = $2, license_id = $3 WHERE id = $1";

    struct ticket t;
    *ret_unknown = (struct ticket_unknown){0};
    enum err e = ticket_find(db, id, (Id){0}, &t);
    if (!e) e = check_about(db, t.account, &order, license, ret_unknown);
    if (e) return e;
    if (is_unknown(ret_unknown)) return ERR_FIELD_NOT_FOUND;
    struct stmt *st = db_prepare(db, update);
    bind_id(st, id);
    bind_id(st, order);
    bind_id(st, license);
    e = db_run(st);
    return e ? e : ticket_find(db, id, (Id){0}, ret);
}
