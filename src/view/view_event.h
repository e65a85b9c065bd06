/* view/view_event.h - the data of events: resources as the admin API shows them. For event_install. */
#pragma once

#include "domain/event.h"

/* An event_view. Of a wallet: with the transaction that it tells of, instead of the newest ones. */
enum err view_event(struct db *db, enum event_type type, Id resource, const void *thing, struct event_text *ret);
/* An event_finish. */
enum err view_event_finish(struct db *db, Id ticket, struct event_text *text);
/* The data as it goes out: with updated_at; keys and codes in the clear, or masked as staff see them. */
Str view_event_data(struct arena *a, const struct event *e, bool with_keys);
/* The store's currency, so that no order has to look it up. Until it was said, each event does. From any thread. */
void view_event_set_currency(const char *code, int exponent);
