/* view/view_staff.h - what staff see, as JSON: answers of the admin API, and the data of events. */
#pragma once

#include "domain/customer.h"
#include "domain/license.h"
#include "domain/order.h"
#include "domain/review.h"
#include "domain/serial.h"
#include "domain/ticket.h"
#include "domain/timeline.h"
#include "domain/withdrawal.h"
#include "json/writer.h"

void view_order_staff(struct json_writer *w, struct arena *a, const char *base_url, const struct order *o,
                      const struct order_history *h);
void view_license_staff(struct json_writer *w, const void *license);
void view_customer(struct json_writer *w, const void *customer);
void view_review(struct json_writer *w, const void *review);
/* With what can be done about it, a mask of 1 << action. */
void view_review_actions(struct json_writer *w, const struct review *r, unsigned actions);
void view_shortage_members(struct json_writer *w, const struct serial_shortage *s);

struct ticket_view {
    struct ticket ticket;
    Str email;
    const struct ticket_message *messages; /* with has_messages */
    size_t message_count;
    bool has_messages;
};

void view_ticket_staff(struct json_writer *w, const void *ticket_view);

struct withdrawal_view {
    struct withdrawal withdrawal;
    Str email;
    Str destination; /* only its last characters, except for the person who pays it out */
};

void view_withdrawal_staff(struct json_writer *w, const void *withdrawal_view);
