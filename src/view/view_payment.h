/* view/view_payment.h - payments as JSON. */
#pragma once

#include "domain/payment.h"
#include "json/writer.h"

/* {gateway, reference, url, expires_at}: how to pay. */
void view_pay_page(struct json_writer *w, const struct payment *p);
/* All that its customer may know. */
void view_payment(struct json_writer *w, const struct payment *p);
