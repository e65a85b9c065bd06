/* domain/receipt.c - see receipt.h. */
#include "domain/receipt.h"

#include "domain/mail.h"
#include "domain/notification.h"
#include "domain/order_ref.h"
#include "domain/settings.h"

#define MAIL_BYTES_MAX                                                                                                 \
    (128 * 1024) /* of a text; the mail for an order of a thousand units is cut, and the shop shows all of it */

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
    buf_printf(&b, "\nThis order's page; whoever has the address sees the order:\n%s/order/%.*s\n", mail_base_url(),
               STR_FMT(ref_make(db_arena(db), REF_ORDER, o->id)));
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

static Str money_text(struct arena *a, Money m, Str currency)
{
    char text[MONEY_TEXT_MAX];
    int exponent = currency_exponent(currency);
    size_t n = money_format(m, exponent < 0 ? 2 : exponent, text);
    return str_printf(a, "%.*s %.*s", (int)n, text, STR_FMT(currency));
}

static Str what_for(struct arena *a, Id order, Id payment)
{
    if (id_is(order)) return str_printf(a, "order #%lld", (long long)order.v);
    return str_printf(a, "top-up #%lld", (long long)payment.v);
}

static enum err tell(struct db *db, Id account, const char *kind, Id reference, Str message, Time now)
{
    struct notification n = {.kind = str_from(kind), .message = message, .reference = reference};
    return notification_add(db, account, &n, now);
}

enum err receipt_refund(struct db *db, const struct payment *p, const struct refund *r, Time now)
{
    struct arena *a = db_arena(db);
    Str amount = money_text(a, r->amount, p->currency), what = what_for(a, p->order_id, p->id);
    Str message = r->claim_url.len ? str_printf(a, "%.*s of your %.*s are yours to claim: %.*s", STR_FMT(amount),
                                                STR_FMT(what), STR_FMT(r->claim_url))
                                   : str_printf(a, "%.*s of your %.*s were given back the way you paid.",
                                                STR_FMT(amount), STR_FMT(what));
    return tell(db, p->account_id, "refunded", id_is(p->order_id) ? p->order_id : p->id, message, now);
}

enum err receipt_refund_order(struct db *db, const struct order *o, Money amount, Time now)
{
    struct settings s;
    struct arena *a = db_arena(db);
    enum err e = settings_load(db, &s);
    if (e) return e;
    Str text = money_text(a, amount, str_from(s.currency));
    bool by_wallet = str_eq(o->paid_with, STR(PAID_WITH_WALLET));
    Str message = str_printf(a, "%.*s of your order #%lld were given back%s.", STR_FMT(text), (long long)o->id.v,
                             by_wallet ? " to your wallet" : "");
    return tell(db, o->account_id, "refunded", o->id, message, now);
}

enum err receipt_cancelled(struct db *db, Id order, Time now)
{
    struct order o;
    enum err e = order_find(db, (Id){0}, order, &o);
    if (e) return e;
    Str message = str_printf(db_arena(db), "Your order #%lld was cancelled.", (long long)order.v);
    return tell(db, o.account_id, "order_cancelled", order, message, now);
}

enum err receipt_trouble(struct db *db, const struct payment *p, Money amount, const char *why, bool is_credited,
                         Time now)
{
    struct arena *a = db_arena(db);
    Str text = money_text(a, amount, p->currency), what = what_for(a, p->order_id, p->id);
    Str message = str_printf(a, "Your payment for %.*s: %s. %.*s %s.", STR_FMT(what), why, STR_FMT(text),
                             is_credited ? "were credited to your wallet" : "are being given back the way you paid");
    return tell(db, p->account_id, "payment_trouble", id_is(p->order_id) ? p->order_id : p->id, message, now);
}
