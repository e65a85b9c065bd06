/* tests/fuzz/fuzz_gateway.c - everything that reads what a provider sent. The first byte picks the reader. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/base64.h"
#include "gateway/amount.h"
#include "gateway/paypal_signature.h"
#include "gateway/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok) abort();
}

/* Whatever was read, its texts can be kept and its amounts are not negative. */
static void check(const struct payment_event *e)
{
    const Str refs[] = {e->event_id,  e->delivery_id, e->payment_ref, e->group_ref,
                        e->order_ref, e->refund_ref,  e->type};
    for (size_t i = 0; i < sizeof refs / sizeof *refs; i++) must(refs[i].len <= 255);
    must(!e->currency.len || currency_exponent(e->currency) >= 0);
    must(!e->has_amount || (e->amount.minor >= 0 && e->currency.len == 3));
    must(!e->has_refunded_total || e->refunded_total.minor >= 0);
}

static void read_answers(struct arena *a, const struct gateway *g, const struct gateway_config *config, Str raw)
{
    struct http_reply reply = {200, raw};
    struct pay_request in = {.reference = STR("r")};
    struct payment_event claim = {.kind = EVENT_SUCCEEDED, .payment_ref = STR("p"), .group_ref = STR("p")}, e;
    struct pay_page page;
    struct refund_page refund;
    Str token;
    int64_t seconds;
    if (g->create_read(a, &reply, &page) == REPLY_OK) must(page.url.len && page.group_ref.len);
    if (g->find_read && g->find_read(a, &reply, &in, &page) == REPLY_OK) must(page.url.len && page.group_ref.len);
    if (g->refund_read(a, &reply, &refund) == REPLY_OK) must(refund.refund_ref.len);
    struct refund_request back = {.reference = STR("r"), .payment_ref = STR("p")};
    if (g->refund_find_read && g->refund_find_read(a, &reply, &back, &refund) == REPLY_OK) must(refund.refund_ref.len);
    if (g->method_read) g->method_read(a, &reply, &back.method);
    for (enum book book = 0; g->book_read && book < BOOK_COUNT; book++) {
        struct book_lines lines = {0};
        struct book_request request = {.book = book};
        if (g->book_read(a, config, &request, &reply, &lines) != REPLY_OK) continue;
        for (const struct book_entry *l = lines.entries; l; l = l->next)
            must(l->payment_ref.len && l->payment_ref.len <= 255 && l->amount.minor >= 0 && l->currency.len == 3);
    }
    if (g->ask_read(a, config, &reply, &e) == REPLY_OK) check(&e);
    if (g->confirm_read && g->confirm_read(a, config, &claim, &reply, &e) == REPLY_OK) check(&e);
    if (g->auth_read && g->auth_read(a, &reply, &token, &seconds) == REPLY_OK) must(token.len && seconds >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    struct arena a = {0};
    Str rest = {(const char *)data + 1, size - 1}, path, bytes;
    unsigned pick = data[0] % (PROVIDER_COUNT + 2);
    if (pick < PROVIDER_COUNT) {
        const struct gateway *g = gateway_of((enum provider)pick);
        struct gateway_config config = {.provider = (enum provider)pick, .store_id = STR("s")};
        struct webhook hook = {.raw = rest};
        struct payment_event e;
        if (g->parse(&a, &config, &hook, &e)) check(&e);
        read_answers(&a, g, &config, rest);
    } else if (pick == PROVIDER_COUNT) {
        struct stamped s;
        if (stamped_parse(rest, &s)) must(s.mac_count >= 1 && s.mac_count <= STAMPED_MACS_MAX && s.t.ms >= 0);
    } else {
        if (paypal_cert_path(rest, data[0] & 1, &path)) must(str_starts(path, STR("/v1/notifications/certs/")));
        if (base64_decode(&a, BASE64_PADDED, rest, &bytes)) must(str_eq(base64_encode(&a, BASE64_PADDED, bytes), rest));
    }
    arena_done(&a);
    return 0;
}
