/* api/shop/order_history.h - what happened to an order, as its customer reads it. */
#pragma once

#include "api/shop/shop.h"

enum err shop_order_history(struct request *req, Id order, struct page_happening_list *ret);
/* Refunds that wait for the customer to say where the money goes. */
enum err shop_order_claims(struct request *req, Id order, struct page_claim_list *ret);
