/* view/view_payment.h - payments as JSON. */
#pragma once

#include "domain/payment.h"
#include "domain/refund.h"
#include "json/writer.h"

/* {gateway, reference, url, expires_at}: how to pay. */
void view_pay_page(struct json_writer *w, const struct payment *p);
/* All that the customer may know. */
void view_payment(struct json_writer *w, const struct payment *p);
/* {gateway, reference, url, expires_at, status}: of an order that waits for its payment. */
void view_order_payment(struct json_writer *w, const struct payment *p);
/* As staff see them. */
void view_payment_staff(struct json_writer *w, const void *payment);
void view_refund(struct json_writer *w, const void *refund);
/* As its customer sees it: one that failed is still on its way, staff see to it. */
void view_refund_customer(struct json_writer *w, const struct refund *r);
