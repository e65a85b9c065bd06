/* outbox/errand.c - see errand.h: what all errands share. */
#include "outbox/errand.h"

#include <stdlib.h>

#include "base/log.h"

static const struct errand_kind *kind_of(enum outbox_kind kind)
{
    switch (kind) {
    case OUTBOX_CREATE: return &errand_create;
    case OUTBOX_CAPTURE: return &errand_capture;
    case OUTBOX_REFUND: return &errand_refund;
    case OUTBOX_ASK: return &errand_ask;
    case OUTBOX_CLOSE: return &errand_close;
    case OUTBOX_MAIL: return &errand_mail;
    case OUTBOX_SANDBOX: return &errand_sandbox;
    case OUTBOX_RESET: return &errand_reset;
    case OUTBOX_RECONCILE: return &errand_reconcile;
    }
    abort();
}

enum err errand_read_settings(struct errand *x, struct db *db)
{
    return settings_load(db, &x->settings);
}

enum err errand_fail(struct errand *x, struct db *db)
{
    log_event(LOG_WARN, "outbox_given_up", LOGC("kind", outbox_kind_names[x->item->kind]), LOGI("id", x->item->id.v),
              LOGC("why", x->error));
    atomic_fetch_add_explicit(&x->options->stats->given_up, 1, memory_order_relaxed);
    return outbox_fail(db, x->item->id, str_from(x->error), x->now);
}

bool errand_again(struct errand *x, struct db *db, enum err *ret)
{
    if (x->op.wait_ms) {
        *ret = outbox_postpone(db, x->item->id, x->now, x->op.wait_ms, str_from(x->error));
        return true;
    }
    int64_t delay = x->delay_ms ? x->delay_ms : outbox_delay_ms(x->item->attempts);
    if (!delay) return false;
    if (x->op.retry_after_s > 0 && x->op.retry_after_s < 3600 && delay < x->op.retry_after_s * TIME_SECOND)
        delay = x->op.retry_after_s * TIME_SECOND;
    *ret = outbox_retry(db, x->item->id, x->now, delay, str_from(x->error));
    return true;
}

enum err errand_record_sending(struct errand *x, struct db *db)
{
    enum err e = OK;
    if (x->reply == REPLY_OK) return outbox_done(db, x->item->id, x->now);
    if (x->reply != REPLY_REFUSED && errand_again(x, db, &e)) return e;
    return errand_fail(x, db);
}

static enum err read_item(void *arg, struct db *db)
{
    struct errand *x = arg;
    return kind_of(x->item->kind)->read(x, db);
}

static enum err record(void *arg, struct db *db)
{
    struct errand *x = arg;
    if (x->is_settled) return outbox_done(db, x->item->id, x->now);
    return kind_of(x->item->kind)->record(x, db);
}

void errand_run(const struct dispatch_options *options, const struct outbox_item *item, struct arena *a)
{
    struct errand x = {.options = options, .item = item, .arena = a, .now = time_now(), .error = ""};
    const struct errand_kind *kind = kind_of(item->kind);
    enum err e = tx_call(options->database, TX_READ, read_item, &x, a);
    if (!e) {
        if (kind->carry_out) kind->carry_out(&x);
        x.now = time_now();
        e = tx_call(options->database, TX_WRITE, record, &x, a);
        _Atomic int64_t *count = x.reply == REPLY_OK ? options->stats->done : options->stats->failures;
        atomic_fetch_add_explicit(&count[item->kind], 1, memory_order_relaxed);
    }
    if (e)
        log_event(LOG_WARN, "errand_not_recorded", LOGC("kind", outbox_kind_names[item->kind]), LOGI("id", item->id.v),
                  LOGC("code", err_info(e)->code));
}
