/* view/view_event.h - the data of events: resources as the admin API shows them. For event_install. */
#pragma once

#include "domain/event.h"

/* An event_view. Of an order: without its payments and history; of a ticket: with its latest message; of a wallet: with
 * the transaction that it tells of. */
enum err view_event(struct db *db, enum event_type type, Id resource, const void *thing, struct event_text *ret);
/* The store's currency, so that no order has to look it up. Until it was said, each event does. From any thread. */
void view_event_set_currency(const char *code, int exponent);
