/* domain/idempotency.c - see idempotency.h. */
#include "domain/idempotency.h"

#include <assert.h>
#include <stdatomic.h>

#include "domain/vault.h"

#define BUSY_NUMBERS 4096

static_assert(KEY_HASH_BYTES == VAULT_SHORT_BYTES && REQUEST_HASH_BYTES == VAULT_SHORT_BYTES, "both are short hashes");

void idempotency_init(const struct idempotency_scope *scope, Str target, Str body, struct idempotency *ret)
{
    char account[8];
    for (size_t n = 0; n < sizeof account; n++) account[n] = (char)((uint64_t)scope->account.v >> (8 * n));
    const Str key[] = {{account, sizeof account},
                       id_is(scope->account) ? (Str){0} : scope->network,
                       str_from(scope->method),
                       str_from(scope->path),
                       scope->key};
    vault_short_hash(VAULT_IDEMPOTENCY, key, sizeof key / sizeof *key, ret->key_hash);
    ret->account = scope->account;

    const Str request[] = {target, body};
    vault_short_hash(VAULT_REQUEST, request, sizeof request / sizeof *request, ret->request_hash);
}

static Str key_hash(const struct idempotency *i)
{
    return (Str){(const char *)i->key_hash, sizeof i->key_hash};
}

static Str request_hash(const struct idempotency *i)
{
    return (Str){(const char *)i->request_hash, sizeof i->request_hash};
}

/* Location and body travel in one sealed text; a Location has no line end. */
static Str answer_seal(struct arena *a, const struct idempotency *i, const struct kept_answer *answer)
{
    struct buf plain;
    buf_init(&plain, a, SIZE_MAX);
    buf_reserve(&plain, answer->location.len + 1 + answer->body.len);
    buf_append(&plain, answer->location);
    buf_char(&plain, '\n');
    buf_append(&plain, answer->body);
    return vault_seal(a, key_hash(i), buf_str(&plain));
}

/* Of a key in the row of an order: the answer follows from it. */
#define OF_ORDER (-1)

struct key_row {
    Id id; /* 0: there is none */
    Str request_hash, answer;
    int status; /* OF_ORDER: id is the order's */
};

#define ROW "SELECT id, request_hash, status, answer FROM idempotency WHERE "
#define ORDER_ROW "SELECT id, request_hash, -1, NULL FROM orders WHERE "

static enum err read_row(struct stmt *st, struct key_row *ret)
{
    struct key_row row = {0};
    if (db_step(st)) {
        row.id = col_id(st);
        row.request_hash = col_blob(st);
        row.status = (int)col_int(st);
        row.answer = col_blob(st);
    }
    enum err e = db_done(st);
    if (!e) *ret = row;
    return e;
}

/* Keys of orders are not deleted: older ones count as gone. */
static Time oldest_kept(Time now)
{
    return time_add(now, -IDEMPOTENCY_DAYS * TIME_DAY);
}

static struct stmt *ask_by_hash(struct db *db, const struct idempotency *i, Time now)
{
    static const char postgres[] =
        ROW "account_id = $1 AND key_hash = $2 UNION ALL " ORDER_ROW "key_hash = $2 AND created_at > $3";
    struct stmt *st = db_prepare(db, postgres);
    bind_id(st, i->account);
    bind_blob(st, key_hash(i));
    bind_time(st, oldest_kept(now));
    return st;
}

/* SQLite. */
static enum err find_among(struct db *db, const struct idempotency *i, enum key_index which, Time now,
                           struct key_row *ret)
{
    static const char sqlite[] = ROW "id = $1 AND key_hash = $2";
    static const char sqlite_order[] = ORDER_ROW "id = $1 AND key_hash = $2 AND created_at > $3";
    Id *rows = NULL;
    size_t count = 0;
    struct key_row row = {0};
    enum err e = key_index_find(db, which, i->key_hash, &rows, &count);
    for (size_t n = 0; n < count && !e && !id_is(row.id); n++) {
        struct stmt *st = db_prepare(db, which == KEYS_OF_ORDERS ? sqlite_order : sqlite);
        bind_id(st, rows[n]);
        bind_blob(st, key_hash(i));
        if (which == KEYS_OF_ORDERS) bind_time(st, oldest_kept(now));
        e = read_row(st, &row);
    }
    if (!e) *ret = row;
    return e;
}
#undef ROW
#undef ORDER_ROW

static enum err find_row(struct db *db, const struct idempotency *i, Time now, struct key_row *ret)
{
    if (db_is_postgres(db)) return read_row(ask_by_hash(db, i, now), ret);
    enum err e = find_among(db, i, KEYS_OF_ORDERS, now, ret);
    return e || id_is(ret->id) ? e : find_among(db, i, KEYS_OF_REQUESTS, now, ret);
}

void idempotency_find_ahead(struct db *db, const struct idempotency *i, Time now)
{
    db_ahead(ask_by_hash(db, i, now));
}

static idempotency_view *view;

void idempotency_install(idempotency_view *v)
{
    view = v;
}

static enum err view_order(struct db *db, Id order, struct kept_answer *ret)
{
    struct kept_answer kept = {.status = 200};
    enum err e = view ? view(db, order, &kept.body) : ERR_INTERNAL;
    if (!e) *ret = kept;
    return e == ERR_NOT_FOUND ? ERR_INTERNAL : e;
}

static enum err unseal(struct db *db, const struct idempotency *i, const struct key_row *row, struct kept_answer *ret)
{
    Str plain;
    struct kept_answer kept = {.status = row->status};
    if (!row->answer.len) return ERR_ANSWER_NOT_KEPT;
    if (!vault_unseal(db_arena(db), key_hash(i), row->answer, &plain)) return ERR_INTERNAL;
    if (!str_cut(plain, '\n', &kept.location, &kept.body)) return ERR_INTERNAL;
    *ret = kept;
    return OK;
}

/* On PostgreSQL the order may be changed between two statements of a transaction that writes. Then its answer has been
 * written out meanwhile. */
static enum err make_again(struct db *db, const struct idempotency *i, Time now, Id order, struct kept_answer *ret)
{
    struct key_row row;
    enum err e = view_order(db, order, ret);
    if (e || !db_is_postgres(db)) return e;
    e = find_row(db, i, now, &row);
    return e || row.status == OF_ORDER ? e : unseal(db, i, &row, ret);
}

enum err idempotency_find(struct db *db, const struct idempotency *i, Time now, struct kept_answer *ret)
{
    struct key_row row;
    struct kept_answer kept = {0};
    enum err e = find_row(db, i, now, &row);
    if (e) return e;
    if (id_is(row.id)) {
        if (!str_eq(row.request_hash, request_hash(i))) return ERR_IDEMPOTENCY_KEY_REUSED;
        if (!row.status) return ERR_CONFLICT; /* claimed by a request of several transactions that is still running */
        e = row.status == OF_ORDER ? make_again(db, i, now, row.id, &kept) : unseal(db, i, &row, &kept);
        if (!e) e = db_confirm_read(db);
    }
    if (!e) *ret = kept;
    return e;
}

enum err idempotency_join(struct db *db, const struct idempotency *i)
{
    return db_enlist(db, key_hash(i)) ? OK : ERR_RUN_ALONE;
}

enum err idempotency_claim(struct db *db, const struct idempotency *i, Time now, struct kept_answer *ret)
{
    static const char postgres[] =
        "INSERT INTO idempotency (account_id, key_hash, request_hash, created_at)"
        " SELECT CAST($1 AS BIGINT), CAST($2 AS BYTEA), CAST($3 AS BYTEA), CAST($4 AS BIGINT)"
        " WHERE NOT EXISTS (SELECT 1 FROM orders WHERE key_hash = $2 AND created_at > $5)"
        " ON CONFLICT DO NOTHING RETURNING 1";
    if (!db_is_postgres(db)) return idempotency_find(db, i, now, ret);
    if (db_is_grouped(db)) {
        enum err e = idempotency_join(db, i);
        if (!e) e = idempotency_find(db, i, now, ret);
        return e == ERR_CONFLICT ? ERR_RUN_ALONE : e;
    }
    struct stmt *st = db_prepare(db, postgres);
    bind_id(st, i->account);
    bind_blob(st, key_hash(i));
    bind_blob(st, request_hash(i));
    bind_time(st, now);
    bind_time(st, oldest_kept(now));
    bool claimed = db_step(st);
    enum err e = db_done(st);
    if (e || !claimed) return e ? e : idempotency_find(db, i, now, ret);
    *ret = (struct kept_answer){0};
    return OK;
}

/* The newest long answer stays, whatever its length. */
static enum err drop_long(struct db *db, Id account)
{
    static const char drop[] =
        "UPDATE idempotency SET answer = NULL, counted_of = NULL WHERE id IN (SELECT id FROM"
        " (SELECT id, row_number() OVER (ORDER BY id DESC) AS place, sum(length(answer)) OVER (ORDER BY id DESC) AS "
        "bytes"
        " FROM idempotency WHERE counted_of = $1) AS kept WHERE place > $2 OR (place > 1 AND bytes > $3))";
    struct stmt *st = db_prepare(db, drop);
    bind_id(st, (Id){-account.v});
    bind_int(st, KEPT_LONG_COUNT);
    bind_int(st, KEPT_LONG_BYTES);
    return db_run(st);
}

/* The oldest make room. Counting takes a while, so that about one store in KEPT_SHORT_LOOK does; nobody can choose
 * which, because the hash is keyed. */
static enum err drop_short(struct db *db, const struct idempotency *i)
{
    static const char drop[] = "UPDATE idempotency SET answer = NULL, counted_of = NULL WHERE counted_of = $1 AND id <="
                               " (SELECT id FROM idempotency WHERE counted_of = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)";
    if (i->key_hash[KEY_HASH_BYTES - 1] % KEPT_SHORT_LOOK) return OK;
    struct stmt *st = db_prepare(db, drop);
    bind_id(st, i->account);
    bind_int(st, KEPT_SHORT_COUNT);
    return db_run(st);
}

/* Whether the account has stored so many answers today that further small ones are counted as well. Accounts share a
 * number, which at worst makes one of them be counted early. */
static bool is_busy(Id account, Time now)
{
    static _Atomic int64_t today;
    static _Atomic int stored[BUSY_NUMBERS];
    int64_t day = now.ms / TIME_DAY, before = atomic_load(&today);
    if (day != before && atomic_compare_exchange_strong(&today, &before, day))
        for (size_t n = 0; n < BUSY_NUMBERS; n++) atomic_store(&stored[n], 0);
    return atomic_fetch_add(&stored[(uint64_t)account.v % BUSY_NUMBERS], 1) >= KEPT_SMALL_COUNT;
}

/* Of which kind an answer is: counted_of is NULL, the account, or minus the account. */
enum kept_kind { KEPT_AS_SMALL, KEPT_AS_SHORT, KEPT_AS_LONG };

static enum kept_kind kind_of(const struct idempotency *i, size_t bytes, Time now)
{
    if (!id_is(i->account)) return KEPT_AS_SMALL;
    if (bytes > KEPT_LONG) return KEPT_AS_LONG;
    return bytes > KEPT_SMALL || is_busy(i->account, now) ? KEPT_AS_SHORT : KEPT_AS_SMALL;
}

/* What a row says of an answer. */
struct key_answer {
    int status;
    Str sealed;
    enum kept_kind kind;
};

static void bind_answer(struct stmt *st, const struct idempotency *i, const struct key_answer *a)
{
    static const int64_t counted[] = {[KEPT_AS_SMALL] = 0, [KEPT_AS_SHORT] = 1, [KEPT_AS_LONG] = -1};
    bind_int(st, a->status);
    bind_blob(st, a->sealed);
    bind_opt_id(st, (Id){counted[a->kind] * i->account.v});
}

static void bind_key(struct stmt *st, const struct idempotency *i, Time now)
{
    bind_id(st, i->account);
    bind_blob(st, key_hash(i));
    bind_blob(st, request_hash(i));
    bind_time(st, now);
}

#define ADD                                                                                                            \
    "INSERT INTO idempotency (account_id, key_hash, request_hash, created_at, status, answer, counted_of)"             \
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"

static enum err store_by_hash(struct db *db, const struct idempotency *i, Time now, const struct key_answer *a)
{
    /* Nobody in a group has claimed the key: who meets it here was late, and is undone with the group. */
    static const char postgres_first[] = ADD;
    static const char postgres[] = ADD " ON CONFLICT (account_id, key_hash) DO UPDATE SET status = excluded.status,"
                                       " answer = excluded.answer, counted_of = excluded.counted_of";
    bool is_grouped = db_is_grouped(db);
    struct stmt *st = db_prepare(db, is_grouped ? postgres_first : postgres);
    bind_key(st, i, now);
    bind_answer(st, i, a);
    return db_run(st);
}

static enum err add_key_row(struct db *db, const struct idempotency *i, Time now, const struct key_answer *a)
{
    static const char sqlite[] = ADD " RETURNING id";
    Id row = {0};
    struct stmt *st = db_prepare(db, sqlite);
    bind_key(st, i, now);
    bind_answer(st, i, a);
    enum err e = db_insert(st, &row);
    return e ? e : key_index_add(db, KEYS_OF_REQUESTS, i->key_hash, row);
}
#undef ADD

static enum err change_key_row(struct db *db, const struct idempotency *i, Id row, const struct key_answer *a)
{
    static const char change[] = "UPDATE idempotency SET status = $2, answer = $3, counted_of = $4 WHERE id = $1";
    struct stmt *st = db_prepare(db, change);
    bind_id(st, row);
    bind_answer(st, i, a);
    return db_run(st);
}

/* `row`: 0: on SQLite there is none. */
static enum err store_answer(struct db *db, const struct idempotency *i, Id row, Time now,
                             const struct kept_answer *answer)
{
    Str sealed = answer_seal(db_arena(db), i, answer);
    struct key_answer a = {answer->status, sealed, kind_of(i, sealed.len, now)};
    enum err e = db_is_postgres(db) ? store_by_hash(db, i, now, &a)
                 : id_is(row)       ? change_key_row(db, i, row, &a)
                                    : add_key_row(db, i, now, &a);
    if (e || a.kind == KEPT_AS_SMALL) return e;
    return a.kind == KEPT_AS_LONG ? drop_long(db, i->account) : drop_short(db, i);
}

enum err idempotency_store(struct db *db, const struct idempotency *i, Time now, const struct kept_answer *answer)
{
    return store_answer(db, i, (Id){0}, now, answer);
}

enum err idempotency_store_order(struct db *db, const struct idempotency *i, Id order)
{
    return key_index_add(db, KEYS_OF_ORDERS, i->key_hash, order);
}

struct order_key {
    struct idempotency key;
    bool is_there;
};

/* Locks the order: of two who change its units at once, the second finds that its answer has been written out. */
static enum err lock_order_key(struct db *db, Id order, Time now, struct order_key *ret)
{
    static const char lock[] = "UPDATE orders SET status = status WHERE id = $1 AND created_at > $2"
                               " RETURNING account_id, key_hash, request_hash";
    struct order_key k = {0};
    struct stmt *st = db_prepare(db, lock);
    bind_id(st, order);
    bind_time(st, oldest_kept(now));
    if (db_step(st)) {
        k.key.account = col_id(st);
        k.is_there = col_blob_exact(st, k.key.key_hash, sizeof k.key.key_hash) &&
                     col_blob_exact(st, k.key.request_hash, sizeof k.key.request_hash);
    }
    enum err e = db_done(st);
    if (!e) *ret = k;
    return e;
}

enum err idempotency_write_out(struct db *db, Id order, Time now)
{
    static const char forget[] = "UPDATE orders SET key_hash = NULL, request_hash = NULL WHERE id = $1";
    struct order_key k;
    struct kept_answer answer;
    enum err e = lock_order_key(db, order, now, &k);
    if (e || !k.is_there) return e;
    e = view_order(db, order, &answer);
    if (e) return e;
    struct stmt *st = db_prepare(db, forget);
    bind_id(st, order);
    e = db_run(st);
    return e ? e : store_answer(db, &k.key, (Id){0}, now, &answer);
}

enum err idempotency_store_later(struct db *db, const struct idempotency *i, Time now, const struct kept_answer *answer)
{
    struct key_row row = {0};
    enum err e = db_is_postgres(db) ? OK : find_among(db, i, KEYS_OF_REQUESTS, now, &row);
    return e ? e : store_answer(db, i, row.id, now, answer);
}

enum err idempotency_forget(struct db *db, const struct idempotency *i)
{
    static const char forget[] = "DELETE FROM idempotency WHERE id = $1";
    struct key_row row;
    enum err e = find_row(db, i, time_now(), &row);
    if (e || !id_is(row.id)) return e;
    assert(row.status != OF_ORDER);
    struct stmt *st = db_prepare(db, forget);
    bind_id(st, row.id);
    return db_run(st);
}

enum err idempotency_expire(struct db *db, Time now, int64_t limit)
{
    static const char oldest[] = "SELECT created_at, id FROM idempotency ORDER BY id LIMIT 1";
    static const char expire[] = "DELETE FROM idempotency WHERE created_at < $1 AND id IN " DB_FIRST(
        "id", "idempotency ORDER BY id", "$2", "2000");
    Time limit_at = oldest_kept(now);
    struct stmt *st = db_prepare(db, oldest);
    bool is_due = db_step(st) && col_time(st).ms < limit_at.ms;
    Id first = is_due ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (!e) e = key_index_expire_orders(db, limit_at);
    if (e || !is_due) return e;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    e = key_index_expire(db, first);
    if (e) return e;

    st = db_prepare(db, expire);
    bind_time(st, limit_at);
    bind_int(st, limit);
    return db_run(st);
}
