/* outbox/errand.h - one row of the outbox, carried out: the call, and what its answer changes. */
#pragma once

#include "domain/outbox.h"
#include "outbox/dispatch.h"

/* Blocks. Records the outcome itself; when even that fails, the row is due again after its lease. */
void errand_run(const struct dispatch_options *options, const struct outbox_item *item, struct arena *a);
