/* domain/account.c - see account.h. */
#include "domain/account.h"

#include "domain/event.h"
#include "domain/mail_link.h"

const char *const role_names[] = {"", "customer", "staff", "owner", NULL};

enum err account_create(struct db *db, const struct account *a, Time now, struct account *ret)
{
    static const char insert[] =
        "INSERT INTO account (email, name, password_hash, role, created_at, is_unproven,"
        " language) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (email) DO NOTHING RETURNING id";
    struct stmt *st = db_prepare(db, insert);
    bind_text(st, a->email);
    bind_text(st, a->name);
    bind_opt_text(st, a->password_hash);
    bind_choice(st, role_names, a->role);
    bind_time(st, now);
    bind_bool(st, a->is_unproven);
    bind_text(st, a->language);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (e) return e;
    if (!id_is(id)) return ERR_EMAIL_TAKEN;

    *ret = *a;
    ret->id = id;
    ret->is_active = true;
    ret->created_at = now;
    return a->role == ROLE_CUSTOMER ? event_add(db, EVENT_CUSTOMER_CREATED, id, now) : OK;
}

#define ACCOUNT_COLUMNS                                                                                                \
    "SELECT id, email, name, password_hash, role, is_active, is_unproven, language, created_at FROM account"

static enum err account_read(struct stmt *st, struct account *ret)
{
    struct account a = {0};
    bool found = db_step(st);
    if (found) {
        a.id = col_id(st);
        a.email = col_text(st);
        a.name = col_text(st);
        a.password_hash = col_text(st);
        a.role = col_choice(st, role_names);
        a.is_active = col_bool(st);
        a.is_unproven = col_bool(st);
        a.language = col_text(st);
        a.created_at = col_time(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    *ret = a;
    return OK;
}

enum err account_find(struct db *db, Id id, struct account *ret)
{
    static const char find[] = ACCOUNT_COLUMNS " WHERE id = $1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return account_read(st, ret);
}

enum err account_find_email(struct db *db, Str email, struct account *ret)
{
    static const char find[] = ACCOUNT_COLUMNS " WHERE email = $1";
    struct stmt *st = db_prepare(db, find);
    bind_text(st, email);
    return account_read(st, ret);
}

enum err account_prove_email(struct db *db, Id id, Id kept_token)
{
    static const char prove[] = "UPDATE account SET is_unproven = 0 WHERE id = $1 AND is_unproven = 1 RETURNING id";
    static const char end[] = "DELETE FROM token WHERE account_id = $1 AND id <> $2 AND kind <> 'cart'";
    struct stmt *st = db_prepare(db, prove);
    bind_id(st, id);
    bool is_first = db_step(st);
    enum err e = db_done(st);
    if (e || !is_first) return e;
    st = db_prepare(db, end);
    bind_id(st, id);
    bind_id(st, kept_token);
    return db_run(st);
}

enum err account_set_language(struct db *db, Id id, Str code)
{
    static const char set[] = "UPDATE account SET language = $2 WHERE id = $1 AND language <> $2";
    struct stmt *st = db_prepare(db, set);
    bind_id(st, id);
    bind_text(st, code);
    return db_run(st);
}

enum err account_set_email(struct db *db, Id id, Str email)
{
    static const char set[] = "UPDATE account SET email = $2 WHERE id = $1 AND NOT EXISTS"
                              " (SELECT 1 FROM account a WHERE a.email = $2 AND a.id <> $1) RETURNING id";
    enum err e = event_write_out_account(db, id);
    if (e) return e;
    struct stmt *st = db_prepare(db, set);
    bind_id(st, id);
    bind_text(st, email);
    bool changed = db_step(st);
    e = db_done(st);
    if (e) return e == ERR_CONFLICT ? ERR_EMAIL_TAKEN : e;
    return changed ? OK : ERR_EMAIL_TAKEN;
}

enum err account_set_name(struct db *db, Id id, Str name)
{
    static const char set[] = "UPDATE account SET name = $1 WHERE id = $2";
    struct stmt *st = db_prepare(db, set);
    bind_text(st, name);
    bind_id(st, id);
    return db_run(st);
}

enum err account_set_password(struct db *db, Id id, Str password_hash, bool ends_api_tokens, Time now)
{
    static const char set[] = "UPDATE account SET password_hash = $1 WHERE id = $2";
    static const char end_logins[] = "DELETE FROM token WHERE account_id = $1"
                                     " AND (kind IN ('login', 'shop') OR ($2 = 1 AND kind = 'api'))";
    struct stmt *st = db_prepare(db, set);
    bind_text(st, password_hash);
    bind_id(st, id);
    enum err e = db_run(st);
    if (e) return e;
    st = db_prepare(db, end_logins);
    bind_id(st, id);
    bind_bool(st, ends_api_tokens);
    e = db_run(st);
    return e ? e : mail_link_end_changes(db, id, now);
}
