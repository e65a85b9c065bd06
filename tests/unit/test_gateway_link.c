/* tests/unit/test_gateway_link.c - operations against providers whose answers are made up here: in the place of
 * outbound/outbound.c stands a list of answers. */
#include "gateway.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "gateway/certificates.h"
#include "gateway/lane.h"
#include "gateway/link.h"

#define NONE                                                                                                           \
    {                                                                                                                  \
        0, NULL, "no answer"                                                                                           \
    }

struct answer {
    int status;
    const char *body, *failure;
};

static const struct answer *answers;
static size_t answer_count, asked;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* who holds it keeps every answer back */
static atomic_int waiting;

void outbound_call(struct outbound *o, struct outbound_job *job)
{
    (void)o;
    atomic_fetch_add(&waiting, 1);
    pthread_mutex_lock(&gate);
    const struct answer *next = asked < answer_count ? &answers[asked++] : &(const struct answer)NONE;
    pthread_mutex_unlock(&gate);
    job->failure = next->failure;
    job->reply = (struct http_reply){next->status, str_from(next->body ? next->body : "")};
}

static void will_answer(const struct answer *list, size_t count)
{
    answers = list;
    answer_count = count;
    asked = 0;
}
#define WILL_ANSWER(...)                                                                                               \
    will_answer((const struct answer[]){__VA_ARGS__}, sizeof((const struct answer[]){__VA_ARGS__}) / sizeof *answers)

static struct gateway_config config_of(enum provider p)
{
    struct gateway_config c = test_config(p, "s");
    c.id = (Id){p + 1};
    c.api_key = STR("key");
    c.api_secret = STR("secret");
    c.store_id = STR("store1");
    c.base_url = STR("https://provider.example");
    return c;
}

static struct gateway_op creation(const char *currency)
{
    return (struct gateway_op){.kind = OP_CREATE,
                               .pay = {.reference = STR("r"),
                                       .order_ref = STR("1"),
                                       .amount = {100},
                                       .currency = str_from(currency),
                                       .success_url = STR("https://shop.example/")}};
}

static enum reply run(struct gateway_link *l, enum provider p, struct gateway_op op)
{
    struct arena a = {0};
    struct gateway_config c = config_of(p);
    enum reply r = link_run(l, &c, &op, &a);
    if (r == REPLY_OK)
        assert_null(op.failure);
    else
        assert_non_null(op.failure);
    arena_done(&a);
    return r;
}

/* What a provider has no call for, or what its call cannot express: no call is made. */
static void test_nothing_to_call(void **state)
{
    (void)state;
    struct gateway_link *l = link_new(NULL);
    static const struct {
        enum provider provider;
        struct gateway_op op;
    } refused[] = {
        {PROVIDER_STRIPE, {.kind = OP_CAPTURE, .group_ref = S("g")}},
        {PROVIDER_STRIPE, {.kind = OP_CONFIRM, .claim = {.kind = EVENT_SUCCEEDED}}},
        {PROVIDER_SANDBOX, {.kind = OP_BOOK}},
        {PROVIDER_STRIPE, {.kind = OP_CLOSE, .group_ref = S("../x")}},
        {PROVIDER_BTCPAY, {.kind = OP_CONFIRM, .claim = {.group_ref = S("../x")}}},
        {PROVIDER_RAZORPAY, {.kind = OP_ASK, .group_ref = S("../x")}},
        {PROVIDER_SANDBOX, {.kind = OP_REFUND, .refund = {.payment_ref = S("../x")}}},
    };
    will_answer(NULL, 0);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(run(l, refused[i].provider, refused[i].op), REPLY_REFUSED);
    assert_int_equal(run(l, PROVIDER_STRIPE, creation("XXX")), REPLY_REFUSED);
    assert_int_equal(atomic_load(&waiting), 0);
    struct arena a = {0};
    struct gateway_config stripe = config_of(PROVIDER_STRIPE);
    struct pay_request pay = creation("XXX").pay;
    assert_str(link_create_body(&a, &stripe, &pay), (Str){0});
    stripe.api_key = (Str){0};
    struct gateway_op op = creation("EUR");
    assert_int_equal(link_run(l, &stripe, &op, &a), REPLY_REFUSED);
    struct gateway_config store = config_of(PROVIDER_BTCPAY);
    store.store_id = (Str){0};
    op = (struct gateway_op){.kind = OP_BOOK};
    assert_int_equal(link_run(l, &store, &op, &a), REPLY_REFUSED);
    arena_done(&a);
    link_free(l);
    link_free(NULL);
}

/* PayPal wants a token first. A token that is no longer taken is asked for once more, and only once. */
static void test_tokens(void **state)
{
    (void)state;
    static const char token[] = "{\"access_token\":\"t\",\"expires_in\":3600}";
    static const char order[] = "{\"id\":\"o\",\"status\":\"CREATED\"}";
    struct gateway_op ask = {.kind = OP_ASK, .group_ref = STR("o")},
                      capture = {.kind = OP_CAPTURE, .group_ref = STR("../x")},
                      close = {.kind = OP_CLOSE, .group_ref = STR("o")};
    struct gateway_link *l = link_new(NULL);
    WILL_ANSWER({500, "", NULL});
    assert_int_equal(run(l, PROVIDER_PAYPAL, ask), REPLY_RETRY);
    WILL_ANSWER({401, "{}", NULL});
    assert_int_equal(run(l, PROVIDER_PAYPAL, ask), REPLY_UNAUTHORIZED);
    WILL_ANSWER({200, "{}", NULL}); /* no token is in it, and the errand says why it failed */
    assert_int_equal(run(l, PROVIDER_PAYPAL, ask), REPLY_RETRY);
    WILL_ANSWER({100, "", NULL}); /* nobody should send this as an answer */
    assert_int_not_equal(run(l, PROVIDER_PAYPAL, ask), REPLY_OK);
    WILL_ANSWER({200, token, NULL}, {200, order, NULL}, {200, order, NULL});
    assert_int_equal(run(l, PROVIDER_PAYPAL, ask), REPLY_OK);
    assert_int_equal(run(l, PROVIDER_PAYPAL, ask), REPLY_OK); /* the token was kept */
    assert_int_equal(asked, 3);
    WILL_ANSWER({401, "{}", NULL}, {200, token, NULL}, {200, order, NULL});
    assert_int_equal(run(l, PROVIDER_PAYPAL, ask), REPLY_OK);
    WILL_ANSWER({401, "{}", NULL}, {200, token, NULL}, {401, "{}", NULL});
    assert_int_equal(run(l, PROVIDER_PAYPAL, ask), REPLY_UNAUTHORIZED);
    WILL_ANSWER({200, "[]", NULL});
    assert_int_equal(run(l, PROVIDER_PAYPAL, ask), REPLY_RETRY); /* an answer that cannot be understood */
    assert_int_equal(run(l, PROVIDER_PAYPAL, capture), REPLY_REFUSED);
    assert_int_equal(run(l, PROVIDER_PAYPAL, close), REPLY_REFUSED); /* there is no such call */
    link_free(l);
}

/* Where a second call would make a second payment or refund, an earlier one is looked for. */
static void test_finding(void **state)
{
    (void)state;
    static const char found[] =
        "{\"payment_links\":[{\"id\":\"l\",\"reference_id\":\"r\",\"short_url\":\"https://p\"}]}";
    static const char nothing[] = "{\"payment_links\":[]}", page[] = "{\"id\":\"l\",\"short_url\":\"https://p\"}";
    struct gateway_op op = creation("EUR"), again = op;
    again.may_exist = true;
    struct gateway_link *l = link_new(NULL);
    WILL_ANSWER({200, found, NULL});
    assert_int_equal(run(l, PROVIDER_RAZORPAY, again), REPLY_OK);
    WILL_ANSWER({200, nothing, NULL}, {200, page, NULL});
    assert_int_equal(run(l, PROVIDER_RAZORPAY, again), REPLY_OK);
    WILL_ANSWER({400, "{}", NULL}, {200, found, NULL}); /* refused: another attempt was quicker */
    assert_int_equal(run(l, PROVIDER_RAZORPAY, op), REPLY_OK);
    WILL_ANSWER({400, "{}", NULL}, {200, nothing, NULL});
    assert_int_equal(run(l, PROVIDER_RAZORPAY, op), REPLY_REFUSED);
    WILL_ANSWER({400, "{}", NULL}); /* repeating is harmless there: nothing is looked for */
    assert_int_equal(run(l, PROVIDER_STRIPE, op), REPLY_REFUSED);
    again.stored = STR("the body of the first attempt");
    WILL_ANSWER({200, "{\"id\":\"cs\",\"url\":\"https://p\"}", NULL});
    assert_int_equal(run(l, PROVIDER_STRIPE, again), REPLY_OK);

    struct gateway_op refund = {.kind = OP_REFUND,
                                .may_exist = true,
                                .refund = {.reference = STR("r"),
                                           .payment_ref = STR("p"),
                                           .group_ref = STR("g"),
                                           .amount = {100},
                                           .currency = STR("EUR")}};
    WILL_ANSWER({200, "{\"data\":{\"id\":\"re\"}}", NULL}); /* the sandbox knows its keys for ever */
    assert_int_equal(run(l, PROVIDER_SANDBOX, refund), REPLY_OK);
    WILL_ANSWER({200, "[]", NULL}, {503, "", NULL}); /* how it was paid cannot be told */
    assert_int_equal(run(l, PROVIDER_BTCPAY, refund), REPLY_RETRY);
    struct gateway_op ask = {.kind = OP_ASK, .may_exist = true, .group_ref = STR("g")};
    WILL_ANSWER({200, "{\"id\":\"g\",\"status\":\"New\",\"storeId\":\"store1\"}", NULL});
    assert_int_equal(run(l, PROVIDER_BTCPAY, ask), REPLY_OK);
    link_free(l);
}

static void test_confirming(void **state)
{
    (void)state;
    struct arena a = {0};
    struct gateway_link *l = link_new(NULL);
    struct gateway_config c = config_of(PROVIDER_BTCPAY), stripe = config_of(PROVIDER_STRIPE);
    struct payment_event claim = {
        .kind = EVENT_SUCCEEDED, .group_ref = STR("g"), .payment_ref = STR("g"), .has_amount = true};
    will_answer(NULL, 0);
    struct payment_event e = claim;
    assert_int_equal(link_confirm(l, &stripe, &e, &a), OK); /* its word is enough */
    e.kind = EVENT_IGNORED;
    assert_int_equal(link_confirm(l, &c, &e, &a), OK);
    e = claim;
    e.review = "somebody has to look";
    assert_int_equal(link_confirm(l, &c, &e, &a), OK);
    e = claim;
    c.api_key = (Str){0};
    assert_int_equal(link_confirm(l, &c, &e, &a), OK);
    assert_non_null(e.review);
    c.api_key = STR("key");
    e = claim;
    WILL_ANSWER({401, "{}", NULL});
    assert_int_equal(link_confirm(l, &c, &e, &a), ERR_UNAVAILABLE);
    WILL_ANSWER(NONE);
    assert_int_equal(link_confirm(l, &c, &e, &a), ERR_UNAVAILABLE);
    WILL_ANSWER({404, "{}", NULL});
    assert_int_equal(link_confirm(l, &c, &e, &a), OK);
    assert_non_null(e.review);
    assert_false(e.has_amount);
    arena_done(&a);
    link_free(l);
}

/* The sandbox lives in this server, unless it is told another place. */
static void test_sandbox(void **state)
{
    (void)state;
    struct arena a = {0};
    struct gateway_link *l = link_new(NULL);
    link_set_self(l, STR("http://127.0.0.1:8080"));
    struct gateway_config c = config_of(PROVIDER_SANDBOX);
    for (int i = 0; i < 2; i++) {
        struct gateway_op op = creation("EUR");
        WILL_ANSWER({200, "{\"data\":{\"id\":\"p\",\"url\":\"https://p\"}}", NULL});
        assert_int_equal(link_run(l, &c, &op, &a), REPLY_OK);
        c.base_url = (Str){0};
    }
    arena_done(&a);
    link_free(l);
}

/* A gateway that does not answer is left alone, at first for seconds, then for longer, a minute at most. */
static void test_lanes(void **state)
{
    (void)state;
    struct lanes l = {0};
    struct gateway_config c = config_of(PROVIDER_STRIPE), other = config_of(PROVIDER_PAYPAL);
    lanes_init(&l);
    for (int i = 0; i < LANE_FAILURES; i++) {
        assert_int_equal(lane_enter(&l, &c, false), LANE_FREE);
        lane_leave(&l, &c, false, false);
    }
    assert_int_equal(lane_enter(&l, &c, false), LANE_OPEN);
    assert_int_equal(lane_enter(&l, &other, false), LANE_FREE);
    lane_leave(&l, &other, false, true);
    assert_int_equal(lanes_open(&l), 1);
    int64_t seconds[] = {10, 20, 40, 60, 60};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        l.lanes[0].open_until_ns = 1; /* its time is over: one call tries */
        assert_int_equal(lane_enter(&l, &c, false), LANE_FREE);
        assert_int_equal(lane_enter(&l, &c, false), LANE_OPEN);
        lane_leave(&l, &c, false, false);
        assert_int_equal(l.lanes[0].open_ns / 1000000000, seconds[i]);
    }
    l.lanes[0].open_until_ns = 1;
    assert_int_equal(lane_enter(&l, &c, false), LANE_FREE);
    lane_leave(&l, &c, false, true);
    assert_int_equal(lanes_open(&l), 0);
    for (int i = 0; i < LANE_PLACES_BACKGROUND; i++) assert_int_equal(lane_enter(&l, &c, true), LANE_FREE);
    assert_int_equal(lane_enter(&l, &c, true), LANE_FULL);
    for (int i = LANE_PLACES_BACKGROUND; i < LANE_PLACES; i++) assert_int_equal(lane_enter(&l, &c, false), LANE_FREE);
    assert_int_equal(lane_enter(&l, &c, false), LANE_FULL);
    lanes_done(&l);
}

struct finding {
    struct certificates certs;
    struct gateway_config config;
    Str path;
    enum verdict verdict;
};

static void *find(void *arg)
{
    struct finding *f = arg;
    struct arena a = {0};
    Str pem;
    f->verdict = f->certs.find(f->certs.ctx, f->certs.network, &f->config, f->path, &a, &pem);
    if (f->verdict == VERDICT_OK) assert_str(pem, STR("PEM"));
    arena_done(&a);
    return NULL;
}

static struct finding finding_of(struct certificates certs, const char *path)
{
    return (struct finding){.certs = certs, .config = config_of(PROVIDER_PAYPAL), .path = str_from(path)};
}

static enum verdict found(struct certificate_store *s, const char *path)
{
    struct finding f = finding_of((struct certificates){s, STR("192.0.2.1"), certificate_find}, path);
    find(&f);
    return f.verdict;
}

static void test_certificates(void **state)
{
    (void)state;
    struct certificate_store s = {0};
    certificates_init(&s, NULL);
    char longest[194];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    will_answer(NULL, 0);
    assert_int_equal(found(&s, longest), VERDICT_BAD);
    assert_int_equal(found(&s, "/a"), VERDICT_UNAVAILABLE);
    WILL_ANSWER({200, "", NULL}, {503, "", NULL}, {404, "", NULL}, {200, "PEM", NULL});
    assert_int_equal(found(&s, "/a"), VERDICT_UNAVAILABLE); /* an answer without a certificate */
    assert_int_equal(found(&s, "/a"), VERDICT_UNAVAILABLE);
    assert_int_equal(found(&s, "/none"), VERDICT_BAD);
    assert_int_equal(found(&s, "/none"), VERDICT_BAD); /* it is known that there is none */
    assert_int_equal(found(&s, "/a"), VERDICT_OK);
    assert_int_equal(found(&s, "/a"), VERDICT_OK);
    assert_int_equal(asked, 4);

    /* While one is being fetched, others who want it wait, and who wants another one comes again later. */
    struct finding two[2];
    pthread_t threads[2];
    WILL_ANSWER({200, "PEM", NULL});
    atomic_store(&waiting, 0);
    pthread_mutex_lock(&gate);
    for (int i = 0; i < 2; i++) {
        two[i] = finding_of((struct certificates){&s, STR("192.0.2.1"), certificate_find}, "/b");
        assert_int_equal(pthread_create(&threads[i], NULL, find, &two[i]), 0);
    }
    while (!atomic_load(&waiting)) sched_yield();
    assert_int_equal(found(&s, "/c"), VERDICT_UNAVAILABLE);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(two[i].verdict, VERDICT_OK);
    }
    assert_int_equal(atomic_load(&waiting), 1);
    certificates_done(&s);
}

/* Of those who want one certificate at once, few wait; what could not be fetched is not fetched again for them. */
static void test_certificates_few_wait(void **state)
{
    (void)state;
    enum { ALL = 1 + CERTIFICATE_WAITERS_MAX };
    struct certificate_store s = {0};
    certificates_init(&s, NULL);
    struct finding all[ALL];
    pthread_t threads[ALL];
    will_answer(NULL, 0);
    atomic_store(&waiting, 0);
    pthread_mutex_lock(&gate);
    for (int i = 0; i < ALL; i++) {
        all[i] = finding_of((struct certificates){&s, STR("192.0.2.1"), certificate_find}, "/b");
        assert_int_equal(pthread_create(&threads[i], NULL, find, &all[i]), 0);
    }
    for (int there = 0; there < CERTIFICATE_WAITERS_MAX; sched_yield()) {
        pthread_mutex_lock(&s.lock);
        there = 0;
        for (int i = 0; i < CERTIFICATE_FETCHES_MAX; i++) there += s.fetches[i].waiting;
        pthread_mutex_unlock(&s.lock);
    }
    assert_int_equal(found(&s, "/b"), VERDICT_UNAVAILABLE);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < ALL; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(all[i].verdict, VERDICT_UNAVAILABLE);
    }
    assert_int_equal(atomic_load(&waiting), 1);
    certificates_done(&s);
}

static void wait_for(int calls)
{
    while (atomic_load(&waiting) < calls) sched_yield();
}

/* A stranger who has one fetched after the other keeps no other network's message waiting, until all places are taken.
 */
static void test_certificates_by_network(void **state)
{
    (void)state;
    static const char *const names[] = {"/n0", "/n1", "/n2", "/n3"}, *const networks[] = {"n0", "n1", "n2", "n3"};
    struct certificate_store s = {0};
    certificates_init(&s, NULL);
    struct finding all[CERTIFICATE_FETCHES_MAX];
    pthread_t threads[CERTIFICATE_FETCHES_MAX];
    WILL_ANSWER({200, "PEM", NULL}, {200, "PEM", NULL}, {200, "PEM", NULL}, {200, "PEM", NULL});
    atomic_store(&waiting, 0);
    pthread_mutex_lock(&gate);
    for (int i = 0; i < CERTIFICATE_FETCHES_MAX; i++) {
        all[i] = finding_of((struct certificates){&s, str_from(networks[i]), certificate_find}, names[i]);
        assert_int_equal(pthread_create(&threads[i], NULL, find, &all[i]), 0);
        wait_for(i + 1);
        struct finding again = finding_of(all[i].certs, "/other");
        find(&again);
        assert_int_equal(again.verdict, VERDICT_UNAVAILABLE);
    }
    assert_int_equal(found(&s, "/other"), VERDICT_UNAVAILABLE);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < CERTIFICATE_FETCHES_MAX; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(all[i].verdict, VERDICT_OK);
    }
    assert_int_equal(asked, CERTIFICATE_FETCHES_MAX);
    certificates_done(&s);
}

static void end_all(struct certificate_store *s, int64_t ends_ns)
{
    for (int i = 0; i < CERTIFICATES_MAX; i++)
        if (s->kept[i].ends_ns) s->kept[i].ends_ns = ends_ns;
}

/* A known one is good while it cannot be fetched again, for some days; names that nobody has do not push it out. */
static void test_certificates_known(void **state)
{
    (void)state;
    const int64_t day_ns = INT64_C(24) * 3600 * 1000000000;
    struct certificate_store s = {0};
    certificates_init(&s, NULL);
    WILL_ANSWER({200, "PEM", NULL});
    assert_int_equal(found(&s, "/a"), VERDICT_OK);
    end_all(&s, time_monotonic_ns() - 1);
    char name[3] = "/0";
    struct answer none[2 * CERTIFICATES_MAX];
    for (int i = 0; i < 2 * CERTIFICATES_MAX; i++) none[i] = (struct answer){404, "", NULL};
    will_answer(none, 2 * CERTIFICATES_MAX);
    for (int i = 0; i < 2 * CERTIFICATES_MAX; i++, name[1]++) assert_int_equal(found(&s, name), VERDICT_BAD);
    will_answer(NULL, 0);
    assert_int_equal(found(&s, "/a"), VERDICT_OK);

    struct finding busy = finding_of((struct certificates){&s, STR("192.0.2.1"), certificate_find}, "/busy");
    pthread_t thread;
    atomic_store(&waiting, 0);
    pthread_mutex_lock(&gate);
    assert_int_equal(pthread_create(&thread, NULL, find, &busy), 0);
    wait_for(1);
    assert_int_equal(found(&s, "/a"), VERDICT_OK); /* from the network that fetches another */
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);

    WILL_ANSWER({404, "", NULL}); /* it is no longer PayPal's */
    assert_int_equal(found(&s, "/a"), VERDICT_BAD);
    end_all(&s, time_monotonic_ns() - 1);
    will_answer(NULL, 0);
    assert_int_equal(found(&s, "/a"), VERDICT_UNAVAILABLE);

    WILL_ANSWER({200, "PEM", NULL});
    assert_int_equal(found(&s, "/a"), VERDICT_OK);
    end_all(&s, time_monotonic_ns() - 7 * day_ns);
    will_answer(NULL, 0);
    assert_int_equal(found(&s, "/a"), VERDICT_UNAVAILABLE);
    certificates_done(&s);
}

/* Strangers name certificates. Whatever becomes of these, the gateway is called. */
static void test_certificates_have_no_lane(void **state)
{
    (void)state;
    struct gateway_link *l = link_new(NULL);
    struct certificates certs = link_certificates(l, STR("192.0.2.1"));
    struct finding first = finding_of(certs, "/a"), other = finding_of(certs, "/b");
    pthread_t thread;
    WILL_ANSWER(
        NONE, {200, "{\"access_token\":\"t\",\"expires_in\":900}", NULL},
        {201, "{\"id\":\"O1\",\"links\":[{\"rel\":\"payer-action\",\"href\":\"https://pay.example/\"}]}", NULL});
    atomic_store(&waiting, 0);
    pthread_mutex_lock(&gate);
    assert_int_equal(pthread_create(&thread, NULL, find, &first), 0);
    while (!atomic_load(&waiting)) sched_yield();
    for (int i = 0; i < LANE_FAILURES + 1; i++) {
        find(&other);
        assert_int_equal(other.verdict, VERDICT_UNAVAILABLE);
    }
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    assert_int_equal(first.verdict, VERDICT_UNAVAILABLE);
    assert_int_equal(link_left_alone(l), 0);
    assert_int_equal(run(l, PROVIDER_PAYPAL, creation("EUR")), REPLY_OK);
    link_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_call),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_confirming),
        cmocka_unit_test(test_sandbox),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_certificates),
        cmocka_unit_test(test_certificates_few_wait),
        cmocka_unit_test(test_certificates_by_network),
        cmocka_unit_test(test_certificates_known),
        cmocka_unit_test(test_certificates_have_no_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
