/* domain/payment_match.h - which payment an event is about. */
#pragma once

#include "domain/payment.h"
#include "domain/payment_event.h"

/* *ret is 0 when there is none; *ret_clash when the event's names belong to different payments. TX_READ is enough.
 */
enum err payment_match(struct db *db, Id gateway, const struct payment_event *e, Id *ret, bool *ret_clash);
