/* serve/metric_text.h - lines of Prometheus' text format. */
#pragma once

#include "base/buf.h"

/* What a series is; in front of its lines. `type`: counter, gauge or histogram. */
void metric_head(struct buf *out, const char *name, const char *type, const char *help);
/* A series without labels. */
void metric_single(struct buf *out, const char *name, const char *type, const char *help, int64_t value);
/* One line of a series: `label` is its only one, and `value` needs no escaping. */
void metric_line(struct buf *out, const char *name, const char *label, const char *value, int64_t count);
/* Nanoseconds as seconds with six decimals, without floating point. */
void metric_seconds(struct buf *out, int64_t ns);
