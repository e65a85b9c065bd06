/* A backup's file: every byte of it is proven. Each cut and each changed bit is found, in plain files and in sealed
 * ones; and every number and text comes out of base/pack.h as it went in. */
#include "amounts.h"
#include "database.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "backup/archive.h"
#include "backup/backup_keys.h"
#include "base/pack.h"

static char folder[128], path[160], other[160];
static uint8_t public_key[ARCHIVE_KEY_BYTES], secret_key[ARCHIVE_KEY_BYTES], stream_key[ARCHIVE_KEY_BYTES];
static const struct archive_key opens = {.secret_key = secret_key};

/* In the place of the C library's, for everything in this program. */
static int no_replace_fails, rename_fails; /* with this error */

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
    errno = no_replace_fails;
    return errno ? -1 : (int)syscall(SYS_renameat2, a, from, b, to, flags);
}

int rename(const char *from, const char *to)
{
    errno = rename_fails;
    return errno ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int set_up(void **state)
{
    (void)state;
    char public_text[BACKUP_KEY_CHARS + 1], secret_text[BACKUP_KEY_CHARS + 1];
    assert_true(sodium_init() >= 0);
    test_folder(folder);
    snprintf(path, sizeof path, "%s/a.souk", folder);
    snprintf(other, sizeof other, "%s/b.souk", folder);
    backup_keygen(public_text, secret_text);
    assert_true(backup_public_key(str_from(public_text), public_key));
    assert_true(backup_secret_key(str_from(secret_text), secret_key));
    assert_false(backup_public_key(str_from(secret_text), public_key));
    assert_false(backup_secret_key(str_from(public_text), secret_key));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_folder_remove(folder);
    return 0;
}

/* Three blocks: two short frames, one that is longer than a block and does not compress, one short one. */
static void write_archive(const uint8_t *recipient)
{
    char why[ARCHIVE_WHY_BYTES];
    static char noise[300 * 1024];
    randombytes_buf_deterministic(noise, sizeof noise, secret_key);
    struct archive_writer *w = archive_create(path, recipient, stream_key, why);
    assert_non_null(w);
    assert_true(archive_put(w, FRAME_HEAD, STR("head")));
    assert_true(
        archive_put(w, FRAME_ROW, STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")));
    assert_true(archive_put(w, FRAME_BYTES, (Str){noise, sizeof noise}));
    assert_true(archive_put(w, FRAME_END, (Str){0}));
    int64_t bytes;
    assert_int_equal(archive_keep(w, &bytes, why), OK);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, bytes);
}

/* Frames read before an error was found, or all of them; *ret: the error. */
static int read_archive(const char *name, const struct archive_key *key, enum err *ret)
{
    char why[ARCHIVE_WHY_BYTES] = "";
    enum frame_kind kind;
    Str body;
    int frames = 0;
    struct archive_reader *r = archive_open(name, key, why);
    *ret = ERR_INVALID_STATE;
    if (!r) return 0;
    while (archive_next(r, &kind, &body)) frames++;
    *ret = archive_error(r, why);
    assert_true(*ret == OK || why[0]);
    archive_close(r);
    return frames;
}

static Str slurp(struct arena *a)
{
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    char *bytes = arena_alloc(a, 1 << 20);
    size_t n = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return (Str){bytes, n};
}

static void put_down(Str bytes)
{
    FILE *f = fopen(other, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, f), bytes.len);
    fclose(f);
}

/* All bytes but those in the middle of the long block, of which a sample is enough. */
static size_t next_place(size_t at, size_t bytes)
{
    return at > 500 && at + 500 < bytes ? at + 4099 : at + UNIT_STRIDE;
}

static void refuses_every_damage(const struct archive_key *key)
{
    struct arena a = {0};
    Str whole = slurp(&a);
    char *bytes = (char *)(uintptr_t)whole.ptr;
    enum err e;
    assert_int_equal(read_archive(path, key, &e), 4);
    assert_int_equal(e, OK);
    bytes[whole.len] = 0;
    put_down((Str){bytes, whole.len + 1});
    read_archive(other, key, &e);
    assert_int_equal(e, ERR_INVALID_STATE);
    put_down(whole);
    size_t step;
    int fd = open(other, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t at = 0; at < whole.len; at = next_place(at, whole.len)) {
        char flipped = (char)(bytes[at] ^ (1 << at % 8));
        assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
        read_archive(other, key, &e);
        if (e == OK) fail_msg("a bit of byte %zu of %zu was changed: nobody noticed", at, whole.len);
        assert_int_equal(pwrite(fd, bytes + at, 1, (off_t)at), 1);
    }
    for (size_t at = whole.len - 1;; at -= at < step ? at : step) {
        step = at > 500 && at + 500 < whole.len ? 499 : UNIT_STRIDE;
        assert_int_equal(ftruncate(fd, (off_t)at), 0);
        read_archive(other, key, &e);
        if (e == OK) fail_msg("cut off at %zu of %zu: nobody noticed", at, whole.len);
        if (at == 0) break;
    }
    close(fd);
    unlink(other);
    arena_done(&a);
    unlink(path);
}

static void plain(void **state)
{
    (void)state;
    write_archive(NULL);
    refuses_every_damage(NULL);
}

static void sealed(void **state)
{
    (void)state;
    enum err e;
    uint8_t wrong[ARCHIVE_KEY_BYTES] = {1};
    write_archive(public_key);
    const struct archive_key by_stream = {.stream_key = stream_key}, by_wrong = {.secret_key = wrong};
    assert_int_equal(read_archive(path, &by_stream, &e), 4);
    assert_int_equal(e, OK);
    assert_int_equal(read_archive(path, &by_wrong, &e), 0);
    assert_int_equal(e, ERR_INVALID_STATE);
    assert_int_equal(read_archive(path, NULL, &e), 0);
    refuses_every_damage(&opens);
}

static void a_taken_name_is_left_alone(void **state)
{
    (void)state;
    char why[ARCHIVE_WHY_BYTES];
    int64_t bytes;
    struct archive_writer *first = archive_create(path, NULL, NULL, why),
                          *second = archive_create(path, NULL, NULL, why);
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal(archive_keep(first, &bytes, why), OK);
    assert_int_equal(archive_keep(second, &bytes, why), ERR_UNAVAILABLE);
    assert_null(archive_create(path, NULL, NULL, why));
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* nothing else was left there */
    assert_int_equal(mkdir(folder, 0700), 0);
}

static bool folder_is_empty(void)
{
    bool is_empty = rmdir(folder) == 0;
    if (is_empty) assert_int_equal(mkdir(folder, 0700), 0);
    return is_empty;
}

/* Some file systems cannot rename without replacing: there the name is looked at first. */
static void where_names_cannot_be_kept_free(void **state)
{
    (void)state;
    static const int unknown[] = {EINVAL, ENOSYS};
    char why[ARCHIVE_WHY_BYTES];
    int64_t bytes;
    for (size_t i = 0; i < 2; i++) {
        no_replace_fails = unknown[i];
        struct archive_writer *w = archive_create(path, NULL, NULL, why), *late = archive_create(path, NULL, NULL, why);
        assert_int_equal(archive_keep(w, &bytes, why), OK);
        assert_int_equal(archive_keep(late, &bytes, why), ERR_UNAVAILABLE);
        assert_int_equal(unlink(path), 0);
        w = archive_create(path, NULL, NULL, why);
        rename_fails = EIO;
        assert_int_equal(archive_keep(w, &bytes, why), ERR_UNAVAILABLE);
        rename_fails = 0;
        assert_true(folder_is_empty());
    }
    no_replace_fails = 0;
}

static void what_cannot_be_written(void **state)
{
    (void)state;
    static const uint8_t nobody[ARCHIVE_KEY_BYTES]; /* a key that anybody could open */
    static char noise[400 * 1024];
    char why[ARCHIVE_WHY_BYTES];
    int64_t bytes;
    struct archive_writer *w = archive_create(path, nobody, NULL, why);
    assert_non_null(w);
    assert_non_null(archive_failure(w));
    assert_false(archive_put(w, FRAME_ROW, STR("x")));
    assert_int_equal(archive_keep(w, &bytes, why), ERR_UNAVAILABLE);
    assert_true(folder_is_empty());

    w = archive_create(path, NULL, NULL, why);
    assert_null(archive_failure(w));
    assert_false(archive_put(w, FRAME_ROW, (Str){noise, (size_t)2 * ARCHIVE_FRAME_MAX})); /* refused unread */
    assert_non_null(archive_failure(w));
    archive_drop(w);
    assert_true(folder_is_empty());

    /* The disk is full after the first block. */
    struct rlimit before, few = {500 * 1024, 500 * 1024};
    randombytes_buf(noise, sizeof noise);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    few.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    w = archive_create(path, public_key, NULL, why);
    bool ok = true;
    for (int i = 0; i < 3 && ok; i++) ok = archive_put(w, FRAME_BYTES, (Str){noise, sizeof noise});
    enum err e = archive_keep(w, &bytes, why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(ok);
    assert_int_equal(e, ERR_UNAVAILABLE);
    assert_true(folder_is_empty());
}

static void numbers_have_one_form(void **state)
{
    (void)state;
    static const int64_t numbers[] = {0, 1, -1, 63, 64, -64, -65, 8191, 8192, INT32_MAX, INT64_MAX, INT64_MIN};
    struct arena a = {0};
    struct buf b;
    buf_init(&b, &a, 1024);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) pack_int(&b, numbers[i]);
    pack_bytes(&b, STR("text"));
    struct unpack u = {buf_str(&b), false};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) assert_int_equal(unpack_int(&u), numbers[i]);
    assert_true(str_eq(unpack_bytes(&u), STR("text")));
    assert_true(unpack_is_done(&u));
    static const Str wrong[] = {S(""), S("\x80"), S("\x80\x00"), S("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
                                S("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00")};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        u = (struct unpack){wrong[i], false};
        unpack_int(&u);
        assert_true(u.bad);
    }
    u = (struct unpack){STR("\x0a"
                            "ab"),
                        false}; /* five bytes, it says */
    assert_int_equal(unpack_bytes(&u).len, 0);
    assert_true(u.bad);
    arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(sealed),
        cmocka_unit_test(a_taken_name_is_left_alone),
        cmocka_unit_test(where_names_cannot_be_kept_free),
        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(numbers_have_one_form),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
