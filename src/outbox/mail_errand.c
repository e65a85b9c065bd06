/* outbox/mail_errand.c - e-mail on its way, and the link that somebody who forgot a password asked for. */
#include "domain/mail.h"
#include "domain/password_reset.h"
#include "outbound/smtp.h"
#include "outbox/errand.h"

static void send(struct errand *x)
{
    const struct mail_options *o = &x->options->mail;
    struct queued_mail queued;
    Str bytes;
    x->reply = REPLY_REFUSED;
    x->error = "the message cannot be sent as it is";
    if (!*o->url || !queued_mail_unpack(x->item->payload, &queued)) return;
    Str from = str_from(o->from), user, domain;
    if (!str_cut(from, '@', &user, &domain)) return;
    struct mail m = {
        .from_name = str_from(x->settings.store_name),
        .from_address = from,
        .to_address = queued.to,
        .subject = queued.subject,
        .text = queued.text,
        /* The same for every attempt: a receiver that got it twice can tell. */
        .message_id = str_printf(x->arena, "souk.%lld.%lld@%.*s", (long long)x->item->id.v,
                                 (long long)x->item->created_at.ms, STR_FMT(domain)),
        .date = x->item->created_at,
    };
    if (!mail_message(x->arena, &m, &bytes)) return;
    struct outbound_mail mail = {.url = str_from(o->url),
                                 .is_plain = o->is_plain,
                                 .user = str_from(o->user),
                                 .password = str_from(o->password),
                                 .from = from,
                                 .to = queued.to,
                                 .bytes = bytes};
    struct outbound_job job = {.mail = &mail, .arena = x->arena, .timeout_ms = 60000};
    outbound_call(x->options->outbound, &job);
    x->reply = !job.failure                                        ? REPLY_OK
               : job.reply.status >= 500 && job.reply.status < 600 ? REPLY_REFUSED
                                                                   : REPLY_RETRY;
    x->error = job.failure ? job.failure : "";
}

static enum err record_reset(struct errand *x, struct db *db)
{
    Id account;
    Str token;
    enum err e = password_reset_begin(db, x->item->payload, x->now, &account, &token);
    if (!e && token.len) {
        Str text = str_printf(db_arena(db),
                              "Somebody, hopefully you, asked for a new password for your account.\n\n"
                              "Choose it here within %d minutes:\n%s/reset?token=%.*s\n\n"
                              "If it was not you, there is nothing to do.\n",
                              PASSWORD_RESET_MINUTES, x->options->shop_url, STR_FMT(token));
        e = mail_queue(db, account, STR("Your new password"), text, x->now);
    }
    return e ? e : outbox_done(db, x->item->id, x->now);
}

const struct errand_kind errand_mail = {errand_read_settings, send, errand_record_sending};
const struct errand_kind errand_reset = {errand_read_settings, NULL, record_reset};
