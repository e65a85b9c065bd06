/* domain/sealed_code.c - see sealed_code.h. */
#include "domain/sealed_code.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/text.h"
#include "domain/vault.h"

#define MASK_SHOWS 4

void serial_code_hash(Str code, uint8_t ret[CODE_HASH_BYTES])
{
    uint8_t hash[VAULT_HASH_BYTES];
    vault_hash(VAULT_SERIAL, code, hash);
    memcpy(ret, hash, CODE_HASH_BYTES);
}

Str code_seal(struct arena *a, Str hash, Str code)
{
    return vault_seal(a, hash, code);
}

enum err code_unseal(struct arena *a, Str hash, Str sealed, Str *ret)
{
    if (vault_unseal(a, hash, sealed, ret)) return OK;
    log_event(LOG_ERROR, "code_not_ours", LOGI("bytes", sealed.len));
    return ERR_INTERNAL;
}

Str code_mask(struct arena *a, Str code)
{
    size_t chars = utf8_count(code), shown = chars >= 3 * MASK_SHOWS ? MASK_SHOWS : 0;
    /* Where the last `shown` characters begin: continuation bytes belong to the one before them. */
    size_t start = code.len;
    for (size_t left = shown; left; left--) {
        do start--;
        while (((unsigned char)code.ptr[start] & 0xc0) == 0x80);
    }
    struct buf b;
    buf_init(&b, a, SIZE_MAX);
    for (size_t i = 0; i < chars - shown; i++) buf_char(&b, '*');
    buf_append(&b, (Str){code.ptr + start, code.len - start});
    return buf_str(&b);
}
