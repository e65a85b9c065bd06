/* api/shop/shop_tickets.c - asking for help: open, read, reply, close. */
#include "api/shop/account_sheet.h"
#include "api/tables.h"
#include "api/ticket_ids.h"
#include "domain/department.h"
#include "domain/license.h"
#include "page/words.h"
#include "serve/form.h"

#define SUBJECT_MAX 255
#define MESSAGE_MAX 20000
#define MESSAGES_SHOWN 100

struct ticket_form {
    Id department_id, order_id, license_id;
    Str subject, message;
};
static const struct field ticket_fields[] = {
    {"department_id", FIELD_ID, REQUIRED, offsetof(struct ticket_form, department_id)},
    {"order_id", FIELD_ID, OPTIONAL, offsetof(struct ticket_form, order_id)},
    {"license_id", FIELD_ID, OPTIONAL, offsetof(struct ticket_form, license_id)},
    {"subject", FIELD_LINE, REQUIRED, offsetof(struct ticket_form, subject), .min = 1, .max = SUBJECT_MAX},
    {"message", FIELD_TEXT, REQUIRED, offsetof(struct ticket_form, message), .min = 1, .max = MESSAGE_MAX},
    {0},
};
static const struct shape ticket_form = {ticket_fields, sizeof(struct ticket_form)};

/* Which of the customer's orders a question is about: from the address, or from the returned form. */
static enum err order_asked_about(struct request *req, const struct trouble *t, Id *ret)
{
    Str query = req->exchange->head.query, name, value = {0};
    int64_t id = 0;
    if (t->e)
        value = form_field(req, "order_id");
    else if (str_cut(query, '=', &name, &value) && !str_eq(name, STR("order_id")))
        value = (Str){0};
    struct order o;
    *ret = (Id){0};
    if (!str_to_int64(value, &id) || id < 1) return OK;
    enum err e = order_find(req->db, req->account, (Id){id}, &o);
    if (!e) *ret = o.id;
    return e == ERR_NOT_FOUND ? OK : e;
}

static enum err show_tickets(struct request *req, struct trouble *t)
{
    struct ticket *tickets;
    struct department *departments;
    size_t count, department_count;
    struct sheet s;
    Id order;
    const struct ticket_page first = {.limit = 100};
    enum err e = ticket_list_account(req->db, req->account, &first, &tickets, &count);
    if (!e) e = department_list(req->db, true, &departments, &department_count);
    if (!e) e = order_asked_about(req, t, &order);
    if (e) return e;
    account_sheet(req, &s, WORD_tickets);
    struct page_ticketrow *rows = arena_array(req->arena, struct page_ticketrow, count);
    for (size_t i = 0; i < count; i++) rows[i] = account_ticket_row(&tickets[i]);
    int64_t chosen = 0;
    if (t->e) str_to_int64(form_field(req, "department_id"), &chosen);
    struct page_choice *choices = arena_array(req->arena, struct page_choice, department_count);
    for (size_t i = 0; i < department_count; i++)
        choices[i] = (struct page_choice){
            .id = departments[i].id.v, .name = departments[i].name, .is_chosen = departments[i].id.v == chosen};
    page_write_tickets(&s.page, &(const struct page_tickets){
                                    .frame = s.frame,
                                    .tickets = {rows, count},
                                    .departments = {choices, department_count},
                                    .order_id = id_is(order) ? page_int(&s.page, order.v) : (Str){0},
                                    .order_number = order.v,
                                    .subject = form_field(req, "subject"),
                                    .message = form_field(req, "message"),
                                    .department_problem = trouble_field(&s, t, "department_id"),
                                    .subject_problem = trouble_field(&s, t, "subject"),
                                    .message_problem = trouble_field(&s, t, "message"),
                                    .problem = trouble_text(&s, t),
                                });
    sheet_send(req, &s);
    if (t->e) req->status = err_info(t->e)->status;
    return OK;
}
REQUEST_STEP(show_tickets);

static enum err get_tickets(struct request *req)
{
    return show_tickets(req, &(struct trouble){0});
}

static Str ticket_path(struct request *req, Id ticket)
{
    return str_printf(req->arena, "/account/tickets/%lld", (long long)ticket.v);
}

static enum err ticket_write(struct request *req, const struct ticket_form *in)
{
    struct ticket t, want = {.account = req->account,
                             .department_id = in->department_id,
                             .subject = in->subject,
                             .order_id = in->order_id,
                             .license_id = in->license_id};
    struct ticket_unknown unknown;
    enum err e = ticket_limit(req, in->message);
    if (!e) e = ticket_create(req->db, &want, in->message, req->now, &t, &unknown);
    if (e == ERR_FIELD_NOT_FOUND && (unknown.order || unknown.license)) return ERR_NOT_FOUND;
    if (e == ERR_FIELD_NOT_FOUND) return request_bad_field(req, "department_id", ERR_FIELD_VALUE);
    return e ? e : shop_go(req, ticket_path(req, t.id));
}
REQUEST_STEP(ticket_write);

static enum err post_ticket(struct request *req)
{
    void *in = NULL;
    enum err e = form_read(req, &ticket_form, &in);
    if (!e) e = request_step(req, TX_WRITE, ticket_write, in);
    if (!e || !shop_can_show(e)) return e;
    struct trouble t = trouble_of(req, e);
    return request_step(req, TX_READ, show_tickets, &t);
}

static enum err show_ticket(struct request *req, struct trouble *t)
{
    struct ticket ticket;
    struct ticket_message *messages;
    size_t count;
    struct sheet s;
    struct license license = {0};
    enum err e = ticket_find(req->db, req->param_id, req->account, &ticket);
    if (!e && id_is(ticket.license_id)) e = license_find(req->db, ticket.license_id, &license);
    if (!e) e = ticket_messages(req->db, ticket.id, (Id){0}, MESSAGES_SHOWN, &messages, &count);
    if (e) return e;
    account_sheet(req, &s, WORD_tickets);
    s.frame.title = ticket.subject;
    struct page_said *said = arena_array(req->arena, struct page_said, count);
    for (size_t i = 0; i < count; i++)
        said[i] = (struct page_said){.who = messages[i].by_staff ? messages[i].author_name
                                                                 : words_text(s.page.lang, WORD_you_wrote),
                                     .is_staff = messages[i].by_staff,
                                     .at = messages[i].created_at,
                                     .body = messages[i].body};
    page_write_ticket(&s.page, &(const struct page_ticket){
                                   .frame = s.frame,
                                   .id = ticket.id.v,
                                   .subject = ticket.subject,
                                   .department = ticket.department,
                                   .status = account_ticket_row(&ticket).status,
                                   .is_closed = ticket.status == TICKET_CLOSED,
                                   .order_number = ticket.order_id.v,
                                   .license_product = license.product_name,
                                   .license_key = license.key,
                                   .said = {said, count},
                                   .message = form_field(req, "message"),
                                   .message_problem = trouble_field(&s, t, "message"),
                               });
    sheet_send(req, &s);
    if (t->e) req->status = err_info(t->e)->status;
    return OK;
}
REQUEST_STEP(show_ticket);

static enum err get_ticket(struct request *req)
{
    return show_ticket(req, &(struct trouble){0});
}

struct reply_form {
    Str message;
};
static const struct field reply_fields[] = {
    {"message", FIELD_TEXT, REQUIRED, offsetof(struct reply_form, message), .min = 1, .max = MESSAGE_MAX},
    {0},
};
static const struct shape reply_form = {reply_fields, sizeof(struct reply_form)};

static enum err reply_write(struct request *req, const struct reply_form *in)
{
    struct ticket_message m;
    enum err e = ticket_limit(req, in->message);
    if (!e) e = ticket_reply(req->db, req->param_id, req->account, in->message, req->now, &m);
    return e ? e : shop_go(req, ticket_path(req, req->param_id));
}
REQUEST_STEP(reply_write);

static enum err post_reply(struct request *req)
{
    void *in = NULL;
    enum err e = form_read(req, &reply_form, &in);
    if (!e) e = request_step(req, TX_WRITE, reply_write, in);
    if (!e || !shop_can_show(e)) return e;
    struct trouble t = trouble_of(req, e);
    return request_step(req, TX_READ, show_ticket, &t);
}

static enum err post_close(struct request *req)
{
    struct ticket t;
    enum err e = ticket_close(req->db, req->param_id, req->account, req->now, &t);
    return e ? e : shop_go(req, ticket_path(req, req->param_id));
}

/* A message of MESSAGE_MAX characters, percent-encoded, and the rest of the form. */
#define TICKET_BYTES_MAX (MESSAGE_MAX * 12 + 16 * 1024)

const struct route shop_tickets_routes[] = {
    {"GET", "/account/tickets", SCOPE_NONE, TX_READ, NULL, get_tickets, SHOP_PAGE | LOGIN_FIRST},
    {"POST", "/account/tickets", SCOPE_NONE, TX_SELF, NULL, post_ticket, SHOP_FORM | LOGIN_FIRST,
     .body_bytes_max = TICKET_BYTES_MAX, .accepts = FORM_TYPE},
    {"GET", "/account/tickets/{id}", SCOPE_NONE, TX_READ, NULL, get_ticket, SHOP_PAGE | LOGIN_FIRST},
    {"POST", "/account/tickets/{id}/reply", SCOPE_NONE, TX_SELF, NULL, post_reply, SHOP_FORM | LOGIN_FIRST,
     .body_bytes_max = TICKET_BYTES_MAX, .accepts = FORM_TYPE},
    {"POST", "/account/tickets/{id}/close", SCOPE_NONE, TX_WRITE, NULL, post_close, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {0},
};
