/* api/ticket_ids.h - what the API and the shop's pages have in common about tickets: unknown ids as bad fields, and how
 * much may be written. */
#pragma once

#include "domain/ticket.h"
#include "serve/request.h"

/* ERR_VALIDATION, with each of them. */
enum err ticket_bad_ids(struct request *req, const struct ticket_unknown *unknown);
/* Before a message of a customer is kept: so many bytes a day for an account, more for a network. ERR_RATE_LIMITED. */
enum err ticket_limit(struct request *req, Str message);
