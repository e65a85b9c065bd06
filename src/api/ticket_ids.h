/* api/ticket_ids.h - ids of a ticket that are not there, as fields that are bad. */
#pragma once

#include "domain/ticket.h"
#include "serve/request.h"

/* ERR_VALIDATION, with every one of them. */
enum err ticket_bad_ids(struct request *req, const struct ticket_unknown *unknown);
