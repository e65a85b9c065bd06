/* domain/token.c - see token.h. */
#include "domain/token.h"

#include <stdlib.h>

#include <assert.h>
#include <stdio.h>
#include <zlib.h>

#include "base/random.h"
#include "db/rows.h"
#include "domain/token_cache.h"
#include "domain/vault.h"

#define RANDOM_CHARS 32
#define CHECK_CHARS 6

const char *const scope_names[] = {"customer", "store", "catalog", "verify", "order", "admin", "owner", NULL};

static const char *const kind_names[] = {"login", "api", NULL}; /* enum token_kind */

const char *scope_name(unsigned scope)
{
    for (unsigned i = 0; scope_names[i]; i++)
        if (scope & 1u << i) return scope_names[i];
    return "";
}

bool scopes_parse(Str text, unsigned *ret)
{
    unsigned bits = 0;
    while (text.len) {
        Str name = text, rest = {0};
        str_cut(text, ',', &name, &rest);
        int i = str_choice(str_trim(name), scope_names);
        if (i < 0) return false;
        bits |= 1u << i;
        text = rest;
    }
    if (!bits) return false;
    *ret = bits;
    return true;
}

unsigned scopes_of_role(enum role role)
{
    if (role == ROLE_OWNER) return SCOPES_OF_OWNERS;
    return role == ROLE_STAFF ? SCOPES_OF_STAFF : SCOPES_OF_CUSTOMERS;
}

static void checksum(Str body, char ret[CHECK_CHARS])
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    unsigned long crc = crc32(0, (const unsigned char *)body.ptr, (unsigned)body.len); /* IEEE */
    for (int i = CHECK_CHARS; i-- > 0; crc /= 62) ret[i] = digits[crc % 62];
}

/* Names of shop sessions are in the same table and are hashed alike, but never have this form. */
static bool has_form(Str text)
{
    for (size_t k = 0; kind_names[k]; k++) {
        Str kind = str_from(kind_names[k]);
        if (text.len != 5 + kind.len + 1 + RANDOM_CHARS + CHECK_CHARS) continue;
        if (str_starts(text, STR("souk_")) && memcmp(text.ptr + 5, kind.ptr, kind.len) == 0) return true;
    }
    return false;
}

bool token_is_plausible(Str text)
{
    if (!has_form(text)) return false;
    char check[CHECK_CHARS];
    checksum((Str){text.ptr, text.len - CHECK_CHARS}, check);
    return memcmp(check, text.ptr + text.len - CHECK_CHARS, CHECK_CHARS) == 0;
}

void token_hash(Str text, uint8_t ret[TOKEN_HASH_BYTES])
{
    static_assert(TOKEN_HASH_BYTES == VAULT_HASH_BYTES, "one hash");
    vault_hash(VAULT_TOKEN, text, ret);
}

bool token_read(Str text, struct token_known *ret)
{
    if (!has_form(text)) return false;
    struct token_known k = {0};
    vault_name(VAULT_TOKEN, text, k.name);
    if (token_cache_find(k.name, ret)) return true; /* its checksum was right the last time */
    if (!token_is_plausible(text)) return false;
    token_hash(text, k.hash);
    *ret = k;
    return true;
}

static Str token_text(struct arena *a, enum token_kind kind)
{
    char *text = arena_alloc(a, TOKEN_TEXT_MAX);
    size_t n = (size_t)snprintf(text, TOKEN_TEXT_MAX, "souk_%s_", kind_names[kind]);
    random_base62(text + n, RANDOM_CHARS);
    n += RANDOM_CHARS;
    checksum((Str){text, n}, text + n);
    return (Str){text, n + CHECK_CHARS};
}

static int64_t tokens_max = TOKENS_MAX;

void token_set_max(int64_t max)
{
    tokens_max = max;
}

static enum err make_room(struct db *db, const struct token *t, Time now)
{
    static const char count[] = "SELECT count(*) FROM token WHERE account_id = $1 AND kind = 'api'"
                                " AND (expires_at IS NULL OR expires_at > $2)";
    static const char end_oldest[] =
        "DELETE FROM token WHERE id IN (SELECT id FROM token WHERE account_id = $1 AND kind = 'login'"
        " ORDER BY id DESC LIMIT 1000 OFFSET $2)";
    if (t->kind == TOKEN_LOGIN) {
        struct stmt *st = db_prepare(db, end_oldest);
        bind_id(st, t->account);
        bind_int(st, tokens_max - 1);
        return db_run(st);
    }
    struct stmt *st = db_prepare(db, count);
    bind_id(st, t->account);
    bind_time(st, now);
    int64_t has = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    return e ? e : has >= tokens_max ? ERR_TOKEN_LIMIT : OK;
}

enum err token_create(struct db *db, const struct token *t, Time now, struct token *ret, Str *ret_text)
{
    static const char insert[] =
        "INSERT INTO token (account_id, kind, name, hash, hint, scopes, created_at, expires_at,"
        " confirmed_at, network, last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING id";
    enum err e = make_room(db, t, now);
    if (e) return e;
    Str text = token_text(db_arena(db), t->kind);
    uint8_t hash[TOKEN_HASH_BYTES];
    token_hash(text, hash);
    Str hint = {text.ptr + text.len - 4, 4};

    struct stmt *st = db_prepare(db, insert);
    bind_id(st, t->account);
    bind_choice(st, kind_names, t->kind);
    bind_text(st, t->name);
    bind_blob(st, (Str){(const char *)hash, sizeof hash});
    bind_text(st, hint);
    bind_int(st, t->scopes);
    bind_time(st, now);
    bind_opt_time(st, t->expires_at);
    bind_opt_time(st, t->confirmed_at);
    bind_text(st, t->network);
    bind_opt_time(st, t->kind == TOKEN_LOGIN ? now : (Time){0});
    Id id = db_step(st) ? col_id(st) : (Id){0};
    e = db_done(st);
    if (e) return e;

    *ret = *t;
    ret->id = id;
    ret->hint = hint;
    ret->created_at = now;
    *ret_text = text;
    return OK;
}

/* Any other kind counts as an API token, which may do less. */
static enum err find_by_hash(struct db *db, const uint8_t hash[TOKEN_HASH_BYTES], bool *ret_found,
                             struct token_row *ret)
{
    static const char find[] = "SELECT t.id, t.account_id, t.kind, t.scopes, t.expires_at, t.confirmed_at, "
                               "t.last_used_at, a.role, a.is_unproven, a.is_active"
                               " FROM token t JOIN account a ON a.id = t.account_id WHERE t.hash = $1";
    struct stmt *st = db_prepare(db, find);
    bind_blob(st, (Str){(const char *)hash, TOKEN_HASH_BYTES});
    struct token_row t = {0};
    bool found = db_step(st);
    if (found) {
        t.token_id = col_id(st);
        t.account = col_id(st);
        t.kind = col_choice(st, kind_names);
        t.scopes = (unsigned)col_int(st);
        t.expires_at = col_time(st);
        t.confirmed_at = col_time(st);
        t.used_at = col_time(st);
        t.role = col_choice(st, role_names);
        t.is_unproven = col_bool(st);
        t.is_active = col_bool(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret_found = found;
    *ret = t;
    return OK;
}

static enum err find(struct db *db, struct token_known *k, bool *ret_found, struct token_row *ret)
{
    int64_t generation = db_generation(db);
    if (generation && token_cache_holds(k, generation)) {
        *ret_found = true;
        *ret = k->row;
        return OK;
    }
    enum err e = find_by_hash(db, k->hash, ret_found, ret);
    if (!e && *ret_found && generation) token_cache_keep(k, generation, ret);
    return e;
}

enum err token_authenticate(struct db *db, struct token_known *k, Time now, struct caller *ret)
{
    struct token_row t;
    bool found = false;
    enum err e = find(db, k, &found, &t);
    if (e) return e;
    if (!found || !t.is_active) return ERR_TOKEN_INVALID;
    if (time_is(t.expires_at) && t.expires_at.ms <= now.ms) return ERR_TOKEN_EXPIRED;
    /* Either way: of a session that was used an hour after now nobody knows for how long it was not. */
    int64_t idle_ms = t.kind == TOKEN_LOGIN ? llabs(now.ms - t.used_at.ms) : 0;
    if (t.role != ROLE_CUSTOMER && idle_ms > STAFF_IDLE_MS) return ERR_TOKEN_EXPIRED;
    *ret = (struct caller){
        .account = t.account,
        .token_id = t.token_id,
        .kind = t.kind,
        .scopes = t.scopes & scopes_of_role(t.role), /* a person who is no longer staff has no admin scope either */
        .role = t.role,
        .confirmed_at = t.confirmed_at,
        .expires_at = t.expires_at,
        .is_unproven = t.is_unproven,
        .is_to_note = idle_ms > USE_NOTED_MS};
    return OK;
}

#define LISTED(kind)                                                                                                   \
    "SELECT account_id, id, " kind ", name, hint, scopes, created_at, expires_at, last_used_at, network FROM token"

static void read_row(struct stmt *st, struct token *t)
{
    t->account = col_id(st);
    t->id = col_id(st);
    t->kind = col_choice(st, kind_names);
    t->name = col_text(st);
    t->hint = col_text(st);
    t->scopes = (unsigned)col_int(st);
    t->created_at = col_time(st);
    t->expires_at = col_time(st);
    t->last_used_at = col_time(st);
    t->network = col_text(st);
}
DB_READER(read_row);

static enum err list_of(struct db *db, const char *list, Id account, Id before, int64_t limit, struct token **ret,
                        size_t *ret_count)
{
    struct stmt *st = db_prepare(db, list);
    bind_id(st, account);
    bind_int(st, id_is(before) ? before.v : INT64_MAX);
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}

enum err token_list(struct db *db, Id account, Id before, int64_t limit, struct token **ret, size_t *ret_count)
{
    static const char list[] =
        LISTED("kind") " WHERE account_id = $1 AND id < $2 AND kind IN ('login', 'api') ORDER BY id DESC LIMIT $3";
    return list_of(db, list, account, before, limit, ret, ret_count);
}

enum err token_list_logins(struct db *db, Id account, Id before, int64_t limit, struct token **ret, size_t *ret_count)
{
    static const char list[] =
        LISTED("'login'") " WHERE account_id = $1 AND id < $2 AND kind IN ('login', 'shop') ORDER BY id DESC LIMIT $3";
    return list_of(db, list, account, before, limit, ret, ret_count);
}

enum err token_used(struct db *db, Id id, int64_t count, Time at)
{
    static const char used[] =
        "UPDATE token SET last_used_at = $2 WHERE id = $1 AND (last_used_at < $2 OR last_used_at > $3)";
    (void)count;
    struct stmt *st = db_prepare(db, used);
    bind_id(st, id);
    bind_time(st, at);
    bind_time(st, time_add(at, TIME_SLACK));
    return db_run(st);
}

enum err token_end_login(struct db *db, Id account, Id login)
{
    static const char end[] = "DELETE FROM token WHERE id = $1 AND account_id = $2"
                              " AND kind IN ('login', 'shop') RETURNING id";
    struct stmt *st = db_prepare(db, end);
    bind_id(st, login);
    bind_id(st, account);
    bool gone = db_step(st);
    enum err e = db_done(st);
    return e ? e : gone ? OK : ERR_NOT_FOUND;
}

enum err token_end_logins(struct db *db, Id account, Id kept)
{
    static const char end[] = "DELETE FROM token WHERE account_id = $1 AND kind IN ('login', 'shop') AND id <> $2";
    struct stmt *st = db_prepare(db, end);
    bind_id(st, account);
    bind_id(st, kept);
    return db_run(st);
}

enum err token_revoke(struct db *db, Id account, Id token, unsigned *ret_scopes)
{
    static const char revoke[] = "DELETE FROM token WHERE id = $1 AND account_id = $2 AND kind <> 'cart'"
                                 " RETURNING CASE WHEN kind = 'api' THEN scopes ELSE 0 END";
    struct stmt *st = db_prepare(db, revoke);
    bind_id(st, token);
    bind_id(st, account);
    bool gone = db_step(st);
    unsigned scopes = gone ? (unsigned)col_int(st) : 0;
    enum err e = db_done(st);
    if (!e && gone) *ret_scopes = scopes;
    return e ? e : gone ? OK : ERR_NOT_FOUND;
}

enum err token_revoke_all(struct db *db, Id account)
{
    static const char revoke[] = "DELETE FROM token WHERE account_id = $1";
    struct stmt *st = db_prepare(db, revoke);
    bind_id(st, account);
    return db_run(st);
}

enum err token_network_is_known(struct db *db, Id account, Str network, bool *ret)
{
    static const char find[] =
        "SELECT 1 FROM token WHERE account_id = $1 AND kind IN ('login', 'shop') AND network = $2 LIMIT 1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, account);
    bind_text(st, network);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret = found;
    return e;
}

enum err token_confirm(struct db *db, Id token, Time now)
{
    static const char confirm[] = "UPDATE token SET confirmed_at = $1 WHERE id = $2 AND kind = 'login' RETURNING id";
    struct stmt *st = db_prepare(db, confirm);
    bind_time(st, now);
    bind_id(st, token);
    bool found = db_step(st);
    enum err e = db_done(st);
    return e ? e : found ? OK : ERR_NOT_FOUND;
}

static enum err has_ended(struct db *db, Time before, bool *ret)
{
    static const char look[] = "SELECT 1 FROM token WHERE expires_at < $1 ORDER BY expires_at LIMIT 1";
    struct stmt *st = db_prepare(db, look);
    bind_time(st, before);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret = found;
    return e;
}

enum err token_purge(struct db *db, Time now, int64_t limit)
{
    static const char purge[] = "DELETE FROM token WHERE id IN " DB_FIRST(
        "id", "token WHERE expires_at < $1 ORDER BY expires_at", "$2", "1000");
    Time before = time_add(now, -TOKEN_KEPT_DAYS * TIME_DAY);
    bool found = false;
    enum err e = has_ended(db, before, &found);
    if (e || !found) return e;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    struct stmt *st = db_prepare(db, purge);
    bind_time(st, before);
    bind_int(st, limit);
    return db_run(st);
}
