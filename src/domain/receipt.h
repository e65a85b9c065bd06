/* domain/receipt.h - telling a customer that the money arrived: a notification, and an e-mail where that is on. */
#pragma once

#include "domain/payment.h"

/* The order was confirmed just now: with what it delivered. TX_WRITE. */
enum err receipt_order(struct db *db, Id order, Time now);
enum err receipt_topup(struct db *db, const struct payment *p, Time now);
