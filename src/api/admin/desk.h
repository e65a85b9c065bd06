/* api/admin/desk.h - what staff do to a customer's licences, orders and wallet from more than one page: one rule, one
 * audit row. TX_WRITE. */
#pragma once

#include "domain/license.h"
#include "domain/refund.h"
#include "serve/request.h"

/* Goods and money of this account are somebody else's to decide: ERR_OWN_ACCOUNT for staff whose own it is. Owners try
 * their store out with their own account. Manual credits and payouts to oneself are nobody's (desk_wallet). */
enum err desk_is_others(const struct request *req, Id account);

/* Before keys or codes are shown whole: a login has so many a day, because who has stolen it wants them all. API tokens
 * have their scope. ERR_RATE_LIMITED. */
enum err desk_may_reveal(struct request *req);

/* Licences: before, the act, after. *ret is the licence as it is now, its key masked. `action` is for the audit row. */
enum err desk_license(struct request *req, Id license, const char *action, enum err (*act)(struct request *req, Id id),
                      struct license *ret);

/* Orders: all that is left (amount 0), or a part of it. As payment_refund_order; a bad amount is a bad field. */
enum err desk_refund(struct request *req, Id order, Money amount, Str reason, struct refund *ret);
/* What a refund's state means, for the person who asked for it. */
const char *desk_refund_said(const struct refund *r);

/* Wallets: more (or, below 0, less) money, manually. *ret_made: it was moved; else a second person has to request the
 * same. A bad amount is a bad field. ERR_NOT_FOUND, ERR_OWN_ACCOUNT, ERR_SECOND_PERSON_NEEDED. */
enum err desk_wallet(struct request *req, Id account, Money amount, Str description, bool *ret_made);
