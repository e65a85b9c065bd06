/* view/view_wallet.h - wallets and withdrawals as JSON. */
#pragma once

#include "domain/ledger.h"
#include "domain/withdrawal.h"
#include "json/writer.h"

/* The newest `limit` of the transactions; when there are more, has_more says so: ask the database for one more. */
void view_wallet(struct json_writer *w, const struct wallet *wallet, const char *currency,
                 const struct wallet_transaction *items, size_t count, size_t limit);
/* As it is answered when requested; the customer's list and staff see how it was decided, too. */
void view_withdrawal(struct json_writer *w, const struct withdrawal *wd);
void view_withdrawal_decided(struct json_writer *w, const void *withdrawal);
