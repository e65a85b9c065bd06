/* domain/sandbox_play.c - see sandbox_play.h. The table at the end is the whole list. */
#include "domain/sandbox_play.h"

#include "domain/sandbox_message.h"

#define SWAPPED_MS (3 * TIME_SECOND) /* delay of the first of two messages that swap places */

typedef enum err play_step(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now);

static enum err tell_paid(struct db *db, const struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    struct sandbox_message m = {.kind = EVENT_SUCCEEDED, .amount = p->received, .currency = p->paid_currency};
    return sandbox_tell(db, p, &m, how, now);
}

static enum err pay(struct db *db, struct sandbox_payment *p, Money amount, Str currency,
                    const struct sandbox_sending *how, Time now)
{
    p->status = SANDBOX_PAID;
    p->received = amount;
    p->paid_currency = currency;
    enum err e = sandbox_save(db, p);
    return e ? e : tell_paid(db, p, how, now);
}

static enum err play_pay(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    return pay(db, p, p->amount, p->currency, how, now);
}

static enum err play_part(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    return pay(db, p, (Money){p->amount.minor > 1 ? p->amount.minor / 2 : 1}, p->currency, how, now);
}

static enum err play_too_much(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    Money amount;
    if (!money_add(p->amount, (Money){p->amount.minor / 2 + 1}, &amount)) return ERR_INVALID_STATE;
    return pay(db, p, amount, p->currency, how, now);
}

static enum err play_currency(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    return pay(db, p, p->amount, str_eq(p->currency, STR("EUR")) ? STR("USD") : STR("EUR"), how, now);
}

/* Another payment for the same order: the customer paid on two pages. */
static enum err play_twice(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    struct sandbox_payment second, want = *p;
    want.reference = str_printf(db_arena(db), "%.*s-again", STR_FMT(p->reference));
    enum err e = sandbox_create(db, &want, now, &second);
    if (e) return e;
    return second.status == SANDBOX_PAID ? ERR_INVALID_STATE : play_pay(db, &second, how, now);
}

static enum err play_fail(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    p->status = SANDBOX_FAILED;
    enum err e = sandbox_save(db, p);
    return e ? e : sandbox_tell(db, p, &(struct sandbox_message){.kind = EVENT_FAILED}, how, now);
}

static enum err play_expire(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    p->status = SANDBOX_EXPIRED;
    enum err e = sandbox_save(db, p);
    return e ? e : sandbox_tell(db, p, &(struct sandbox_message){.kind = EVENT_EXPIRED}, how, now);
}

static enum err give_back(struct db *db, struct sandbox_payment *p, int64_t part, const struct sandbox_sending *how,
                          Time now)
{
    Str refund;
    Money amount = {(p->received.minor - p->refunded.minor) / part};
    if (amount.minor <= 0) return ERR_INVALID_STATE;
    return sandbox_give_back(db, p->ref, amount, (Str){0}, how, now, &refund);
}

static enum err play_refund(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    return give_back(db, p, 1, how, now);
}

static enum err play_refund_part(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    return give_back(db, p, p->received.minor - p->refunded.minor > 1 ? 2 : 1, how, now);
}

/* The refund's message overtakes the payment's. */
static enum err play_swapped(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    struct sandbox_sending later = *how;
    later.late_ms += SWAPPED_MS;
    enum err e = play_pay(db, p, &later, now);
    return e ? e : play_refund_part(db, p, how, now);
}

static enum err play_dispute(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    if (p->dispute_ref.len) return ERR_INVALID_STATE;
    p->dispute_ref = sandbox_ref(db_arena(db), STR("sbx_dispute_"));
    enum err e = sandbox_save(db, p);
    struct sandbox_message m = {.kind = EVENT_DISPUTED, .amount = p->received, .refund_ref = p->dispute_ref};
    return e ? e : sandbox_tell(db, p, &m, how, now);
}

static enum err end_dispute(struct db *db, struct sandbox_payment *p, enum dispute_outcome outcome, Money amount,
                            const struct sandbox_sending *how, Time now)
{
    if (!p->dispute_ref.len) return ERR_INVALID_STATE;
    struct sandbox_message m = {
        .kind = EVENT_DISPUTE_CLOSED, .amount = amount, .refund_ref = p->dispute_ref, .outcome = outcome};
    p->dispute_ref = (Str){0};
    enum err e = sandbox_save(db, p);
    return e ? e : sandbox_tell(db, p, &m, how, now);
}

static enum err play_won(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    return end_dispute(db, p, DISPUTE_WON, p->received, how, now);
}

static enum err play_lost(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    return end_dispute(db, p, DISPUTE_LOST, p->received, how, now);
}

static enum err play_lost_part(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    return end_dispute(db, p, DISPUTE_LOST, (Money){p->received.minor > 1 ? p->received.minor / 2 : 1}, how, now);
}

static enum err play_withdrawn(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    return end_dispute(db, p, DISPUTE_WITHDRAWN, p->received, how, now);
}

static enum err set_mood(struct db *db, struct sandbox_payment *p, enum sandbox_mood mood)
{
    p->mood = mood;
    return sandbox_save(db, p);
}

static enum err play_refuse(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    (void)how, (void)now;
    return set_mood(db, p, SANDBOX_REFUSES_REFUNDS);
}

static enum err play_lose(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    (void)how, (void)now;
    return set_mood(db, p, SANDBOX_LOSES_ANSWER);
}

static enum err play_lose_create(struct db *db, struct sandbox_payment *p, const struct sandbox_sending *how, Time now)
{
    (void)how, (void)now;
    return set_mood(db, p, SANDBOX_LOSES_CREATE);
}

/* A page that was closed takes no money; one that has expired may still get some, late. */
enum when { BEFORE_PAID, AFTER_PAID, ANY_TIME };

static const struct {
    Str name;
    enum when when;
    play_step *run;
} plays[] = {
    {S("pay"), BEFORE_PAID, play_pay},
    {S("pay_part"), BEFORE_PAID, play_part},
    {S("pay_too_much"), BEFORE_PAID, play_too_much},
    {S("pay_other_currency"), BEFORE_PAID, play_currency},
    {S("pay_swapped"), BEFORE_PAID, play_swapped},
    {S("fail"), BEFORE_PAID, play_fail},
    {S("expire"), BEFORE_PAID, play_expire},
    {S("pay_twice"), AFTER_PAID, play_twice},
    {S("refund"), AFTER_PAID, play_refund},
    {S("refund_part"), AFTER_PAID, play_refund_part},
    {S("refund_returned"), AFTER_PAID, sandbox_return_refund},
    {S("dispute"), AFTER_PAID, play_dispute},
    {S("dispute_won"), AFTER_PAID, play_won},
    {S("dispute_lost"), AFTER_PAID, play_lost},
    {S("dispute_lost_part"), AFTER_PAID, play_lost_part},
    {S("dispute_withdrawn"), AFTER_PAID, play_withdrawn},
    {S("refuse_refunds"), ANY_TIME, play_refuse},
    {S("lose_answer"), ANY_TIME, play_lose},
    {S("lose_next_create"), ANY_TIME, play_lose_create},
};

enum err sandbox_play(struct db *db, Str ref, Str name, const struct sandbox_sending *how, Time now)
{
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++) {
        if (!str_eq(name, plays[i].name)) continue;
        struct sandbox_payment p;
        enum err e = sandbox_lock(db, ref, &p);
        if (e) return e;
        bool is_paid = p.status == SANDBOX_PAID;
        if (plays[i].when == AFTER_PAID && !is_paid) return ERR_INVALID_STATE;
        if (plays[i].when == BEFORE_PAID && (is_paid || p.status == SANDBOX_CLOSED)) return ERR_INVALID_STATE;
        return plays[i].run(db, &p, how, now);
    }
    return ERR_FIELD_VALUE;
}
