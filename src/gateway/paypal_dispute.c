/* gateway/paypal_dispute.c - see paypal_dispute.h. */
#include "gateway/paypal_dispute.h"

#include "gateway/amount.h"
#include "gateway/payload.h"

bool paypal_amount_text(struct arena *a, Str currency_code, Str value, Str *ret_currency, Money *ret)
{
    Str currency;
    Money m;
    if (!currency_read(a, currency_code, &currency)) return false;
    if (!amount_from_text(value, currency, &m) || m.minor < 0) return false;
    *ret_currency = currency;
    *ret = m;
    return true;
}

bool paypal_amount(struct arena *a, const struct json *obj, Str *ret_currency, Money *ret)
{
    return paypal_amount_text(a, json_text(obj, "currency_code"), json_text(obj, "value"), ret_currency, ret);
}

/* What the dispute took out of the seller's account, in the currency of the dispute. False: not stated. PayPal's own
 * money, given to the buyer, is not the seller's loss. */
static bool sellers_loss(struct arena *a, const struct json *dispute, Str currency, Money *ret)
{
    Money loss = {0}, moved;
    const struct json *moves = json_get(dispute, "money_movements");
    if (!payload_first(moves)) return false;
    for (const struct json *m = payload_first(moves); m; m = m->next) {
        Str in;
        if (!str_eq(json_text(m, "affected_party"), STR("SELLER"))) continue;
        if (!paypal_amount(a, json_get(m, "amount"), &in, &moved) || !str_eq(in, currency)) return false;
        bool is_debit = str_eq(json_text(m, "type"), STR("DEBIT"));
        if (!(is_debit ? money_add : money_sub)(loss, moved, &loss)) return false;
    }
    *ret = loss;
    return true;
}

static void set_loss(struct payment_event *e, Money loss)
{
    e->outcome = loss.minor > 0 ? DISPUTE_LOST : DISPUTE_WON;
    if (loss.minor > 0) e->amount = loss;
}

static void read_outcome(struct arena *a, const struct json *dispute, struct payment_event *e)
{
    const struct json *outcome = json_get(dispute, "dispute_outcome");
    Str code = json_text(outcome, "outcome_code"), currency;
    Money refunded, loss;
    if (str_eq(code, STR("RESOLVED_SELLER_FAVOUR"))) {
        e->outcome = DISPUTE_WON;
    } else if (str_eq(code, STR("CANCELED_BY_BUYER"))) {
        e->outcome = DISPUTE_WITHDRAWN;
    } else if (str_eq(code, STR("NONE"))) {
        e->kind = EVENT_PENDING; /* a newer case has replaced this one */
    } else if (sellers_loss(a, dispute, e->currency, &loss)) {
        set_loss(e, loss);
    } else if (str_eq(code, STR("RESOLVED_BUYER_FAVOUR"))) {
        e->outcome = DISPUTE_LOST;
        if (paypal_amount(a, json_get(outcome, "amount_refunded"), &currency, &refunded) &&
            str_eq(currency, e->currency))
            set_loss(e, refunded);
    } else {
        e->review = "the dispute has ended, and PayPal does not say who paid";
    }
}

void paypal_read_dispute(struct arena *a, const struct json *dispute, struct payment_event *e)
{
    e->refund_ref = payload_ref(dispute, "dispute_id");
    e->payment_ref = payload_ref(payload_first(json_get(dispute, "disputed_transactions")), "seller_transaction_id");
    e->has_amount = paypal_amount(a, json_get(dispute, "dispute_amount"), &e->currency, &e->amount);
    e->due_at = payload_time(dispute, "seller_response_due_date");
    e->kind = EVENT_DISPUTED;
    if (!str_eq(json_text(dispute, "status"), STR("RESOLVED"))) return;
    e->kind = EVENT_DISPUTE_CLOSED;
    read_outcome(a, dispute, e);
}
