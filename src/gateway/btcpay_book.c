/* gateway/btcpay_book.c - see btcpay_book.h.
 *
 * Pull payments and payouts are listed whole, without pages or dates. A pull payment that was withdrawn counts only if
 * it was paid out before: refunds that we call done and that are in neither list did not reach the customer. */
#include "gateway/btcpay_book.h"

#include "gateway/amount.h"
#include "gateway/payload.h"
#include "gateway/provider_call.h"

#define INVOICES_PAGE 100
#define PAYOUTS "payouts" /* what comes after the pull payments */
#define BY_HAND                                                                                                        \
    "Refund " /* and the id of the invoice: what the server calls a refund that was made on its own pages              \
               */

bool btcpay_book_call(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                      struct http_call *ret)
{
    Str tail;
    if (!ref_is_safe(config->store_id)) return false;
    if (in->book == BOOK_CHARGES)
        tail = str_printf(a, "invoices?startDate=%lld&endDate=%lld&take=%d&skip=%.*s",
                          (long long)(in->since.ms / TIME_SECOND), (long long)(in->until.ms / TIME_SECOND),
                          INVOICES_PAGE, STR_FMT(in->next.len ? in->next : STR("0")));
    else
        tail = in->next.len ? STR(PAYOUTS) : STR("pull-payments");
    *ret = (struct http_call){.method = "GET"};
    call_url(a, config, ret, str_printf(a, "/api/v1/stores/%.*s/%.*s", STR_FMT(config->store_id), STR_FMT(tail)));
    call_token_auth(a, ret, STR("token"), config->api_key);
    return true;
}

/* The number's text without decimals that its currency does not have: converted coins are never exact. */
static Str cut_decimals(Str number, int decimals)
{
    Str whole, rest;
    if (!str_cut(number, '.', &whole, &rest) || rest.len <= (size_t)decimals) return number;
    return (Str){number.ptr, decimals ? whole.len + 1 + (size_t)decimals : whole.len};
}

bool btcpay_paid_amount(const struct json *invoice, Str currency, Money *ret)
{
    Str extra = json_text(invoice, "additionalStatus");
    const struct json *asked = json_get(invoice, "amount"), *paid = json_get(invoice, "paidAmount");
    bool is_settled = str_eq(json_text(invoice, "status"), STR("Settled"));
    bool is_over = is_settled && str_eq(extra, STR("PaidOver")),
         is_under = is_settled && str_eq(extra, STR("PaidPartial"));
    if ((is_over || is_under) && paid) {
        Str text = cut_decimals(paid->text, currency_exponent(currency));
        if (amount_from_text(text, currency, ret) && ret->minor > 0) return true;
    }
    return !is_under && asked && amount_from_text(asked->text, currency, ret);
}

static bool read_amount(struct arena *a, const struct json *line, struct book_entry *e)
{
    const struct json *value = json_get(line, "amount");
    return value && currency_read(a, json_text(line, "currency"), &e->currency) &&
           amount_from_text(value->text, e->currency, &e->amount);
}

static void read_invoice(struct arena *a, const struct json *invoice, struct book_lines *lines)
{
    struct book_entry e = {.ref = payload_ref(invoice, "id"), .payment_ref = payload_ref(invoice, "id")};
    if (!str_eq(json_text(invoice, "status"), STR("Settled")) || !e.ref.len) return;
    e.order_ref = payload_ref(json_get(invoice, "metadata"), "orderId");
    if (!currency_read(a, json_text(invoice, "currency"), &e.currency)) return;
    if (btcpay_paid_amount(invoice, e.currency, &e.amount)) book_add(a, lines, e);
}

/* Ours carry the refund's key, which begins with the payment's reference. */
static void read_pull_payment(struct arena *a, const struct json *pull, struct book_lines *lines)
{
    struct book_entry e = {.ref = payload_ref(pull, "id")};
    Str name = json_text(pull, "name"), rest;
    if (!e.ref.len || payload_flag(pull, "archived")) return;
    if (str_starts(name, STR(BY_HAND)))
        e.payment_ref = (Str){name.ptr + sizeof BY_HAND - 1, name.len - (sizeof BY_HAND - 1)};
    else if (!str_cut(name, '-', &e.reference, &rest))
        return; /* a pull payment for something else */
    if (read_amount(a, pull, &e)) book_add(a, lines, e);
}

static void read_payout(struct arena *a, const struct json *payout, struct book_lines *lines)
{
    struct book_entry e = {.ref = payload_ref(payout, "pullPaymentId")};
    if (e.ref.len && str_eq(json_text(payout, "state"), STR("Completed"))) book_add(a, lines, e);
}

enum reply btcpay_book_read(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                            const struct http_reply *answer, struct book_lines *ret)
{
    (void)config;
    const struct json *root;
    enum reply r = reply_read(a, answer, &root);
    if (r != REPLY_OK) return r;
    struct book_lines lines = {0};
    int64_t count = 0, skipped = 0;
    bool of_invoices = in->book == BOOK_CHARGES;
    for (const struct json *l = payload_first(root); l; l = l->next, count++)
        (of_invoices ? read_invoice : in->next.len ? read_payout : read_pull_payment)(a, l, &lines);
    str_to_int64(in->next, &skipped);
    if (of_invoices && count == INVOICES_PAGE) lines.next = str_printf(a, "%lld", (long long)skipped + count);
    if (!of_invoices && !in->next.len) lines.next = STR(PAYOUTS);
    *ret = lines;
    return REPLY_OK;
}
