/* domain/addressee.h - how somebody reads what the store writes to them: in their language where the shop has it, else
 * in the shop's first one; amounts in the store's currency. */
#pragma once

#include "db/db.h"
#include "page/template.h"

/* `language`: a code, as an account has it; empty or unknown: the shop's first. */
enum err addressee_of(struct db *db, Str language, struct page *ret);
enum err addressee_of_account(struct db *db, Id account, struct page *ret);

/* "order #12", "top-up #3", or "payment" when neither is known. */
Str addressee_what(struct page *p, Id order, Id payment);
/* `currency` empty: the store's. */
Str addressee_amount(const struct page *p, Money amount, Str currency);
