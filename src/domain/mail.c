/* domain/mail.c - see mail.h. */
#include "domain/mail.h"

#include <stdatomic.h>

#include "domain/account.h"
#include "domain/outbox.h"

static bool is_enabled;
static _Atomic(const char *) base = "";

void mail_enable(bool on)
{
    is_enabled = on;
}

void mail_set_base_url(const char *base_url)
{
    atomic_store(&base, base_url);
}

const char *mail_base_url(void)
{
    return atomic_load(&base);
}

bool mail_is_enabled(void)
{
    return is_enabled;
}

/* Two lines, then the text. What must be one line is made one. */
static void one_line(struct buf *b, Str s)
{
    for (size_t i = 0; i < s.len; i++) buf_char(b, s.ptr[i] == '\n' || s.ptr[i] == '\r' ? ' ' : s.ptr[i]);
    buf_char(b, '\n');
}

Str queued_mail_pack(struct arena *a, const struct queued_mail *m)
{
    struct buf b;
    buf_init(&b, a, SIZE_MAX);
    one_line(&b, m->to);
    one_line(&b, m->subject);
    buf_append(&b, m->text);
    return buf_str(&b);
}

bool queued_mail_unpack(Str payload, struct queued_mail *ret)
{
    struct queued_mail m;
    if (!str_cut(payload, '\n', &m.to, &payload) || !str_cut(payload, '\n', &m.subject, &m.text)) return false;
    *ret = m;
    return true;
}

enum err mail_queue(struct db *db, Id account, Str subject, Str text, Time now)
{
    if (!is_enabled) return OK;
    struct account a;
    enum err e = account_find(db, account, &a);
    if (e) return e;
    struct queued_mail m = {.to = a.email, .subject = subject, .text = text};
    struct outbox_item item = {.kind = OUTBOX_MAIL, .payload = queued_mail_pack(db_arena(db), &m)};
    return outbox_add(db, &item, now, now, NULL);
}

enum err mail_notification(struct db *db, Id account, Str kind, Str message, Time now)
{
    static const struct {
        Str kind, subject;
    } mailed[] = {
        {S("withdrawal_approved"), S("Your withdrawal was approved")},
        {S("withdrawal_rejected"), S("Your withdrawal was rejected")},
        {S("ticket_answered"), S("Your ticket was answered")},
        {S("topup_credited"), S("Your wallet was topped up")},
        {S("refunded"), S("Your money is on its way back")},
        {S("order_cancelled"), S("Your order was cancelled")},
        {S("payment_trouble"), S("About your payment")},
    };

    for (size_t i = 0; i < sizeof mailed / sizeof *mailed; i++)
        if (str_eq(kind, mailed[i].kind)) return mail_queue(db, account, mailed[i].subject, message, now);
    return OK;
}
