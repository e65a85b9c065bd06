/* Every sequence of what a gateway can tell about a payment, against a model of what must become of it
 * (payment_model.h): an order in stock and sold out, a top-up that is kept and one that is spent, on both engines.
 *
 * The sequences are a tree. It is walked in one transaction, with a savepoint at each node, so that an event is applied
 * once for all sequences that begin alike: as the webhook applies it, by payment_receive. After every event the store
 * is compared with the model, and each event told so far is told again, which must change nothing at all. Each state
 * that is new is asked what `souk check` asks.
 *
 * Merging: where the store (payment_state.h) and the model are as they were at an earlier node, what follows is known.
 * That is proved, not believed: a walk that does not merge sees to it that two nodes which look alike lead to states
 * that look alike. The fingerprint of all states is the same on both engines, merged or not.
 *
 *     SOUK_SEQUENCES=6          how long; without it, what a test run has time for
 *     SOUK_SEQUENCE_KIND=0      one of the kinds alone (0 to 3), so that several programs can share the work
 *     SOUK_SEQUENCE_TESTS=...   the tests whose names fit, as "postgres *"
 *     SOUK_SEQUENCES_MERGED=0   whether what is known is skipped (1)
 *     SOUK_CHECK_EVERY=1        of the new states, one in so many is asked (4 on SQLite, 16 on PostgreSQL)
 *     SOUK_SEQUENCE_MAX=20      the longest of the random ones; SOUK_RANDOM_SEQUENCES of them for each kind
 *     SOUK_SEED                 theirs; it is told when one of them fails, which is then made as short as it can be */
#include "payment_player.h"

#include <time.h>

#include "base/sanitized.h"
#include "master_key.h"
#include "unit.h"

#define RANDOM_LENGTH 20
#if defined(WITH_ASAN) || defined(WITH_TSAN)
#define IS_SLOW true
#define ALL_OF 2
#define RANDOM_SEQUENCES 5
#else
#define IS_SLOW false
#define ALL_OF (store.folder[0] ? 4 : 3)
#define RANDOM_SEQUENCES (store.folder[0] ? 50 : 10)
#endif
#define ALL_OF_UNMERGED 3

static int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    int64_t v;
    return text && str_to_int64(str_from(text), &v) ? v : otherwise;
}

/* ---- all sequences ---- */

#define LEVELS(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define SAVE(n) "SAVEPOINT at_" #n,
#define BACK(n) "ROLLBACK TO SAVEPOINT at_" #n,
#define FORGET(n) "RELEASE SAVEPOINT at_" #n,
static const char *const saves[] = {LEVELS(SAVE)}, *const backs[] = {LEVELS(BACK)}, *const forgets[] = {LEVELS(FORGET)};
#define LENGTH_MAX ((int)(sizeof saves / sizeof *saves))

static void run(const char *sql)
{
    check(db_run(db_prepare(w.db, sql)) == OK);
}

/* As it was at the level's savepoint. SQLite drops what it kept for a savepoint with the savepoint alone. */
static void go_back(int level)
{
    run(backs[level]);
    run(forgets[level]);
    w.so_far.count = level;
}

static bool walk(const struct model *m, const struct state_key *here);

static bool visit(const struct model *m, enum told what, crypto_generichash_state *next)
{
    struct model after = *m;
    struct state_key key;
    bool is_new;
    int more = w.length - w.so_far.count - 1;
    if (!tell(&after, what, &key)) return false;
    crypto_generichash_update(next, key.bytes, sizeof key.bytes);
    struct state *s = state_find(&w.states, &key, &is_new);
    if (more == 0) return true;
    if (w.merges && s->more >= more) {
        w.merged++;
        return true;
    }
    s->more = more;
    return walk(&after, &key);
}

static bool repeat_all(const struct model *m)
{
    int level = w.so_far.count;
    struct whole before = whole_of(m);
    for (int n = 1; n <= level; n++) {
        run(saves[level]);
        if (!tell_again(m, &before, n)) return false;
        go_back(level);
    }
    return true;
}

/* Everything that can follow. */
static bool walk(const struct model *m, const struct state_key *here)
{
    int level = w.so_far.count;
    struct state_key next;
    crypto_generichash_state h;
    bool is_new;
    crypto_generichash_init(&h, NULL, 0, sizeof next.bytes);
    if (!repeat_all(m)) return false;
    for (int what = 0; what < TOLD_COUNT; what++) {
        run(saves[level]);
        if (!visit(m, (enum told)what, &h)) return false;
        go_back(level);
    }
    crypto_generichash_final(&h, next.bytes, sizeof next.bytes);
    struct state *s = state_find(&w.states, here, &is_new);
    if (s->has_next && memcmp(&s->next, &next, sizeof next) != 0)
        return problem("what follows from two states that look alike", 0, 1);
    s->has_next = true;
    s->next = next;
    return true;
}

static struct model fresh_model(void)
{
    return (struct model){
        .is_topup = w.kind->is_topup, .in_stock = w.kind->in_stock, .spends = w.kind->spends, .fault = w.fault};
}

/* Nothing is kept of it. */
#define LEAVE ERR_INVALID_STATE

static void enter(struct db *db)
{
    w.db = db;
    db->arena = &scratch; /* a walk reads more than one transaction should keep */
    w.so_far.count = 0;
    w.problem[0] = 0;
    begin(db);
    check(db_run_endings(db, OK) == OK);
}

static struct sequence prefix; /* of all that are walked in one transaction */

/* Everything that begins with the prefix. */
static enum err walk_all(struct db *db)
{
    struct arena *kept = db->arena;
    bool is_new, is_good = true;
    enter(db);
    struct model m = fresh_model();
    struct state_key here = key_of(&m);
    for (int i = 0; i < prefix.count && is_good; i++) is_good = tell(&m, prefix.items[i].what, &here);
    int more = w.length - prefix.count;
    struct state *s = state_find(&w.states, &here, &is_new);
    bool is_known = w.merges && s->more >= more;
    s->more = more > s->more ? more : s->more;
    if (is_good && !is_known) walk(&m, &here);
    db->arena = kept;
    return LEAVE;
}

static void walk_once(void)
{
    assert_int_equal(store_tx(TX_WRITE, walk_all), LEAVE);
    arena_done(&scratch);
}

/* PostgreSQL keeps what was rolled back until it is vacuumed, which it cannot do inside a transaction: after some
 * thousand events every table is mostly dead rows. So a long walk is one of its first events, and then one for each
 * sequence of these, three events deep. */
#define PART 3
static void walk_parts(int length)
{
    static const char clean[] =
        "VACUUM payment, orders, order_item, delivery, license, serial, refund, dispute, review,"
        " webhook_event, ledger_account, transfer, outbox, notification";
    if (prefix.count + PART == length) {
        int64_t before = w.events;
        walk_once();
        if (w.events - before > 100) test_psql(store.url, clean);
        return;
    }
    for (int what = 0; what < TOLD_COUNT && !w.problem[0]; what++) {
        prefix.items[prefix.count++].what = (enum told)what;
        walk_parts(length);
        prefix.count--;
    }
}

static void walk_in_parts(int length)
{
    w.length = length - PART;
    walk_once();
    w.length = length;
    if (!w.problem[0]) walk_parts(length);
}

/* Empty: the store and the model agreed everywhere. */
static const char *walk_tree(const struct kind *kind, int length)
{
    assert_true(length >= 1 && length <= LENGTH_MAX);
    w.kind = kind;
    w.length = length;
    w.events = w.repeats = w.merged = w.checks = 0;
    w.check_every = setting("SOUK_CHECK_EVERY", store.folder[0] ? 4 : 16);
    state_set_done(&w.states);
    if (store.folder[0] || length <= PART)
        walk_once();
    else
        walk_in_parts(length);
    return w.problem;
}

/* ---- one sequence ---- */

static const struct sequence *line;

static enum err play_line(struct db *db)
{
    struct arena *kept = db->arena;
    struct state_key key;
    enter(db);
    struct model m = fresh_model();
    for (int i = 0; i < line->count && !w.problem[0]; i++) {
        const struct item *it = &line->items[i];
        if (!it->again) {
            tell(&m, it->what, &key);
        } else if (it->again <= w.so_far.count) {
            struct whole before = whole_of(&m);
            tell_again(&m, &before, it->again);
        }
    }
    if (!w.problem[0]) check_books();
    db->arena = kept;
    return LEAVE;
}

static bool fails(const struct sequence *s)
{
    line = s;
    assert_int_equal(store_tx(TX_WRITE, play_line), LEAVE);
    arena_done(&scratch);
    return w.problem[0] != 0;
}

/* Leaves out whatever it fails without. */
static void shrink(struct sequence *s)
{
    for (int i = 0; i < s->count;) {
        struct sequence shorter = *s;
        memmove(&shorter.items[i], &shorter.items[i + 1], (size_t)(s->count - i - 1) * sizeof *s->items);
        shorter.count--;
        if (!fails(&shorter)) {
            i++;
            continue;
        }
        *s = shorter;
        i = 0;
    }
}

static struct sequence random_sequence(uint64_t *seed, int longest)
{
    struct sequence s = {.count = 1 + (int)(unit_random(seed) % (uint64_t)longest)};
    for (int i = 0; i < s.count; i++) {
        s.items[i].what = (enum told)(unit_random(seed) % TOLD_COUNT);
        if (i && unit_random(seed) % 8 == 0) s.items[i].again = 1 + (int)(unit_random(seed) % (uint64_t)i);
    }
    return s;
}

/* ---- the tests ---- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void walk_kinds(int length, bool merges)
{
    w.merges = merges;
    int64_t only = setting("SOUK_SEQUENCE_KIND", -1);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        if (only >= 0 && (size_t)only != k) continue;
        double from = seconds();
        if (walk_tree(&kinds[k], length)[0]) fail_msg("%s", w.problem);
        print_message("%s, all of up to %d events%s: %lld told, %lld repeated, %lld merged, %zu states (%016llx), "
                      "%lld checked, %.1f s\n",
                      kinds[k].name, length, merges ? "" : ", unmerged", (long long)w.events, (long long)w.repeats,
                      (long long)w.merged, w.states.count, (unsigned long long)state_fingerprint(&w.states),
                      (long long)w.checks, seconds() - from);
    }
    state_set_done(&w.states);
}

static void test_all_sequences(void **state)
{
    (void)state;
    int length = (int)setting("SOUK_SEQUENCES", 0);
    assert_int_equal(store_tx(TX_WRITE, open_shop), OK);
    if (length) {
        walk_kinds(length, setting("SOUK_SEQUENCES_MERGED", 1));
        return;
    }
    walk_kinds(ALL_OF, true);
    if (store.folder[0] && !IS_SLOW) walk_kinds(ALL_OF_UNMERGED, false);
}

static void test_random_sequences(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)setting("SOUK_SEED", time_now().ms), first = seed;
    int longest = (int)setting("SOUK_SEQUENCE_MAX", RANDOM_LENGTH);
    w.check_every = INT64_MAX; /* they end with a check */
    assert_true(longest >= 1 && longest <= MODEL_EVENTS_MAX);
    assert_int_equal(store_tx(TX_WRITE, open_shop), OK);
    for (size_t k = 0; k < KIND_COUNT; k++) {
        w.kind = &kinds[k];
        for (int64_t i = setting("SOUK_RANDOM_SEQUENCES", RANDOM_SEQUENCES); i > 0; i--) {
            struct sequence s = random_sequence(&seed, longest);
            if (!fails(&s)) continue;
            shrink(&s);
            fails(&s);
            fail_msg("%s (SOUK_SEED=%llu)", w.problem, (unsigned long long)first);
        }
    }
    state_set_done(&w.states);
}

static bool some_kind_fails(int length)
{
    for (size_t k = 0; k < KIND_COUNT; k++)
        if (walk_tree(&kinds[k], length)[0]) return true;
    return false;
}

/* A model with a wrong rule, a store that somebody spoils and a repeated event that is not recognised are all seen. */
static void test_faults_are_found(void **state)
{
    (void)state;
    if (IS_SLOW) skip(); /* the model is the same in every build */
    static const char *const tampers[] = {"UPDATE payment SET waiting = waiting + 1",
                                          "UPDATE transfer SET amount = amount + 1",
                                          "UPDATE ledger_account SET frozen = frozen + 1 WHERE kind = 'wallet'",
                                          "UPDATE license SET on_hold = 1 - on_hold",
                                          "DELETE FROM review",
                                          "UPDATE refund SET status = 'failed'"};
    assert_int_equal(store_tx(TX_WRITE, open_shop), OK);
    w.merges = true;
    for (int f = NO_FAULT + 1; f < FAULT_COUNT; f++) {
        w.fault = (enum fault)f;
        if (!some_kind_fails(3)) fail_msg("fault %d was not found", f);
    }
    w.fault = NO_FAULT;
    if (some_kind_fails(3)) fail_msg("%s", w.problem);
    for (size_t i = 0; i < sizeof tampers / sizeof *tampers; i++) {
        w.tamper = tampers[i];
        if (!some_kind_fails(2)) fail_msg("not found: %s", tampers[i]);
    }
    w.tamper = NULL;
    w.renames_repeats = true;
    assert_true(some_kind_fails(2));
    w.renames_repeats = false;
    state_set_done(&w.states);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_all_sequences),
        ON_BOTH(test_random_sequences),
        {"sqlite test_faults_are_found", test_faults_are_found, store_open_sqlite, store_close, NULL},
    };
    const char *only = getenv("SOUK_SEQUENCE_TESTS");
    if (only || !test_postgres()) cmocka_set_test_filter(only ? only : "sqlite *");
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
