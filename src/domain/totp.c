/* domain/totp.c - see totp.h. */
#include "domain/totp.h"

#include <assert.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/random.h"
#include "domain/vault.h"

#define URI_BYTES_MAX 4096 /* the longest issuer and address, percent-encoded */

#define STEP_MS (30 * TIME_SECOND)
#define DRIFT_STEPS 1
#define RECOVERY_CHARS 12

void totp_code(const uint8_t secret[TOTP_SECRET_BYTES], int64_t step, char ret[7])
{
    uint8_t counter[8], mac[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    for (int i = 8; i-- > 0; step >>= 8) counter[i] = (uint8_t)(step & 0xff);
    HMAC(EVP_sha1(), secret, TOTP_SECRET_BYTES, counter, sizeof counter, mac, &n);
    const uint8_t *p = mac + (mac[19] & 15);
    uint32_t v = ((uint32_t)(p[0] & 0x7f) << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]) % 1000000;
    snprintf(ret, 7, "%06u", v);
}

static Str base32(struct arena *a, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    char *out = arena_alloc(a, n * 8 / 5 + 2);
    size_t len = 0;
    unsigned bits = 0, held = 0;
    for (size_t i = 0; i < n; i++) {
        held = held << 8 | bytes[i];
        for (bits += 8; bits >= 5; bits -= 5) out[len++] = digits[held >> (bits - 5) & 31];
    }
    return (Str){out, len};
}

static Str seal_context(struct arena *a, Id account)
{
    return str_printf(a, "totp %lld", (long long)account.v);
}

struct factor {
    uint8_t secret[TOTP_SECRET_BYTES];
    bool has_secret, is_on;
    int64_t last_step;
};

static enum err factor_find(struct db *db, Id account, struct factor *ret)
{
    static const char find[] = "SELECT totp_secret, totp_is_on, totp_step FROM account WHERE id = $1";
    struct factor f = {0};
    struct stmt *st = db_prepare(db, find);
    bind_id(st, account);
    Str sealed = {0}, plain;
    if (db_step(st)) {
        sealed = col_blob(st);
        f.is_on = col_bool(st);
        f.last_step = col_int(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    if (sealed.len) {
        if (!vault_unseal(db_arena(db), seal_context(db_arena(db), account), sealed, &plain)) return ERR_INTERNAL;
        if (plain.len != TOTP_SECRET_BYTES) return ERR_INTERNAL;
        memcpy(f.secret, plain.ptr, plain.len);
        f.has_secret = true;
    }
    *ret = f;
    return OK;
}

static struct totp_setup setup_of(struct arena *a, const uint8_t secret[TOTP_SECRET_BYTES], Str email, Str issuer)
{
    Str text = base32(a, secret, TOTP_SECRET_BYTES);
    struct buf uri;
    buf_init(&uri, a, URI_BYTES_MAX);
    buf_lit(&uri, "otpauth://totp/");
    buf_url_encoded(&uri, issuer);
    buf_char(&uri, ':');
    buf_url_encoded(&uri, email);
    buf_lit(&uri, "?secret=");
    buf_append(&uri, text);
    buf_lit(&uri, "&issuer=");
    buf_url_encoded(&uri, issuer);
    assert(!uri.full);
    return (struct totp_setup){text, buf_str(&uri)};
}

enum err totp_begin(struct db *db, Id account, Str email, Str issuer, struct totp_setup *ret)
{
    static const char set[] = "UPDATE account SET totp_secret = $1, totp_step = 0 WHERE id = $2 AND totp_is_on = 0"
                              " RETURNING id";
    struct arena *a = db_arena(db);
    uint8_t secret[TOTP_SECRET_BYTES];
    random_bytes(secret, sizeof secret);
    Str sealed = vault_seal(a, seal_context(a, account), (Str){(const char *)secret, sizeof secret});
    struct stmt *st = db_prepare(db, set);
    bind_blob(st, sealed);
    bind_id(st, account);
    bool done = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    if (!done) return ERR_INVALID_STATE;
    *ret = setup_of(a, secret, email, issuer);
    return OK;
}

enum err totp_begun(struct db *db, Id account, Str email, Str issuer, struct totp_setup *ret)
{
    struct factor f;
    enum err e = factor_find(db, account, &f);
    if (e) return e;
    if (!f.has_secret || f.is_on) return ERR_NOT_FOUND;
    *ret = setup_of(db_arena(db), f.secret, email, issuer);
    return OK;
}

/* A code beyond this one was taken while the clock was ahead, and must not keep its owner out until then. */
static int64_t last_possible(Time now)
{
    return (now.ms + TIME_SLACK) / STEP_MS;
}

/* The time step that this code belongs to, if it is near now and newer than the last one; else 0. */
static int64_t code_step(const struct factor *f, Str code, Time now)
{
    int64_t found = 0, present = now.ms / STEP_MS, last = f->last_step > last_possible(now) ? 0 : f->last_step;
    for (int64_t step = present - DRIFT_STEPS; step <= present + DRIFT_STEPS; step++) {
        char right[7];
        totp_code(f->secret, step, right);
        if (code.len == 6 && vault_equal(code.ptr, right, 6) && step > last) found = step;
    }
    return found;
}

static enum err take_step(struct db *db, Id account, int64_t step, Time now, bool *ret_taken)
{
    static const char take[] =
        "UPDATE account SET totp_step = $1 WHERE id = $2 AND (totp_step < $1 OR totp_step > $3) RETURNING id";
    struct stmt *st = db_prepare(db, take);
    bind_int(st, step);
    bind_id(st, account);
    bind_int(st, last_possible(now));
    bool taken = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret_taken = taken;
    return e;
}

static void recovery_hash(struct arena *a, Id account, Str code, uint8_t ret[VAULT_HASH_BYTES])
{
    vault_hash(VAULT_RESET, str_printf(a, "recovery %lld %.*s", (long long)account.v, STR_FMT(code)), ret);
}

static enum err recovery_codes_make(struct db *db, Id account, Str ret[TOTP_RECOVERY_CODES])
{
    static const char clear[] = "DELETE FROM recovery_code WHERE account_id = $1";
    static const char add[] = "INSERT INTO recovery_code (account_id, hash) VALUES ($1, $2)";
    struct arena *a = db_arena(db);
    struct stmt *st = db_prepare(db, clear);
    bind_id(st, account);
    enum err e = db_run(st);
    for (int i = 0; !e && i < TOTP_RECOVERY_CODES; i++) {
        char text[RECOVERY_CHARS];
        uint8_t hash[VAULT_HASH_BYTES];
        random_base62(text, sizeof text);
        ret[i] = str_dup(a, (Str){text, sizeof text});
        recovery_hash(a, account, ret[i], hash);
        st = db_prepare(db, add);
        bind_id(st, account);
        bind_blob(st, (Str){(const char *)hash, sizeof hash});
        e = db_run(st);
    }
    return e;
}

enum err totp_confirm(struct db *db, Id account, Str code, Time now, Str ret_codes[TOTP_RECOVERY_CODES])
{
    static const char put[] = "UPDATE account SET totp_is_on = 1 WHERE id = $1 AND totp_is_on = 0 RETURNING id";
    struct factor f;
    enum err e = factor_find(db, account, &f);
    if (e) return e;
    if (!f.has_secret || f.is_on) return ERR_INVALID_STATE;
    int64_t step = code_step(&f, code, now);
    bool taken = false;
    if (step) e = take_step(db, account, step, now, &taken);
    if (e) return e;
    if (!taken) return ERR_CREDENTIALS_INVALID;
    struct stmt *st = db_prepare(db, put);
    bind_id(st, account);
    bool put_in_force = db_step(st);
    e = db_done(st);
    if (e) return e;
    return put_in_force ? recovery_codes_make(db, account, ret_codes) : ERR_INVALID_STATE;
}

enum err totp_remove(struct db *db, Id account)
{
    static const char drop[] = "UPDATE account SET totp_secret = NULL, totp_is_on = 0, totp_step = 0 WHERE id = $1";
    static const char clear[] = "DELETE FROM recovery_code WHERE account_id = $1";
    struct stmt *st = db_prepare(db, drop);
    bind_id(st, account);
    enum err e = db_run(st);
    if (e) return e;
    st = db_prepare(db, clear);
    bind_id(st, account);
    return db_run(st);
}

enum err totp_is_on(struct db *db, Id account, bool *ret)
{
    struct factor f;
    enum err e = factor_find(db, account, &f);
    if (!e) *ret = f.is_on;
    return e;
}

static enum err recovery_take(struct db *db, Id account, Str code, bool *ret_taken)
{
    static const char take[] = "DELETE FROM recovery_code WHERE account_id = $1 AND hash = $2 RETURNING 1";
    uint8_t hash[VAULT_HASH_BYTES];
    recovery_hash(db_arena(db), account, code, hash);
    struct stmt *st = db_prepare(db, take);
    bind_id(st, account);
    bind_blob(st, (Str){(const char *)hash, sizeof hash});
    bool taken = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret_taken = taken;
    return e;
}

enum err totp_take(struct db *db, Id account, Str code, Time now)
{
    struct factor f;
    bool taken = false;
    enum err e = factor_find(db, account, &f);
    if (e) return e;
    if (!f.is_on) return OK;
    int64_t step = code_step(&f, code, now);
    if (step)
        e = take_step(db, account, step, now, &taken);
    else if (code.len == RECOVERY_CHARS)
        e = recovery_take(db, account, code, &taken);
    if (e) return e;
    return taken ? OK : ERR_CREDENTIALS_INVALID;
}
