/* api/admin/admin_ticket_help.c - what staff do about a ticket: free or extend a licence, replace a code, refund,
 * credit the wallet.
 *
 * Each action locks the ticket, does what the object's own route does (desk.h), and notes the change in the
 * conversation, in the customer's language, all in one transaction. An action that would change nothing is refused,
 * so that the conversation stays true and two people who press the same button do it once. */
#include "api/admin/desk.h"
#include "api/admin/ticket_desk.h"
#include "api/tables.h"
#include "domain/addressee.h"
#include "domain/order.h"
#include "domain/timeline.h"
#include "page/words.h"

#define NOTE_MAX 5000
#define NOTE_BYTES (NOTE_MAX * 12 + 16 * 1024)

struct help_body {
    Str message; /* from staff, after the note about the change */
    Id item_id;
    int64_t unit;
    Time expires_at;
    bool never;
    Money amount;
};
#define AT(member) offsetof(struct help_body, member)
#define MESSAGE_FIELD                                                                                                  \
    {                                                                                                                  \
        "message", FIELD_TEXT, OPTIONAL, AT(message), .max = NOTE_MAX                                                  \
    }

static const struct field note_fields[] = {MESSAGE_FIELD, {0}};
static const struct shape note_shape = {note_fields, sizeof(struct help_body)};
static const struct field extend_fields[] = {
    MESSAGE_FIELD,
    {"expires_at", FIELD_TIME, REQUIRED | NULLABLE, AT(expires_at), .is_null = AT(never)},
    {0},
};
static const struct shape extend_shape = {extend_fields, sizeof(struct help_body)};
static const struct field code_fields[] = {
    MESSAGE_FIELD,
    {"item_id", FIELD_ID, OPTIONAL, AT(item_id)},
    {"unit", FIELD_INT, OPTIONAL, AT(unit), .min = 1, .max = ORDER_UNITS_MAX},
    {0},
};
static const struct shape code_shape = {code_fields, sizeof(struct help_body)};
static const struct field refund_fields[] = {
    MESSAGE_FIELD,
    {"amount", FIELD_MONEY, OPTIONAL, AT(amount), .min = 1},
    {0},
};
static const struct shape refund_shape = {refund_fields, sizeof(struct help_body)};
static const struct field credit_fields[] = {
    MESSAGE_FIELD,
    {"amount", FIELD_MONEY, REQUIRED, AT(amount), .min = 1},
    {0},
};
static const struct shape credit_shape = {credit_fields, sizeof(struct help_body)};

/* How the customer reads what was done: their language, the store's currency. */
static enum err customer_page(struct request *req, struct page *ret)
{
    struct ticket t;
    enum err e = ticket_find(req->db, req->param_id, (Id){0}, &t);
    return e ? e : addressee_of_account(req->db, t.account, ret);
}

/* Writes what was done, followed by the message from staff. */
static enum err say(struct request *req, const char *action, enum word word, Str a, Str b)
{
    const struct help_body *in = req->body;
    struct page p;
    enum err e = customer_page(req, &p);
    if (e) return e;
    Str text = words_fill(&p, word, 0, (Str[]){a, b}, b.len ? 2 : 1);
    if (in->message.len) text = str_printf(req->arena, "%.*s\n\n%.*s", STR_FMT(text), STR_FMT(in->message));
    return ticket_answer(req, action, text);
}

/* The ticket, locked, and the licence that it names. */
static enum err licensed(struct request *req, struct license *ret)
{
    struct ticket t;
    enum err e = ticket_lock(req->db, req->param_id, &t);
    if (!e && !id_is(t.license_id)) e = ERR_INVALID_STATE;
    return e ? e : license_find(req->db, t.license_id, ret);
}

static enum err clear(struct request *req, Id id)
{
    return license_clear_hardware(req->db, id, req->now);
}

static enum err post_clear(struct request *req)
{
    struct license l;
    enum err e = licensed(req, &l);
    if (!e && !l.hardware_id.len) e = ERR_INVALID_STATE;
    if (!e) e = desk_license(req, l.id, "license.clear_hardware", clear, &l);
    return e ? e : say(req, "ticket.clear_hardware", WORD_did_clear, l.product_name, (Str){0});
}

static enum err extend(struct request *req, Id id)
{
    const struct help_body *in = req->body;
    return license_set_expiry(req->db, id, in->expires_at);
}

static enum err post_extend(struct request *req)
{
    const struct help_body *in = req->body;
    struct license l;
    struct page p;
    enum err e = licensed(req, &l);
    if (!e) e = customer_page(req, &p);
    if (!e && l.expires_at.ms == in->expires_at.ms) e = ERR_INVALID_STATE;
    if (!e) e = desk_license(req, l.id, "license.update", extend, &l);
    if (e) return e;
    if (in->never) return say(req, "ticket.extend", WORD_did_extend_forever, l.product_name, (Str){0});
    return say(req, "ticket.extend", WORD_did_extend, l.product_name, page_date(&p, l.expires_at));
}

static enum err replace_key(struct request *req, Id id)
{
    return license_replace_key(req->db, id, req->now);
}

/* Another key for the licence that the ticket names. */
static enum err replace_license(struct request *req, const struct ticket *t)
{
    struct license l;
    if (!id_is(t->license_id)) return ERR_INVALID_STATE;
    enum err e = desk_license(req, t->license_id, "license.replace_key", replace_key, &l);
    if (!e) e = timeline_order(req->db, l.order_id, TIMELINE_CODE_REPLACED, req->account, req->now);
    return e ? e : say(req, "ticket.replace_code", WORD_did_replace, l.product_name, (Str){0});
}

/* Another key or code for one unit of the order that the ticket names. */
static enum err replace_unit(struct request *req, const struct ticket *t)
{
    const struct help_body *in = req->body;
    struct order o;
    if (!id_is(t->order_id)) return ERR_INVALID_STATE;
    enum err e = order_find(req->db, (Id){0}, t->order_id, &o);
    if (!e) e = desk_is_others(req, o.account_id);
    if (e) return e;
    size_t i = 0;
    while (i < o.item_count && !id_eq(o.items[i].id, in->item_id)) i++;
    if (i == o.item_count) return request_bad_field(req, "item_id", ERR_FIELD_NOT_FOUND);
    e = delivery_replace(req->db, o.id, in->item_id, in->unit ? in->unit : 1, req->now);
    if (e == ERR_NOT_FOUND) return request_bad_field(req, "unit", ERR_FIELD_RANGE);
    if (!e) e = timeline_order(req->db, o.id, TIMELINE_CODE_REPLACED, req->account, req->now);
    return e ? e : say(req, "ticket.replace_code", WORD_did_replace, o.items[i].name, (Str){0});
}

static enum err post_replace(struct request *req)
{
    const struct help_body *in = req->body;
    struct ticket t;
    enum err e = ticket_lock(req->db, req->param_id, &t);
    if (e) return e;
    return id_is(in->item_id) ? replace_unit(req, &t) : replace_license(req, &t);
}

static enum err post_refund(struct request *req)
{
    const struct help_body *in = req->body;
    struct ticket t;
    struct refund r;
    struct page p;
    enum err e = ticket_lock(req->db, req->param_id, &t);
    if (!e) e = customer_page(req, &p);
    if (!e && !id_is(t.order_id)) e = ERR_INVALID_STATE;
    if (!e) e = desk_refund(req, t.order_id, in->amount, t.subject, &r);
    if (e) return e;
    req->message = desk_refund_said(&r);
    return say(req, "ticket.refund", WORD_did_refund, page_money(&p, r.amount), page_int(&p, t.order_id.v));
}

static enum err post_credit(struct request *req)
{
    const struct help_body *in = req->body;
    struct ticket t;
    struct page p;
    bool is_made = false;
    enum err e = ticket_lock(req->db, req->param_id, &t);
    if (!e) e = customer_page(req, &p);
    if (!e) e = desk_wallet(req, t.account, in->amount, t.subject, &is_made);
    if (e) return e;
    req->message = "The wallet was changed";
    if (is_made) return say(req, "ticket.credit", WORD_did_credit, page_money(&p, in->amount), (Str){0});
    req->message = "Somebody else has to approve this credit: it is made when they request the same one";
    return ticket_show(req);
}

#define HELP(path, shape, handler, more)                                                                               \
    {                                                                                                                  \
        "POST", "/api/admin/tickets/{id}/" path, SCOPE_ADMIN, TX_WRITE, &(shape), handler, IDEMPOTENT | (more),        \
            .body_bytes_max = NOTE_BYTES                                                                               \
    }

const struct route admin_ticket_help_routes[] = {
    HELP("clear-hardware", note_shape, post_clear, 0),    HELP("extend", extend_shape, post_extend, 0),
    HELP("replace-code", code_shape, post_replace, 0),    HELP("refund", refund_shape, post_refund, 0),
    HELP("credit", credit_shape, post_credit, CONFIRMED), {0},
};
