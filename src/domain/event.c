/* domain/event.c - see event.h. */
#include "domain/event.h"

#include <assert.h>

#include "db/rows.h"
#include "domain/filing.h"
#include "domain/license.h"
#include "domain/vault.h"

#define KEPT_MS (30 * TIME_DAY)
#define SEAL STR("event:keys")
#define TYPE_NAMES                                                                                                     \
    "order.created", "order.confirmed", "order.cancelled", "order.refunded", "order.disputed", "payment.review",       \
        "license.created", "license.bound", "license.released", "license.revoked", "license.reinstated",               \
        "license.expired", "wallet.credited", "withdrawal.requested", "withdrawal.approved", "withdrawal.rejected",    \
        "ticket.created", "ticket.replied", "ticket.closed", "customer.created", "stock.low", "stock.empty", "ping"

const char *const event_type_names[] = {TYPE_NAMES, NULL};
const char *const event_choice_names[] = {TYPE_NAMES, "*", NULL};
static_assert(sizeof event_type_names / sizeof *event_type_names == EVENT_TYPES + 1, "one name for each type");

static event_view *view;
static event_finish *finish;

void event_install(event_view *v, event_finish *f)
{
    view = v;
    finish = f;
}

const char event_as_made[] = "as made";

static enum err render(struct db *db, enum event_type type, Id resource, const void *thing, struct event_text *ret)
{
    *ret = (struct event_text){.data = STR("{}")};
    return view ? view(db, type, resource, thing, ret) : OK;
}

/* Empty, never NULL: PostgreSQL's groups want to know the kind of every parameter. */
static Str seal(struct db *db, Str keys)
{
    return keys.len ? vault_seal(db_arena(db), SEAL, keys) : (Str){0};
}

/* An event of the running transaction. */
struct telling {
    enum event_type type;
    Id resource;
    const void *thing;
    Time now;
};

static enum err tell(struct db *db, const struct telling *t, Id *ret)
{
    static const char insert[] = "INSERT INTO event (type, resource_id, data, keys, created_at)"
                                 " VALUES ($1, $2, $3, $4, $5)";
    static const char insert_known[] = "INSERT INTO event (type, resource_id, data, keys, created_at)"
                                       " VALUES ($1, $2, $3, $4, $5) RETURNING id";

    struct event_text text;
    enum err e = render(db, t->type, t->resource, t->thing, &text);
    if (e) return e;
    struct stmt *st = db_prepare(db, ret ? insert_known : insert);
    bind_choice(st, event_type_names, t->type);
    bind_id(st, t->resource);
    bind_text(st, text.data);
    bind_blob(st, seal(db, text.keys));
    bind_time(st, t->now);
    if (!ret) return db_run(st);
    *ret = (Id){0};
    return db_insert(st, ret);
}

static enum err tell_at_end(struct db *db, void *telling)
{
    return tell(db, telling, NULL);
}

enum err event_add_thing(struct db *db, enum event_type type, Id resource, const void *thing, Time now)
{
    struct telling *t = arena_new(db_arena(db), struct telling);
    *t = (struct telling){type, resource, thing, now};
    db_at_end(db, tell_at_end, t);
    return OK;
}

enum err event_add(struct db *db, enum event_type type, Id resource, Time now)
{
    return event_add_thing(db, type, resource, NULL, now);
}

enum err event_add_ping(struct db *db, Id endpoint, Time now, Id *ret)
{
    return tell(db, &(struct telling){.type = EVENT_PING, .resource = endpoint, .now = now}, ret);
}

/* Two rows in one statement would make SQLite copy each page first, so that it could undo the one without the other. */
enum err event_add_placed(struct db *db, Id order, Time now)
{
    static const char created[] = "INSERT INTO event (type, resource_id, created_at) VALUES ('order.created', $1, $2)";
    static const char confirmed[] =
        "INSERT INTO event (type, resource_id, created_at) VALUES ('order.confirmed', $1, $2)";

    struct stmt *st = db_prepare(db, created);
    bind_id(st, order);
    bind_time(st, now);
    enum err e = db_run(st);
    if (e) return e;
    st = db_prepare(db, confirmed);
    bind_id(st, order);
    bind_time(st, now);
    return db_run(st);
}

enum err event_add_delivered(struct db *db, const struct license_made *license, Time now)
{
#define INSERT(id) "INSERT INTO event (type, resource_id, created_at) VALUES ('license.created', " id ", $2)"
    static const char sqlite[] = INSERT(LICENSE_MADE_SQLITE("$1"));
    static const char postgres[] = INSERT(LICENSE_MADE_POSTGRES("$1"));
#undef INSERT

    struct stmt *st = db_prepare(db, db_sql(db, sqlite, postgres));
    license_bind_made(st, license);
    bind_time(st, now);
    return db_run(st);
}

void event_read(struct stmt *st, struct event *e)
{
    e->id = col_id(st);
    e->type = col_choice(st, event_type_names);
    e->resource = col_id(st);
    e->data = col_text(st);
    e->keys = col_blob(st);
    e->created_at = col_time(st);
}
DB_READER(event_read);

static bool is_of_ticket(enum event_type type)
{
    return type == EVENT_TICKET_CREATED || type == EVENT_TICKET_REPLIED || type == EVENT_TICKET_CLOSED;
}

enum err event_open(struct db *db, struct event *e)
{
    struct event_text text = {.data = e->data};
    if (!e->data.len) {
        enum err err = render(db, e->type, e->resource, EVENT_AS_MADE, &text);
        if (err) return err;
    } else if (is_of_ticket(e->type)) {
        enum err err = finish(db, e->resource, &text);
        if (err) return err;
    } else if (e->keys.len && !vault_unseal(db_arena(db), SEAL, e->keys, &text.keys)) {
        return ERR_INTERNAL;
    }
    e->data = text.data;
    e->keys = text.keys;
    return OK;
}

static enum err open_all(struct db *db, struct event *list, size_t count)
{
    enum err e = OK;
    for (size_t i = 0; !e && i < count; i++) e = event_open(db, &list[i]);
    return e;
}

/* The events that `find` finds about $1. */
static enum err write_out(struct db *db, const char *find, Id about)
{
    static const char update[] = "UPDATE event SET data = $2, keys = $3 WHERE id = $1";

    struct event *list;
    size_t count;
    struct stmt *st = db_prepare(db, find);
    bind_id(st, about);
    enum err e = db_rows(st, event_read, ROWS_ALL, &list, &count);
    if (!e) e = open_all(db, list, count);
    for (size_t i = 0; !e && i < count; i++) {
        st = db_prepare(db, update);
        bind_id(st, list[i].id);
        bind_text(st, list[i].data);
        bind_blob(st, seal(db, list[i].keys));
        e = db_run(st);
    }
    return e;
}

#define OF_ORDERS " AND e.data = '' AND e.type IN ('order.created', 'order.confirmed')"
#define OF_LICENSES " AND e.data = '' AND e.type = 'license.created'"

static const char of_order[] = "SELECT " EVENT_COLUMNS " FROM event e WHERE e.resource_id = $1" OF_ORDERS;
static const char of_license[] = "SELECT " EVENT_COLUMNS " FROM event e WHERE e.resource_id = $1" OF_LICENSES;

static void read_id(struct stmt *st, Id *ret)
{
    *ret = col_id(st);
}
DB_READER(read_id);

enum err event_write_out_order(struct db *db, Id order)
{
    return write_out(db, of_order, order);
}

/* The order's events tell its key, too. */
enum err event_write_out_license(struct db *db, Id license)
{
    static const char of_its_order[] =
        "SELECT " EVENT_COLUMNS " FROM license l JOIN order_item i ON i.id = l.order_item_id"
        " JOIN event e ON e.resource_id = i.order_id WHERE l.id = $1" OF_ORDERS;

    enum err e = write_out(db, of_license, license);
    return e ? e : write_out(db, of_its_order, license);
}

/* One by one: PostgreSQL would read the whole table instead, whatever the account has. */
static enum err write_out_each(struct db *db, enum filing list, const char *of_account, const char *find, Id account)
{
    Id *ids;
    size_t count;
    Str filed;
    enum err e = filing_page(db, list, account, (Id){ID_MAX}, INT64_MAX, &filed);
    if (e) return e;
    struct stmt *st = db_prepare(db, of_account);
    bind_id(st, account);
    bind_time(st, time_add(time_now(), -KEPT_MS)); /* older ones have no events any more */
    if (!db_is_postgres(db)) bind_text(st, filed);
    e = db_rows(st, read_id, ROWS_ALL, &ids, &count);
    for (size_t i = 0; !e && i < count; i++) e = write_out(db, find, ids[i]);
    return e;
}

enum err event_write_out_account(struct db *db, Id account)
{
#define OF_ACCOUNT(table) "SELECT id FROM " table " WHERE account_id = $1 AND created_at >= $2"
#define FILED " AND id IN (SELECT value FROM json_each($3))"
    static const char sqlite_orders[] = OF_ACCOUNT("orders") FILED, postgres_orders[] = OF_ACCOUNT("orders");
    static const char sqlite_licenses[] = OF_ACCOUNT("license") FILED, postgres_licenses[] = OF_ACCOUNT("license");

    enum err e = write_out_each(db, FILING_ORDERS, db_sql(db, sqlite_orders, postgres_orders), of_order, account);
    if (e) return e;
    return write_out_each(db, FILING_LICENSES, db_sql(db, sqlite_licenses, postgres_licenses), of_license, account);
}

/* ",order.created,order.confirmed,"; empty: all of them. */
static Str list_of(struct arena *a, unsigned types)
{
    struct buf b;
    buf_init(&b, a, 1024);
    if (types & EVENT_ALL) return (Str){0};
    buf_char(&b, ',');
    for (unsigned i = 0; i < EVENT_TYPES; i++)
        if (types & 1u << i) buf_printf(&b, "%s,", event_type_names[i]);
    return buf_str(&b);
}

enum err event_list(struct db *db, Id after, unsigned types, Time now, int64_t limit, struct event **ret,
                    size_t *ret_count)
{
    static const char list[] = "SELECT " EVENT_COLUMNS " FROM event e WHERE e.id > $1 AND e.id <= $2"
                               " AND e.created_at >= $3 AND ($4 = '' OR $4 LIKE '%,' || e.type || ',%')"
                               " ORDER BY e.id LIMIT $5";

    Id settled;
    enum err e = event_settled(db, &settled);
    if (e) return e;
    struct stmt *st = db_prepare(db, list);
    bind_id(st, after);
    bind_id(st, settled);
    bind_time(st, time_add(now, -KEPT_MS));
    bind_text(st, list_of(db_arena(db), types));
    bind_int(st, limit);
    e = db_rows(st, event_read, limit, ret, ret_count);
    return e ? e : open_all(db, *ret, *ret_count);
}

enum err event_find(struct db *db, Id id, struct event *ret)
{
    static const char find[] = "SELECT " EVENT_COLUMNS " FROM event e WHERE e.id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    enum err e = db_row(st, event_read, ret);
    return e ? e : event_open(db, ret);
}

/* The last of the first `limit` events, as far as they are old; 0: none is. The newest event of all stays. */
static enum err last_old(struct db *db, Time before, int64_t limit, Id *ret)
{
    static const char first[] = "SELECT id, created_at FROM event WHERE id < (SELECT MAX(id) FROM event)"
                                " ORDER BY id LIMIT $1";

    Id last = {0};
    bool is_old = true;
    struct stmt *st = db_prepare(db, first);
    bind_int(st, limit);
    while (is_old && db_step(st)) {
        Id id = col_id(st);
        is_old = col_time(st).ms < before.ms;
        if (is_old) last = id;
    }
    enum err e = db_done(st);
    if (!e) *ret = last;
    return e;
}

enum err event_expire(struct db *db, Time now, int64_t limit)
{
    static const char *const drops[] = {
        "DELETE FROM webhook_try WHERE delivery_id IN (SELECT id FROM webhook_delivery WHERE event_id <= $1)",
        "DELETE FROM webhook_delivery WHERE event_id <= $1",
        "DELETE FROM event WHERE id <= $1",
        ("DELETE FROM webhook_endpoint WHERE deleted_at IS NOT NULL AND id > $1 - $1"
         " AND NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.endpoint_id = webhook_endpoint.id)"),
    };
    Id last;
    enum err e = last_old(db, time_add(now, -KEPT_MS), limit, &last);
    if (e || !id_is(last)) return e;
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    for (size_t i = 0; !e && i < sizeof drops / sizeof *drops; i++) {
        struct stmt *st = db_prepare(db, drops[i]);
        bind_id(st, last);
        e = db_run(st);
    }
    return e;
}
