/* Notes of use: all are counted once, whatever thread made them and however their transactions end, and not more often
 * than has to be. */
#include "unit.h"

#include "store.h"

#include <pthread.h>

#include "base/memory.h"
#include "serve/app.h"
#include "serve/seen.h"

#define IDS 6000 /* more than one batch */

static struct app *app;
static int64_t counts[IDS + 1], last[IDS + 1];
static int64_t rows_written;
static int fails_after; /* so many rows; -1: never */

static enum err write_one(struct db *db, Id id, int64_t count, Time at)
{
    (void)db;
    if (fails_after >= 0 && fails_after-- == 0) return ERR_UNAVAILABLE;
    rows_written++;
    if (id.v > IDS) return OK;
    counts[id.v] += count;
    last[id.v] = at.ms;
    return OK;
}

static enum err write_many(struct db *db, const struct license_use *uses, size_t count)
{
    enum err e = OK;
    for (size_t i = 0; i < count && !e; i++) {
        if (i) check(uses[i - 1].id.v < uses[i].id.v);
        e = write_one(db, uses[i].id, uses[i].count, uses[i].at);
    }
    return e;
}

static void begin(void)
{
    memset(counts, 0, sizeof counts);
    rows_written = 0;
    fails_after = -1;
    app = memory_zeroed(1, sizeof *app);
    app->seen = seen_new(write_one, write_many);
}

static void end(void)
{
    seen_free(app->seen);
    free(app);
}

static enum err flush(struct db *db)
{
    return seen_flush_licenses(app, db);
}

/* As the periodic job does it. */
static enum err step(void)
{
    enum err e = store_tx(TX_READ, flush);
    if (e == ERR_NEEDS_WRITE) e = store_tx(TX_WRITE, flush);
    seen_flushed_licenses(app, e);
    return e;
}

/* As at the end. */
static void write_the_rest(void)
{
    while (seen_has_licenses(app)) {
        enum err e = store_tx(TX_WRITE, flush);
        seen_flushed_licenses(app, e);
        assert_err(e, OK);
    }
}

static void test_notes_are_gathered(void **state)
{
    (void)state;
    begin();
    assert_false(seen_has_licenses(app));
    assert_err(step(), OK);
    seen_note(app->seen, (Id){7}, (Time){100});
    seen_note(app->seen, (Id){7}, (Time){300});
    seen_note(app->seen, (Id){7}, (Time){200});
    assert_err(step(), OK); /* the first are written at once */
    assert_true(counts[7] == 3 && last[7] == 300 && rows_written == 1);

    for (int i = 0; i < 1000; i++) seen_note(app->seen, (Id){8}, (Time){400});
    assert_err(step(), OK); /* too early for the next */
    assert_true(counts[8] == 0 && seen_has_licenses(app));
    write_the_rest();
    assert_true(counts[8] == 1000 && rows_written == 2 && !seen_has_licenses(app));
    end();
}

static void test_many_are_written_in_batches(void **state)
{
    (void)state;
    begin();
    for (int id = 1; id <= IDS; id++) seen_note(app->seen, (Id){id}, (Time){id});
    assert_err(step(), OK);
    assert_int_equal(rows_written, SEEN_BATCH);
    seen_note(app->seen, (Id){1}, (Time){5});
    assert_err(step(), OK); /* the rest of the same notes does not wait */
    assert_int_equal(rows_written, IDS);
    assert_true(seen_has_licenses(app));
    write_the_rest();
    for (int id = 2; id <= IDS; id++) assert_int_equal(counts[id], 1);
    assert_int_equal(counts[1], 2);
    end();
}

static void test_a_failed_batch_is_written_again(void **state)
{
    (void)state;
    begin();
    for (int id = 1; id <= 50; id++) seen_note(app->seen, (Id){id}, (Time){id});
    fails_after = 20;
    assert_err(step(), ERR_UNAVAILABLE);
    memset(counts, 0, sizeof counts); /* the transaction was undone */
    fails_after = -1;
    assert_err(step(), OK);
    for (int id = 1; id <= 50; id++) assert_int_equal(counts[id], 1);
    assert_false(seen_has_licenses(app));
    end();
}

static void note_others(int count)
{
    for (int n = 0; n < count; n++) seen_note(app->seen, (Id){IDS + 1 + n}, (Time){1});
}

/* Rows that find no room are left out; those that are noted already are not. */
static void test_too_many(void **state)
{
    (void)state;
    begin();
    seen_note(app->seen, (Id){1}, (Time){1});
    note_others(SEEN_MAX);
    seen_note(app->seen, (Id){2}, (Time){1});
    seen_note(app->seen, (Id){1}, (Time){1});
    write_the_rest();
    assert_true(rows_written == SEEN_MAX && counts[1] == 2 && counts[2] == 0);
    end();
}

static void test_many_do_not_wait(void **state)
{
    (void)state;
    begin();
    seen_note(app->seen, (Id){1}, (Time){1});
    assert_err(step(), OK);
    assert_int_equal(rows_written, 1);
    note_others(SEEN_ENOUGH);
    assert_err(step(), OK);
    assert_int_equal(rows_written, 1 + SEEN_BATCH);
    end();
}

#define NOTERS 4
#define EACH 20000

static void *note(void *arg)
{
    uint64_t at = *(const uint64_t *)arg;
    for (int i = 0; i < EACH; i++) {
        at = at * UINT64_C(6364136223846793005) + 1442695040888963407;
        seen_note(app->seen, (Id){(int64_t)(at >> 33) % 3000 + 1}, (Time){i});
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    begin();
    pthread_t threads[NOTERS];
    uint64_t seeds[NOTERS];
    for (int i = 0; i < NOTERS; i++) {
        seeds[i] = (uint64_t)i + 1;
        assert_int_equal(pthread_create(&threads[i], NULL, note, &seeds[i]), 0);
    }
    for (int i = 0; i < 20; i++) write_the_rest(); /* meanwhile */
    for (int i = 0; i < NOTERS; i++) pthread_join(threads[i], NULL);
    write_the_rest();
    int64_t sum = 0;
    for (int id = 1; id <= IDS; id++) sum += counts[id];
    assert_int_equal(sum, NOTERS * EACH);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_BOTH(test_notes_are_gathered),
        ON_BOTH(test_many_are_written_in_batches),
        ON_BOTH(test_a_failed_batch_is_written_again),
        ON_BOTH(test_too_many),
        ON_BOTH(test_many_do_not_wait),
        ON_BOTH(test_threads),
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
