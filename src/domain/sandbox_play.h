/* domain/sandbox_play.h - what a payer, a bank and a provider can do to a payment at the sandbox: one name each, for
 * the buttons of its page and for tests. Each queues its webhooks. */
#pragma once

#include "domain/sandbox_payment.h"

/* ERR_FIELD_VALUE: no such play. ERR_INVALID_STATE: not possible now. TX_WRITE. */
enum err sandbox_play(struct db *db, Str ref, Str name, const struct sandbox_sending *how, Time now);
