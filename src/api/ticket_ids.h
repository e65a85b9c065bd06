/* api/ticket_ids.h - a ticket's unknown ids as bad fields. */
#pragma once

#include "domain/ticket.h"
#include "serve/request.h"

/* ERR_VALIDATION, with each of them. */
enum err ticket_bad_ids(struct request *req, const struct ticket_unknown *unknown);
