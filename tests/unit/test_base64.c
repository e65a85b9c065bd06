/* tests/unit/test_base64.c - of all texts for the same bytes one is taken; nothing else is, whatever sign a char has.
 */
#include "unit.h"

#include "base/base64.h"

static const char alphabets[][65] = {
    [BASE64_PADDED] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    [BASE64_URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};
static const enum base64_kind kinds[] = {BASE64_PADDED, BASE64_URL};

static struct arena arena;

static int stop(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

static bool decodes(enum base64_kind kind, Str text)
{
    Str bytes;
    return base64_decode(&arena, kind, text, &bytes);
}

static void knows_the_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *text[2];
    } cases[] = {
        {"", {"", ""}},
        {"f", {"Zg==", "Zg"}},
        {"fo", {"Zm8=", "Zm8"}},
        {"foo", {"Zm9v", "Zm9v"}},
        {"foob", {"Zm9vYg==", "Zm9vYg"}},
        {"fooba", {"Zm9vYmE=", "Zm9vYmE"}},
        {"foobar", {"Zm9vYmFy", "Zm9vYmFy"}},
        {"\xfb\xff\xfe", {"+//+", "-__-"}},
    };
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            Str bytes = {0};
            assert_str(base64_encode(&arena, kinds[k], str_from(cases[i].bytes)), cases[i].text[kinds[k]]);
            assert_true(base64_decode(&arena, kinds[k], str_from(cases[i].text[kinds[k]]), &bytes));
            assert_str(bytes, cases[i].bytes);
        }
}

static void gives_back_every_byte(void **state)
{
    (void)state;
    unsigned char all[256], got[256];
    char text[BASE64_PADDED_ROOM(256)];
    for (size_t i = 0; i < 256; i++) all[i] = (unsigned char)i;
    for (size_t k = 0; k < 2; k++)
        for (size_t n = 250; n <= 256; n++) {
            base64_put(kinds[k], all, n, text, sizeof text);
            assert_true(base64_get(kinds[k], str_from(text), got, n));
            assert_memory_equal(got, all, n);
            assert_false(base64_get(kinds[k], str_from(text), got, n - 1));
            assert_false(base64_get(kinds[k], str_from(text), got, n + 1));
        }
}

/* Each of the 256 bytes at each place of a text: those of the alphabet are read as what they are, no other is. */
static void refuses_what_is_not_in_the_alphabet(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++)
        for (size_t at = 0; at < 8; at++)
            for (int byte = 0; byte < 256; byte++) {
                char text[] = "Zm9vYmFy";
                unsigned char got[6];
                text[at] = (char)byte;
                const char *found = byte ? strchr(alphabets[kinds[k]], byte) : NULL;
                Str s = {text, 8};
                assert_int_equal(decodes(kinds[k], s), found != NULL);
                assert_int_equal(base64_get(kinds[k], s, got, sizeof got), found != NULL);
                if (!found) continue;
                size_t bit = at * 6 % 24, word = at / 4 * 3;
                unsigned long v = (unsigned long)got[word] << 16 | (unsigned long)got[word + 1] << 8 | got[word + 2];
                assert_int_equal(v >> (18 - bit) & 63, found - alphabets[kinds[k]]);
            }
}

/* The same where a text ends in the middle of four: 64 * 64 texts for 256 bytes, so 256 are taken. */
static void takes_one_text_for_each_end(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const char *alphabet = alphabets[kinds[k]], *pad = kinds[k] == BASE64_PADDED ? "==" : "";
        size_t one = 0, two = 0;
        for (size_t i = 0; i < 64; i++)
            for (size_t j = 0; j < 64; j++) {
                unsigned char got[2];
                char text[8];
                snprintf(text, sizeof text, "%c%c%s", alphabet[i], alphabet[j], pad);
                one += base64_get(kinds[k], str_from(text), got, 1);
                for (size_t l = 0; l < 64; l++) {
                    snprintf(text, sizeof text, "%c%c%c%s", alphabet[i], alphabet[j], alphabet[l], pad + (*pad != 0));
                    two += base64_get(kinds[k], str_from(text), got, 2);
                }
            }
        assert_int_equal(one, 256);
        assert_int_equal(two, 65536);
        for (int byte = 0x80; byte < 256; byte++)
            for (size_t at = 0; at < 3; at++) {
                char text[] = "Zm8=";
                text[at] = (char)byte;
                assert_false(decodes(kinds[k], (Str){text, kinds[k] == BASE64_PADDED ? 4 : 3}));
            }
    }
}

static void refuses_other_shapes(void **state)
{
    (void)state;
    static const char *const padded[] = {"Zg",    "Zg=",    "Zg===",  "Z===",       "====",  "=",     "Zm8",  "Zm8==",
                                         "Zm9v=", "Zg==Zg", "Zg==\n", "Zm9v\nYg==", " Zg==", "Zg= =", "Zg=A", "Z"};
    static const char *const url[] = {"Zg==", "Zm8=", "Z", "Zm9vY", "Zm9v\n", " Zm9v", "Zm 9v", "Zm9v=", "+//+"};
    for (size_t i = 0; i < sizeof padded / sizeof *padded; i++)
        assert_false(decodes(BASE64_PADDED, str_from(padded[i])));
    for (size_t i = 0; i < sizeof url / sizeof *url; i++) assert_false(decodes(BASE64_URL, str_from(url[i])));
    assert_false(decodes(BASE64_PADDED, STR("-__-")));
    assert_false(decodes(BASE64_URL, (Str){"Zm9v\0", 5}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_vectors),
        cmocka_unit_test(gives_back_every_byte),
        cmocka_unit_test(refuses_what_is_not_in_the_alphabet),
        cmocka_unit_test(takes_one_text_for_each_end),
        cmocka_unit_test(refuses_other_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, stop);
}
