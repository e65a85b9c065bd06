/* serve/metric_text.c - see metric_text.h. */
#include "serve/metric_text.h"

void metric_head(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metric_single(struct buf *out, const char *name, const char *type, const char *help, int64_t value)
{
    metric_head(out, name, type, help);
    buf_printf(out, "%s %lld\n", name, (long long)value);
}

void metric_line(struct buf *out, const char *name, const char *label, const char *value, int64_t count)
{
    buf_printf(out, "%s{%s=\"%s\"} %lld\n", name, label, value, (long long)count);
}

void metric_seconds(struct buf *out, int64_t ns)
{
    buf_printf(out, "%lld.%06lld", (long long)(ns / 1000000000), (long long)(ns / 1000 % 1000000));
}
