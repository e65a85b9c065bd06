/* domain/password_reset.c - see password_reset.h. */
#include "domain/password_reset.h"

#include "base/random.h"
#include "domain/account.h"
#include "domain/vault.h"

#define TOKEN_CHARS 40

static Str hash_of(struct arena *a, Str token)
{
    uint8_t *hash = arena_alloc(a, VAULT_HASH_BYTES);
    vault_hash(VAULT_RESET, token, hash);
    return (Str){(const char *)hash, VAULT_HASH_BYTES};
}

enum err password_reset_begin(struct db *db, Str email, Time now, Id *ret_account, Str *ret_token)
{
    static const char put[] =
        "INSERT INTO password_reset (account_id, hash, expires_at) VALUES ($1, $2, $3)"
        " ON CONFLICT (account_id) DO UPDATE SET hash = excluded.hash, expires_at = excluded.expires_at";

    struct account account;
    enum err e = account_find_email(db, email, &account);
    if (e == ERR_NOT_FOUND || (!e && !account.is_active)) {
        *ret_account = (Id){0};
        *ret_token = (Str){0};
        return OK;
    }
    if (e) return e;
    char *token = arena_alloc(db_arena(db), TOKEN_CHARS);
    random_base62(token, TOKEN_CHARS);
    struct stmt *st = db_prepare(db, put);
    bind_id(st, account.id);
    bind_blob(st, hash_of(db_arena(db), (Str){token, TOKEN_CHARS}));
    bind_time(st, time_add(now, PASSWORD_RESET_MINUTES * TIME_MINUTE));
    e = db_run(st);
    if (e) return e;
    *ret_account = account.id;
    *ret_token = (Str){token, TOKEN_CHARS};
    return OK;
}

static enum err account_of(struct stmt *st, Id *ret)
{
    Id account = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    if (!id_is(account)) return ERR_NOT_FOUND;
    *ret = account;
    return OK;
}

enum err password_reset_look(struct db *db, Str token, Time now, Id *ret_account)
{
    static const char look[] = "SELECT r.account_id FROM password_reset r JOIN account a ON a.id = r.account_id"
                               " WHERE r.hash = $1 AND r.expires_at > $2 AND a.is_active = 1";

    struct stmt *st = db_prepare(db, look);
    bind_blob(st, hash_of(db_arena(db), token));
    bind_time(st, now);
    return account_of(st, ret_account);
}

enum err password_reset_finish(struct db *db, Str token, Str password_hash, Time now)
{
    static const char take[] = "DELETE FROM password_reset WHERE hash = $1 AND expires_at > $2"
                               " AND EXISTS (SELECT 1 FROM account a WHERE a.id = account_id AND a.is_active = 1)"
                               " RETURNING account_id";

    Id account;
    struct stmt *st = db_prepare(db, take);
    bind_blob(st, hash_of(db_arena(db), token));
    bind_time(st, now);
    enum err e = account_of(st, &account);
    return e ? e : account_set_password(db, account, password_hash, true);
}
