/* gateway/paypal_book.c - see paypal_book.h. */
#include "gateway/paypal_book.h"

#include "gateway/payload.h"
#include "gateway/paypal_dispute.h"
#include "gateway/provider_call.h"

#define TRANSACTIONS_PAGE 100
#define DISPUTES_PAGE 50
#define TOKEN "next_page_token="
#define TOKEN_BYTES_MAX 1000

bool paypal_book_call(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                      struct http_call *ret)
{
    char since[TIME_TEXT_LEN + 1], until[TIME_TEXT_LEN + 1];
    time_format(in->since, since);
    time_format(in->until, until);
    Str page = in->next.len ? in->next : STR("1");
    *ret = (struct http_call){.method = "GET"};
    if (in->book == BOOK_DISPUTES)
        call_url(a, config, ret,
                 str_printf(a, "/v1/customer/disputes?page_size=%d&update_time_after=%s%s%.*s", DISPUTES_PAGE, since,
                            in->next.len ? "&" TOKEN : "", STR_FMT(in->next)));
    else
        call_url(a, config, ret,
                 str_printf(a,
                            "/v1/reporting/transactions?fields=transaction_info&page_size=%d&page=%.*s"
                            "&start_date=%s&end_date=%s",
                            TRANSACTIONS_PAGE, STR_FMT(page), since, until));
    call_token_auth(a, ret, STR("Bearer"), config->access_token);
    return true;
}

static void read_dispute(struct arena *a, const struct json *dispute, struct book_lines *lines)
{
    struct payment_event e = {0};
    paypal_read_dispute(a, dispute, &e);
    if (!e.refund_ref.len) return;
    book_add(a, lines,
             (struct book_entry){.ref = e.refund_ref,
                                 .payment_ref = e.payment_ref,
                                 .amount = e.amount,
                                 .currency = e.currency,
                                 .is_decided = e.kind == EVENT_DISPUTE_CLOSED});
}

/* "-10.00" of a refund is 10.00 given back. */
static bool read_amount(struct arena *a, const struct json *obj, bool is_debit, struct book_entry *e)
{
    Str value = json_text(obj, "value");
    if (is_debit != str_starts(value, STR("-"))) return false;
    if (is_debit) value = (Str){value.ptr + 1, value.len - 1};
    return paypal_amount_text(a, json_text(obj, "currency_code"), value, &e->currency, &e->amount);
}

static void read_transaction(struct arena *a, const struct json *info, enum book book, struct book_lines *lines)
{
    Str code = json_text(info, "transaction_event_code");
    bool is_refund = book == BOOK_REFUNDS;
    /* T1107: a refund by the seller. T1106, a reversal, is what a dispute took. */
    if (!str_starts(code, is_refund ? STR("T1107") : STR("T00"))) return;
    /* S: done. V: done, and given back since; the giving back has a line of its own. P: a refund that may still fail.
     */
    Str status = json_text(info, "transaction_status");
    bool is_pending = is_refund && str_eq(status, STR("P"));
    if (!str_eq(status, STR("S")) && !(!is_refund && str_eq(status, STR("V"))) && !is_pending) return;
    struct book_entry e = {.ref = payload_ref(info, "transaction_id"),
                           .payment_ref = payload_ref(info, is_refund ? "paypal_reference_id" : "transaction_id"),
                           .order_ref = payload_ref(info, "custom_field"),
                           .is_pending = is_pending};
    if (e.payment_ref.len && read_amount(a, json_get(info, "transaction_amount"), is_refund, &e)) book_add(a, lines, e);
}

static bool is_token_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c && strchr("-._~%=", c));
}

/* A link names the next page of disputes. */
static Str next_token(const struct json *root)
{
    const Str name = STR(TOKEN);
    for (const struct json *l = payload_first(json_get(root, "links")); l; l = l->next) {
        Str href = json_text(l, "href");
        if (!str_eq(json_text(l, "rel"), STR("next"))) continue;
        for (size_t i = 0; i + name.len <= href.len; i++) {
            if (memcmp(href.ptr + i, name.ptr, name.len) != 0) continue;
            Str token = {href.ptr + i + name.len, 0};
            while (i + name.len + token.len < href.len && is_token_char(token.ptr[token.len])) token.len++;
            return token.len <= TOKEN_BYTES_MAX ? token : (Str){0};
        }
    }
    return (Str){0};
}

enum reply paypal_book_read(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                            const struct http_reply *answer, struct book_lines *ret)
{
    (void)config;
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    struct book_lines lines = {0};
    int64_t page = 1, pages = 1;
    bool of_disputes = in->book == BOOK_DISPUTES;
    const struct json *items = json_get(root, of_disputes ? "items" : "transaction_details");
    for (const struct json *l = payload_first(items); l; l = l->next) {
        if (of_disputes)
            read_dispute(a, l, &lines);
        else
            read_transaction(a, json_get(l, "transaction_info"), in->book, &lines);
    }
    str_to_int64(in->next, &page);
    json_int64(json_get(root, "total_pages"), &pages);
    if (of_disputes) lines.next = next_token(root);
    if (!of_disputes && page < pages) lines.next = str_printf(a, "%lld", (long long)page + 1);
    *ret = lines;
    return REPLY_OK;
}
