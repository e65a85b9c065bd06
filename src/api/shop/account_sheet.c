/* api/shop/account_sheet.c - see account_sheet.h. */
#include "api/shop/account_sheet.h"

#include "page/words.h"

#define NAMES_BYTES_MAX 200

struct before_query {
    Id before;
    Id order_id;
    Str done;
};

void account_sheet(struct request *req, struct sheet *s, enum word title)
{
    sheet_begin(req, s, (Str){0});
    s->frame.title = words_text(s->page.lang, title);
}

Id account_before(struct request *req)
{
    static const struct field fields[] = {
        {"before", FIELD_ID, OPTIONAL, offsetof(struct before_query, before)},
        {"order_id", FIELD_ID, OPTIONAL, offsetof(struct before_query, order_id)},
        {"done", FIELD_LINE, OPTIONAL, offsetof(struct before_query, done), .max = 20},
        {0},
    };
    static const struct shape shape = {fields, sizeof(struct before_query)};
    const void *read;
    enum err e =
        shape_read_query(&shape, req->exchange->head.query, UNKNOWN_IGNORED, 0, req->arena, &read, &req->errors);
    return e ? (Id){0} : ((const struct before_query *)read)->before;
}

Str account_older(struct request *req, const char *path, size_t *count, Id last)
{
    if (*count <= ACCOUNT_ROWS) return (Str){0};
    *count = ACCOUNT_ROWS;
    return str_printf(req->arena, "%s?before=%lld", path, (long long)last.v);
}

/* As many as fit a line, cut between characters. */
static Str names_of(struct request *req, const struct order *o)
{
    struct buf b;
    buf_init(&b, req->arena, SIZE_MAX);
    for (size_t i = 0; i < o->item_count; i++) {
        if (i) buf_lit(&b, ", ");
        buf_append(&b, o->items[i].name);
    }
    size_t n = NAMES_BYTES_MAX;
    if (b.len <= n) return buf_str(&b);
    while (((unsigned char)b.ptr[n] & 0xc0) == 0x80) n--;
    return str_printf(req->arena, "%.*s…", (int)n, b.ptr);
}

struct page_orderrow_list account_order_rows(struct request *req, const struct order *orders, size_t count)
{
    static const enum word words[] = {[ORDER_PENDING] = WORD_status_pending,
                                      [ORDER_CONFIRMED] = WORD_status_confirmed,
                                      [ORDER_CANCELLED] = WORD_status_cancelled,
                                      [ORDER_REFUNDED] = WORD_status_refunded};
    struct page_orderrow *rows = arena_array(req->arena, struct page_orderrow, count);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct page_orderrow){.id = orders[i].id.v,
                                         .placed = orders[i].created_at,
                                         .status = words[orders[i].status],
                                         .total = orders[i].total,
                                         .names = names_of(req, &orders[i])};
    return (struct page_orderrow_list){rows, count};
}

struct page_ticketrow account_ticket_row(const struct ticket *t)
{
    static const enum word words[] = {[TICKET_OPEN] = WORD_ticket_open,
                                      [TICKET_ANSWERED] = WORD_ticket_answered,
                                      [TICKET_CLOSED] = WORD_ticket_closed};
    return (struct page_ticketrow){.id = t->id.v,
                                   .subject = t->subject,
                                   .department = t->department,
                                   .status = words[t->status],
                                   .last = t->last_reply_at};
}
