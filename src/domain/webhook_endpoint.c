/* domain/webhook_endpoint.c - see webhook_endpoint.h. */
#include "domain/webhook_endpoint.h"

#include "base/base64.h"
#include "base/log.h"
#include "base/random.h"
#include "db/rows.h"
#include "domain/mail.h"
#include "domain/notification.h"
#include "domain/vault.h"
#include "domain/webhook_delivery.h"

#define SEAL STR("webhook:secret")
#define PATIENCE_MS (5 * TIME_DAY)
#define REST_MS 500 /* after a failure; doubled with each, up to: */
#define REST_MS_MAX (30 * TIME_SECOND)

#define COLUMNS                                                                                                        \
    "id, url, description, events, include_keys, is_enabled, off_reason, secret, old_secret, old_until, cursor,"       \
    " failures, failing_since, succeeded_at, created_at, updated_at"
#define PENDING                                                                                                        \
    "(SELECT COUNT(*) FROM (SELECT 1 AS one FROM webhook_delivery d WHERE d.endpoint_id = webhook_endpoint.id"         \
    " AND d.status = 'pending' LIMIT 10000) few)"

static void read_row(struct stmt *st, struct webhook_endpoint *p)
{
    p->id = col_id(st);
    p->url = col_text(st);
    p->description = col_text(st);
    p->events = (unsigned)col_int(st);
    p->include_keys = col_bool(st);
    p->is_enabled = col_bool(st);
    p->off_reason = col_text(st);
    p->secret = col_blob(st);
    p->old_secret = col_blob(st);
    p->old_until = col_time(st);
    p->cursor = col_id(st);
    p->failures = col_int(st);
    p->failing_since = col_time(st);
    p->succeeded_at = col_time(st);
    p->created_at = col_time(st);
    p->updated_at = col_time(st);
}
DB_READER(read_row);

static void read_whole(struct stmt *st, struct webhook_endpoint *p)
{
    read_row(st, p);
    p->pending = col_int(st);
}
DB_READER(read_whole);

/* Secrets as they are used. */
static enum err unseal(struct db *db, struct webhook_endpoint *p)
{
    Str secret, old = {0};
    if (!vault_unseal(db_arena(db), SEAL, p->secret, &secret)) return ERR_INTERNAL;
    if (p->old_secret.len && !vault_unseal(db_arena(db), SEAL, p->old_secret, &old)) return ERR_INTERNAL;
    p->secret = secret;
    p->old_secret = old;
    return OK;
}

Str webhook_secret_text(struct arena *a, Str secret)
{
    Str text = base64_encode(a, BASE64_PADDED, secret);
    return str_printf(a, "whsec_%.*s", STR_FMT(text));
}

enum err webhook_endpoint_list(struct db *db, struct webhook_endpoint **ret, size_t *ret_count)
{
    static const char list[] =
        "SELECT " COLUMNS ", " PENDING " FROM webhook_endpoint WHERE deleted_at IS NULL ORDER BY id";

    enum err e = db_rows(db_prepare(db, list), read_whole, ROWS_ALL, ret, ret_count);
    for (size_t i = 0; !e && i < *ret_count; i++) e = unseal(db, &(*ret)[i]);
    return e;
}

enum err webhook_endpoint_find(struct db *db, Id id, struct webhook_endpoint *ret)
{
    static const char find[] =
        "SELECT " COLUMNS ", " PENDING " FROM webhook_endpoint WHERE id = $1 AND deleted_at IS NULL";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    enum err e = db_row(st, read_whole, ret);
    return e ? e : unseal(db, ret);
}

static Str new_secret(struct arena *a)
{
    uint8_t bytes[WEBHOOK_SECRET_BYTES];
    random_bytes(bytes, sizeof bytes);
    return vault_seal(a, SEAL, (Str){(const char *)bytes, sizeof bytes});
}

enum err webhook_endpoint_create(struct db *db, const struct webhook_endpoint *want, Time now,
                                 struct webhook_endpoint *ret)
{
    static const char count[] = "SELECT COUNT(*) FROM webhook_endpoint WHERE deleted_at IS NULL";
    static const char insert[] =
        "INSERT INTO webhook_endpoint (url, description, events, include_keys, is_enabled, secret, cursor, created_at,"
        " updated_at) VALUES ($1, $2, $3, $4, $5, $6, (SELECT COALESCE(MAX(id), 0) FROM event), $7, $7) RETURNING id";

    struct stmt *st = db_prepare(db, count);
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;
    if (n >= WEBHOOK_ENDPOINTS_MAX) return ERR_FIELD_TOO_MANY;
    st = db_prepare(db, insert);
    bind_text(st, want->url);
    bind_text(st, want->description);
    bind_int(st, want->events);
    bind_bool(st, want->include_keys);
    bind_bool(st, want->is_enabled);
    bind_blob(st, new_secret(db_arena(db)));
    bind_time(st, now);
    Id id = {0};
    e = db_insert(st, &id);
    return e ? e : webhook_endpoint_find(db, id, ret);
}

/* What happened while it was off is not sent. */
static enum err start_again(struct db *db, Id id)
{
    static const char start[] = "UPDATE webhook_endpoint SET off_reason = '', failures = 0, failing_since = NULL,"
                                " paused_until = 0, cursor = (SELECT COALESCE(MAX(id), 0) FROM event) WHERE id = $1";

    struct stmt *st = db_prepare(db, start);
    bind_id(st, id);
    return db_run(st);
}

enum err webhook_endpoint_change(struct db *db, const struct webhook_endpoint *want, Time now,
                                 struct webhook_endpoint *ret)
{
    static const char update[] = "UPDATE webhook_endpoint SET url = $2, description = $3, events = $4,"
                                 " include_keys = $5, is_enabled = $6, updated_at = $7 WHERE id = $1";

    struct webhook_endpoint before;
    enum err e = webhook_endpoint_find(db, want->id, &before);
    if (e) return e;
    struct stmt *st = db_prepare(db, update);
    bind_id(st, want->id);
    bind_text(st, want->url);
    bind_text(st, want->description);
    bind_int(st, want->events);
    bind_bool(st, want->include_keys);
    bind_bool(st, want->is_enabled);
    bind_time(st, now);
    e = db_run(st);
    if (!e && want->is_enabled && !before.is_enabled) e = start_again(db, want->id);
    if (!e && !want->is_enabled && before.is_enabled) e = webhook_delivery_drop(db, want->id, now);
    return e ? e : webhook_endpoint_find(db, want->id, ret);
}

enum err webhook_endpoint_rotate(struct db *db, Id id, Time now, struct webhook_endpoint *ret)
{
    static const char update[] = "UPDATE webhook_endpoint SET old_secret = secret, old_until = $3, secret = $2,"
                                 " updated_at = $4 WHERE id = $1 AND deleted_at IS NULL";

    struct stmt *st = db_prepare(db, update);
    bind_id(st, id);
    bind_blob(st, new_secret(db_arena(db)));
    bind_time(st, time_add(now, WEBHOOK_OLD_SECRET_MS));
    bind_time(st, now);
    enum err e = db_run(st);
    return e ? e : webhook_endpoint_find(db, id, ret);
}

enum err webhook_endpoint_delete(struct db *db, Id id, Time now)
{
    static const char drop[] = "UPDATE webhook_endpoint SET deleted_at = $2, is_enabled = 0"
                               " WHERE id = $1 AND deleted_at IS NULL RETURNING id";

    struct stmt *st = db_prepare(db, drop);
    bind_id(st, id);
    bind_time(st, now);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    return found ? webhook_delivery_drop(db, id, now) : ERR_NOT_FOUND;
}

enum err webhook_endpoint_due(struct db *db, Time now, Id *ret, size_t most, size_t *ret_count)
{
    static const char list[] =
        "SELECT id FROM webhook_endpoint WHERE is_enabled = 1 AND leased_until <= $1 AND paused_until <= $1"
        " AND (cursor < $2 OR EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.endpoint_id = webhook_endpoint.id"
        " AND d.status = 'pending' AND d.due_at <= $1)) ORDER BY id";

    Id settled;
    size_t n = 0;
    enum err e = event_settled(db, &settled);
    if (e) return e;
    struct stmt *st = db_prepare(db, list);
    bind_time(st, now);
    bind_id(st, settled);
    while (n < most && db_step(st)) ret[n++] = col_id(st);
    e = db_done(st);
    if (!e) *ret_count = n;
    return e;
}

enum err webhook_endpoint_lease(struct db *db, Id id, Time now, int64_t lease_ms, struct webhook_endpoint *ret)
{
    static const char lease[] = "UPDATE webhook_endpoint SET leased_until = $2 WHERE id = $1 AND is_enabled = 1"
                                " AND leased_until <= $3 AND paused_until <= $3 RETURNING " COLUMNS;

    struct stmt *st = db_prepare(db, lease);
    bind_id(st, id);
    bind_time(st, time_add(now, lease_ms));
    bind_time(st, now);
    enum err e = db_row(st, read_row, ret);
    return e ? e : unseal(db, ret);
}

enum err webhook_endpoint_free_all(struct db *db)
{
    static const char held[] = "SELECT id FROM webhook_endpoint WHERE leased_until > 0 LIMIT 1";
    static const char free_all[] = "UPDATE webhook_endpoint SET leased_until = 0 WHERE leased_until > 0";

    struct stmt *st = db_prepare(db, held);
    bool is_held = db_step(st);
    enum err e = db_done(st);
    if (e || !is_held) return e;
    return db_can_write(db) ? db_run(db_prepare(db, free_all)) : ERR_NEEDS_WRITE;
}

struct news {
    Id id;
    enum event_type type;
};

static void read_news(struct stmt *st, struct news *n)
{
    n->id = col_id(st);
    n->type = col_choice(st, event_type_names);
}
DB_READER(read_news);

static bool wants(const struct webhook_endpoint *p, enum event_type type)
{
    return type != EVENT_PING && p->events & (EVENT_ALL | 1u << type);
}

enum err webhook_endpoint_follow(struct db *db, struct webhook_endpoint *p, Time now, int64_t limit)
{
    static const char list[] = "SELECT id, type FROM event WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3";
    static const char move[] = "UPDATE webhook_endpoint SET cursor = $2 WHERE id = $1";

    Id settled;
    struct news *news;
    size_t count;
    enum err e = event_settled(db, &settled);
    if (e || settled.v <= p->cursor.v) return e;
    struct stmt *st = db_prepare(db, list);
    bind_id(st, p->cursor);
    bind_id(st, settled);
    bind_int(st, limit);
    e = db_rows(st, read_news, limit, &news, &count);
    for (size_t i = 0; !e && i < count; i++)
        if (wants(p, news[i].type)) e = webhook_delivery_add(db, p->id, news[i].id, news[i].type, now, NULL);
    if (e) return e;
    p->cursor = count ? news[count - 1].id : settled;
    st = db_prepare(db, move);
    bind_id(st, p->id);
    bind_id(st, p->cursor);
    return db_run(st);
}

static enum err mail_owners(struct db *db, const struct webhook_endpoint *p, Str why, Time now)
{
    struct mail_draft m;
    if (!mail_is_enabled()) return OK;
    enum err e = mail_begin_staff(db, MAIL_staff_webhook_off, &m);
    if (e) return e;
    m.values.of[PARAM_address] = p->url;
    m.values.of[PARAM_reason] = why;
    m.values.of[PARAM_link] = mail_address(&m, "/admin/#/webhooks/%lld", (long long)p->id.v);
    return mail_queue(db, &m, now);
}

static enum err switch_off(struct db *db, const struct webhook_endpoint *p, Str why, Time now)
{
    static const char off[] = "UPDATE webhook_endpoint SET is_enabled = 0, off_reason = $2, updated_at = $3"
                              " WHERE id = $1 AND is_enabled = 1 RETURNING id";

    struct stmt *st = db_prepare(db, off);
    bind_id(st, p->id);
    bind_text(st, why);
    bind_time(st, now);
    bool is_first = db_step(st);
    enum err e = db_done(st);
    if (e || !is_first) return e;
    log_event(LOG_WARN, "webhook_endpoint_off", LOGI("id", p->id.v), LOGS("why", why));
    const struct notification n = {
        .kind = STR("webhook_off"),
        .message = str_printf(db_arena(db), "Events are no longer sent to %.*s: %.*s.", STR_FMT(p->url), STR_FMT(why)),
        .reference = p->id};
    e = webhook_delivery_drop(db, p->id, now);
    if (!e) e = notification_add_owners(db, &n, now);
    return e ? e : mail_owners(db, p, why, now);
}

/* Longer and longer, so that an address that is down costs little. */
static int64_t rest_ms(int64_t failures)
{
    int64_t ms = REST_MS;
    for (int64_t i = 1; i < failures && ms < REST_MS_MAX; i++) ms *= 2;
    return ms < REST_MS_MAX ? ms : REST_MS_MAX;
}

enum err webhook_endpoint_release(struct db *db, const struct webhook_endpoint *p, const struct webhook_health *h,
                                  Time now)
{
    static const char release[] =
        "UPDATE webhook_endpoint SET leased_until = 0, failures = $2, failing_since = $3, paused_until = $4,"
        " succeeded_at = COALESCE($5, succeeded_at) WHERE id = $1";

    int64_t failures = h->succeeded ? h->failed : p->failures + h->failed;
    Time since = h->succeeded ? (Time){0} : p->failing_since;
    if (h->failed && !time_is(since)) since = now;
    struct stmt *st = db_prepare(db, release);
    bind_id(st, p->id);
    bind_int(st, failures);
    bind_opt_time(st, since);
    bind_time(st, h->failed ? time_add(now, rest_ms(failures)) : (Time){0});
    bind_opt_time(st, h->succeeded ? now : (Time){0});
    enum err e = db_run(st);
    if (e) return e;
    if (h->is_gone) return switch_off(db, p, STR("it answered 410 Gone"), now);
    if (h->failed && now.ms - since.ms >= PATIENCE_MS)
        return switch_off(db, p, STR("nothing was delivered for five days"), now);
    return OK;
}
