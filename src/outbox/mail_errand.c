/* outbox/mail_errand.c - sends an e-mail, among them the link for a forgotten password. */
#include "outbox/mail_errand.h"

#include "base/log.h"
#include "domain/password_reset.h"
#include "outbound/smtp.h"
#include "outbox/errand.h"

enum reply mail_send(struct outbound *outbound, const struct mail_options *o, const struct queued_mail *queued,
                     Str store_name, Id id, Time at, struct arena *a, const char **ret_error)
{
    Str bytes, from = str_from(o->from), user, domain;
    *ret_error = "the message cannot be sent as it is";
    if (!*o->url || !str_cut(from, '@', &user, &domain)) return REPLY_REFUSED;
    struct mail m = {
        .from_name = store_name,
        .from_address = from,
        .to_address = queued->to,
        .subject = queued->subject,
        .text = queued->text,
        .message_id = str_printf(a, "souk.%lld.%lld@%.*s", (long long)id.v, (long long)at.ms, STR_FMT(domain)),
        .date = at,
    };
    if (!mail_message(a, &m, &bytes)) return REPLY_REFUSED;
    struct outbound_mail mail = {.url = str_from(o->url),
                                 .is_plain = o->is_plain,
                                 .user = str_from(o->user),
                                 .password = str_from(o->password),
                                 .from = from,
                                 .to = queued->to,
                                 .bytes = bytes};
    struct outbound_job job = {.mail = &mail, .arena = a, .timeout_ms = 60000};
    outbound_call(outbound, &job);
    *ret_error = job.failure;
    if (!job.failure) return REPLY_OK;
    return job.reply.status >= 500 && job.reply.status < 600 ? REPLY_REFUSED : REPLY_RETRY;
}

static void send(struct errand *x)
{
    struct queued_mail queued;
    const char *error = "the message cannot be sent as it is";
    x->reply = REPLY_REFUSED;
    if (queued_mail_unpack(x->item->payload, &queued))
        x->reply = mail_send(x->options->outbound, &x->options->mail, &queued, str_from(x->settings.store_name),
                             x->item->id, x->item->created_at, x->arena, &error);
    x->error = error ? error : "";
    if (x->reply == REPLY_OK) return;
    log_event(LOG_WARN, "mail_failed", LOGI("id", x->item->id.v), LOGI("attempt", x->item->attempts),
              LOGC("why", x->error));
    atomic_fetch_add_explicit(&x->options->stats->mail_failed, 1, memory_order_relaxed);
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
