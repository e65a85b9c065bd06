/* tests/unit/test_log.c - whatever is logged is one line, well-formed, and at most what a pipe takes at once. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/log.h"
#include "json/reader.h"

#define RECORD_MAX 4096

static struct arena arena;
static char text[1 << 16];
static int file = -1, real_stderr = -1;

/* Sends stderr into a file; collected() takes it back and gives what was written. */
static void collect(void)
{
    file = open("/tmp", O_TMPFILE | O_RDWR | O_APPEND, 0600);
    real_stderr = dup(STDERR_FILENO);
    assert_true(file >= 0 && real_stderr >= 0);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
}

static Str collected(void)
{
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    ssize_t n = pread(file, text, sizeof text, 0);
    close(file);
    assert_true(n >= 0);
    return (Str){text, (size_t)n};
}

static int stop(void **state)
{
    (void)state;
    log_setup(LOG_INFO, LOG_LOGFMT);
    arena_done(&arena);
    return 0;
}

static void writes_logfmt(void **state)
{
    (void)state;
    log_setup(LOG_INFO, LOG_LOGFMT);
    collect();
    log_event(LOG_WARN, "order_placed", LOGS("email", STR("a \"b\"\\c")), LOGI("id", 7), LOGI("n", INT64_MIN));
    Str s = collected();
    assert_true(str_starts(s, STR("time=\"20")));
    Str rest = {s.ptr + strlen("time=\"2026-11-15T01:23:45Z\""), s.len - strlen("time=\"2026-11-15T01:23:45Z\"")};
    assert_str(rest, " level=\"warn\" event=\"order_placed\" email=\"a \\\"b\\\"\\\\c\" id=7 n=-9223372036854775808\n");
}

static const struct json *only_record(Str s)
{
    assert_true(s.len > 1 && s.len <= RECORD_MAX && s.ptr[s.len - 1] == '\n');
    assert_int_equal(str_find(s, '\n'), s.len - 1);
    const struct json *root = NULL;
    const char *why = "";
    if (json_read(&arena, (Str){s.ptr, s.len - 1}, &root, &why)) fail_msg("%.*s: %s", STR_FMT(s), why);
    return root;
}

static void writes_json(void **state)
{
    (void)state;
    log_setup(LOG_INFO, LOG_JSON);
    collect();
    log_event(LOG_ERROR, "x", LOGS("text", STR("a\"b\\c\n\r\x1b[31m\x7f\xc2\x9b\xc3\xa9\xc2\xa9\xff")), LOGI("n", -5),
              LOGC("none", NULL));
    const struct json *r = only_record(collected());
    assert_str(json_text(r, "level"), "error");
    assert_str(json_text(r, "event"), "x");
    assert_str(json_text(r, "text"), "a\"b\\c\n\r\x1b[31m\x7f\xc2\x9b\xc3\xa9\xc2\xa9\xef\xbf\xbd");
    assert_str(json_get(r, "n")->text, "-5");
    assert_int_equal(json_get(r, "none")->type, JSON_STRING);
    assert_null(json_get(r, "cut"));
}

/* Nothing that a terminal or a line reader obeys gets through. */
static void escapes_every_control_character(void **state)
{
    (void)state;
    for (int format = LOG_LOGFMT; format <= LOG_JSON; format++) {
        for (unsigned c = 0; c < 0xa0; c++) {
            char hostile[8] = {'a'};
            size_t n = 1;
            if (c < 0x80)
                hostile[n++] = (char)c;
            else
                hostile[n++] = (char)0xc2, hostile[n++] = (char)c;
            hostile[n++] = 'b';
            log_setup(LOG_INFO, (enum log_format)format);
            collect();
            log_event(LOG_INFO, "x", LOGS("t", ((Str){hostile, n})));
            Str s = collected();
            assert_int_equal(s.ptr[s.len - 1], '\n');
            for (size_t i = 0; i < s.len - 1; i++) {
                unsigned char byte = (unsigned char)s.ptr[i];
                assert_true(byte >= 0x20 && byte != 0x7f && byte < 0x80);
            }
        }
    }
}

/* Texts of every length around the limit, of characters of every width: always one well-formed record that says when
 * it was cut, and never half a character. */
static void cuts_long_records(void **state)
{
    (void)state;
    static const char *const parts[] = {"a", "\"", "\n", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xff"};
    static const size_t shown[] = {1, 2, 6, 2, 3, 4, 3};
    static char longest[6000];
    log_setup(LOG_INFO, LOG_JSON);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        size_t width = strlen(parts[k]), lead = 0;
        for (; lead < 6; lead++) {
            size_t room = (RECORD_MAX - 100) / shown[k];
            for (size_t count = room - 30; count < room + 60; count += UNIT_STRIDE) {
                if (lead + count * width > sizeof longest) break;
                memset(longest, 'x', lead);
                for (size_t i = 0; i < count; i++) memcpy(longest + lead + i * width, parts[k], width);
                collect();
                log_event(LOG_INFO, "e", LOGS("text", ((Str){longest, lead + count * width})), LOGI("after", 123456),
                          LOGC("last", "z"));
                const struct json *r = only_record(collected());
                bool whole = json_get(r, "last") && str_eq(json_text(r, "last"), STR("z"));
                assert_int_equal(json_get(r, "cut") == NULL, whole);
                assert_true(utf8_valid(json_text(r, "text")));
                arena_reset(&arena);
            }
        }
    }
}

static void cuts_many_fields(void **state)
{
    (void)state;
    enum { COUNT = 400 };
    static struct log_field fields[COUNT + 1];
    for (size_t i = 0; i < COUNT; i++) fields[i] = i % 2 ? LOGI("number", i) : LOGC("text", "0123456789");
    for (int format = LOG_LOGFMT; format <= LOG_JSON; format++) {
        for (size_t shift = 0; shift < 24; shift++) {
            log_setup(LOG_INFO, (enum log_format)format);
            fields[0] = LOGS("text", ((Str){"0123456789012345678901234567890", shift}));
            collect();
            log_write(LOG_INFO, "e", fields);
            Str s = collected();
            assert_true(s.len <= RECORD_MAX && s.len > RECORD_MAX - 64);
            assert_int_equal(str_find(s, '\n'), s.len - 1);
            assert_true(str_ends(s, format == LOG_JSON ? STR(",\"cut\":1}\n") : STR(" cut=1\n")));
        }
    }
}

static void listens_to_its_level(void **state)
{
    (void)state;
    log_setup(LOG_WARN, LOG_LOGFMT);
    assert_false(log_wants(LOG_INFO));
    assert_true(log_wants(LOG_ERROR));
    collect();
    log_event(LOG_INFO, "quiet");
    log_event(LOG_WARN, "loud");
    errno = ENOENT;
    log_event(LOG_ERROR, "louder");
    assert_int_equal(errno, ENOENT);
    Str s = collected();
    assert_null(memmem(s.ptr, s.len, "quiet", 5));
    assert_non_null(memmem(s.ptr, s.len, "\"loud\"", 6));
    assert_non_null(memmem(s.ptr, s.len, "\"louder\"", 8));
}

static void *log_many(void *arg)
{
    for (int i = 0; i < 100; i++) log_event(LOG_INFO, "thread", LOGI("who", (intptr_t)arg), LOGI("i", i));
    return NULL;
}

static void keeps_records_of_threads_apart(void **state)
{
    (void)state;
    log_setup(LOG_INFO, LOG_JSON);
    collect();
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, log_many, (void *)i), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    Str all = collected(), line;
    int next[4] = {0}, n = 0;
    while (str_cut(all, '\n', &line, &all)) {
        const struct json *r = NULL;
        assert_err(json_read(&arena, line, &r, NULL), OK);
        int64_t who = -1, i = -1;
        assert_true(json_int64(json_get(r, "who"), &who) && json_int64(json_get(r, "i"), &i));
        assert_int_equal(i, next[who]++);
        n++;
    }
    assert_int_equal(n, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(writes_logfmt, stop),
        cmocka_unit_test_teardown(writes_json, stop),
        cmocka_unit_test_teardown(escapes_every_control_character, stop),
        cmocka_unit_test_teardown(cuts_long_records, stop),
        cmocka_unit_test_teardown(cuts_many_fields, stop),
        cmocka_unit_test_teardown(listens_to_its_level, stop),
        cmocka_unit_test_teardown(keeps_records_of_threads_apart, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
