/* tests/sim/check_told.c - what clients and the provider were told, against what is there. */
#include <string.h>

#include "check_rows.h"

static void check_pending(struct checker *c, const struct fact *f)
{
    struct order *o = &c->orders[f->id];
    if (!o->is_there || o->account != f->account || o->total != f->amount || o->is_known)
        bad(c, "I4: order %lld over %lld was acknowledged, and is not there as it was", (long long)f->id,
            (long long)f->amount);
    o->is_known = true;
}

static void check_order_fact(struct checker *c, const struct fact *f)
{
    struct order *o = &c->orders[f->id];
    if (!o->is_there || !o->is_paid || o->account != f->account || o->total != f->amount ||
        (f->quantity && o->units != f->quantity))
        bad(c, "I4: order %lld over %lld was acknowledged to account %lld, and is not there as it was",
            (long long)f->id, (long long)f->amount, (long long)f->account);
    if (o->is_known) bad(c, "I7: order %lld answers two requests", (long long)f->id);
    o->is_known = true;
}

static struct payment *find_payment(struct checker *c, const char *reference)
{
    for (int i = 0; i < ROWS_MAX; i++)
        if (c->payments[i].is_there && strcmp(c->payments[i].reference, reference) == 0) return &c->payments[i];
    return NULL;
}

/* What the provider knows of. */
static void check_charge(struct checker *c, const struct fact *f)
{
    struct payment *p = find_payment(c, f->text);
    if (!p) {
        bad(c, "I4: the provider was paid for %s, which is not there", f->text);
        return;
    }
    if (p->received != f->amount && (p->received || f->is_sure))
        bad(c, "I4: the provider has %lld for %s, %lld was received", (long long)f->amount, f->text,
            (long long)p->received);
    if (p->refunded > f->quantity)
        bad(c, "I4: the provider gave %lld back for %s, the store says %lld", (long long)f->quantity, f->text,
            (long long)p->refunded);
    p->is_known = true;
}

static void check_topup(struct checker *c, const struct fact *f)
{
    const struct payment *p = find_payment(c, f->text);
    if (!p || p->account != f->account || p->amount != f->amount || p->order)
        bad(c, "I4: the top-up %s was acknowledged, and is not there as it was", f->text);
}

static void check_event(struct checker *c, const struct fact *f)
{
    int found = 0;
    for (int i = 0; i < c->event_count; i++) found += strcmp(c->events[i], f->text) == 0;
    if (found != 1) bad(c, "I4: event %s was acknowledged and is there %d times", f->text, found);
}

/* What came for an order, up to its total: who paid too little gets that back. */
static int64_t received_for(const struct checker *c, int64_t order)
{
    int64_t sum = 0, total = c->orders[order].total;
    for (int i = 0; i < ROWS_MAX; i++)
        if (c->payments[i].is_there && c->payments[i].order == order) sum += c->payments[i].received;
    return sum < total ? sum : total;
}

static void check_fact(struct checker *c, const struct fact *f)
{
    if (f->id < 0 || f->id >= ROWS_MAX) {
        bad(c, "I4: an answer has the id %lld", (long long)f->id);
        return;
    }
    struct withdrawal *w = &c->withdrawals[f->id];
    switch (f->kind) {
    case FACT_ORDER: check_order_fact(c, f); return;
    case FACT_WITHDRAWAL:
        if (!w->is_there || w->account != f->account || w->amount != f->amount || w->is_known)
            bad(c, "I4: withdrawal %lld was acknowledged, and is not there as it was", (long long)f->id);
        w->is_known = true;
        return;
    case FACT_APPROVED:
    case FACT_REJECTED:
        if (w->status != (f->kind == FACT_APPROVED ? 'a' : 'r'))
            bad(c, "I4: the decision about withdrawal %lld was acknowledged, it is '%c'", (long long)f->id, w->status);
        return;
    case FACT_REFUNDED:
        if (c->orders[f->id].status != 'r')
            bad(c, "I4: the refund of order %lld was acknowledged, it is '%c'", (long long)f->id,
                c->orders[f->id].status);
        return;
    case FACT_BOUND: {
        int found = 0;
        for (int i = 0; i < c->bound_count; i++)
            found += strcmp(c->bound[i].machine, f->text) == 0 && c->bound[i].account == f->account;
        if (found != 1) bad(c, "I4: %d licences are bound to %s, which was acknowledged", found, f->text);
        return;
    }
    case FACT_GIVES_BACK: {
        int64_t wanted = received_for(c, f->id);
        if (c->orders[f->id].giving_back != wanted)
            bad(c, "I4: the refund of order %lld was acknowledged, %lld of %lld is on its way", (long long)f->id,
                (long long)c->orders[f->id].giving_back, (long long)wanted);
        return;
    }
    case FACT_PENDING: check_pending(c, f); return;
    case FACT_TOPUP: check_topup(c, f); return;
    case FACT_EVENT: check_event(c, f); return;
    case FACT_CHARGED:
    case FACT_CART:
    case FACT_KINDS: return;
    }
}

/* What nobody was told of can only be what somebody has asked for. */
static void check_strangers(struct checker *c)
{
    int64_t orders[64] = {0}, withdrawals[64] = {0}, keyed = 0, asked = 0;
    for (size_t i = 0; i < c->facts->count; i++) {
        const struct fact *f = &c->facts->list[i];
        bool has_key = f->kind != FACT_BOUND && f->kind != FACT_CHARGED && f->kind != FACT_EVENT;
        if (has_key) *(f->is_sure ? &keyed : &asked) += 1;
        if (f->is_sure) continue;
        if (f->kind == FACT_ORDER || f->kind == FACT_PENDING) orders[f->account & 63]++;
        if (f->kind == FACT_WITHDRAWAL) withdrawals[f->account & 63]++;
    }
    for (int64_t n = 0; n < ROWS_MAX; n++) {
        const struct order *o = &c->orders[n];
        if (o->is_there && !o->is_known && orders[o->account & 63]-- <= 0)
            bad(c, "I7: order %lld of account %lld was made twice, or nobody asked for it", (long long)n,
                (long long)o->account);
        const struct withdrawal *w = &c->withdrawals[n];
        if (w->is_there && !w->is_known && withdrawals[w->account & 63]-- <= 0)
            bad(c, "I7: withdrawal %lld was made twice, or nobody asked for it", (long long)n);
    }
    for (int64_t n = 0; n < ROWS_MAX; n++)
        if (c->payments[n].received && !c->payments[n].is_known)
            bad(c, "I8: payment %lld received money that nobody paid", (long long)n);
    if (c->keys_open || c->keys < keyed || c->keys > keyed + asked)
        bad(c, "I7: %lld keys have their answers, %lld without; %lld were acknowledged, %lld more asked for",
            (long long)c->keys, (long long)c->keys_open, (long long)keyed, (long long)asked);
}

void check_told(struct checker *c)
{
    for (size_t i = 0; i < c->facts->count; i++) {
        const struct fact *f = &c->facts->list[i];
        if (f->kind == FACT_CHARGED)
            check_charge(c, f);
        else if (f->is_sure)
            check_fact(c, f);
    }
    check_strangers(c);
}
