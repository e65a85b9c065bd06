/* view/view_event.c - see view_event.h. */
#include "view/view_event.h"

#include <stdatomic.h>
#include <string.h>

#include "domain/account.h"
#include "domain/ledger.h"
#include "domain/mail.h"
#include "domain/payment_desk.h"
#include "domain/sealed_code.h"
#include "domain/settings.h"
#include "view/view_staff.h"
#include "view/view_ticket.h"
#include "view/view_wallet.h"

#define DATA_BYTES_MAX (16 * 1024 * 1024)
#define MESSAGES_BYTES_MAX (64 * 1024) /* of a ticket's messages; a list has a hundred events */

/* Three letters and the decimals, in one word; 0: not known. */
static _Atomic uint32_t currency;

void view_event_set_currency(const char *code, int exponent)
{
    uint32_t packed = (uint32_t)exponent;
    for (size_t i = 0; i < 3 && code[i]; i++) packed |= (uint32_t)(unsigned char)code[i] << (8 * (i + 1));
    atomic_store_explicit(&currency, packed, memory_order_relaxed);
}

struct writing {
    struct db *db;
    struct json_writer w;
    struct buf data, keys;
    char currency[4];
    enum event_type type;
    Id resource;
    const void *thing;
};

static enum err begin(struct writing *x)
{
    uint32_t packed = atomic_load_explicit(&currency, memory_order_relaxed);
    if (!packed) {
        struct settings s;
        enum err e = settings_load(x->db, &s);
        if (e) return e;
        view_event_set_currency(s.currency, s.exponent);
        packed = atomic_load_explicit(&currency, memory_order_relaxed);
    }
    for (size_t i = 0; i < 3; i++) x->currency[i] = (char)(packed >> (8 * (i + 1)) & 0xff);
    buf_init(&x->data, db_arena(x->db), DATA_BYTES_MAX);
    buf_init(&x->keys, db_arena(x->db), DATA_BYTES_MAX);
    json_writer_init(&x->w, &x->data, (int)(packed & 0xff));
    return OK;
}

static void take_key(struct writing *x, Str *value)
{
    buf_append(&x->keys, *value);
    buf_char(&x->keys, '\n');
    *value = EVENT_MARK_KEY;
}

static void mark_codes(struct writing *x, struct order *o)
{
    struct order_item *items = arena_array(db_arena(x->db), struct order_item, o->item_count);
    for (size_t i = 0; i < o->item_count; i++) {
        items[i] = o->items[i];
        if (!items[i].delivery_count) continue;
        struct delivery *units = arena_array(db_arena(x->db), struct delivery, items[i].delivery_count);
        memcpy(units, items[i].deliveries, items[i].delivery_count * sizeof *units);
        for (size_t n = 0; n < items[i].delivery_count; n++) {
            units[n].value = delivery_text(db_arena(x->db), mail_base_url(), &units[n]);
            take_key(x, &units[n].value);
        }
        items[i].deliveries = units;
    }
    o->items = items;
}

/* What has become of it since does not count. */
static void order_as_placed(struct order *o)
{
    o->status = ORDER_CONFIRMED;
    o->refunded_amount = (Money){0};
    o->on_hold = false;
    o->closed_at = (Time){0};
    for (size_t i = 0; i < o->item_count; i++)
        for (size_t n = 0; n < o->items[i].delivery_count; n++) {
            o->items[i].deliveries[n].is_revoked = false;
            o->items[i].deliveries[n].fetch_count = 0;
        }
}

static enum err write_order(struct writing *x)
{
    struct order o;
    struct order_history history;
    enum err e = order_find(x->db, (Id){0}, x->resource, &o);
    if (e) return e;
    if (x->thing == EVENT_AS_MADE) {
        order_as_placed(&o);
        order_history_as_placed(db_arena(x->db), &o, &history);
    } else {
        e = order_history_find(x->db, o.id, &history);
        if (e) return e;
    }
    mark_codes(x, &o);
    view_order_staff(&x->w, db_arena(x->db), "", &o, &history);
    return OK;
}

/* The product is called what it was called in the order. */
static enum err license_as_delivered(struct db *db, struct license *l)
{
    struct order o;
    enum err e = order_find(db, (Id){0}, l->order_id, &o);
    if (e) return e;
    for (size_t i = 0; i < o.item_count; i++)
        if (id_eq(o.items[i].product_id, l->product_id)) l->product_name = o.items[i].name;
    *l = (struct license){.id = l->id,
                          .key = l->key,
                          .product_id = l->product_id,
                          .variant_id = l->variant_id,
                          .account_id = l->account_id,
                          .order_id = l->order_id,
                          .product_name = l->product_name,
                          .email = l->email,
                          .status = LICENSE_ACTIVE,
                          .expires_at = l->expires_at,
                          .created_at = l->created_at};
    return OK;
}

static enum err write_license(struct writing *x)
{
    struct license l;
    enum err e = license_find(x->db, x->resource, &l);
    if (!e && x->thing == EVENT_AS_MADE) e = license_as_delivered(x->db, &l);
    if (e) return e;
    take_key(x, &l.key);
    view_license_staff(&x->w, &l);
    return OK;
}

static enum err write_review(struct writing *x)
{
    struct review r;
    unsigned actions;
    enum err e = review_find(x->db, x->resource, &r);
    if (!e) e = payment_review_actions(x->db, &r, &actions);
    if (!e) view_review_actions(&x->w, &r, actions);
    return e;
}

/* thing: the struct transfer. */
static enum err write_wallet(struct writing *x)
{
    const struct transfer *t = x->thing;
    struct account a;
    struct wallet wallet;
    enum err e = account_find(x->db, x->resource, &a);
    if (!e) e = wallet_find(x->db, x->resource, &wallet);
    if (e) return e;
    json_begin_object(&x->w);
    json_kv_id(&x->w, "customer_id", a.id);
    json_kv_str(&x->w, "email", a.email);
    view_wallet_members(&x->w, &wallet, x->currency);
    json_key(&x->w, "transaction");
    json_begin_object(&x->w);
    json_kv_id(&x->w, "id", t->id);
    json_kv_cstr(&x->w, "type", "credit");
    json_kv_cstr(&x->w, "kind", ledger_kind_names[t->kind]);
    json_kv_money(&x->w, "amount", t->amount);
    json_kv_opt_id(&x->w, "reference_id", t->reference);
    json_kv_str(&x->w, "description", t->description);
    json_kv_time(&x->w, "created_at", t->at);
    json_end_object(&x->w);
    json_end_object(&x->w);
    return OK;
}

static enum err write_withdrawal(struct writing *x)
{
    struct withdrawal_view v = {0};
    struct account a;
    enum err e = withdrawal_find(x->db, x->resource, (Id){0}, &v.withdrawal);
    if (!e) e = account_find(x->db, v.withdrawal.account, &a);
    if (e) return e;
    v.email = a.email;
    v.destination = v.withdrawal.destination;
    if (v.destination.len) take_key(x, &v.destination); /* an account number: as worth hiding as a code */
    view_withdrawal_staff(&x->w, &v);
    return OK;
}

#define MESSAGES ",\"messages\":"

/* Of the messages, the number of the last one: see event_finish. */
static enum err write_ticket(struct writing *x)
{
    struct ticket_view v = {0};
    struct ticket_message *last;
    struct account a;
    size_t count;
    enum err e = ticket_find(x->db, x->resource, (Id){0}, &v.ticket);
    if (!e) e = account_find(x->db, v.ticket.account, &a);
    if (!e) e = ticket_messages(x->db, x->resource, (Id){0}, 1, &last, &count);
    if (e) return e;
    v.email = a.email;
    view_ticket_staff(&x->w, &v);
    x->data.len--; /* the closing bracket comes later */
    buf_printf(&x->data, MESSAGES "%lld}", count ? (long long)last->id.v : 0);
    return OK;
}

/* The newest of them that are not too much together, but at least one. */
static void view_messages(struct json_writer *w, const struct ticket_message *messages, size_t count)
{
    size_t from = count, bytes = 0;
    while (from > 0 && (from == count || bytes + messages[from - 1].body.len <= MESSAGES_BYTES_MAX))
        bytes += messages[--from].body.len;
    json_begin_array(w);
    for (size_t i = from; i < count; i++) view_ticket_message(w, &messages[i]);
    json_end_array(w);
}

enum err view_event_finish(struct db *db, Id ticket, struct event_text *text)
{
    Str data = text->data;
    size_t n = data.len;
    int64_t last = 0;
    while (n > 0 && data.ptr[n - 1] != ':') n--;
    for (size_t i = n; i < data.len && data.ptr[i] >= '0' && data.ptr[i] <= '9'; i++)
        last = last * 10 + (data.ptr[i] - '0');
    struct ticket_message *messages;
    size_t count;
    struct buf out;
    struct json_writer w;
    enum err e = ticket_messages(db, ticket, (Id){last + 1}, TICKET_STAFF_MESSAGES_MAX, &messages, &count);
    if (e) return e;
    buf_init(&out, db_arena(db), DATA_BYTES_MAX);
    buf_append(&out, (Str){data.ptr, n});
    json_writer_init(&w, &out, 0);
    view_messages(&w, messages, count);
    buf_char(&out, '}');
    text->data = buf_str(&out);
    return out.full ? ERR_INTERNAL : OK;
}

static enum err write_customer(struct writing *x)
{
    struct customer c;
    enum err e = customer_find(x->db, x->resource, &c);
    if (!e) view_customer(&x->w, &c);
    return e;
}

static enum err write_stock(struct writing *x)
{
    json_begin_object(&x->w);
    view_shortage_members(&x->w, x->thing);
    json_end_object(&x->w);
    return OK;
}

static enum err write_ping(struct writing *x)
{
    json_begin_object(&x->w);
    json_kv_id(&x->w, "endpoint_id", x->resource);
    json_end_object(&x->w);
    return OK;
}

static enum err (*const writers[EVENT_TYPES])(struct writing *x) = {
    [EVENT_ORDER_CREATED] = write_order,
    [EVENT_ORDER_CONFIRMED] = write_order,
    [EVENT_ORDER_CANCELLED] = write_order,
    [EVENT_ORDER_REFUNDED] = write_order,
    [EVENT_ORDER_DISPUTED] = write_order,
    [EVENT_PAYMENT_REVIEW] = write_review,
    [EVENT_LICENSE_CREATED] = write_license,
    [EVENT_LICENSE_BOUND] = write_license,
    [EVENT_LICENSE_RELEASED] = write_license,
    [EVENT_LICENSE_REVOKED] = write_license,
    [EVENT_LICENSE_REINSTATED] = write_license,
    [EVENT_LICENSE_EXPIRED] = write_license,
    [EVENT_WALLET_CREDITED] = write_wallet,
    [EVENT_WITHDRAWAL_REQUESTED] = write_withdrawal,
    [EVENT_WITHDRAWAL_APPROVED] = write_withdrawal,
    [EVENT_WITHDRAWAL_REJECTED] = write_withdrawal,
    [EVENT_TICKET_CREATED] = write_ticket,
    [EVENT_TICKET_REPLIED] = write_ticket,
    [EVENT_TICKET_CLOSED] = write_ticket,
    [EVENT_CUSTOMER_CREATED] = write_customer,
    [EVENT_STOCK_LOW] = write_stock,
    [EVENT_STOCK_EMPTY] = write_stock,
    [EVENT_PING] = write_ping,
};

enum err view_event(struct db *db, enum event_type type, Id resource, const void *thing, struct event_text *ret)
{
    struct writing x = {.db = db, .type = type, .resource = resource, .thing = thing};
    enum err e = begin(&x);
    if (!e) e = writers[type](&x);
    if (e) return e;
    if (x.data.full || x.keys.full) return ERR_INTERNAL;
    *ret = (struct event_text){buf_str(&x.data), buf_str(&x.keys)};
    return OK;
}

/* The inside of a JSON string. */
static void put_text(struct buf *b, struct arena *a, Str text)
{
    struct buf quoted;
    struct json_writer w;
    buf_init(&quoted, a, text.len * 6 + 2);
    json_writer_init(&w, &quoted, 2);
    json_str(&w, text);
    buf_append(b, (Str){quoted.ptr + 1, quoted.len - 2});
}

static Str next_key(Str *keys)
{
    Str key = {0}, rest = {0};
    if (!str_cut(*keys, '\n', &key, &rest)) key = (Str){0};
    *keys = rest;
    return key;
}

Str view_event_data(struct arena *a, const struct event *e, bool with_keys)
{
    static const Str mark = S("\\u0001");
    struct buf out;
    Str in = e->data, keys = e->keys;
    buf_init(&out, a, 16 * 1024 * 1024);
    while (in.len > 1) { /* the last character is the closing bracket */
        size_t n;
        if (in.ptr[0] != '\\') {
            ptrdiff_t at = str_find(in, '\\');
            n = at < 0 ? in.len - 1 : (size_t)at;
            buf_append(&out, (Str){in.ptr, n});
        } else if (keys.len && str_starts(in, mark)) {
            Str key = next_key(&keys);
            put_text(&out, a, with_keys ? key : code_mask(a, key));
            n = mark.len;
        } else {
            n = 2; /* what is escaped, or its beginning */
            buf_append(&out, (Str){in.ptr, n});
        }
        in = (Str){in.ptr + n, in.len - n};
    }
    buf_append(&out, out.len > 1 ? STR(",\"updated_at\":\"") : STR("\"updated_at\":\""));
    buf_time(&out, e->created_at);
    buf_lit(&out, "\"}");
    return buf_str(&out);
}
