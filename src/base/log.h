/* base/log.h - one record per line on stderr.
 *
 * A record is a level, a time, an event name and typed fields. Every field is escaped, so nothing a client sends can
 * start a second record. Secrets are never handed to this module: tokens, passwords and keys have no log function.
 * Thread-safe; a record is written with one write(2). */
#pragma once

#include "base/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_LOGFMT, LOG_JSON };

struct log_field {
    const char *key;
    enum { LOG_END, LOG_STR, LOG_INT } kind;
    Str text;
    int64_t number;
};

#define LOGS(k, s) ((struct log_field){.key = (k), .kind = LOG_STR, .text = (s)})
#define LOGC(k, c) ((struct log_field){.key = (k), .kind = LOG_STR, .text = str_from(c)})
#define LOGI(k, i) ((struct log_field){.key = (k), .kind = LOG_INT, .number = (int64_t)(i)})

/* The last of a record: left out when there is no trace (base/trace.h). */
#define LOGT(t) ((t).id[0] ? LOGC("trace_id", (t).id) : (struct log_field){0})

/* For events that may happen thousands of times a second: one record every ten seconds, with a count. */
struct log_gate {
    int64_t next_ns; /* no record before this time */
    int64_t times;   /* since the last record */
};
/* Counts one event: 0 when no record is due, else the number of events since the last one. A gate belongs to one
 * thread. */
int64_t log_gate_pass(struct log_gate *gate, int64_t now_ns);

void log_setup(enum log_level least, enum log_format format);
bool log_wants(enum log_level level);
/* Fields end at the first with kind LOG_END; use the macro. */
void log_write(enum log_level level, const char *event, const struct log_field *fields);
#define log_event(level, event, ...)                                                                                   \
    log_write((level), (event), (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, )(struct log_field){0}})
