/* domain/receipt.c - see receipt.h. */
#include "domain/receipt.h"

#include "domain/mail.h"
#include "domain/notification.h"
#include "domain/order.h"

#define MAIL_BYTES_MAX                                                                                                 \
    (128 * 1024) /* of a text; an order of a thousand units is cut, and can be read in full in the shop */

static void write_item(struct buf *b, struct arena *a, const struct order_item *i)
{
    buf_printf(b, "\n%lld x %.*s", (long long)i->quantity, STR_FMT(i->name));
    if (i->variant_name.len) buf_printf(b, " (%.*s)", STR_FMT(i->variant_name));
    buf_char(b, '\n');
    for (size_t n = 0; n < i->delivery_count; n++) {
        buf_lit(b, "  ");
        buf_append(b, delivery_text(a, mail_base_url(), &i->deliveries[n]));
        buf_char(b, '\n');
    }
}

static enum err mail_order(struct db *db, const struct order *o, Time now)
{
    struct buf b;
    buf_init(&b, db_arena(db), MAIL_BYTES_MAX);
    buf_printf(&b, "Thank you. Your order #%lld is confirmed; here is what you bought:\n", (long long)o->id.v);
    for (size_t i = 0; i < o->item_count; i++) write_item(&b, db_arena(db), &o->items[i]);
    return mail_queue(db, o->account_id, str_printf(db_arena(db), "Your order #%lld", (long long)o->id.v), buf_str(&b),
                      now);
}

enum err receipt_order(struct db *db, Id order, Time now)
{
    struct order o;
    enum err e = order_find(db, (Id){0}, order, &o);
    if (e) return e;
    struct notification n = {
        .kind = STR("order_delivered"),
        .message = str_printf(db_arena(db), "Your order #%lld is confirmed and delivered.", (long long)order.v),
        .reference = order,
    };
    e = notification_add(db, o.account_id, &n, now);
    return e || !mail_is_enabled() ? e : mail_order(db, &o, now);
}

enum err receipt_topup(struct db *db, const struct payment *p, Time now)
{
    struct notification n = {
        .kind = STR("topup_credited"),
        .message = str_printf(db_arena(db), "Your top-up #%lld was credited to your wallet.", (long long)p->id.v),
        .reference = p->id,
    };
    return notification_add(db, p->account_id, &n, now);
}
