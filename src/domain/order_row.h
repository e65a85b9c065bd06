/* domain/order_row.h - how an order is read from its row. For order.c and order_read.c only. */
#pragma once

#include "domain/order.h"

/* In the order in which order_read_row takes them; usable in SELECT and RETURNING on `orders`. */
#define ORDER_COLUMNS                                                                                                  \
    "id, account_id, status, channel, paid_with, subtotal, discount, total, refunded_amount, coupon_code, on_hold,"    \
    " created_at, confirmed_at, closed_at, reserved_until"

void order_read_row(struct stmt *st, struct order *ret);
