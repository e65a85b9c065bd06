/* outbox/mail_errand.c - sends an e-mail, among them the link for a forgotten password. */
#include "outbox/mail_errand.h"

#include "base/log.h"
#include "domain/mail_words.h"
#include "domain/password_reset.h"
#include "outbound/smtp.h"
#include "outbox/errand.h"

struct mail_look mail_look_of(struct arena *a, const struct settings *s)
{
    struct mail_look look = {
        .store = str_from(s->store_name), .base_url = str_from(mail_base_url()), .accent = str_from(s->accent)};
    if (s->mail_logo && *s->logo) look.logo = str_printf(a, "%s%s", mail_base_url(), s->logo);
    return look;
}

enum reply mail_send(struct outbound *outbound, const struct mail_options *o, Str to, const struct mail_parts *parts,
                     Str store_name, Id id, Time at, struct arena *a, const char **ret_error)
{
    Str bytes, from = str_from(o->from), user, domain;
    *ret_error = MAIL_OFF_ERROR;
    if (!*o->url) return REPLY_REFUSED;
    *ret_error = "the message cannot be sent as it is";
    if (!str_cut(from, '@', &user, &domain)) return REPLY_REFUSED;
    struct mail m = {
        .from_name = store_name,
        .from_address = from,
        .to_address = to,
        .subject = parts->subject,
        .text = parts->text,
        .html = parts->html,
        .message_id = str_printf(a, "souk.%lld.%lld@%.*s", (long long)id.v, (long long)at.ms, STR_FMT(domain)),
        .date = at,
    };
    if (!mail_message(a, &m, &bytes)) return REPLY_REFUSED;
    struct outbound_mail mail = {.url = str_from(o->url),
                                 .is_plain = o->is_plain,
                                 .user = str_from(o->user),
                                 .password = str_from(o->password),
                                 .from = from,
                                 .to = to,
                                 .bytes = bytes};
    struct outbound_job job = {.mail = &mail, .arena = a, .timeout_ms = 60000};
    outbound_call(outbound, &job);
    *ret_error = job.failure;
    if (!job.failure) return REPLY_OK;
    return job.reply.status >= 500 && job.reply.status < 600 ? REPLY_REFUSED : REPLY_RETRY;
}

/* With the words as they are when it is sent. */
static enum err read_mail(struct errand *x, struct db *db)
{
    struct queued_mail queued;
    struct mail_text text;
    enum err e = settings_load(db, &x->settings);
    if (e || !queued_mail_unpack(x->item->payload, &queued)) return e;
    e = mail_words_find(db, queued.kind, queued.lang, &text);
    if (e) return e;
    struct mail_look look = mail_look_of(x->arena, &x->settings);
    x->mail = arena_new(x->arena, struct mail_parts);
    x->email = queued.to;
    mail_text_render(x->arena, queued.lang, queued.kind, &text, &queued.values, &look, x->mail);
    return OK;
}

static void send_mail(struct errand *x)
{
    const char *error = "the message cannot be sent as it is";
    x->reply = REPLY_REFUSED;
    if (x->mail)
        x->reply = mail_send(x->options->outbound, &x->options->mail, x->email, x->mail,
                             str_from(x->settings.store_name), x->item->id, x->item->created_at, x->arena, &error);
    x->error = error ? error : "";
    if (x->reply == REPLY_OK) return;
    log_event(LOG_WARN, "mail_failed", LOGI("id", x->item->id.v), LOGI("attempt", x->item->attempts),
              LOGC("why", x->error));
    atomic_fetch_add_explicit(&x->options->stats->mail_failed, 1, memory_order_relaxed);
}

static enum err queue_link(struct db *db, Id account, Str token, Time now)
{
    struct mail_draft m;
    enum err e = mail_begin(db, account, MAIL_reset, &m);
    if (e) return e;
    m.values.of[PARAM_link] = mail_address(&m, "/reset?token=%.*s", STR_FMT(token));
    m.values.of[PARAM_minutes] = page_int(&m.page, PASSWORD_RESET_MINUTES);
    return mail_queue(db, &m, now);
}

static enum err record_reset(struct errand *x, struct db *db)
{
    Id account;
    Str token;
    enum err e = password_reset_begin(db, x->item->payload, x->now, &account, &token);
    if (!e && token.len) e = queue_link(db, account, token, x->now);
    return e ? e : outbox_done(db, x->item->id, x->now);
}

const struct errand_kind errand_mail = {read_mail, send_mail, errand_record_sending};
const struct errand_kind errand_reset = {errand_read_settings, NULL, record_reset};
