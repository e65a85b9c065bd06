/* Backups that prove to be intact and yet say something impossible, as a broken program or a forger would write them:
 * frames in the wrong order, counts and sums that are not those of what stands there, blocks of the wrong length. */
#include "database.h"

#include <fcntl.h>

#include "backup/archive_format.h"
#include "backup/backup_keys.h"
#include "backup/walk.h"
#include "base/pack.h"

static char folder[128], path[160];
static struct arena memory;

static int set_up(void **state)
{
    (void)state;
    assert_true(sodium_init() >= 0);
    test_folder(folder);
    snprintf(path, sizeof path, "%s/a.souk", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_folder_remove(folder);
    arena_done(&memory);
    return 0;
}

struct frame {
    enum frame_kind kind;
    Str body;
};

static enum err walk(const struct archive_key *key, char *ret_why)
{
    static const struct backup_visitor nothing = {0};
    struct backup_totals totals;
    return backup_walk(path, key, &nothing, NULL, &totals, ret_why);
}

static void write_frames(const struct frame *frames, size_t count)
{
    char why[ARCHIVE_WHY_BYTES];
    int64_t bytes;
    unlink(path);
    struct archive_writer *w = archive_create(path, NULL, NULL, why);
    assert_non_null(w);
    for (size_t i = 0; i < count; i++) assert_true(archive_put(w, frames[i].kind, frames[i].body));
    assert_int_equal(archive_keep(w, &bytes, why), OK);
}

/* A whole backup: a file of five bytes, a missing one, a table with one row. */
enum { HEAD, KEY, NAME, CONTENT, HASH, MISSING, TABLE, ROW, TABLE_END, TOTALS, GOOD };

static struct table_sum sum_of(Str row)
{
    struct table_sum sum = {0};
    table_sum_add(&sum, row);
    return sum;
}

static void make_good(struct frame ret[GOOD])
{
    static unsigned char hash[crypto_generichash_BYTES];
    struct backup_head head = {.program = STR("1"), .engine = STR("sqlite"), .schema = 1, .schema_hash = STR("x")};
    struct schema_table table = {.name = STR("t")};
    struct table_sum sum = sum_of(STR("row"));
    struct backup_totals totals = {.tables = 1, .rows = 1, .files = 1, .file_bytes = 5, .missing = 1};
    crypto_generichash(hash, sizeof hash, (const unsigned char *)"hello", 5, NULL, 0);
    const struct frame good[GOOD] = {
        {FRAME_HEAD, head_pack(&memory, &head)},
        {FRAME_KEY, STR("sealed")},
        {FRAME_FILE, file_pack(&memory, STR("file"), 5)},
        {FRAME_BYTES, STR("hello")},
        {FRAME_FILE_END, {(char *)hash, sizeof hash}},
        {FRAME_MISSING, STR("gone")},
        {FRAME_TABLE, table_pack(&memory, &table)},
        {FRAME_ROW, STR("row")},
        {FRAME_TABLE_END, table_end_pack(&memory, &sum, 7)},
        {FRAME_END, totals_pack(&memory, &totals)},
    };
    memcpy(ret, good, sizeof good);
}

static void refuses(const struct frame *frames, size_t count, const char *what)
{
    char why[ARCHIVE_WHY_BYTES] = "";
    write_frames(frames, count);
    if (walk(NULL, why) != ERR_INVALID_STATE) fail_msg("%s: nobody noticed", what);
    if (!strstr(why, what)) fail_msg("\"%s\" does not say \"%s\"", why, what);
}

static void a_frame_belongs_in_its_place(void **state)
{
    (void)state;
    struct frame good[GOOD], bad[GOOD + 1];
    char why[ARCHIVE_WHY_BYTES];
    make_good(good);
    write_frames(good, GOOD);
    if (walk(NULL, why) != OK) fail_msg("%s", why);
    /* Each frame a second time, before each other one. A key may stand where a file may; a row and a part of a file
     * are then one too many. */
    for (size_t which = 0; which < GOOD; which++) {
        for (size_t at = 0; at <= GOOD; at++) {
            memcpy(bad, good, at * sizeof *bad);
            bad[at] = good[which];
            memcpy(bad + at + 1, good + at, (GOOD - at) * sizeof *bad);
            bool is_second_key = which == KEY && (at == KEY || at == KEY + 1 || (at > HASH && at <= TABLE) ||
                                                  at == NAME || at == TOTALS);
            write_frames(bad, GOOD + 1);
            enum err e = walk(NULL, why);
            if (e != (is_second_key ? OK : ERR_INVALID_STATE)) fail_msg("frame %zu at %zu: %d", which, at, (int)e);
        }
    }
    /* None may be left out, but the key. */
    for (size_t which = 0; which < GOOD; which++) {
        memcpy(bad, good, which * sizeof *bad);
        memcpy(bad + which, good + which + 1, (GOOD - which - 1) * sizeof *bad);
        write_frames(bad, GOOD - 1);
        assert_int_equal(walk(NULL, why), which == KEY ? OK : ERR_INVALID_STATE);
    }
}

static void what_it_says_is_what_it_has(void **state)
{
    (void)state;
    struct frame good[GOOD], bad[GOOD];
    make_good(good);
    struct table_sum sum = sum_of(STR("another row"));
    const struct {
        int which;
        Str body;
        const char *why;
    } wrong[] = {
        {HEAD, STR("x"), "its first frame"},
        {NAME, STR("x"), "the name of a file"},
        {NAME, file_pack(&memory, STR("file"), -1), "the name of a file"},
        {NAME, file_pack(&memory, STR("file"), 4), "a file is too long"},
        {NAME, file_pack(&memory, STR("file"), 6), "wrong hash"},
        {CONTENT, STR("hallo"), "wrong hash"},
        {HASH, STR("x"), "wrong hash"},
        {TABLE, STR("\x0a"), "the name of a table"},
        {TABLE_END, STR("x"), "other rows"},
        {TABLE_END, table_end_pack(&memory, &sum, 7), "other rows"},
        {TOTALS, STR("x"), "its totals"},
        {TOTALS, totals_pack(&memory, &(struct backup_totals){2, 1, 1, 5, 1}), "its totals"},
        {TOTALS, totals_pack(&memory, &(struct backup_totals){1, 2, 1, 5, 1}), "its totals"},
        {TOTALS, totals_pack(&memory, &(struct backup_totals){1, 1, 2, 5, 1}), "its totals"},
        {TOTALS, totals_pack(&memory, &(struct backup_totals){1, 1, 1, 4, 1}), "its totals"},
        {TOTALS, totals_pack(&memory, &(struct backup_totals){1, 1, 1, 5, 0}), "its totals"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(bad, good, sizeof bad);
        bad[wrong[i].which].body = wrong[i].body;
        refuses(bad, GOOD, wrong[i].why);
    }
    refuses(good, TOTALS, "its end is missing");
}

/* A plain file of one block, with a proof that is right. */
static void write_block(Str block)
{
    uint8_t proof[PROOF_BYTES];
    uint32_t length = htole32((uint32_t)block.len);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    const char head[PLAIN_HEAD_BYTES] = {'s', 'o', 'u', 'k', ' ', 'b', 'a', 'c', 'k', 'u', 'p', '\n', ARCHIVE_VERSION};
    crypto_generichash(proof, sizeof proof, (const unsigned char *)head, sizeof head, NULL, 0);
    archive_prove(proof, &length, block.ptr, block.len);
    fwrite(head, 1, sizeof head, f);
    fwrite(&length, 1, sizeof length, f);
    fwrite(block.ptr, 1, block.len, f);
    fwrite(proof, 1, sizeof proof, f);
    assert_int_equal(fclose(f), 0);
}

/* A sealed one, with a key that the reader has. */
static void write_sealed_block(const uint8_t key[STREAM_KEY_BYTES], Str block, uint8_t tag, size_t cut)
{
    uint8_t head[HEAD_BYTES_MAX] = MAGIC, sealed[256];
    crypto_secretstream_xchacha20poly1305_state stream;
    unsigned long long n;
    head[MAGIC_BYTES] = ARCHIVE_VERSION;
    head[MAGIC_BYTES + 1] = 1;
    crypto_secretstream_xchacha20poly1305_init_push(&stream, head + PLAIN_HEAD_BYTES + SEALED_KEY_BYTES, key);
    crypto_secretstream_xchacha20poly1305_push(&stream, sealed, &n, (const unsigned char *)block.ptr, block.len, head,
                                               sizeof head, tag);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    uint32_t length = htole32((uint32_t)(n - cut));
    fwrite(head, 1, sizeof head, f);
    fwrite(&length, 1, sizeof length, f);
    fwrite(sealed, 1, n - cut, f);
    assert_int_equal(fclose(f), 0);
}

static void a_block_that_is_proven_may_be_wrong_all_the_same(void **state)
{
    (void)state;
    static const struct {
        Str block;
        const char *why;
    } wrong[] = {
        {S(""), "a block is too short"},
        {S("\x01\x00\x00\x00"), "a block is too short"},
        {S("\x01\x05\x00\x00\x00"
           "abcd"),
         "a block has the wrong length"},
        {S("\x03\x05\x00\x00\x00"
           "abcd"),
         "cannot be inflated"},
        {S("\x03\xff\xff\xff\xff"
           "abcd"),
         "cannot be inflated"},
        /* "a", deflated: it says 9 bytes */
        {S("\x03\x09\x00\x00\x00"
           "\x78\x9c\x4b\x04\x00\x00\x62\x00\x62"),
         "cannot be inflated"},
        {S("\x01\x01\x00\x00\x00"
           "\x01"),
         "a frame is wrong"},
        {S("\x01\x02\x00\x00\x00"
           "\x00\x00"),
         "a frame is wrong"},
        {S("\x01\x02\x00\x00\x00"
           "\x7f\x00"),
         "a frame is wrong"},
        {S("\x01\x00\x00\x00\x00"), "its end is missing"},
    };
    char why[ARCHIVE_WHY_BYTES];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        why[0] = '\0';
        write_block(wrong[i].block);
        assert_int_equal(walk(NULL, why), ERR_INVALID_STATE);
        if (!strstr(why, wrong[i].why)) fail_msg("%zu: \"%s\" does not say \"%s\"", i, why, wrong[i].why);
    }
    const uint8_t stream_key[STREAM_KEY_BYTES] = {1};
    const struct archive_key key = {.stream_key = stream_key};
    const uint8_t last = crypto_secretstream_xchacha20poly1305_TAG_FINAL;
    write_sealed_block(stream_key, STR(""), last, 0);
    assert_int_equal(walk(&key, why), ERR_INVALID_STATE);
    write_sealed_block(stream_key, STR("\x01\x00\x00\x00\x00"), 0, 0); /* only its inside says that it is the last */
    assert_int_equal(walk(&key, why), ERR_INVALID_STATE);
    assert_non_null(strstr(why, "the backup is damaged"));
    write_sealed_block(stream_key, STR(""), last, 1);
    assert_int_equal(walk(&key, why), ERR_INVALID_STATE);
    assert_non_null(strstr(why, "a block is too short"));
}

/* After an error nothing more is read, and the first reason stays. */
static void an_error_stays(void **state)
{
    (void)state;
    char why[ARCHIVE_WHY_BYTES], again[ARCHIVE_WHY_BYTES];
    enum frame_kind kind;
    Str body;
    write_block(STR("\x01\x02\x00\x00\x00"
                    "\x7f\x00"));
    struct archive_reader *r = archive_open(path, NULL, why);
    assert_non_null(r);
    assert_int_equal(archive_error(r, why), ERR_INVALID_STATE); /* not read yet */
    assert_non_null(strstr(why, "not read to its end"));
    assert_false(archive_next(r, &kind, &body));
    assert_int_equal(archive_error(r, why), ERR_INVALID_STATE);
    assert_false(archive_next(r, &kind, &body));
    assert_int_equal(archive_error(r, again), ERR_INVALID_STATE);
    assert_string_equal(why, again);
    archive_close(r);
    archive_close(NULL);
    archive_drop(NULL);
}

/* What the passphrase costs stands in the file: nobody else may decide how much memory it takes here. */
static void a_sealed_key_is_believed_within_limits(void **state)
{
    (void)state;
    static const char bytes[64];
    uint8_t key[MASTER_KEY_BYTES];
    const struct {
        int64_t rounds, ram;
        size_t salt, nonce, box;
    } wrong[] = {
        {0, 8192, 16, 24, 48}, {17, 8192, 16, 24, 48}, {1, 8191, 16, 24, 48}, {1, (INT64_C(1) << 30) + 1, 16, 24, 48},
        {1, 8192, 15, 24, 48}, {1, 8192, 16, 23, 48},  {1, 8192, 16, 24, 47}, {1, 8192, 16, 24, 48},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct buf b;
        buf_init(&b, &memory, 1024);
        pack_int(&b, wrong[i].rounds);
        pack_int(&b, wrong[i].ram);
        pack_bytes(&b, (Str){bytes, wrong[i].salt});
        pack_bytes(&b, (Str){bytes, wrong[i].nonce});
        pack_bytes(&b, (Str){bytes, wrong[i].box});
        assert_int_equal(passphrase_open(buf_str(&b), STR("x"), key), ERR_INVALID_STATE);
        buf_char(&b, 'x');
        assert_int_equal(passphrase_open(buf_str(&b), STR("x"), key), ERR_INVALID_STATE);
    }
}

static void a_backup_has_a_name_that_fits(void **state)
{
    (void)state;
    char why[ARCHIVE_WHY_BYTES], longest[2 * 4096];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_null(archive_create(longest, NULL, NULL, why));
    longest[4090] = '\0'; /* too long with what it is called while it is written */
    assert_null(archive_create(longest, NULL, NULL, why));
    assert_non_null(strstr(why, "too long"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_belongs_in_its_place),
        cmocka_unit_test(what_it_says_is_what_it_has),
        cmocka_unit_test(a_block_that_is_proven_may_be_wrong_all_the_same),
        cmocka_unit_test(an_error_stays),
        cmocka_unit_test(a_sealed_key_is_believed_within_limits),
        cmocka_unit_test(a_backup_has_a_name_that_fits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
