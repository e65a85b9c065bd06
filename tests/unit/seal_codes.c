/* tests/unit/seal_codes.c - for tests that put serial codes straight into a database: seals lines of stdin as the store
 * would, with the master key in the file argv[1] or in SOUK_KEY. One line each: hash and sealed code, in hex. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/sealed_code.h"
#include "domain/vault.h"

int main(int argc, char **argv)
{
    const char *hex = getenv("SOUK_KEY");
    char why[256], line[4096];
    struct arena a = {0};
    if (vault_open(argc > 1 ? argv[1] : "", hex ? hex : "", false, why, sizeof why) != OK) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        uint8_t hash[CODE_HASH_BYTES];
        serial_code_hash(str_from(line), hash);
        Str sealed = code_seal(&a, (Str){(const char *)hash, sizeof hash}, str_from(line));
        Str hash_text = hex_encode(&a, hash, sizeof hash);
        Str sealed_text = hex_encode(&a, (const uint8_t *)sealed.ptr, sealed.len);
        printf("%.*s %.*s\n", STR_FMT(hash_text), STR_FMT(sealed_text));
        arena_reset(&a);
    }
    arena_done(&a);
    return 0;
}
