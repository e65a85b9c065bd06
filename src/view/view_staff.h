/* view/view_staff.h - what staff see, as JSON: answers of the admin API, and the data of events. */
#pragma once

#include "domain/customer.h"
#include "domain/license.h"
#include "domain/order.h"
#include "domain/review.h"
#include "domain/serial.h"
#include "domain/ticket.h"
#include "domain/withdrawal.h"
#include "json/writer.h"

/* Of an order, with its customer; inside an object that the caller opened. */
void view_order_staff_members(struct json_writer *w, struct arena *a, const char *base_url, const struct order *o);
void view_license_staff(struct json_writer *w, const void *license);
void view_customer(struct json_writer *w, const void *customer);
void view_review_members(struct json_writer *w, const struct review *r);
void view_review(struct json_writer *w, const void *review);
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
