/* tests/unit/test_idempotency.c - keys are kept exactly: whatever was undone, forgotten or has the same short hash. */
#include "store.h"

#include <pthread.h>

#include "domain/idempotency.h"
#include "master_key.h"

#define MANY 3000

/* Keys by number. Their short hashes (domain/key_index.c) are the same for all numbers with the same rest by 1000, and
 * otherwise far from each other. */
static struct idempotency key_of(int number)
{
    struct idempotency i = {.account = ada};
    int place = number % 1000 * 61;
    i.key_hash[7] = (uint8_t)place;
    i.key_hash[6] = (uint8_t)(place >> 8);
    i.key_hash[15] = (uint8_t)number;
    i.key_hash[14] = (uint8_t)(number >> 8);
    i.key_hash[13] = (uint8_t)(number >> 16);
    i.request_hash[0] = 1;
    return i;
}

static int first_key, last_key; /* what the functions below work on, one after another */
static Time moment;
static size_t answer_bytes;

static Str answer_of(int number)
{
    Str text = str_printf(&store_arena, "answer %d", number);
    if (!answer_bytes) return text;
    char *long_text = arena_alloc(&store_arena, answer_bytes);
    memset(long_text, 'x', answer_bytes);
    return (Str){long_text, answer_bytes};
}

static enum err use_up(struct db *db)
{
    for (int n = first_key; n <= last_key; n++) {
        struct idempotency key = key_of(n);
        struct kept_answer kept;
        assert_int_equal(idempotency_claim(db, &key, moment, &kept), OK);
        assert_int_equal(kept.status, 0);
        assert_int_equal(
            idempotency_store(db, &key, moment, &(struct kept_answer){.status = 201, .body = answer_of(n)}), OK);
    }
    return OK;
}

static enum err store_all(struct db *db)
{
    for (int n = first_key; n <= last_key; n++) {
        struct idempotency key = key_of(n);
        struct kept_answer answer = {.status = 201, .body = answer_of(n)};
        assert_int_equal(idempotency_store_later(db, &key, moment, &answer), OK);
    }
    return OK;
}

static enum err use_up_and_fail(struct db *db)
{
    assert_int_equal(use_up(db), OK);
    return ERR_CONFLICT;
}

static enum err are_kept(struct db *db)
{
    for (int n = first_key; n <= last_key; n++) {
        struct idempotency key = key_of(n);
        struct kept_answer kept;
        enum err e = idempotency_find(db, &key, time_now(), &kept);
        if (e) return e;
        assert_int_equal(kept.status, 201);
        assert_true(str_eq(kept.body, answer_of(n)));
        key.request_hash[0]++;
        assert_int_equal(idempotency_find(db, &key, time_now(), &kept), ERR_IDEMPOTENCY_KEY_REUSED);
    }
    return OK;
}

static enum err are_free(struct db *db)
{
    for (int n = first_key; n <= last_key; n++) {
        struct idempotency key = key_of(n);
        struct kept_answer kept;
        enum err e = idempotency_find(db, &key, time_now(), &kept);
        if (e) return e;
        assert_int_equal(kept.status, 0);
    }
    return OK;
}

static enum err forget(struct db *db)
{
    struct idempotency key = key_of(first_key);
    return idempotency_forget(db, &key);
}

static enum err expire(struct db *db)
{
    return idempotency_expire(db, moment, MANY);
}

static void with(int first, int last, store_body body, enum err expected)
{
    first_key = first;
    last_key = last;
    assert_int_equal(store_tx(TX_WRITE, body), expected);
}

static void start(void)
{
    moment = (Time){TIME_DAY};
    answer_bytes = 0;
}

static void test_many_keys(void **state)
{
    (void)state;
    start();
    with(1, MANY, use_up, OK);
    with(1, MANY, are_kept, OK);
    with(MANY + 1, 2 * MANY, are_free, OK);
}

static void test_what_was_undone_is_free(void **state)
{
    (void)state;
    start();
    with(1, 5, use_up, OK);
    with(6, 10, use_up_and_fail, ERR_CONFLICT);
    with(6, 10, are_free, OK);
    with(11, 15, use_up, OK); /* on SQLite in the rows that the others had */
    with(6, 10, are_free, OK);
    with(1, 5, are_kept, OK);
    with(11, 15, are_kept, OK);
    with(6, 10, use_up, OK);
    with(1, 15, are_kept, OK);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM idempotency"), 15);
}

static enum err store_provisional(struct db *db)
{
    struct idempotency key = key_of(first_key);
    struct kept_answer kept;
    assert_int_equal(idempotency_claim(db, &key, moment, &kept), OK);
    return idempotency_store(db, &key, moment, &(struct kept_answer){.status = 202, .body = STR("soon")});
}

/* A request of several transactions. */
static void test_an_answer_that_takes_the_place_of_another(void **state)
{
    (void)state;
    start();
    with(7, 7, store_provisional, OK);
    with(7, 7, store_all, OK);
    with(7, 7, are_kept, OK);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM idempotency"), 1);
}

static void test_forgotten_keys_are_free(void **state)
{
    (void)state;
    start();
    with(1, 3, use_up, OK);
    with(2, 2, forget, OK);
    with(2, 2, are_free, OK);
    with(1, 1, are_kept, OK);
    with(3, 3, are_kept, OK);
    with(2, 2, forget, OK); /* there is nothing to forget */
    with(2, 2, use_up, OK);
    with(1, 3, are_kept, OK);
}

static void test_old_keys_are_free(void **state)
{
    (void)state;
    start();
    with(1, MANY, use_up, OK);
    moment = time_add(moment, IDEMPOTENCY_DAYS * TIME_DAY + 1);
    with(MANY + 1, MANY + 10, use_up, OK);
    for (int i = 0; i < 3; i++) with(0, 0, expire, OK);
    with(1, MANY, are_free, OK);
    with(MANY + 1, MANY + 10, are_kept, OK);
    with(MANY + 11, 3 * MANY, use_up, OK);
    with(MANY + 1, 3 * MANY, are_kept, OK);
    with(1, MANY, are_free, OK);
}

/* What one transaction takes out and another one undoes: as when a batch of both cannot be committed. */
static enum err expire_use_up_and_fail(struct db *db)
{
    assert_int_equal(idempotency_expire(db, moment, MANY), OK);
    return use_up_and_fail(db);
}

static enum err forget_use_up_and_fail(struct db *db)
{
    struct idempotency oldest = key_of(1);
    assert_int_equal(idempotency_forget(db, &oldest), OK);
    return use_up_and_fail(db);
}

static void test_keys_whose_end_was_undone(void **state)
{
    (void)state;
    start();
    with(1, 500, use_up, OK);
    with(MANY, 2 * MANY, forget_use_up_and_fail, ERR_CONFLICT); /* enough for a larger table */
    with(1, 500, are_kept, OK);
    moment = time_add(moment, IDEMPOTENCY_DAYS * TIME_DAY + 1);
    with(2 * MANY, 4 * MANY, expire_use_up_and_fail, ERR_CONFLICT);
    with(1, 500, are_kept, OK);
}

static void test_a_start_knows_all_keys(void **state)
{
    (void)state;
    start();
    with(1, MANY, use_up, OK);
    store_reopen();
    first_key = last_key = MANY + 1;
    assert_int_equal(store_tx(TX_READ, are_free), OK); /* goes on as TX_WRITE, because nobody has looked yet */
    with(1, MANY, are_kept, OK);
    store_reopen();
    first_key = last_key = MANY;
    for (int i = 0; i < 2; i++) assert_int_equal(store_tx(TX_READ, are_kept), OK);
}

/* Nobody has read the keys when the first of them come to their end. */
static void test_a_start_in_a_transaction_that_is_undone(void **state)
{
    (void)state;
    start();
    with(1, 10, use_up, OK);
    moment = time_add(moment, IDEMPOTENCY_DAYS * TIME_DAY + 1);
    store_reopen();
    with(11, 12, expire_use_up_and_fail, ERR_CONFLICT);
    with(1, 10, are_kept, OK);
    with(11, 12, are_free, OK);
}

#define SEQUENCE_KEYS 400
#define SEQUENCE_STEPS 12 /* of a transaction, at most */

/* What is kept for a key: the number of its answer, or 0. */
struct expected {
    int answer;
    Time since;
};

static struct expected committed[SEQUENCE_KEYS], changed[SEQUENCE_KEYS];
static uint32_t sequence_seed;
static int answers_given;

static int draw(int below)
{
    sequence_seed = sequence_seed * 1664525 + 1013904223;
    return (int)((sequence_seed >> 8) % (uint32_t)below);
}

static void find_or_use(struct db *db, int number)
{
    struct idempotency key = key_of(number);
    struct expected *x = &changed[number];
    struct kept_answer kept;
    assert_int_equal(idempotency_claim(db, &key, moment, &kept), OK);
    assert_int_equal(kept.status, x->answer ? 201 : 0);
    if (x->answer) {
        assert_true(str_eq(kept.body, answer_of(x->answer)));
        return;
    }
    *x = (struct expected){++answers_given, moment};
    struct kept_answer answer = {.status = 201, .body = answer_of(x->answer)};
    assert_int_equal(idempotency_store(db, &key, moment, &answer), OK);
}

static bool is_old(int number)
{
    return changed[number].since.ms < moment.ms - IDEMPOTENCY_DAYS * TIME_DAY;
}

static void expire_all(struct db *db)
{
    assert_int_equal(idempotency_expire(db, moment, MANY), OK);
    for (int n = 0; n < SEQUENCE_KEYS; n++)
        if (is_old(n)) changed[n] = (struct expected){0};
}

/* That a request takes a month is not expected. */
static void forget_unless_old(struct db *db, int number)
{
    struct idempotency key = key_of(number);
    if (is_old(number)) return;
    assert_int_equal(idempotency_forget(db, &key), OK);
    changed[number] = (struct expected){0};
}

static enum err a_few_steps(struct db *db)
{
    memcpy(changed, committed, sizeof changed);
    bool fails = draw(4) == 0;
    for (int left = 1 + draw(SEQUENCE_STEPS); left > 0; left--) {
        int number = draw(SEQUENCE_KEYS), what = draw(10);
        if (what == 0)
            forget_unless_old(db, number);
        else if (what == 1)
            expire_all(db);
        else
            find_or_use(db, number);
    }
    return fails ? ERR_CONFLICT : OK;
}

static enum err as_committed(struct db *db)
{
    for (int n = 0; n < SEQUENCE_KEYS; n++) {
        struct idempotency key = key_of(n);
        struct kept_answer kept;
        enum err e = idempotency_find(db, &key, time_now(), &kept);
        if (e) return e;
        assert_int_equal(kept.status, committed[n].answer ? 201 : 0);
        if (kept.status) assert_true(str_eq(kept.body, answer_of(committed[n].answer)));
    }
    return OK;
}

/* Sequences of transactions that use, forget and expire keys in any order, of which every fourth is undone. */
static void test_sequences(void **state)
{
    (void)state;
    start();
    memset(committed, 0, sizeof committed);
    sequence_seed = 1;
    answers_given = 0;
    int rounds = database_is_sqlite(store.d) ? 600 : 100;
    for (int round = 1; round <= rounds; round++) {
        moment = time_add(moment, draw(2) ? TIME_DAY : 1);
        enum err e = store_tx(TX_WRITE, a_few_steps);
        if (!e) memcpy(committed, changed, sizeof committed);
        assert_true(!e || e == ERR_CONFLICT);
        if (round % 50 == 0) assert_int_equal(store_tx(TX_READ, as_committed), OK);
        if (round % 50 == 0) arena_done(&store_arena);
        if (round % 200 == 0) store_reopen();
    }
}

/* Threads that look for keys while others are added, the table grows, and another program commits. */
#define LOOKERS 3
#define ADDED_AT_ONCE 100

static _Atomic int keys_there; /* the first so many are committed; -1: over */

struct looker {
    pthread_t thread;
    struct arena arena;
    int number, found, missed;
};

static enum err look_for(void *arg, struct db *db)
{
    struct looker *l = arg;
    struct idempotency key = key_of(l->number);
    struct kept_answer kept = {0};
    enum err e = idempotency_find(db, &key, time_now(), &kept);
    if (e) return e;
    if (kept.status == 201)
        l->found++;
    else
        l->missed++;
    return OK;
}

static void *look_all_the_time(void *arg)
{
    struct looker *l = arg;
    for (int there = ADDED_AT_ONCE; there >= 0; there = atomic_load(&keys_there)) {
        l->number = 1 + l->number % there;
        if (tx_call(store.d, TX_READ, look_for, l, &l->arena) != OK) l->missed++;
        arena_done(&l->arena);
    }
    return NULL;
}

static void test_looks_beside_the_writer(void **state)
{
    (void)state;
    struct looker lookers[LOOKERS] = {0};
    start();
    with(1, ADDED_AT_ONCE, use_up, OK);
    atomic_store(&keys_there, ADDED_AT_ONCE);
    for (int i = 0; i < LOOKERS; i++)
        assert_int_equal(pthread_create(&lookers[i].thread, NULL, look_all_the_time, &lookers[i]), 0);
    for (int there = ADDED_AT_ONCE; there < MANY; there += ADDED_AT_ONCE) {
        with(there + 1, there + ADDED_AT_ONCE, use_up, OK);
        atomic_store(&keys_there, there + ADDED_AT_ONCE);
        if (database_is_sqlite(store.d) && there % (5 * ADDED_AT_ONCE) == 0)
            test_commit_elsewhere(&store, "UPDATE revision SET number = number");
    }
    atomic_store(&keys_there, -1);
    for (int i = 0; i < LOOKERS; i++) {
        pthread_join(lookers[i].thread, NULL);
        assert_int_equal(lookers[i].missed, 0);
        assert_true(lookers[i].found > 0);
    }
}

#define SHORT_ONES "SELECT COUNT(*) FROM idempotency WHERE counted_of > 0 AND answer IS NOT NULL"

static void test_small_answers_are_counted_past_so_many_of_a_day(void **state)
{
    (void)state;
    start();
    moment =
        time_add(moment, (database_is_sqlite(store.d) ? 100 : 200) * TIME_DAY); /* days that no other test has had */
    with(1, KEPT_SMALL_COUNT, store_all, OK);
    assert_int_equal(test_number(store.d, SHORT_ONES), 0);
    with(KEPT_SMALL_COUNT + 1, KEPT_SMALL_COUNT + 5, use_up, OK);
    assert_int_equal(test_number(store.d, SHORT_ONES), 5);
    moment = time_add(moment, TIME_DAY);
    with(KEPT_SMALL_COUNT + 6, KEPT_SMALL_COUNT + 6, use_up, OK);
    assert_int_equal(test_number(store.d, SHORT_ONES), 5);
    answer_bytes = KEPT_SMALL;
    with(KEPT_SMALL_COUNT + 7, KEPT_SMALL_COUNT + 7, use_up, OK);
    assert_int_equal(test_number(store.d, SHORT_ONES), 6);
    answer_bytes = KEPT_LONG;
    with(KEPT_SMALL_COUNT + 8, KEPT_SMALL_COUNT + 8, use_up, OK);
    assert_int_equal(test_number(store.d, SHORT_ONES), 6);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM idempotency WHERE counted_of < 0"), 1);
}

/* A request as it comes in. */
struct sent {
    struct idempotency_scope scope;
    Str target, body;
};

static struct idempotency init(const struct sent *s)
{
    struct idempotency i;
    idempotency_init(&s->scope, s->target, s->body, &i);
    return i;
}

static struct sent sent = {.scope = {.account = {7}, .method = "POST", .path = "/orders", .key = S("key")},
                           .target = S("/orders"),
                           .body = S("{}")};

static enum err keep_sent(struct db *db)
{
    struct idempotency key = init(&sent);
    struct kept_answer kept;
    assert_int_equal(idempotency_claim(db, &key, moment, &kept), OK);
    return idempotency_store(db, &key, moment, &(struct kept_answer){201, STR("/orders/1"), STR("made")});
}

static enum err is_kept_as_sent(struct db *db)
{
    struct idempotency key = init(&sent);
    struct kept_answer kept;
    enum err e = idempotency_find(db, &key, time_now(), &kept);
    if (e) return e;
    assert_int_equal(kept.status, 201);
    assert_true(str_eq(kept.location, STR("/orders/1")) && str_eq(kept.body, STR("made")));
    return OK;
}

/* With the master key alone: whatever else a process draws for itself is another one. */
static void test_a_start_finds_what_was_sent_before(void **state)
{
    (void)state;
    start();
    assert_int_equal(store_tx(TX_WRITE, keep_sent), OK);
    store_reopen();
    assert_int_equal(open_vault(NULL), 0);
    assert_int_equal(store_tx(TX_WRITE, is_kept_as_sent), OK);
    struct sent before = sent;
    sent.body = STR("{} ");
    assert_int_equal(store_tx(TX_WRITE, is_kept_as_sent), ERR_IDEMPOTENCY_KEY_REUSED);
    sent = before;
}

static void test_what_a_key_belongs_to(void **state)
{
    (void)state;
    struct sent others[] = {sent, sent, sent, sent, sent, sent, sent};
    others[1].scope.account = (Id){8};
    others[2].scope.account = others[3].scope.account = (Id){0};
    others[3].scope.network = STR("192.0.2.1");
    others[4].scope.method = "PUT";
    others[5].scope.path = "/order";
    others[6].scope.key = STR("kez");
    enum { COUNT = sizeof others / sizeof *others };
    struct idempotency keys[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        keys[i] = init(&others[i]);
        assert_memory_equal(keys[i].request_hash, keys[0].request_hash, REQUEST_HASH_BYTES);
        for (size_t j = 0; j < i; j++) assert_memory_not_equal(keys[i].key_hash, keys[j].key_hash, KEY_HASH_BYTES);
    }
    struct sent moved = sent; /* an account's network does not count; all of the request does */
    moved.scope.network = STR("192.0.2.1");
    assert_memory_equal(init(&moved).key_hash, keys[0].key_hash, KEY_HASH_BYTES);
    moved.target = STR("/orders{");
    moved.body = STR("}");
    assert_memory_equal(init(&moved).key_hash, keys[0].key_hash, KEY_HASH_BYTES);
    assert_memory_not_equal(init(&moved).request_hash, keys[0].request_hash, REQUEST_HASH_BYTES);
}

static Str shown;
static store_body *meanwhile; /* in another transaction, while an answer is made */

static void *run_meanwhile(void *body)
{
    assert_int_equal(tx_call(store.d, TX_WRITE, store_run, body, NULL), OK);
    return NULL;
}

static enum err show(struct db *db, Id order, Str *ret)
{
    (void)db;
    assert_int_equal(order.v, 5);
    store_body *body = meanwhile;
    meanwhile = NULL;
    if (body) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_meanwhile, body), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        shown = STR("the new key");
    }
    *ret = shown;
    return OK;
}

static struct idempotency order_key(void)
{
    struct idempotency key = key_of(1);
    key.account = ada;
    return key;
}

static enum err add_order(struct db *db)
{
    static const char insert[] = "INSERT INTO orders (id, account_id, status, channel, subtotal, total, created_at,"
                                 " key_hash, request_hash) VALUES (5, $1, 'confirmed', 'api', 0, 0, $2, $3, $4)";
    struct idempotency key = order_key();
    struct stmt *st = db_prepare(db, insert);
    bind_id(st, key.account);
    bind_time(st, moment);
    bind_blob(st, (Str){(const char *)key.key_hash, sizeof key.key_hash});
    bind_blob(st, (Str){(const char *)key.request_hash, sizeof key.request_hash});
    enum err e = db_run(st);
    return e || db_is_postgres(db) ? e : idempotency_store_order(db, &key, (Id){5});
}

static enum err write_out(struct db *db)
{
    return idempotency_write_out(db, (Id){5}, moment);
}

static enum err is_answered(struct db *db)
{
    struct idempotency key = order_key();
    struct kept_answer kept;
    enum err e = idempotency_claim(db, &key, moment, &kept);
    if (e) return e;
    assert_int_equal(kept.status, 200);
    assert_true(str_eq(kept.body, STR("the old key")));
    key.request_hash[0]++;
    assert_int_equal(idempotency_find(db, &key, moment, &kept), ERR_IDEMPOTENCY_KEY_REUSED);
    return OK;
}

static void begin_order(void)
{
    start();
    moment = time_now();
    shown = STR("the old key");
    meanwhile = NULL;
    idempotency_install(show);
    assert_int_equal(store_tx(TX_WRITE, add_order), OK);
}

static void test_the_answer_to_an_order_is_written_out(void **state)
{
    (void)state;
    begin_order();
    assert_int_equal(store_tx(TX_WRITE, is_answered), OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_tx(TX_WRITE, write_out), OK);
        shown = STR("the new key");
        assert_int_equal(store_tx(TX_WRITE, is_answered), OK);
        store_reopen();
        assert_int_equal(store_tx(TX_WRITE, is_answered), OK);
    }
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM idempotency"), 1);
}

/* The transaction of a request sees what is committed between two of its statements. */
static void test_an_order_is_changed_while_its_answer_is_made(void **state)
{
    (void)state;
    static store_body body = write_out;
    begin_order();
    meanwhile = &body;
    assert_int_equal(store_tx(TX_WRITE, is_answered), OK);
    assert_true(!meanwhile && str_eq(shown, STR("the new key")));
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM idempotency"), 1);
}

static enum err is_made_anew(struct db *db)
{
    struct idempotency key = key_of(1);
    struct kept_answer kept;
    assert_int_equal(idempotency_find(db, &key, moment, &kept), OK);
    assert_int_equal(kept.status, 201);
    return OK;
}

static void test_the_key_of_an_order_is_free_after_30_days(void **state)
{
    (void)state;
    begin_order();
    moment = time_add(moment, IDEMPOTENCY_DAYS * TIME_DAY - 1);
    assert_int_equal(store_tx(TX_WRITE, is_answered), OK);
    moment = time_add(moment, 1);
    assert_int_equal(store_tx(TX_WRITE, write_out), OK); /* nothing is kept of it any more */
    with(1, 1, use_up, OK);
    assert_int_equal(store_tx(TX_WRITE, is_made_anew), OK);
    assert_int_equal(test_number(store.d, "SELECT COUNT(*) FROM idempotency"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_many_keys),
        ON_BOTH(test_what_was_undone_is_free),
        ON_BOTH(test_an_answer_that_takes_the_place_of_another),
        ON_BOTH(test_forgotten_keys_are_free),
        ON_BOTH(test_old_keys_are_free),
        ON_BOTH(test_keys_whose_end_was_undone),
        ON_BOTH(test_a_start_knows_all_keys),
        ON_BOTH(test_a_start_in_a_transaction_that_is_undone),
        ON_BOTH(test_sequences),
        ON_BOTH(test_looks_beside_the_writer),
        ON_BOTH(test_small_answers_are_counted_past_so_many_of_a_day),
        ON_BOTH(test_a_start_finds_what_was_sent_before),
        ON_BOTH(test_what_a_key_belongs_to),
        ON_BOTH(test_the_answer_to_an_order_is_written_out),
        {"postgres test_an_order_is_changed_while_its_answer_is_made",
         test_an_order_is_changed_while_its_answer_is_made, store_open_postgres, store_close, NULL},
        ON_BOTH(test_the_key_of_an_order_is_free_after_30_days),
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
