/* view/view_ticket.h - departments, tickets and their messages as JSON. */
#pragma once

#include "domain/department.h"
#include "domain/ticket.h"
#include "json/writer.h"

/* As customers see it. */
void view_department(struct json_writer *w, const void *department);
/* A ticket by itself; in a list, with last_reply_at; with its conversation. */
void view_ticket(struct json_writer *w, const struct ticket *t);
void view_ticket_listed(struct json_writer *w, const void *ticket);
void view_ticket_conversation(struct json_writer *w, const struct ticket *t, const struct ticket_message *items,
                              size_t count);
void view_ticket_message(struct json_writer *w, const struct ticket_message *m);
