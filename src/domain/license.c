/* domain/license.c - see license.h. Verification is the hottest path of the store: a read by the key's hash, or none
 * when the row is in memory. */
#include "domain/license.h"

#include <assert.h>

#include "base/text.h"
#include "db/rows.h"
#include "domain/event.h"
#include "domain/filing.h"
#include "domain/idempotency.h"
#include "domain/license_cache.h"
#include "domain/license_index.h"
#include "domain/sealed_code.h"

const char *const license_status_names[] = {"active", "revoked", "refunded", NULL};

static enum err find_by_hash(struct db *db, const uint8_t hash[LICENSE_HASH_BYTES], bool *ret_found,
                             struct license_facts *ret)
{
#define FIND                                                                                                           \
    "SELECT id, product_id, account_id, CASE WHEN status = 'active' AND on_hold = 0 THEN 1 ELSE 0 END, expires_at,"    \
    " hardware_id FROM license WHERE "
    static const char sqlite[] = FIND "id = $1";
    static const char postgres[] = FIND "key_hash = $1";
#undef FIND

    Id id = {0};
    *ret_found = false;
    if (!db_is_postgres(db)) {
        enum err e = license_index_find(db, hash, ret_found, &id);
        if (e || !*ret_found) return e;
    }
    struct stmt *st = db_prepare(db, db_sql(db, sqlite, postgres));
    if (db_is_postgres(db))
        bind_blob(st, (Str){(const char *)hash, LICENSE_HASH_BYTES});
    else
        bind_id(st, id);
    struct license_facts f = {0};
    bool found = db_step(st);
    if (found) {
        f.id = col_id(st);
        f.product_id = col_id(st);
        f.account_id = col_id(st);
        f.is_good = col_bool(st);
        f.expires_at = col_time(st);
        f.hardware_id = col_text(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret_found = found;
    *ret = f;
    return OK;
}

/* Programs send a key in the same spelling every time: in memory a licence is found by what was sent. */
static enum err find_kept(struct db *db, Str key, bool *ret_found, struct license_facts *ret)
{
    uint8_t name[VAULT_NAME_BYTES], hash[LICENSE_HASH_BYTES];
    vault_name(VAULT_LICENSE, key, name);
    *ret_found = license_cache_find(db, name, ret);
    if (*ret_found || !license_key_hash_any(key, hash)) return OK;
    enum err e = find_by_hash(db, hash, ret_found, ret);
    if (!e && *ret_found) license_cache_keep(db, name, ret);
    return e;
}

/* True when this call bound the licence. */
static enum err bind_hardware(struct db *db, Id id, Str hardware_id, Time now, bool *ret_bound)
{
    static const char bind[] =
        "UPDATE license SET hardware_id = $2, bound_at = $3"
        " WHERE id = $1 AND hardware_id IS NULL AND status = 'active' AND on_hold = 0 RETURNING id";

    struct stmt *st = db_prepare(db, bind);
    bind_id(st, id);
    bind_text(st, hardware_id);
    bind_time(st, now);
    bool bound = db_step(st);
    enum err e = db_done(st);
    if (!e && bound) e = event_add(db, EVENT_LICENSE_BOUND, id, now);
    if (e) return e;
    *ret_bound = bound;
    return OK;
}

enum err license_verify(struct db *db, Str key, Id product, Str hardware_id, Time now, struct license_verdict *ret)
{
    /* A second round is needed only after a lost race for the binding: it then finds the winner. */
    for (int round = 0; round < 3; round++) {
        bool found = false;
        struct license_facts f = {0};
        enum err e = find_kept(db, key, &found, &f);
        if (e) return e;
        if (!found || !id_eq(f.product_id, product)) return ERR_LICENSE_NOT_FOUND;
        if (!f.is_good) return ERR_LICENSE_REVOKED;
        if (time_is(f.expires_at) && f.expires_at.ms <= now.ms) return ERR_LICENSE_EXPIRED;
        if (hardware_id.len && f.hardware_id.len && !str_eq(hardware_id, f.hardware_id)) return ERR_HARDWARE_MISMATCH;

        bool is_bound = true;
        if (hardware_id.len && !f.hardware_id.len) {
            if (!db_can_write(db)) return ERR_NEEDS_WRITE;
            e = bind_hardware(db, f.id, hardware_id, now, &is_bound);
            if (e) return e;
            f.hardware_id = hardware_id;
        }
        if (is_bound) {
            *ret = (struct license_verdict){f.id, f.account_id, f.expires_at, f.hardware_id};
            return OK;
        }
    }
    return ERR_UNAVAILABLE;
}

Time license_expiry(Time now, int64_t days)
{
    return days > 0 ? time_add(now, days * TIME_DAY) : (Time){0};
}

void license_bind_made(struct stmt *st, const struct license_made *made)
{
    if (id_is(made->id))
        bind_id(st, made->id);
    else
        bind_blob(st, (Str){(const char *)made->hash, sizeof made->hash});
}

enum err license_make(struct db *db, const struct license *l, Id order_item, Str prefix, Time now, Str *ret_key,
                      struct license_made *ret)
{
    /* Two equal keys would take a collision of 120 random bits. PostgreSQL's unique index refuses even that, along with
     * the rest of the transaction, so no result is read here and it needs no round trip. */
#define INSERT                                                                                                         \
    "INSERT INTO license (sealed_key, key_hash, product_id, variant_id, account_id, order_item_id, expires_at,"        \
    " created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
    static const char sqlite[] = INSERT " RETURNING id";
    static const char postgres[] = INSERT;
#undef INSERT

    struct license_made made = {0};
    Str key = license_key_make(db_arena(db), prefix);
    bool ours = license_key_hash(key, made.hash);
    assert(ours);
    (void)ours;

    struct stmt *st = db_prepare(db, db_sql(db, sqlite, postgres));
    Str hash = {(const char *)made.hash, sizeof made.hash};
    bind_blob(st, code_seal(db_arena(db), hash, key));
    bind_blob(st, hash);
    bind_id(st, l->product_id);
    bind_id(st, l->variant_id);
    bind_id(st, l->account_id);
    bind_opt_id(st, order_item);
    bind_opt_time(st, l->expires_at);
    bind_time(st, now);
    enum err e = db_is_postgres(db) ? db_run(st) : db_insert(st, &made.id);
    if (!e) e = license_index_add(db, made.hash, made.id);
    if (e) return e;
    *ret_key = key;
    *ret = made;
    return id_is(order_item) ? event_add_delivered(db, &made, now) : OK;
}

/* Through the deliveries: nothing else looks a licence up by its order item. */
#define OF_ORDER                                                                                                       \
    " WHERE id IN (SELECT d.license_id FROM order_item i JOIN delivery d ON d.order_item_id = i.id WHERE i.order_id "  \
    "= $1)"

#define LICENSE_COLUMNS                                                                                                \
    "l.id, l.key_hash, l.sealed_key, l.product_id, l.variant_id, l.account_id, i.order_id, p.name, a.email, "          \
    "l.status, l.on_hold,"                                                                                             \
    " l.reason, l.expires_at, l.hardware_id, l.bound_at, l.created_at, l.last_seen_at, l.seen_count"
#define LICENSE_TABLES                                                                                                 \
    " FROM license l JOIN product p ON p.id = l.product_id JOIN account a ON a.id = l.account_id"                      \
    " LEFT JOIN order_item i ON i.id = l.order_item_id"

static enum err read_license(struct db *db, struct stmt *st, struct license *ret)
{
    ret->id = col_id(st);
    Str hash = col_blob(st), sealed = col_blob(st);
    ret->product_id = col_id(st);
    ret->variant_id = col_id(st);
    ret->account_id = col_id(st);
    ret->order_id = col_id(st);
    ret->product_name = col_text(st);
    ret->email = col_text(st);
    ret->status = col_choice(st, license_status_names);
    ret->on_hold = col_bool(st);
    ret->reason = col_text(st);
    ret->expires_at = col_time(st);
    ret->hardware_id = col_text(st);
    ret->bound_at = col_time(st);
    ret->created_at = col_time(st);
    ret->last_seen_at = col_time(st);
    ret->seen_count = col_int(st);
    return code_unseal(db_arena(db), hash, sealed, &ret->key);
}

static enum err read_one(struct db *db, struct stmt *st, struct license *ret)
{
    struct license l = {0};
    bool found = db_step(st);
    enum err opened = found ? read_license(db, st, &l) : OK;
    enum err e = db_done(st);
    if (!e) e = opened;
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    *ret = l;
    return OK;
}

/* At most `limit` rows. */
static enum err read_many(struct db *db, struct stmt *st, int64_t limit, struct license **ret, size_t *ret_count)
{
    struct license *list = arena_array(db_arena(db), struct license, (size_t)limit);
    size_t n = 0;
    enum err opened = OK;
    while (n < (size_t)limit && !opened && db_step(st)) opened = read_license(db, st, &list[n++]);
    enum err e = db_done(st);
    if (!e) e = opened;
    if (e) return e;
    *ret = list;
    *ret_count = n;
    return OK;
}

enum err license_find(struct db *db, Id id, struct license *ret)
{
    static const char find[] = "SELECT " LICENSE_COLUMNS LICENSE_TABLES " WHERE l.id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return read_one(db, st, ret);
}

static enum err find_by_key(struct db *db, Str key, struct license *ret)
{
    Id id;
    bool found;
    uint8_t hash[LICENSE_HASH_BYTES];
    if (!license_key_hash_any(key, hash)) return ERR_NOT_FOUND;
    enum err e = license_index_find(db, hash, &found, &id);
    if (e) return e;
    return found ? license_find(db, id, ret) : ERR_NOT_FOUND;
}

static Id before_or_all(Id before)
{
    return id_is(before) ? before : (Id){ID_MAX};
}

enum err license_list(struct db *db, Id account, Id before, int64_t limit, struct license **ret, size_t *ret_count)
{
    Str ids;
    before = before_or_all(before);
    enum err e = filing_page(db, FILING_LICENSES, account, before, limit, &ids);
    if (e) return e;
    struct stmt *st = db_prepare(db, FILING_PAGE(db, "SELECT " LICENSE_COLUMNS LICENSE_TABLES, "l.account_id", "l.id"));
    bind_id(st, account);
    filing_bind(st, db, ids, before, limit);
    return read_many(db, st, limit, ret, ret_count);
}

enum err license_search(struct db *db, Str q, Id before, int64_t limit, struct license **ret, size_t *ret_count)
{
    static const char search[] = "SELECT " LICENSE_COLUMNS LICENSE_TABLES
                                 " WHERE a.email LIKE $1 ESCAPE '\\' AND l.id < $2 ORDER BY l.id DESC LIMIT $3";

    struct license *one = arena_new(db_arena(db), struct license);
    enum err e = find_by_key(db, q, one);
    if (e == OK) {
        bool on_page = !id_is(before) || one->id.v < before.v;
        *ret = one;
        *ret_count = on_page ? 1 : 0;
        return OK;
    }
    if (e != ERR_NOT_FOUND) return e;

    struct stmt *st = db_prepare(db, search);
    bind_text(st, text_like_pattern(db_arena(db), q));
    bind_id(st, before_or_all(before));
    bind_int(st, limit);
    return read_many(db, st, limit, ret, ret_count);
}

/* The product that staff grant a licence for, and the prefix of its keys. */
static enum err find_product(struct db *db, Id product, Id variant, Str *ret_prefix)
{
    static const char find[] = "SELECT p.key_prefix, CASE WHEN v.id IS NULL THEN 0 ELSE 1 END FROM product p"
                               " LEFT JOIN variant v ON v.product_id = p.id AND v.id = $2 WHERE p.id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, product);
    bind_id(st, variant);
    bool found = db_step(st);
    Str prefix = found ? col_text(st) : (Str){0};
    bool has_variant = found && col_bool(st);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_PRODUCT_NOT_FOUND;
    if (id_is(variant) && !has_variant) return ERR_FIELD_NOT_FOUND;
    *ret_prefix = prefix;
    return OK;
}

static enum err account_exists(struct db *db, Id account)
{
    static const char find[] = "SELECT id FROM account WHERE id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, account);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    return found ? OK : ERR_NOT_FOUND;
}

enum err license_issue(struct db *db, Id product, Id variant, Id account, Time expires_at, Time now,
                       struct license *ret)
{
    Str prefix;
    enum err e = find_product(db, product, variant, &prefix);
    if (e) return e;
    e = account_exists(db, account);
    if (e) return e;

    struct license l = {.product_id = product, .variant_id = variant, .account_id = account, .expires_at = expires_at};
    Str key;
    struct license_made made;
    e = license_make(db, &l, (Id){0}, prefix, now, &key, &made);
    if (!e) e = find_by_key(db, key, ret);
    return e ? e : event_add(db, EVENT_LICENSE_CREATED, ret->id, now);
}

enum err license_key_is_known(struct db *db, Str key, bool *ret)
{
    Id id;
    uint8_t hash[LICENSE_HASH_BYTES];
    *ret = false;
    return license_key_hash_any(key, hash) ? license_index_find(db, hash, ret, &id) : OK;
}

enum err license_import(struct db *db, const struct license *l)
{
#define INSERT                                                                                                         \
    "INSERT INTO license (sealed_key, key_hash, product_id, variant_id, account_id, status, reason, expires_at,"       \
    " hardware_id, bound_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
    static const char sqlite[] = INSERT " RETURNING id";
    static const char postgres[] = INSERT " ON CONFLICT (key_hash) DO NOTHING";
#undef INSERT

    Id id;
    bool is_known = false;
    uint8_t bytes[LICENSE_HASH_BYTES];
    if (!license_key_hash_any(l->key, bytes)) return ERR_FIELD_VALUE;
    enum err e = db_is_postgres(db) ? OK : license_index_find(db, bytes, &is_known, &id);
    if (e || is_known) return e;
    Str hash = {(const char *)bytes, sizeof bytes};
    struct stmt *st = db_prepare(db, db_sql(db, sqlite, postgres));
    bind_blob(st, code_seal(db_arena(db), hash, l->key));
    bind_blob(st, hash);
    bind_id(st, l->product_id);
    bind_id(st, l->variant_id);
    bind_id(st, l->account_id);
    bind_choice(st, license_status_names, l->status);
    bind_text(st, l->reason);
    bind_opt_time(st, l->expires_at);
    bind_opt_text(st, l->hardware_id);
    bind_opt_time(st, l->hardware_id.len ? l->created_at : (Time){0});
    bind_time(st, l->created_at);
    if (db_is_postgres(db)) return db_run(st);
    e = db_insert(st, &id);
    return e ? e : license_index_add(db, bytes, id);
}

/* For an UPDATE … RETURNING id that changed nothing: is the licence missing, or in another state? */
static enum err run_transition(struct db *db, struct stmt *st, Id id)
{
    static const char find[] = "SELECT id FROM license WHERE id = $1";

    bool changed = db_step(st);
    enum err e = db_done(st);
    if (e || changed) return e;

    st = db_prepare(db, find);
    bind_id(st, id);
    bool found = db_step(st);
    e = db_done(st);
    if (e) return e;
    return found ? ERR_INVALID_STATE : ERR_NOT_FOUND;
}

enum err license_revoke(struct db *db, Id id, Str reason, Time now)
{
    static const char revoke[] =
        "UPDATE license SET status = 'revoked', reason = $2 WHERE id = $1 AND status = 'active' RETURNING id";

    struct stmt *st = db_prepare(db, revoke);
    bind_id(st, id);
    bind_text(st, reason);
    enum err e = run_transition(db, st, id);
    return e ? e : event_add(db, EVENT_LICENSE_REVOKED, id, now);
}

enum err license_reinstate(struct db *db, Id id, Time now)
{
    static const char reinstate[] =
        "UPDATE license SET status = 'active', reason = '' WHERE id = $1 AND status = 'revoked' RETURNING id";

    struct stmt *st = db_prepare(db, reinstate);
    bind_id(st, id);
    enum err e = run_transition(db, st, id);
    return e ? e : event_add(db, EVENT_LICENSE_REINSTATED, id, now);
}

enum err license_clear_hardware(struct db *db, Id id, Time now)
{
    static const char clear[] = "UPDATE license SET hardware_id = NULL, bound_at = NULL"
                                " WHERE id = $1 AND hardware_id IS NOT NULL RETURNING id";

    struct stmt *st = db_prepare(db, clear);
    bind_id(st, id);
    enum err e = run_transition(db, st, id);
    if (e == ERR_INVALID_STATE) return OK; /* it was not bound */
    return e ? e : event_add(db, EVENT_LICENSE_RELEASED, id, now);
}

enum err license_set_expiry(struct db *db, Id id, Time expires_at)
{
    static const char extend[] =
        "UPDATE license SET expires_at = $2, expiry_told = 0 WHERE id = $1 AND status <> 'refunded' RETURNING id";

    enum err e = event_write_out_license(db, id);
    if (e) return e;
    struct stmt *st = db_prepare(db, extend);
    bind_id(st, id);
    bind_opt_time(st, expires_at);
    return run_transition(db, st, id);
}

enum err license_replace_key(struct db *db, Id id, Time now)
{
    static const char replace[] = "UPDATE license SET sealed_key = $2, key_hash = $3, hardware_id = NULL,"
                                  " bound_at = NULL WHERE id = $1 AND status = 'active' RETURNING id";

    struct license l;
    Str prefix;
    uint8_t bytes[LICENSE_HASH_BYTES];
    enum err e = license_find(db, id, &l);
    if (!e) e = find_product(db, l.product_id, (Id){0}, &prefix);
    if (!e) e = event_write_out_license(db, id);
    if (!e && id_is(l.order_id)) e = idempotency_write_out(db, l.order_id, now);
    if (e) return e;
    Str key = license_key_make(db_arena(db), prefix), hash = {(const char *)bytes, sizeof bytes};
    if (!license_key_hash(key, bytes)) return ERR_INTERNAL;
    struct stmt *st = db_prepare(db, replace);
    bind_id(st, id);
    bind_blob(st, code_seal(db_arena(db), hash, key));
    bind_blob(st, hash);
    e = run_transition(db, st, id);
    return e || !l.hardware_id.len ? e : event_add(db, EVENT_LICENSE_RELEASED, id, now);
}

/* A licence that changed, and whether its owner could use it before. */
struct touched {
    Id id;
    bool was_good;
};

static void read_touched(struct stmt *st, struct touched *t)
{
    t->id = col_id(st);
    t->was_good = col_bool(st);
}
DB_READER(read_touched);

/* The licences of an order that are not on hold, or that are; read before they change. */
static enum err find_active(struct db *db, Id order, bool on_hold, struct touched **ret, size_t *ret_count)
{
    static const char find[] =
        "SELECT id, 1 - on_hold FROM license" OF_ORDER " AND status = 'active' AND on_hold = $2 ORDER BY id";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, order);
    bind_bool(st, on_hold);
    return db_rows(st, read_touched, ROWS_ALL, ret, ret_count);
}

static enum err tell_all(struct db *db, enum event_type type, const struct touched *list, size_t count, Time now)
{
    enum err e = OK;
    for (size_t i = 0; !e && i < count; i++) e = event_add(db, type, list[i].id, now);
    return e;
}

/* Those on hold were told as revoked when their order was disputed. */
enum err license_refund_order(struct db *db, Id order, Time now)
{
    static const char refund[] = "UPDATE license SET status = 'refunded'" OF_ORDER;

    struct touched *list;
    size_t count;
    enum err e = find_active(db, order, false, &list, &count);
    if (e) return e;
    struct stmt *st = db_prepare(db, refund);
    bind_id(st, order);
    e = db_run(st);
    return e ? e : tell_all(db, EVENT_LICENSE_REVOKED, list, count, now);
}

enum err license_hold_order(struct db *db, Id order, bool on_hold, Time now)
{
    static const char hold[] = "UPDATE license SET on_hold = $2" OF_ORDER;

    struct touched *list;
    size_t count;
    enum err e = find_active(db, order, !on_hold, &list, &count);
    if (e) return e;
    struct stmt *st = db_prepare(db, hold);
    bind_id(st, order);
    bind_bool(st, on_hold);
    e = db_run(st);
    return e ? e : tell_all(db, on_hold ? EVENT_LICENSE_REVOKED : EVENT_LICENSE_REINSTATED, list, count, now);
}

#define TOLD_AT_ONCE_MAX 200

enum err license_tell_expired(struct db *db, Time now)
{
    static const char find[] = "SELECT id, CASE WHEN status = 'active' AND on_hold = 0 THEN 1 ELSE 0 END FROM license"
                               " WHERE expires_at IS NOT NULL AND expiry_told = 0 AND expires_at <= $1"
                               " ORDER BY expires_at LIMIT $2";
    static const char mark[] = "UPDATE license SET expiry_told = 1 WHERE id = $1 AND expiry_told = 0 RETURNING id";

    struct touched *list;
    size_t count;
    struct stmt *st = db_prepare(db, find);
    bind_time(st, now);
    bind_int(st, TOLD_AT_ONCE_MAX);
    enum err e = db_rows(st, read_touched, TOLD_AT_ONCE_MAX, &list, &count);
    if (e || !count) return e;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    for (size_t i = 0; !e && i < count; i++) {
        st = db_prepare(db, mark);
        bind_id(st, list[i].id);
        bool is_first = db_step(st); /* another server may have been faster */
        e = db_done(st);
        if (!e && is_first && list[i].was_good) e = event_add(db, EVENT_LICENSE_EXPIRED, list[i].id, now);
    }
    return e;
}

enum err license_seen(struct db *db, Id id, int64_t count, Time at)
{
    static const char seen[] =
        "UPDATE license SET seen_count = seen_count + $2,"
        " last_seen_at = CASE WHEN last_seen_at IS NULL OR last_seen_at < $3 THEN $3 ELSE last_seen_at END"
        " WHERE id = $1";

    struct stmt *st = db_prepare(db, seen);
    stmt_spares_marks(st); /* license_cache.h keeps neither of the two */
    bind_id(st, id);
    bind_int(st, count);
    bind_time(st, at);
    return db_run(st);
}

/* Three lists of numbers travel as texts. */
static void put_number(struct buf *b, int64_t v)
{
    buf_printf(b, b->len ? ",%lld" : "%lld", (long long)v);
}

enum err license_seen_all(struct db *db, const struct license_use *uses, size_t count)
{
    static const char postgres[] =
        "UPDATE license SET seen_count = seen_count + q.uses,"
        " last_seen_at = CASE WHEN last_seen_at IS NULL OR last_seen_at < q.at THEN q.at ELSE last_seen_at END"
        " FROM unnest(string_to_array($1, ',')::bigint[], string_to_array($2, ',')::bigint[],"
        " string_to_array($3, ',')::bigint[]) AS q (id, uses, at) WHERE license.id = q.id";

    assert(db_is_postgres(db));
    struct buf ids, numbers, times;
    buf_init(&ids, db_arena(db), SIZE_MAX);
    buf_init(&numbers, db_arena(db), SIZE_MAX);
    buf_init(&times, db_arena(db), SIZE_MAX);
    for (size_t i = 0; i < count; i++) {
        put_number(&ids, uses[i].id.v);
        put_number(&numbers, uses[i].count);
        put_number(&times, uses[i].at.ms);
    }
    struct stmt *st = db_prepare(db, postgres);
    bind_text(st, buf_str(&ids));
    bind_text(st, buf_str(&numbers));
    bind_text(st, buf_str(&times));
    return db_run(st);
}
