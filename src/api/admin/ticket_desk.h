/* api/admin/ticket_desk.h - what the files about tickets share. */
#pragma once

#include "domain/ticket.h"
#include "serve/request.h"

/* The ticket of the path with its conversation, as the answer. */
enum err ticket_show(struct request *req);
/* Writes to the customer, into the ticket of the path; 201 and the whole ticket is the answer. `action` is the audit's.
 */
enum err ticket_answer(struct request *req, const char *action, Str message);
