/* domain/sandbox_message.c - see sandbox_message.h. One field a line. */
#include "domain/sandbox_message.h"

#define FIELDS 10

Str sandbox_message_pack(struct arena *a, const struct sandbox_message *m)
{
    return str_printf(a, "%.*s\n%d\n%.*s\n%.*s\n%lld\n%.*s\n%.*s\n%lld\n%d\n%lld", STR_FMT(m->event_id), (int)m->kind,
                      STR_FMT(m->payment_ref), STR_FMT(m->order_ref), (long long)m->amount.minor, STR_FMT(m->currency),
                      STR_FMT(m->refund_ref), (long long)m->refunded_total.minor, (int)m->outcome, (long long)m->at.ms);
}

bool sandbox_message_unpack(Str payload, struct sandbox_message *ret)
{
    Str lines[FIELDS];
    for (size_t i = 0; i < FIELDS - 1; i++)
        if (!str_cut(payload, '\n', &lines[i], &payload)) return false;
    lines[FIELDS - 1] = payload;
    int64_t kind, outcome;
    struct sandbox_message m = {.event_id = lines[0],
                                .payment_ref = lines[2],
                                .order_ref = lines[3],
                                .currency = lines[5],
                                .refund_ref = lines[6]};
    bool ok = str_to_int64(lines[1], &kind) && kind >= EVENT_IGNORED && kind <= EVENT_DISPUTE_CLOSED &&
              str_to_int64(lines[4], &m.amount.minor) && str_to_int64(lines[7], &m.refunded_total.minor) &&
              str_to_int64(lines[8], &outcome) && outcome >= DISPUTE_LOST && outcome <= DISPUTE_WITHDRAWN &&
              str_to_int64(lines[9], &m.at.ms);
    if (!ok) return false;
    m.kind = (enum payment_event_kind)kind;
    m.outcome = (enum dispute_outcome)outcome;
    *ret = m;
    return true;
}
