/* view/view_wallet.h - wallets and withdrawals as JSON. */
#pragma once

#include "domain/ledger.h"
#include "domain/withdrawal.h"
#include "json/writer.h"

/* Inside an object that the caller opened. */
void view_wallet_members(struct json_writer *w, const struct wallet *wallet, const char *currency);
/* The newest `limit` transactions. has_more tells whether there are more: ask the database for one more than `limit`.
 */
void view_wallet(struct json_writer *w, const struct wallet *wallet, const char *currency,
                 const struct wallet_transaction *items, size_t count, size_t limit);
/* As the request is answered; the customer's list and staff also see the decision. */
void view_withdrawal(struct json_writer *w, const struct withdrawal *wd);
void view_withdrawal_decided(struct json_writer *w, const void *withdrawal);
