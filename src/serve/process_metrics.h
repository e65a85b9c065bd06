/* serve/process_metrics.h - what the process itself uses, under the names that Prometheus' own libraries give it. */
#pragma once

#include "base/buf.h"

struct app;
void process_metrics_write(const struct app *app, struct buf *out);
