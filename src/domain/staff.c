/* domain/staff.c - see staff.h. */
#include "domain/staff.h"

#include "base/random.h"
#include "db/rows.h"
#include "domain/token.h"
#include "domain/vault.h"

#define SETUP_CHARS 40

static enum err owners_count(struct db *db, int64_t *ret)
{
    static const char count[] =
        "SELECT COUNT(*) FROM account WHERE role = 'owner' AND role <> 'customer' AND is_active = 1";
    struct stmt *st = db_prepare(db, count);
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) *ret = n;
    return e;
}

enum err setup_is_needed(struct db *db, bool *ret)
{
    int64_t owners;
    enum err e = owners_count(db, &owners);
    if (!e) *ret = owners == 0;
    return e;
}

enum err setup_begin(struct db *db, Time now, Str *ret_text)
{
    static const char clear[] = "DELETE FROM setup_token";
    static const char add[] = "INSERT INTO setup_token (hash, created_at) VALUES ($1, $2)";
    bool needed;
    enum err e = setup_is_needed(db, &needed);
    if (e) return e;
    if (!needed) {
        *ret_text = (Str){0};
        return OK;
    }
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    char *text = arena_alloc(db_arena(db), SETUP_CHARS + 1);
    uint8_t hash[VAULT_HASH_BYTES];
    random_base62(text, SETUP_CHARS);
    vault_hash(VAULT_RESET, (Str){text, SETUP_CHARS}, hash);
    e = db_run(db_prepare(db, clear));
    if (e) return e;
    struct stmt *st = db_prepare(db, add);
    bind_blob(st, (Str){(const char *)hash, sizeof hash});
    bind_time(st, now);
    e = db_run(st);
    if (!e) *ret_text = (Str){text, SETUP_CHARS};
    return e;
}

enum err setup_finish(struct db *db, Str token, const struct account *owner, Time now, struct account *ret)
{
    static const char take[] = "DELETE FROM setup_token WHERE hash = $1 RETURNING 1";
    bool needed;
    enum err e = setup_is_needed(db, &needed);
    if (e) return e;
    if (!needed) return ERR_NOT_FOUND;
    uint8_t hash[VAULT_HASH_BYTES];
    vault_hash(VAULT_RESET, token, hash);
    struct stmt *st = db_prepare(db, take);
    bind_blob(st, (Str){(const char *)hash, sizeof hash});
    bool won = db_step(st);
    e = db_done(st);
    if (e) return e;
    if (!won) return ERR_NOT_FOUND;
    return account_create(db, owner, now, ret);
}

#define STAFF_COLUMNS "SELECT id, email, name, role, is_active, created_at, totp_is_on FROM account"

static void staff_read(struct stmt *st, struct staff_member *m)
{
    m->account.id = col_id(st);
    m->account.email = col_text(st);
    m->account.name = col_text(st);
    m->account.role = col_choice(st, role_names);
    m->account.is_active = col_bool(st);
    m->account.created_at = col_time(st);
    m->totp_is_on = col_bool(st);
}
DB_READER(staff_read);

enum err staff_list(struct db *db, Id after, int64_t limit, struct staff_member **ret, size_t *ret_count)
{
    static const char list[] =
        STAFF_COLUMNS " WHERE role IN ('staff', 'owner') AND role <> 'customer' AND id > $1 ORDER BY id LIMIT $2";
    struct stmt *st = db_prepare(db, list);
    bind_id(st, after);
    bind_int(st, limit);
    return db_rows(st, staff_read, limit, ret, ret_count);
}

enum err staff_find(struct db *db, Id id, struct staff_member *ret)
{
    static const char find[] = STAFF_COLUMNS " WHERE role IN ('staff', 'owner') AND id = $1";
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return db_row(st, staff_read, ret);
}

/* Owners are counted after the change, with their rows locked in one order: two owners demoting each other at the same
 * time cannot both succeed. */
static enum err owners_lock(struct db *db)
{
    static const char lock[] = "UPDATE account SET is_active = is_active WHERE role = 'owner' AND role <> 'customer'";
    return db_run(db_prepare(db, lock));
}

static enum err staff_put(struct db *db, Id id, const struct account *a)
{
    static const char put[] = "UPDATE account SET name = $1, role = $2, is_active = $3 WHERE id = $4";
    struct stmt *st = db_prepare(db, put);
    bind_text(st, a->name);
    bind_choice(st, role_names, a->role);
    bind_bool(st, a->is_active);
    bind_id(st, id);
    return db_run(st);
}

enum err staff_change(struct db *db, Id id, const struct staff_change *change)
{
    enum err e = owners_lock(db);
    if (e) return e;
    struct staff_member m;
    e = staff_find(db, id, &m);
    if (e) return e;
    struct account now = m.account;
    if (change->has_name) now.name = change->name;
    if (change->role) now.role = change->role;
    if (change->has_is_active) now.is_active = change->is_active;
    e = staff_put(db, id, &now);
    if (e) return e;

    bool was_owner = m.account.role == ROLE_OWNER && m.account.is_active;
    int64_t owners = 1;
    if (was_owner) e = owners_count(db, &owners);
    if (e) return e;
    if (!owners) return ERR_INVALID_STATE;
    bool loses = now.role < m.account.role || (!now.is_active && m.account.is_active);
    return loses ? token_revoke_all(db, id) : OK;
}

enum err staff_remove(struct db *db, Id id)
{
    struct staff_change change = {.role = ROLE_CUSTOMER};
    return staff_change(db, id, &change);
}
