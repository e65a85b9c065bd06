/* tests/fuzz/fuzz_signature.c - the small languages of licences and downloads: Accept-Signature, Range, keys, tokens.
 */
#include "fuzz.h"

#include "api/open/byte_range.h"
#include "api/v1/accept_signature.h"
#include "domain/download_link.h"
#include "domain/license_key.h"

static bool is_printable(Str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < 0x20 || s.ptr[i] > 0x7e) return false;
    return true;
}

/* What is taken can be written into a header field as it is. */
static void accept_signature(struct arena *a, Str text)
{
    struct wanted_signature w;
    if (!accept_signature_read(a, text, STR("our-key"), &w)) return;
    MUST(w.label.len >= 1 && w.label.len <= 64 && is_printable(w.label) && str_find(w.label, ' ') < 0);
    MUST(w.nonce.len <= 512 && is_printable(w.nonce));
    MUST(w.tag.len <= 512 && is_printable(w.tag));
}

static void range(Str text)
{
    static const int64_t sizes[] = {0, 1, 10, INT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct byte_range r = {-1, -1};
        if (byte_range_read(text, sizes[i], &r) == RANGE_PART)
            MUST(r.offset >= 0 && r.length >= 1 && r.offset <= sizes[i] - r.length);
        else
            MUST(r.offset == -1 && r.length == -1);
    }
}

/* Who finds a token that is taken has found the key. */
static void token(struct arena *a, Str text)
{
    Id item;
    int64_t unit;
    if (!download_token_read(text, &item, &unit)) return;
    Str path = download_path(a, item, unit);
    MUST(str_ends(path, text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    char why[64];
    if (!vault_is_open()) MUST(vault_open(NULL, key, false, why, sizeof why) == OK);

    struct arena arena = {0};
    Str text = {(const char *)data, size};
    uint8_t hash[LICENSE_HASH_BYTES], again[LICENSE_HASH_BYTES];
    accept_signature(&arena, text);
    range(text);
    token(&arena, text);
    if (license_key_hash(text, hash)) {
        MUST(license_key_hash(str_lower(&arena, text), again) && memcmp(hash, again, sizeof hash) == 0);
    }
    if (license_key_prefix_is_valid(text)) MUST(license_key_hash(license_key_make(&arena, text), hash));
    arena_done(&arena);
    return 0;
}
