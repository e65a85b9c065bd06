/* tests/unit/test_small_formats.c - small formats: what is written can be read, and everything else is refused. Texts
 * that wait in the outbox or in a file, references in addresses, and names with an alphabet of their own. */
#include "unit.h"

#include "base/pack.h"
#include "domain/backup_record.h"
#include "domain/coupon.h"
#include "domain/download_link.h"
#include "domain/gateway_config.h"
#include "domain/image.h"
#include "domain/license_key.h"
#include "domain/mail.h"
#include "domain/order_ref.h"
#include "domain/sandbox_message.h"
#include "domain/session.h"
#include "domain/slug.h"
#include "domain/token_cache.h"
#include "page/color.h"
#include "page/qr.h"
#include "page/words.h"
#include "vault.h"

static void packed_values(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, &arena, SIZE_MAX);
    pack_int(&b, -5);
    pack_bytes(&b, STR("text"));
    struct unpack u = {buf_str(&b), false};
    assert_false(unpack_is_done(&u));
    assert_int_equal(unpack_int(&u), -5);
    assert_str(unpack_bytes(&u), "text");
    assert_true(unpack_is_done(&u));
    assert_int_equal(unpack_bytes(&u).len, 0);
    assert_false(unpack_is_done(&u));
    struct unpack endless = {STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), false};
    unpack_int(&endless);
    assert_true(endless.bad);
    struct unpack negative = {STR("\x01xyz"), false}; /* a length of -1 */
    assert_int_equal(unpack_bytes(&negative).len, 0);
    assert_true(negative.bad);
}

static void queued_mails(void **state)
{
    (void)state;
    struct queued_mail m = {.to = STR("a@example.com"), .kind = MAIL_order, .lang = LANG_de}, got;
    m.values.of[PARAM_number] = STR("7\n8");
    m.values.of[PARAM_total] = STR("1");
    Str packed = queued_mail_pack(&arena, &m);
    assert_true(queued_mail_unpack(packed, &got));
    assert_str(got.to, "a@example.com");
    assert_str(got.values.of[PARAM_number], "7\n8");
    for (size_t n = 0; n < packed.len; n++) {
        struct queued_mail cut;
        bool is_whole = queued_mail_unpack((Str){packed.ptr, n}, &cut);
        if (is_whole && cut.values.of[PARAM_total].len) fail_msg("cut at %zu, and taken", n);
    }
    static const char *const bad[] = {"a@b\norder\nxx\n", "a@b\nno_such_kind\nen\n", "a@b\norder\nen\nnumber\nx\n",
                                      "a@b\norder\nen\nnumber\n-1\n", "a@b\norder\nen\nnumber\n9\n1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(queued_mail_unpack(str_from(bad[i]), &got));
    assert_true(queued_mail_unpack(STR("a@b\norder\nen\nof_an_older_program\n3\nabctotal\n1\n5"), &got));
    assert_str(got.values.of[PARAM_total], "5");
}

static void sandbox_messages(void **state)
{
    (void)state;
    struct sandbox_message m = {.event_id = STR("e"),
                                .kind = EVENT_REFUNDED,
                                .payment_ref = STR("p"),
                                .order_ref = STR("o"),
                                .amount = {500},
                                .currency = STR("EUR"),
                                .refund_ref = STR("r"),
                                .refunded_total = {700},
                                .outcome = DISPUTE_WON,
                                .at = {123}},
                           got;
    Str packed = sandbox_message_pack(&arena, &m);
    assert_true(sandbox_message_unpack(packed, &got));
    assert_int_equal(got.kind, EVENT_REFUNDED);
    assert_int_equal(got.refunded_total.minor, 700);
    assert_int_equal(got.at.ms, 123);
    static const char *const bad[] = {
        "",
        "e\n6\np\no\n500\nEUR\nr\n700\n1",
        "e\nx\np\no\n500\nEUR\nr\n700\n1\n123",
        "e\n-1\np\no\n500\nEUR\nr\n700\n1\n123",
        "e\n99\np\no\n500\nEUR\nr\n700\n1\n123",
        "e\n6\np\no\nx\nEUR\nr\n700\n1\n123",
        "e\n6\np\no\n500\nEUR\nr\nx\n1\n123",
        "e\n6\np\no\n500\nEUR\nr\n700\nx\n123",
        "e\n6\np\no\n500\nEUR\nr\n700\n-1\n123",
        "e\n6\np\no\n500\nEUR\nr\n700\n9\n123",
        "e\n6\np\no\n500\nEUR\nr\n700\n1\nx",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (sandbox_message_unpack(str_from(bad[i]), &got)) fail_msg("case %zu was taken", i);
}

static void backup_records(void **state)
{
    (void)state;
    struct backup_record got;
    assert_true(backup_record_parse(STR("1 2 3 4 souk-1.backup\n"), &got));
    assert_int_equal(got.rows, 4);
    assert_str(got.name, "souk-1.backup");
    static const char *const bad[] = {"",          "1",       "x 2 3 4 a",  "1 -2 3 4 a",   "1 2 x 4 a",
                                      "1 2 3 x a", "1 2 3 4", "1 2 3 4 \n", "1 2 3 4 \xff", "1 2 3"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (backup_record_parse(str_from(bad[i]), &got)) fail_msg("\"%s\" was taken", bad[i]);
    assert_false(backup_record_parse(str_printf(&arena, "1 2 3 4 %0400d", 1), &got));
}

static void order_references(void **state)
{
    (void)state;
    enum ref_kind kind;
    Id id;
    for (int k = REF_ORDER; k <= REF_PAYMENT; k++) {
        Str ref = ref_make(&arena, (enum ref_kind)k, (Id){0xabc});
        assert_true(ref_parse(ref, &kind, &id));
        assert_int_equal(kind, k);
        assert_int_equal(id.v, 0xabc);
        char copy[64];
        for (size_t i = 0; i < ref.len; i++) { /* no character can be another */
            memcpy(copy, ref.ptr, ref.len);
            for (const char *c = "0g/:`G"; *c; c++) {
                copy[i] = *c;
                if (*c != ref.ptr[i]) assert_false(ref_parse((Str){copy, ref.len}, &kind, &id));
            }
        }
        assert_false(ref_parse((Str){ref.ptr, ref.len - 1}, &kind, &id));
        assert_false(ref_parse(str_printf(&arena, "%.*s00000000000000", STR_FMT(ref)), &kind, &id));
        assert_false(ref_parse(ref_make(&arena, (enum ref_kind)k, (Id){0}), &kind, &id));
        assert_false(ref_parse(ref_make(&arena, (enum ref_kind)k, (Id){ID_MAX + 1}), &kind, &id));
    }
    assert_false(ref_parse((Str){0}, &kind, &id));
}

/* Every byte in its place: which of them does the name take? */
static void check_alphabet(bool (*is)(Str), size_t length, const char *taken)
{
    char text[64];
    for (int c = 0; c < 256; c++) {
        memset(text, taken[0], length);
        text[length - 1] = (char)c;
        bool want = c && strchr(taken, c);
        if (is((Str){text, length}) != want) fail_msg("byte %d", c);
    }
}

#define DIGITS "0123456789"
#define SMALL "abcdefghijklmnopqrstuvwxyz"
#define LARGE "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool is_coupon(Str s)
{
    Str normal;
    return coupon_code_normalise(&arena, s, &normal);
}

static void alphabets(void **state)
{
    (void)state;
    check_alphabet(session_is_plausible, SESSION_TEXT_LEN, SMALL LARGE DIGITS);
    assert_false(session_is_plausible(STR("short")));
    check_alphabet(gateway_label_is_fine, 4, SMALL DIGITS "_-");
    assert_false(gateway_label_is_fine(STR("")));
    check_alphabet(download_key_is_plain, 4, SMALL LARGE DIGITS "._-");
    assert_false(download_key_is_plain(STR("")));
    assert_false(download_key_is_plain(STR(".a")));
    check_alphabet(is_coupon, 4, SMALL LARGE DIGITS "_- \t\n\r");
    check_alphabet(license_key_is_importable, 6, SMALL LARGE DIGITS "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
    assert_false(license_key_is_importable(STR("short")));
    assert_false(license_key_is_importable(str_printf(&arena, "%0256d", 1)));
}

static void scopes(void **state)
{
    (void)state;
    unsigned bits;
    assert_true(scopes_parse(STR("store, verify"), &bits));
    assert_int_equal(bits, SCOPE_STORE | SCOPE_VERIFY);
    assert_false(scopes_parse(STR(""), &bits));
    assert_false(scopes_parse(STR("store,all"), &bits));
    assert_string_equal(scope_name(SCOPE_VERIFY), "verify");
    assert_string_equal(scope_name(0), "");
    Str token = STR("souk_xxx_0000000000000000000000000000000000000000000000000");
    assert_false(token_is_plausible(token));
}

/* Of a shop session there is a row in the same table, by the same hash: its name must not pass for a token. */
static void tokens(void **state)
{
    (void)state;
    struct token_known k;
    char session[SESSION_TEXT_LEN];
    memset(session, 'x', sizeof session);
    assert_true(session_is_plausible((Str){session, sizeof session}));
    assert_false(token_read((Str){session, sizeof session}, &k));
    assert_false(token_read(str_printf(&arena, "souk_api_%038d", 0), &k)); /* its checksum is wrong */
    assert_false(token_read(STR(""), &k));
}

static void slugs(void **state)
{
    (void)state;
    assert_str(slug_from_name(&arena, STR("Größe À-la Ŝ {x} × 2")), "grose-a-la-s-x-2");
    assert_str(slug_from_name(&arena, STR("a\xf0\x9f\x98\x80z \xe2\x82\xac \xc3")), "a-z");
    assert_str(slug_from_name(&arena, STR("…")), "product");
}

static void pictures(void **state)
{
    (void)state;
    assert_string_equal(image_type(STR("RIFF0000WEBP")), "webp");
    assert_string_equal(image_type(STR("0000ftypavif")), "avif");
    assert_null(image_type(STR("RIFF0000WAVE")));
    assert_null(image_type(STR("")));
    struct qr qr;
    assert_true(qr_draw(&arena, STR("https://a.example"), &qr));
    assert_false(qr_draw(&arena, STR(""), &qr));
    assert_false(qr_draw(&arena, str_printf(&arena, "%010000d", 1), &qr));
}

static void colours(void **state)
{
    (void)state;
    struct color c;
    assert_true(color_read(STR("#ffcc00"), &c));
    assert_true(color_is_readable(&c) && !color_wants_white(&c) && !color_reads_on_white(&c));
    assert_true(color_read(STR("#804020"), &c));
    assert_true(color_is_readable(&c) && color_wants_white(&c) && color_reads_on_white(&c));
    static const char *const lost[] = {"#ffffff", "#000000"}; /* on a light and on a dark page */
    for (size_t i = 0; i < 2; i++) {
        assert_true(color_read(str_from(lost[i]), &c));
        assert_false(color_is_readable(&c));
    }
    for (int level = 0; level < 256; level++) { /* black or white can be read on every grey */
        c = (struct color){level, level, level};
        if (level > 60 && level < 220) assert_true(color_is_readable(&c));
    }
    static const char *const bad[] = {"", "#fff", "ffcc00#", "#ffcc0g", "#ffcc000"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(color_read(str_from(bad[i]), &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(packed_values, empty_arena),
        cmocka_unit_test_teardown(queued_mails, empty_arena),
        cmocka_unit_test_teardown(sandbox_messages, empty_arena),
        cmocka_unit_test_teardown(backup_records, empty_arena),
        cmocka_unit_test_teardown(order_references, empty_arena),
        cmocka_unit_test_teardown(alphabets, empty_arena),
        cmocka_unit_test_teardown(scopes, empty_arena),
        cmocka_unit_test_teardown(tokens, empty_arena),
        cmocka_unit_test_teardown(slugs, empty_arena),
        cmocka_unit_test_teardown(pictures, empty_arena),
        cmocka_unit_test_teardown(colours, empty_arena),
    };
    return cmocka_run_group_tests(tests, open_vault, NULL);
}
