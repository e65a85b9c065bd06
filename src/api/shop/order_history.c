/* api/shop/order_history.c - see order_history.h. */
#include "api/shop/order_history.h"

#include "domain/refund.h"
#include "domain/timeline.h"
#include "page/words.h"

static const enum word words[TIMELINE_KIND_COUNT] = {
    [TIMELINE_PLACED] = WORD_ordered,
    [TIMELINE_PAYMENT_BEGUN] = WORD_happened_payment_begun,
    [TIMELINE_DELIVERED] = WORD_happened_delivered,
    [TIMELINE_REFUND_REQUESTED] = WORD_happened_refund_requested,
    [TIMELINE_DISPUTE_OPENED] = WORD_happened_dispute_opened,
    [TIMELINE_DISPUTE_WON] = WORD_happened_dispute_over,
    [TIMELINE_DISPUTE_LOST] = WORD_happened_dispute_over,
    [TIMELINE_DISPUTE_WITHDRAWN] = WORD_happened_dispute_over,
    [TIMELINE_PAYMENT_REVERSED] = WORD_happened_payment_reversed,
    [TIMELINE_REVIEW_OPENED] = WORD_happened_review,
    [TIMELINE_PAYMENT_FAILED] = WORD_happened_payment_failed,
    [TIMELINE_PAYMENT_REFUSED] = WORD_happened_payment_refused,
    [TIMELINE_PAYMENT_EXPIRED] = WORD_happened_payment_expired,
    [TIMELINE_PAYMENT_CLOSED] = WORD_happened_payment_closed,
    [TIMELINE_PAYMENT_RECEIVED] = WORD_happened_payment_received,
    [TIMELINE_LATE_ACCEPTED] = WORD_happened_late_accepted,
    [TIMELINE_CREDITED] = WORD_happened_credited,
    [TIMELINE_CANCELLED] = WORD_happened_cancelled,
    [TIMELINE_REFUND_DONE] = WORD_happened_refund_done,
    [TIMELINE_REFUND_SETTLED] = WORD_happened_refund_done,
    [TIMELINE_CODE_REPLACED] = WORD_happened_code_replaced,
};

enum err shop_order_history(struct request *req, Id order, struct page_happening_list *ret)
{
    struct timeline_entry *all;
    size_t count, n = 0;
    enum err e = timeline_list(req->db, order, &all, &count);
    if (e) return e;
    struct page_happening *list = arena_array(req->arena, struct page_happening, count);
    for (size_t i = 0; i < count; i++)
        if (timeline_concerns_customer(all[i].kind))
            list[n++] = (struct page_happening){.at = all[i].at, .what = words[all[i].kind], .amount = all[i].amount};
    *ret = (struct page_happening_list){list, n};
    return OK;
}

enum err shop_order_claims(struct request *req, Id order, struct page_claim_list *ret)
{
    struct refund *all;
    size_t count, n = 0;
    enum err e = refund_list_order(req->db, order, &all, &count);
    if (e) return e;
    struct page_claim *list = arena_array(req->arena, struct page_claim, count);
    for (size_t i = 0; i < count; i++)
        if (all[i].status == REFUND_DONE && all[i].claim_url.len)
            list[n++] = (struct page_claim){.link = all[i].claim_url, .amount = all[i].amount};
    *ret = (struct page_claim_list){list, n};
    return OK;
}
