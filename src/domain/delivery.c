/* domain/delivery.c - see delivery.h. The kinds differ only in where the values of an item's units come from: see the
 * table `deliver`. */
#include "domain/delivery.h"

#include "domain/download_link.h"
#include "domain/event.h"
#include "domain/idempotency.h"
#include "domain/license.h"
#include "domain/sealed_code.h"
#include "domain/serial.h"

#include <assert.h>

static enum err deliver_licenses(struct db *db, const struct delivery_job *job, struct delivery *units)
{
#define RECORD(license)                                                                                                \
    "INSERT INTO delivery (order_item_id, unit, type, license_id, created_at)"                                         \
    " VALUES ($1, $2, 'license_key', " license ", $4)"
    static const char sqlite[] = RECORD(LICENSE_MADE_SQLITE("$3"));
    static const char postgres[] = RECORD(LICENSE_MADE_POSTGRES("$3"));
#undef RECORD

    for (int64_t i = 0; i < job->quantity; i++) {
        struct delivery *d = &units[i];
        struct license l = {.product_id = job->product,
                            .variant_id = job->variant,
                            .account_id = job->account,
                            .expires_at = license_expiry(d->created_at, job->license_days)};
        struct license_made made;
        enum err e = license_make(db, &l, job->order_item, job->key_prefix, d->created_at, &d->value, &made);
        if (e) return e;

        struct stmt *st = db_prepare(db, db_sql(db, sqlite, postgres));
        bind_id(st, job->order_item);
        bind_int(st, d->unit);
        license_bind_made(st, &made);
        bind_time(st, d->created_at);
        e = db_run(st);
        if (e) return e;
    }
    return OK;
}

/* The codes that were reserved for the item, then others. */
static enum err take_serials(struct db *db, const struct delivery_job *job, Time now, struct serial *ret)
{
    size_t kept = 0, count = (size_t)job->quantity;
    enum err e = job->reserved ? serial_claim(db, job->order_item, now, count, ret, &kept) : OK;
    if (e || kept == count) return e;
    if (count == 1) return serial_take(db, job->product, job->variant, job->order_item, now, &ret->id, &ret->code);
    return serial_take_many(db, job->product, job->variant, job->order_item, count - kept, now, ret + kept);
}

static enum err deliver_serials(struct db *db, const struct delivery_job *job, struct delivery *units)
{
    static const char record[] = "INSERT INTO delivery (order_item_id, unit, type, serial_id, created_at)"
                                 " VALUES ($1, $2, 'serial_code', $3, $4)";

    size_t count = (size_t)job->quantity;
    struct serial *serials = arena_array(db_arena(db), struct serial, count);
    Time now = units[0].created_at;
    enum err e = take_serials(db, job, now, serials);
    if (e) return e;

    for (size_t i = 0; i < count; i++) {
        struct delivery *d = &units[i];
        d->value = serials[i].code;
        d->serial_id = serials[i].id;
        struct stmt *st = db_prepare(db, record);
        bind_id(st, job->order_item);
        bind_int(st, d->unit);
        bind_id(st, d->serial_id);
        bind_time(st, now);
        e = db_run(st);
        if (e) return e;
    }
    return OK;
}

/* Nothing secret is stored: the value follows from item and unit. */
static enum err deliver_downloads(struct db *db, const struct delivery_job *job, struct delivery *units)
{
    static const char record[] = "INSERT INTO delivery (order_item_id, unit, type, fetch_max, expires_at, created_at)"
                                 " VALUES ($1, $2, 'download_url', $3, $4, $5)";

    if (!job->has_download) return ERR_OUT_OF_STOCK;
    for (int64_t i = 0; i < job->quantity; i++) {
        struct delivery *d = &units[i];
        d->value = download_path(db_arena(db), job->order_item, d->unit);
        d->fetch_max = job->download_limit;
        d->expires_at = job->download_days > 0 ? time_add(d->created_at, job->download_days * TIME_DAY) : (Time){0};

        struct stmt *st = db_prepare(db, record);
        bind_id(st, job->order_item);
        bind_int(st, d->unit);
        bind_opt_id(st, (Id){d->fetch_max}); /* 0 is stored as NULL: no limit */
        bind_opt_time(st, d->expires_at);
        bind_time(st, d->created_at);
        enum err e = db_run(st);
        if (e) return e;
    }
    return OK;
}

static enum err (*const deliver[])(struct db *db, const struct delivery_job *job, struct delivery *units) = {
    [DELIVERY_LICENSE_KEY] = deliver_licenses,
    [DELIVERY_SERIAL_CODE] = deliver_serials,
    [DELIVERY_DOWNLOAD_URL] = deliver_downloads,
};

enum err delivery_make(struct db *db, const struct delivery_job *job, Time now, struct delivery **ret)
{
    assert(job->quantity >= 1);
    struct delivery *units = arena_array(db_arena(db), struct delivery, (size_t)job->quantity);
    for (int64_t i = 0; i < job->quantity; i++)
        units[i] =
            (struct delivery){.order_item_id = job->order_item, .unit = i + 1, .type = job->type, .created_at = now};
    enum err e = deliver[job->type](db, job, units);
    if (e) return e;
    *ret = units;
    return OK;
}

enum err delivery_jobs(struct db *db, Id order, struct delivery_job **ret, size_t *ret_count)
{
    static const char count[] = "SELECT COUNT(*) FROM order_item WHERE order_id = $1";
    static const char list[] =
        "SELECT o.account_id, i.id, i.product_id, i.variant_id, i.delivery_type, i.quantity,"
        " (SELECT COUNT(*) FROM serial s WHERE s.taken_by = i.id AND s.status = 'reserved'),"
        " COALESCE(v.license_days, p.license_days), p.key_prefix,"
        " CASE WHEN p.download_url <> '' OR p.file_key <> '' THEN 1 ELSE 0 END, p.download_limit, p.download_days"
        " FROM order_item i JOIN orders o ON o.id = i.order_id JOIN product p ON p.id = i.product_id"
        " LEFT JOIN variant v ON v.id = i.variant_id WHERE i.order_id = $1 ORDER BY i.id";

    struct stmt *st = db_prepare(db, count);
    bind_id(st, order);
    int64_t most = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;

    struct delivery_job *jobs = arena_array(db_arena(db), struct delivery_job, (size_t)most);
    size_t n = 0;
    st = db_prepare(db, list);
    bind_id(st, order);
    while (n < (size_t)most && db_step(st)) {
        struct delivery_job *j = &jobs[n++];
        j->account = col_id(st);
        j->order_item = col_id(st);
        j->product = col_id(st);
        j->variant = col_id(st);
        j->type = col_choice(st, delivery_type_names);
        j->quantity = col_int(st);
        j->reserved = col_int(st);
        j->license_days = col_int(st);
        j->key_prefix = col_text(st);
        j->has_download = col_bool(st);
        j->download_limit = col_int(st);
        j->download_days = col_int(st);
    }
    e = db_done(st);
    if (e) return e;
    *ret = jobs;
    *ret_count = n;
    return OK;
}

/* How many of the codes that these lines of one product need must come from the shared pool. */
static enum err shared_need(struct db *db, const struct delivery_job *jobs, size_t count, Id product, int64_t *ret)
{
    int64_t need = 0;
    for (size_t i = 0; i < count; i++) {
        if (!id_eq(jobs[i].product, product)) continue;
        int64_t own = 0, open = jobs[i].quantity - jobs[i].reserved;
        if (id_is(jobs[i].variant)) {
            enum err e = serial_free(db, product, jobs[i].variant, open, &own);
            if (e) return e;
        }
        need += open - own;
    }
    *ret = need;
    return OK;
}

enum err delivery_check(struct db *db, const struct delivery_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].type == DELIVERY_DOWNLOAD_URL && !jobs[i].has_download) return ERR_OUT_OF_STOCK;
        if (jobs[i].type != DELIVERY_SERIAL_CODE) continue;
        int64_t need, shared;
        enum err e = shared_need(db, jobs, count, jobs[i].product, &need);
        if (e) return e;
        e = serial_free(db, jobs[i].product, (Id){0}, need, &shared);
        if (e) return e;
        if (shared < need) return ERR_OUT_OF_STOCK;
    }
    return OK;
}

enum err delivery_list(struct db *db, Id order, struct delivery **ret, size_t *ret_count)
{
    static const char count[] = "SELECT COUNT(*) FROM delivery d JOIN order_item i ON i.id = d.order_item_id"
                                " WHERE i.order_id = $1";
    static const char list[] =
        "SELECT d.order_item_id, d.unit, d.type, COALESCE(l.key_hash, s.code_hash), COALESCE(l.sealed_key, "
        "s.sealed_code),"
        " d.license_id, d.serial_id, d.fetch_count, d.fetch_max, d.expires_at, d.is_revoked, d.created_at"
        " FROM order_item i JOIN delivery d ON d.order_item_id = i.id LEFT JOIN license l ON l.id = d.license_id"
        " LEFT JOIN serial s ON s.id = d.serial_id WHERE i.order_id = $1 ORDER BY d.order_item_id, d.unit";

    struct stmt *st = db_prepare(db, count);
    bind_id(st, order);
    int64_t most = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;

    struct delivery *units = arena_array(db_arena(db), struct delivery, (size_t)most);
    if (!most) { /* nothing delivered yet: an empty list, not NULL */
        *ret = units;
        *ret_count = 0;
        return OK;
    }
    size_t n = 0;
    enum err opened = OK;
    st = db_prepare(db, list);
    bind_id(st, order);
    while (n < (size_t)most && db_step(st)) {
        struct delivery *d = &units[n++];
        d->order_item_id = col_id(st);
        d->unit = col_int(st);
        d->type = col_choice(st, delivery_type_names);
        Str hash = col_blob(st), sealed = col_blob(st);
        d->license_id = col_id(st);
        d->serial_id = col_id(st);
        d->fetch_count = col_int(st);
        d->fetch_max = col_int(st);
        d->expires_at = col_time(st);
        d->is_revoked = col_bool(st);
        d->created_at = col_time(st);
        if (d->type == DELIVERY_DOWNLOAD_URL)
            d->value = download_path(db_arena(db), d->order_item_id, d->unit);
        else if (!opened)
            opened = code_unseal(db_arena(db), hash, sealed, &d->value);
    }
    e = db_done(st);
    if (!e) e = opened;
    if (e) return e;
    *ret = units;
    *ret_count = n;
    return OK;
}

Str delivery_text(struct arena *a, const char *base_url, const struct delivery *d)
{
    if (d->type != DELIVERY_DOWNLOAD_URL) return d->value;
    return str_printf(a, "%s%.*s", base_url, STR_FMT(d->value));
}

enum err delivery_revoke(struct db *db, Id order, Time now)
{
    static const char revoke[] = "UPDATE delivery SET is_revoked = 1"
                                 " WHERE order_item_id IN (SELECT id FROM order_item WHERE order_id = $1)";

    struct delivery_job *jobs;
    size_t count = 0;
    enum err e = delivery_jobs(db, order, &jobs, &count);
    for (size_t i = 0; i < count && !e; i++)
        if (jobs[i].type == DELIVERY_SERIAL_CODE) e = serial_mark_refunded(db, jobs[i].order_item);
    if (e) return e;
    e = license_refund_order(db, order, now);
    if (e) return e;
    struct stmt *st = db_prepare(db, revoke);
    bind_id(st, order);
    return db_run(st);
}

/* Only the code that is still this unit's is replaced: of any number of callers for one. */
static enum err replace_serial(struct db *db, Id order, const struct delivery_job *job, const struct delivery *d,
                               Time now)
{
    static const char update[] = "UPDATE delivery SET serial_id = $4 WHERE order_item_id = $1 AND unit = $2"
                                 " AND serial_id = $3 AND is_revoked = 0 RETURNING id";

    struct serial s;
    enum err e = event_write_out_order(db, order);
    if (!e) e = idempotency_write_out(db, order, now);
    if (!e) e = serial_take(db, job->product, job->variant, job->order_item, now, &s.id, &s.code);
    if (!e) e = serial_mark_replaced(db, d->serial_id);
    if (e) return e;
    struct stmt *st = db_prepare(db, update);
    bind_id(st, d->order_item_id);
    bind_int(st, d->unit);
    bind_id(st, d->serial_id);
    bind_id(st, s.id);
    bool changed = db_step(st);
    e = db_done(st);
    if (e) return e;
    return changed ? OK : ERR_INVALID_STATE;
}

enum err delivery_replace(struct db *db, Id order, Id order_item, int64_t unit, Time now)
{
    struct delivery *units;
    struct delivery_job *jobs;
    size_t count, job_count, i = 0, j = 0;
    enum err e = delivery_list(db, order, &units, &count);
    if (!e) e = delivery_jobs(db, order, &jobs, &job_count);
    if (e) return e;
    while (i < count && !(id_eq(units[i].order_item_id, order_item) && units[i].unit == unit)) i++;
    while (j < job_count && !id_eq(jobs[j].order_item, order_item)) j++;
    if (i == count || j == job_count) return ERR_NOT_FOUND;
    if (units[i].is_revoked) return ERR_INVALID_STATE;
    switch (units[i].type) {
    case DELIVERY_LICENSE_KEY: return license_replace_key(db, units[i].license_id, now);
    case DELIVERY_SERIAL_CODE: return replace_serial(db, order, &jobs[j], &units[i], now);
    case DELIVERY_DOWNLOAD_URL: break;
    }
    return ERR_INVALID_STATE;
}
