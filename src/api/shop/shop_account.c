/* api/shop/shop_account.c - the account's first page, notifications, licences. */
#include "api/shop/account_sheet.h"
#include "api/tables.h"
#include "api/ticket_ids.h"
#include "domain/department.h"
#include "domain/ledger.h"
#include "domain/license.h"
#include "domain/notification.h"
#include "page/words.h"
#include "serve/form.h"

#define OVERVIEW_ROWS 5

/* ---- notifications ---- */

static Str link_of(struct request *req, const struct notification *n)
{
    const char *place = str_starts(n->kind, STR("order_"))    ? "/account/orders/"
                        : str_starts(n->kind, STR("ticket_")) ? "/account/tickets/"
                                                              : NULL;
    if (place && id_is(n->reference)) return str_printf(req->arena, "%s%lld", place, (long long)n->reference.v);
    if (str_starts(n->kind, STR("withdrawal_")) || str_starts(n->kind, STR("topup_"))) return STR("/account/wallet");
    return (Str){0};
}

static struct page_news_list news_of(struct request *req, const struct notification *items, size_t count)
{
    struct page_news *news = arena_array(req->arena, struct page_news, count);
    for (size_t i = 0; i < count; i++)
        news[i] = (struct page_news){.at = items[i].created_at,
                                     .text = items[i].message,
                                     .link = link_of(req, &items[i]),
                                     .is_new = !items[i].is_read};
    return (struct page_news_list){news, count};
}

static enum err get_notifications(struct request *req)
{
    struct notification *items;
    size_t count;
    struct sheet s;
    enum err e = notification_list(req->db, req->account, account_before(req), ACCOUNT_ROWS + 1, &items, &count);
    if (e) return e;
    account_sheet(req, &s, WORD_notifications);
    Str older = ACCOUNT_OLDER(req, "/account/notifications", items, count);
    bool has_new = false;
    for (size_t i = 0; i < count; i++) has_new |= !items[i].is_read;
    Str newest = has_new ? str_printf(req->arena, "%lld", (long long)items[0].id.v) : (Str){0};
    page_write_notifications(
        &s.page, &(const struct page_notifications){
                     .frame = s.frame, .news = news_of(req, items, count), .newest = newest, .older = older});
    sheet_send(req, &s);
    return OK;
}

struct read_form {
    Id up_to;
};
static const struct field read_fields[] = {
    {"up_to", FIELD_ID, REQUIRED, offsetof(struct read_form, up_to)},
    {0},
};
static const struct shape read_form = {read_fields, sizeof(struct read_form)};

static enum err post_read(struct request *req)
{
    void *in = NULL;
    int64_t marked;
    enum err e = form_read(req, &read_form, &in);
    if (!e) e = notification_mark_read(req->db, req->account, ((const struct read_form *)in)->up_to, &marked);
    return e ? e : shop_go(req, STR("/account/notifications"));
}

/* ---- overview ---- */

static enum err get_account(struct request *req)
{
    struct order *orders;
    struct ticket *tickets;
    struct notification *notes;
    struct wallet wallet;
    size_t order_count, ticket_count, note_count;
    struct sheet s;
    const struct ticket_page first = {.limit = OVERVIEW_ROWS};
    enum err e = order_list(req->db, req->account, (Id){0}, OVERVIEW_ROWS, &orders, &order_count);
    if (!e) e = wallet_find(req->db, req->account, &wallet);
    if (!e) e = ticket_list_account(req->db, req->account, &first, &tickets, &ticket_count);
    if (!e) e = notification_list_unread(req->db, req->account, OVERVIEW_ROWS, &notes, &note_count);
    if (e) return e;
    account_sheet(req, &s, WORD_account);
    struct page_ticketrow *open = arena_array(req->arena, struct page_ticketrow, ticket_count);
    size_t n = 0;
    for (size_t i = 0; i < ticket_count; i++)
        if (tickets[i].status != TICKET_CLOSED) open[n++] = account_ticket_row(&tickets[i]);
    page_write_account(&s.page, &(const struct page_account){.frame = s.frame,
                                                             .name = s.frame.who,
                                                             .orders = account_order_rows(req, orders, order_count),
                                                             .balance = wallet.balance,
                                                             .tickets = {open, n},
                                                             .news = news_of(req, notes, note_count)});
    sheet_send(req, &s);
    return OK;
}

/* ---- licences ---- */

static enum word license_word(struct request *req, const struct license *l)
{
    if (l->status == LICENSE_REFUNDED) return WORD_license_refunded;
    if (l->status == LICENSE_REVOKED || l->on_hold) return WORD_license_revoked;
    if (time_is(l->expires_at) && l->expires_at.ms <= req->now.ms) return WORD_license_expired;
    return WORD_license_active;
}

static enum err show_licenses(struct request *req, const struct trouble *t)
{
    struct license *items;
    size_t count;
    struct sheet s;
    enum err e = license_list(req->db, req->account, account_before(req), ACCOUNT_ROWS + 1, &items, &count);
    if (e) return e;
    account_sheet(req, &s, WORD_licenses);
    Str older = ACCOUNT_OLDER(req, "/account/licenses", items, count);
    struct page_licenserow *rows = arena_array(req->arena, struct page_licenserow, count);
    for (size_t i = 0; i < count; i++) {
        enum word status = license_word(req, &items[i]);
        bool is_bound = items[i].hardware_id.len > 0;
        rows[i] = (struct page_licenserow){.id = items[i].id.v,
                                           .key = items[i].key,
                                           .product = items[i].product_name,
                                           .status = status,
                                           .expires = items[i].expires_at,
                                           .is_bound = is_bound,
                                           .can_move = is_bound && status == WORD_license_active};
    }
    page_write_licenses(
        &s.page, &(const struct page_licenses){
                     .frame = s.frame, .licenses = {rows, count}, .older = older, .problem = trouble_text(&s, t)});
    sheet_send(req, &s);
    if (t->e) req->status = err_info(t->e)->status;
    return OK;
}

static enum err show_licenses_step(struct request *req, struct trouble *t)
{
    return show_licenses(req, t);
}
REQUEST_STEP(show_licenses_step);

static enum err get_licenses(struct request *req)
{
    return show_licenses(req, &(struct trouble){0});
}

struct move_form {
    Str message;
};
static const struct field move_fields[] = {
    {"message", FIELD_TEXT, OPTIONAL, offsetof(struct move_form, message), .max = 5000},
    {0},
};
static const struct shape move_form = {move_fields, sizeof(struct move_form)};

/* Only staff can unbind a licence: this opens a ticket that names it. */
static enum err move_write(struct request *req, const struct move_form *in)
{
    struct license l;
    struct department *departments;
    struct ticket t;
    struct ticket_unknown unknown;
    size_t count;
    struct sheet words;
    enum err e = license_find(req->db, req->param_id, &l);
    if (!e && !id_eq(l.account_id, req->account)) e = ERR_NOT_FOUND;
    if (!e && license_word(req, &l) != WORD_license_active) e = ERR_INVALID_STATE;
    if (!e) e = department_list(req->db, true, &departments, &count);
    if (!e && !count) e = ERR_UNAVAILABLE;
    if (e) return e;
    sheet_begin(req, &words, (Str){0});
    struct ticket want = {.account = req->account,
                          .department_id = departments[0].id,
                          .subject = words_fill(&words.page, WORD_move_subject, 0, (Str[]){l.product_name}, 1),
                          .license_id = l.id};
    Str text = words_fill(&words.page, WORD_move_text, 0, (Str[]){l.key}, 1);
    if (in->message.len) text = str_printf(req->arena, "%.*s\n\n%.*s", STR_FMT(text), STR_FMT(in->message));
    e = ticket_limit(req, text);
    if (!e) e = ticket_create(req->db, &want, text, req->now, &t, &unknown);
    return e ? e : shop_go(req, str_printf(req->arena, "/account/tickets/%lld", (long long)t.id.v));
}
REQUEST_STEP(move_write);

static enum err post_move(struct request *req)
{
    void *in = NULL;
    enum err e = form_read(req, &move_form, &in);
    if (!e) e = request_step(req, TX_WRITE, move_write, in);
    if (!e || (!shop_can_show(e) && e != ERR_UNAVAILABLE)) return e;
    struct trouble t = trouble_of(req, e);
    return request_step(req, TX_READ, show_licenses_step, &t);
}

const struct route shop_account_routes[] = {
    {"GET", "/account", SCOPE_NONE, TX_READ, NULL, get_account, SHOP_PAGE | LOGIN_FIRST},
    {"GET", "/account/notifications", SCOPE_NONE, TX_READ, NULL, get_notifications, SHOP_PAGE | LOGIN_FIRST},
    {"POST", "/account/notifications/read", SCOPE_NONE, TX_WRITE, NULL, post_read, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {"GET", "/account/licenses", SCOPE_NONE, TX_READ, NULL, get_licenses, SHOP_PAGE | LOGIN_FIRST},
    {"POST", "/account/licenses/{id}/move", SCOPE_NONE, TX_SELF, NULL, post_move, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {0},
};
