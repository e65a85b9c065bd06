/* domain/retention.c - see retention.h. */
#include "domain/retention.h"

#include <assert.h>

/* Rows are made in the order of their ids, so the oldest have the lowest: no index by time is needed. */
#define OLDEST(table, columns, count) "(SELECT " columns " FROM " table " ORDER BY id LIMIT " count ") o"
#define PROBE(table) "SELECT 1 FROM " OLDEST(table, "created_at", "1") " WHERE o.created_at < $1"
#define PURGE(table)                                                                                                   \
    "DELETE FROM " table                                                                                               \
    " WHERE id IN (SELECT o.id FROM " OLDEST(table, "id, created_at", "1000") " WHERE o.created_at < $1)"
static_assert(RETENTION_STEP == 1000, "the limit in the texts");

#define OLD_ERRANDS "outbox WHERE done_at IS NOT NULL AND done_at < $1 ORDER BY done_at LIMIT "
/* What is neither handled nor ignored may have to be read again. */
#define OLD_BODIES                                                                                                     \
    "webhook_event WHERE LENGTH(body) > 0 AND status IN ('handled', 'ignored') AND received_at < $1"                   \
    " ORDER BY received_at LIMIT "

static const struct keeper {
    size_t days; /* where the settings have it; 0 days: for ever */
    const char *probe, *purge;
} keepers[] = {
    {offsetof(struct settings, keep_audit_days), PROBE("audit"), PURGE("audit")},
    {offsetof(struct settings, keep_notification_days), PROBE("notification"), PURGE("notification")},
    {offsetof(struct settings, keep_outbox_days), "SELECT 1 FROM " OLD_ERRANDS "1",
     "DELETE FROM outbox WHERE id IN (SELECT id FROM " OLD_ERRANDS "1000)"},
    {offsetof(struct settings, keep_webhook_body_days), "SELECT 1 FROM " OLD_BODIES "1",
     "UPDATE webhook_event SET body = SUBSTR(body, 1, 0) WHERE id IN (SELECT id FROM " OLD_BODIES "1000)"},
};

enum err retention_step(struct db *db, const struct settings *s, Time now)
{
    for (size_t i = 0; i < sizeof keepers / sizeof *keepers; i++) {
        int64_t days;
        memcpy(&days, (const char *)s + keepers[i].days, sizeof days);
        if (days <= 0) continue;
        Time before = time_add(now, -days * TIME_DAY);
        struct stmt *st = db_prepare(db, keepers[i].probe);
        bind_time(st, before);
        bool found = db_step(st);
        enum err e = db_done(st);
        if (!e && found && !db_can_write(db)) return ERR_NEEDS_WRITE;
        if (!e && found) {
            st = db_prepare(db, keepers[i].purge);
            bind_time(st, before);
            e = db_run(st);
        }
        if (e) return e;
    }
    return OK;
}
