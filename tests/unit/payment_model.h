/* tests/unit/payment_model.h - what must become of a payment, worked out from what the gateway told alone.
 *
 * Written from docs/payments.md, without a line of domain/: a second opinion, not a copy. A rule can be broken on
 * purpose (`fault`), which is how the tests prove that they would see a store that breaks it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MODEL_AMOUNT 1000
#define MODEL_PART 300
#define MODEL_SPENT 600
#define MODEL_EVENTS_MAX 32

enum told {
    SUCCESS,
    FAILURE,
    EXPIRY,
    PART_BACK,
    ALL_BACK,
    REFUND_RETURNED, /* the bank sent the latest refund back */
    OPENED,
    WON,
    LOST,
    WITHDRAWN,
    TOLD_COUNT
};
static const char *const told_names[TOLD_COUNT] = {"success",       "failure",  "expiry", "part back", "all back",
                                                   "refund failed", "disputed", "won",    "lost",      "withdrawn"};

/* What can be wrong with the rules. */
enum fault {
    NO_FAULT,
    LATE_SUCCESS_IGNORED, /* after a failure */
    FAILURE_UNDOES_SUCCESS,
    REFUND_READ_AS_MORE, /* a total taken for an addition */
    EARLY_FORGOTTEN,
    LOSS_BOOKED_TWICE,
    HOLD_FOR_EVER,
    FROZEN_FOR_EVER,
    RETURNED_REFUND_FORGOTTEN,
    DEBT_FORGIVEN,
    SOLD_OUT_NOT_TOLD,
    FAULT_COUNT
};

enum model_order { MODEL_PENDING, MODEL_CONFIRMED, MODEL_CANCELLED, MODEL_REFUNDED };
enum model_payment { MODEL_OPEN, MODEL_FAILED, MODEL_SUCCEEDED, MODEL_EXPIRED };
enum model_dispute { NO_DISPUTE, OPEN_DISPUTE, WON_DISPUTE, LOST_DISPUTE, WITHDRAWN_DISPUTE };

struct model {
    bool is_topup, in_stock, spends; /* spends: the customer spends MODEL_SPENT of a top-up as soon as it is free */
    bool has_spent;
    enum fault fault;
    bool came, is_ended, is_delivered;
    enum model_payment payment;
    enum model_order order;
    int64_t refunded, lost, returned; /* told, lost, booked */
    int64_t waiting, sold_back;       /* sold_back: what the order gave back */
    int64_t wallet, debt, frozen;
    int64_t refunds[MODEL_EVENTS_MAX];
    int refund_count;
    enum model_dispute dispute;
    enum told early[MODEL_EVENTS_MAX];
    int early_count;
    /* What staff find on their desk. */
    bool asks_stock, asks_dispute;
    int asks_refunds, asks_unmatched;
    /* What the customer was told: that it is here, and that money went back. */
    int told_arrival, told_refunds;
};

static inline int64_t model_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Money goes: out of what waits, else out of the sale, else out of the wallet, where the rest is owed. */
static inline void model_go(struct model *m)
{
    int64_t gone = model_least(m->refunded + m->lost, MODEL_AMOUNT), more = gone - m->returned;
    if (more <= 0) return;
    m->returned = gone;
    int64_t waiting = model_least(more, m->waiting);
    m->waiting -= waiting;
    more -= waiting;
    if (waiting && !m->waiting) m->asks_stock = false; /* nothing is left to decide about */
    if (m->is_delivered) {
        m->sold_back += more;
        if (m->sold_back == MODEL_AMOUNT) m->order = MODEL_REFUNDED;
    } else if (m->is_topup) {
        int64_t there = model_least(more, m->wallet);
        m->wallet -= there;
        if (m->fault != DEBT_FORGIVEN) m->debt += more - there;
    }
    if (m->is_topup || m->is_delivered || gone < MODEL_AMOUNT) return;
    if (m->order == MODEL_PENDING) m->order = MODEL_CANCELLED;
}

static inline void model_fill_wallet(struct model *m, int64_t amount)
{
    int64_t repaid = model_least(amount, m->debt);
    m->debt -= repaid;
    m->wallet += amount - repaid;
}

static inline void model_tell(struct model *m, enum told what);

static inline void model_succeed(struct model *m)
{
    if (m->payment == MODEL_FAILED && m->fault == LATE_SUCCESS_IGNORED) return;
    if (m->came) {
        /* Told again: what waits for its goods asks for them again, in vain. */
        if (!m->is_delivered && m->waiting) m->asks_stock = true;
        return;
    }
    m->came = m->is_ended = true;
    m->payment = MODEL_SUCCEEDED;
    if (m->is_topup) {
        model_fill_wallet(m, MODEL_AMOUNT);
        m->told_arrival++;
    } else if (m->in_stock) {
        m->is_delivered = true;
        m->order = MODEL_CONFIRMED;
        m->told_arrival++;
    } else {
        m->waiting = MODEL_AMOUNT;
        m->asks_stock = m->fault != SOLD_OUT_NOT_TOLD;
    }
    m->asks_unmatched = 0;
    int early = m->fault == EARLY_FORGOTTEN ? 0 : m->early_count;
    m->early_count = 0;
    for (int i = 0; i < early; i++) model_tell(m, m->early[i]);
    memset(m->early, 0, sizeof m->early);
}

static inline void model_refund(struct model *m, int64_t total)
{
    if (m->fault == REFUND_READ_AS_MORE) total = model_least(m->refunded + total, MODEL_AMOUNT);
    if (total <= m->refunded) return;
    m->refunds[m->refund_count++] = total - m->refunded;
    m->refunded = total;
    m->told_refunds++;
    model_go(m);
}

static inline void model_return_refund(struct model *m)
{
    if (!m->refund_count || m->fault == RETURNED_REFUND_FORGOTTEN) return;
    m->refunded -= m->refunds[--m->refund_count];
    m->refunds[m->refund_count] = 0;
    m->asks_refunds++;
    int64_t back = m->returned - model_least(m->refunded + m->lost, MODEL_AMOUNT);
    m->returned -= back;
    if (m->is_topup)
        model_fill_wallet(m, back);
    else
        m->waiting += back;
}

static inline void model_dispute_ends(struct model *m, enum told what, int64_t left)
{
    m->dispute = what == WON ? WON_DISPUTE : what == LOST ? LOST_DISPUTE : WITHDRAWN_DISPUTE;
    if (m->fault == HOLD_FOR_EVER && what == WITHDRAWN) m->dispute = OPEN_DISPUTE;
    if (m->fault != FROZEN_FOR_EVER) m->frozen = 0;
    m->asks_dispute = false;
    if (what == LOST) m->lost = left;
    model_go(m);
}

static inline void model_dispute(struct model *m, enum told what)
{
    int64_t left = MODEL_AMOUNT - m->returned;
    if (m->dispute > OPEN_DISPUTE) {
        if (what == LOST && m->fault == LOSS_BOOKED_TWICE) m->lost += left;
        /* Decided once; who hears of another end has to look. */
        enum told was = m->dispute == WON_DISPUTE ? WON : m->dispute == LOST_DISPUTE ? LOST : WITHDRAWN;
        if (what != OPENED && what != was) m->asks_dispute = true;
        return;
    }
    if (m->dispute == NO_DISPUTE && m->is_topup) m->frozen = left;
    m->dispute = OPEN_DISPUTE;
    m->asks_dispute = true;
    if (what != OPENED) model_dispute_ends(m, what, left);
}

/* Whether the customer has just spent. */
static inline bool model_spend(struct model *m)
{
    if (!m->spends || m->has_spent || m->wallet - m->frozen < MODEL_SPENT) return false;
    m->wallet -= MODEL_SPENT;
    return m->has_spent = true;
}

/* The gateway tells something new; what it repeats is not told again. */
static inline void model_tell(struct model *m, enum told what)
{
    if (what >= PART_BACK && !m->came) {
        m->early[m->early_count++] = what;
        m->asks_unmatched++;
        return;
    }
    switch (what) {
    case SUCCESS: model_succeed(m); break;
    case FAILURE:
        if (m->payment != MODEL_OPEN && !(m->came && m->fault == FAILURE_UNDOES_SUCCESS)) break;
        m->payment = MODEL_FAILED;
        m->order = MODEL_CANCELLED;
        break;
    case EXPIRY:
        if (m->is_ended) break;
        m->is_ended = true;
        m->payment = MODEL_EXPIRED;
        m->order = MODEL_CANCELLED;
        break;
    case PART_BACK: model_refund(m, MODEL_PART); break;
    case ALL_BACK: model_refund(m, MODEL_AMOUNT); break;
    case REFUND_RETURNED: model_return_refund(m); break;
    case OPENED:
    case WON:
    case LOST:
    case WITHDRAWN: model_dispute(m, what); break;
    case TOLD_COUNT: break;
    }
}

/* All that the model's further answers depend on. */
static inline size_t model_write(const struct model *m, char *ret, size_t bytes)
{
    size_t at = (size_t)snprintf(
        ret, bytes, "%d%d%d%d%d%d|%d|%d|%d|%lld %lld %lld %lld %lld %lld %lld %lld|%d%d %d %d|%d %d|", m->is_topup,
        m->in_stock, m->has_spent, m->came, m->is_ended, m->is_delivered, m->payment, m->order, m->dispute,
        (long long)m->refunded, (long long)m->lost, (long long)m->returned, (long long)m->waiting,
        (long long)m->sold_back, (long long)m->wallet, (long long)m->debt, (long long)m->frozen, m->asks_stock,
        m->asks_dispute, m->asks_refunds, m->asks_unmatched, m->told_arrival, m->told_refunds);
    for (int i = 0; i < m->refund_count && at < bytes; i++)
        at += (size_t)snprintf(ret + at, bytes - at, "r%lld", (long long)m->refunds[i]);
    for (int i = 0; i < m->early_count && at < bytes; i++)
        at += (size_t)snprintf(ret + at, bytes - at, "e%d", m->early[i]);
    return at < bytes ? at : bytes - 1;
}
