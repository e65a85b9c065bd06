/* domain/receipt.c - see receipt.h. */
#include "domain/receipt.h"

#include "domain/account.h"
#include "domain/addressee.h"
#include "domain/mail.h"
#include "domain/mail_link.h"
#include "domain/notification.h"
#include "domain/order_ref.h"
#include "domain/settings.h"
#include "page/words.h"

#define ITEMS_BYTES_MAX (64 * 1024) /* the list of an order of a thousand units is cut; the shop shows all of it */
#define PASSWORD_LINK_DAYS 7

/* A line of a mail's list, or nothing where there is no room for all of it. */
static void add_line(struct buf *b, char kind, Str text)
{
    size_t start = b->len;
    buf_char(b, kind);
    for (size_t i = 0; i < text.len; i++) buf_char(b, (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i]);
    buf_char(b, '\n');
    if (b->full) b->len = start;
}

static Str item_text(struct mail_draft *m, const struct order_item *i)
{
    struct arena *a = m->page.arena;
    Str name = i->variant_name.len ? str_printf(a, "%.*s (%.*s)", STR_FMT(i->name), STR_FMT(i->variant_name)) : i->name;
    Str sum = mail_amount(m, i->subtotal, (Str){0});
    return str_printf(a, "%lld × %.*s: %.*s", (long long)i->quantity, STR_FMT(name), STR_FMT(sum));
}

static Str items_of(struct mail_draft *m, const struct order *o, bool with_goods)
{
    struct buf b;
    buf_init(&b, m->page.arena, ITEMS_BYTES_MAX);
    for (size_t i = 0; i < o->item_count; i++) {
        const struct order_item *item = &o->items[i];
        add_line(&b, '*', item_text(m, item));
        for (size_t n = 0; with_goods && n < item->delivery_count; n++) {
            const struct delivery *d = &item->deliveries[n];
            bool is_link = d->type == DELIVERY_DOWNLOAD_URL;
            Str text = delivery_text(b.arena, mail_base_url(), d), words = words_text(m->page.lang, WORD_download);
            if (is_link) text = str_printf(b.arena, "%.*s %.*s", STR_FMT(text), STR_FMT(words));
            add_line(&b, is_link ? '@' : '=', text);
        }
    }
    return buf_str(&b);
}

static Str order_address(struct mail_draft *m, Id order)
{
    return mail_address(m, "/order/%.*s", STR_FMT(ref_make(m->page.arena, REF_ORDER, order)));
}

/* Somebody who bought with an address alone can make the account theirs. */
static enum err add_password_link(struct db *db, Id account, struct mail_draft *m, Time now)
{
    struct account a;
    Str token = {0};
    enum err e = account_find(db, account, &a);
    if (e || a.password_hash.len || a.role != ROLE_CUSTOMER) return e;
    e = mail_link_make(db, account, MAIL_LINK_RESET, now, PASSWORD_LINK_DAYS * TIME_DAY, &token);
    if (e || !token.len) return e;
    m->values.of[PARAM_password_link] = mail_address(m, "/reset?token=%.*s", STR_FMT(token));
    m->values.of[PARAM_password_days] = page_int(&m->page, PASSWORD_LINK_DAYS);
    return OK;
}

static enum err mail_order(struct db *db, const struct order *o, Time now)
{
    struct mail_draft m;
    enum err e = mail_begin(db, o->account_id, MAIL_order, &m);
    if (!e) e = add_password_link(db, o->account_id, &m, now);
    if (e) return e;
    m.values.of[PARAM_number] = mail_number(&m, o->id);
    m.values.of[PARAM_total] = mail_amount(&m, o->total, (Str){0});
    m.values.of[PARAM_items] = items_of(&m, o, true);
    m.values.of[PARAM_link] = order_address(&m, o->id);
    return mail_queue(db, &m, now);
}

/* Something that a customer is told. */
struct tidings {
    const char *kind;
    Id about;
    enum word word;
    Id account;
    struct page page; /* how they read it */
};

static enum err tidings_begin(struct db *db, Id account, struct tidings *n)
{
    n->account = account;
    return addressee_of_account(db, account, &n->page);
}

static enum err tidings_tell(struct db *db, struct tidings *n, const Str *args, size_t count, Time now)
{
    const struct notification told = {.kind = str_from(n->kind), .reference = n->about};
    return notification_say(db, n->account, &told, &n->page, n->word, args, count, now);
}

/* Where the store wants to hear of each. */
static enum err mail_staff(struct db *db, const struct order *o, Time now)
{
    struct mail_draft m;
    Str wanted;
    enum err e = settings_get(db, "mail_new_order", &wanted);
    if (e || !str_eq(wanted, STR("1"))) return e;
    e = mail_begin_staff(db, MAIL_staff_order, &m);
    if (e) return e;
    m.values.of[PARAM_number] = mail_number(&m, o->id);
    m.values.of[PARAM_total] = mail_amount(&m, o->total, (Str){0});
    m.values.of[PARAM_items] = items_of(&m, o, false);
    m.values.of[PARAM_customer] = o->email;
    m.values.of[PARAM_link] = mail_address(&m, "/admin/#/orders/%lld", (long long)o->id.v);
    return mail_queue(db, &m, now);
}

enum err receipt_order(struct db *db, Id order, Time now)
{
    struct order o;
    enum err e = order_find(db, (Id){0}, order, &o);
    if (e) return e;
    struct tidings n = {.kind = "order_delivered", .about = order, .word = WORD_news_order_delivered};
    e = tidings_begin(db, o.account_id, &n);
    if (!e) e = tidings_tell(db, &n, SAYING(page_int(&n.page, order.v)), now);
    if (e || !mail_is_enabled()) return e;
    e = mail_order(db, &o, now);
    return e ? e : mail_staff(db, &o, now);
}

enum err receipt_order_again(struct db *db, Id order, Time now)
{
    struct order o;
    enum err e = order_find(db, (Id){0}, order, &o);
    if (e) return e;
    if (!mail_is_enabled()) return ERR_MAIL_OFF;
    return o.status == ORDER_CONFIRMED ? mail_order(db, &o, now) : ERR_INVALID_STATE;
}

static Str wallet_address(struct mail_draft *m)
{
    return mail_address(m, "/account/wallet");
}

enum err receipt_topup(struct db *db, const struct payment *p, Time now)
{
    struct mail_draft m;
    struct tidings n = {.kind = "topup_credited", .about = p->id, .word = WORD_news_topup_credited};
    enum err e = tidings_begin(db, p->account_id, &n);
    if (!e) e = tidings_tell(db, &n, SAYING(page_int(&n.page, p->id.v)), now);
    if (e || !mail_is_enabled()) return e;
    e = mail_begin(db, p->account_id, MAIL_topup, &m);
    if (e) return e;
    m.values.of[PARAM_number] = mail_number(&m, p->id);
    m.values.of[PARAM_amount] = mail_amount(&m, p->credited, p->currency);
    m.values.of[PARAM_link] = wallet_address(&m);
    return mail_queue(db, &m, now);
}

static enum err mail_refund(struct db *db, Id account, Id order, Id payment, Money amount, Str currency, Str claim,
                            enum word way, Time now)
{
    struct mail_draft m;
    if (!mail_is_enabled()) return OK;
    enum err e = mail_begin(db, account, MAIL_refund, &m);
    if (e) return e;
    m.values.of[PARAM_what] = mail_what(&m, order, payment);
    m.values.of[PARAM_amount] = mail_amount(&m, amount, currency);
    m.values.of[PARAM_way] = words_text(m.page.lang, way);
    m.values.of[PARAM_claim_link] = claim;
    m.values.of[PARAM_link] = id_is(order) ? order_address(&m, order) : wallet_address(&m);
    return mail_queue(db, &m, now);
}

enum err receipt_refund(struct db *db, const struct payment *p, const struct refund *r, Time now)
{
    struct tidings n = {.kind = "refunded",
                        .about = id_is(p->order_id) ? p->order_id : p->id,
                        .word = r->claim_url.len ? WORD_news_refund_claim : WORD_news_refunded};
    enum err e = tidings_begin(db, p->account_id, &n);
    if (e) return e;
    const Str args[] = {addressee_amount(&n.page, r->amount, p->currency), addressee_what(&n.page, p->order_id, p->id),
                        r->claim_url};
    e = tidings_tell(db, &n, args, r->claim_url.len ? 3 : 2, now);
    if (e) return e;
    return mail_refund(db, p->account_id, p->order_id, p->id, r->amount, p->currency, r->claim_url,
                       WORD_refund_same_way, now);
}

enum err receipt_refund_order(struct db *db, const struct order *o, Money amount, Time now)
{
    bool by_wallet = str_eq(o->paid_with, STR(PAID_WITH_WALLET));
    struct tidings n = {
        .kind = "refunded", .about = o->id, .word = by_wallet ? WORD_news_refunded_wallet : WORD_news_refunded};
    enum err e = tidings_begin(db, o->account_id, &n);
    if (e) return e;
    e = tidings_tell(db, &n,
                     SAYING(addressee_amount(&n.page, amount, (Str){0}), addressee_what(&n.page, o->id, (Id){0})), now);
    if (e) return e;
    return mail_refund(db, o->account_id, o->id, (Id){0}, amount, (Str){0}, (Str){0},
                       by_wallet ? WORD_refund_to_wallet : WORD_refund_same_way, now);
}

enum err receipt_cancelled(struct db *db, Id order, Time now)
{
    struct order o;
    struct mail_draft m;
    enum err e = order_find(db, (Id){0}, order, &o);
    if (e) return e;
    struct tidings n = {.kind = "order_cancelled", .about = order, .word = WORD_news_order_cancelled};
    e = tidings_begin(db, o.account_id, &n);
    if (!e) e = tidings_tell(db, &n, SAYING(page_int(&n.page, order.v)), now);
    if (e || !mail_is_enabled()) return e;
    e = mail_begin(db, o.account_id, MAIL_order_cancelled, &m);
    if (e) return e;
    m.values.of[PARAM_number] = mail_number(&m, order);
    m.values.of[PARAM_link] = order_address(&m, order);
    return mail_queue(db, &m, now);
}

enum err receipt_trouble(struct db *db, const struct payment *p, Money amount, enum word why, bool is_credited,
                         Time now)
{
    struct mail_draft m;
    struct tidings n = {.kind = "payment_trouble",
                        .about = id_is(p->order_id) ? p->order_id : p->id,
                        .word = is_credited ? WORD_news_payment_credited : WORD_news_payment_returned};
    enum err e = tidings_begin(db, p->account_id, &n);
    if (e) return e;
    e = tidings_tell(db, &n,
                     SAYING(addressee_what(&n.page, p->order_id, p->id), words_text(n.page.lang, why),
                            addressee_amount(&n.page, amount, p->currency)),
                     now);
    if (e || !mail_is_enabled()) return e;
    e = mail_begin(db, p->account_id, is_credited ? MAIL_payment_credited : MAIL_payment_returned, &m);
    if (e) return e;
    m.values.of[PARAM_what] = mail_what(&m, p->order_id, p->id);
    m.values.of[PARAM_reason] = words_text(m.page.lang, why);
    m.values.of[PARAM_amount] = mail_amount(&m, amount, p->currency);
    m.values.of[PARAM_link] = is_credited || !id_is(p->order_id) ? wallet_address(&m) : order_address(&m, p->order_id);
    return mail_queue(db, &m, now);
}
