/* tests/unit/payment_edges.h - steps of a payment's life, each of which fails first at every one of its statements
 * (faulty_store.h), and a few words for events. SQLite alone. */
#pragma once

#include "faulty_store.h"
#include "payment_shop.h"

#include "domain/payment_desk.h"
#include "domain/payment_refund.h"

static struct payment p, q;
static struct payment_event event;
static struct payment_outcome outcome;

static inline enum err make_stock(struct db *db)
{
    stock(db);
    return OK;
}

static inline int open_shop(void **state)
{
    (void)state;
    return store_open(true) || store_tx(TX_WRITE, make_stock) != OK;
}

static Id wanted;
static int64_t wanted_amount;

static inline enum err do_buy(struct db *db)
{
    p = buy(db, wanted);
    return OK;
}

static inline enum err do_top_up(struct db *db)
{
    p = top_up(db, wanted_amount);
    return OK;
}

/* Another payment of the same order. */
static inline enum err do_pay_again(struct db *db)
{
    struct payment want = {.gateway_id = gateway.id,
                           .account_id = ada,
                           .order_id = p.order_id,
                           .amount = p.amount,
                           .currency = STR("USD")};
    return payment_create(db, &want, NOW, &q);
}

static inline enum err do_receive(struct db *db)
{
    return payment_receive(db, &gateway, &event, STR("{}"), NOW, &outcome);
}

static inline struct payment bought(Id what)
{
    wanted = what;
    assert_int_equal(store_tx(TX_WRITE, do_buy), OK);
    return p;
}

static inline struct payment topped_up(int64_t amount)
{
    wanted_amount = amount;
    assert_int_equal(store_tx(TX_WRITE, do_top_up), OK);
    return p;
}

static inline struct payment paid_again(void)
{
    assert_int_equal(store_swept(do_pay_again), OK);
    return q;
}

static inline struct payment_event of(const struct payment *about, enum payment_event_kind kind)
{
    static int counter;
    struct payment_event e = {.kind = kind,
                              .type = STR("test"),
                              .mode = EVENT_MODE_TEST,
                              .currency = STR("USD"),
                              .has_amount = true,
                              .amount = about->amount};
    e.event_id = str_printf(&store_arena, "edge_%d", ++counter);
    e.payment_ref = str_printf(&store_arena, "pi_%lld", (long long)about->id.v);
    e.order_ref = payment_order_ref(&store_arena, about);
    return e;
}

static inline void tell(struct payment_event e, enum webhook_status want)
{
    event = e;
    enum err err = store_swept(do_receive);
    if (err || outcome.status != want)
        fail_msg("%s: %s, status %d (%s), want %d", payment_event_kind_names[e.kind], err_info(err)->code,
                 outcome.status, outcome.reason, want);
}

static inline void tell_kind(const struct payment *about, enum payment_event_kind kind, enum webhook_status want)
{
    tell(of(about, kind), want);
}

static inline void tell_paid(const struct payment *about, int64_t amount, enum webhook_status want)
{
    struct payment_event e = of(about, EVENT_SUCCEEDED);
    e.amount.minor = amount;
    tell(e, want);
}

static inline enum err read_payment(struct db *db)
{
    return payment_find(db, p.id, &p);
}

static inline struct payment now_of(const struct payment *about)
{
    p = *about;
    assert_int_equal(store_tx(TX_READ, read_payment), OK);
    return p;
}

static inline enum err read_order(struct db *db)
{
    wanted.v = (int64_t)order_status(db, &p);
    return OK;
}

static inline enum order_status order_of(const struct payment *about)
{
    p = *about;
    assert_int_equal(store_tx(TX_READ, read_order), OK);
    return (enum order_status)wanted.v;
}

static inline enum err check_books(struct db *db)
{
    assert_books(db);
    return OK;
}

static inline int close_shop(void **state)
{
    assert_int_equal(store_tx(TX_READ, check_books), OK);
    return store_close(state);
}

static inline enum err do_set_page(struct db *db)
{
    return payment_set_page(db, &gateway, q.id, str_printf(&store_arena, "cs_%lld", (long long)q.id.v), STR(""),
                            STR("https://pay.example/"), (Time){0}, NOW);
}

static inline struct payment with_page(struct payment about)
{
    q = about;
    assert_int_equal(store_swept(do_set_page), OK);
    return about;
}

/* By the name of its page: an order's number alone means its latest payment. */
static inline void tell_page(const struct payment *about, enum payment_event_kind kind, enum webhook_status want)
{
    struct payment_event e = of(about, kind);
    e.group_ref = str_printf(&store_arena, "cs_%lld", (long long)about->id.v);
    tell(e, want);
}

static struct refund refund;

static inline enum err do_refund(struct db *db)
{
    return payment_refund_order(db, p.order_id, (Money){wanted_amount}, STR("asked"), staff, NOW, &refund);
}
static Str refund_ref;
static bool is_refused;
static inline enum err do_refund_done(struct db *db)
{
    return payment_refund_done(db, refund.id, refund_ref, STR(""), NOW);
}
static inline enum err do_refund_failed(struct db *db)
{
    return payment_refund_failed(db, refund.id, STR("refused"), is_refused, NOW);
}
static inline enum err do_refund_retry(struct db *db)
{
    struct refund r;
    return payment_refund_retry(db, refund.id, staff, NOW, &r);
}
static inline enum err do_refund_settle(struct db *db)
{
    struct refund r;
    return payment_refund_settle(db, refund.id, STR("by hand"), staff, NOW, &r);
}

static inline struct payment paid(Id what)
{
    struct payment one = bought(what);
    tell_kind(&one, EVENT_SUCCEEDED, WEBHOOK_HANDLED);
    return now_of(&one);
}

static inline void ask_back(const struct payment *about, int64_t amount)
{
    p = *about;
    wanted_amount = amount;
    assert_int_equal(store_swept(do_refund), OK);
}

static inline struct payment_event back(const struct payment *about, int64_t total, const char *ref)
{
    struct payment_event e = of(about, EVENT_REFUNDED);
    e.has_refunded_total = true;
    e.refunded_total.minor = total;
    e.refund_ref = str_from(ref);
    return e;
}

static inline struct payment_event disputed(const struct payment *about, enum payment_event_kind kind, const char *ref,
                                            int64_t amount)
{
    struct payment_event e = of(about, kind);
    e.refund_ref = str_from(ref);
    e.amount.minor = amount;
    return e;
}

#define EDGE(f)                                                                                                        \
    {                                                                                                                  \
#f, f, open_shop, close_shop, NULL                                                                             \
    }
