/* api/admin/ticket_desk.h - what the files about tickets share. */
#pragma once

#include "domain/ticket.h"
#include "serve/request.h"

/* The ticket of the path with its conversation, as the answer. */
enum err ticket_show(struct request *req);
/* Writes to the customer, in the path's ticket; the answer is 201 and the whole ticket. `action` is for the audit row.
 */
enum err ticket_answer(struct request *req, const char *action, Str message);
