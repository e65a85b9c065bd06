/* api/shop/shop.h - what the shop's files share.
 *
 * The shop does what the API does: its handlers read a form instead of JSON, call the same functions and answer with a
 * page. A refused form is shown again, with what was typed and what is wrong: the change runs in one transaction, the
 * page in the next. */
#pragma once

#include "domain/cart.h"
#include "domain/order.h"
#include "serve/frame.h"
#include "serve/render.h"

/* Flags of pages, and of forms. */
#define SHOP_PAGE (SHOP | HIDDEN | ANY_ACCEPT)
#define SHOP_FORM (SHOP | HIDDEN | ANY_ACCEPT | RAW_BODY)
#define FORM_TYPE "application/x-www-form-urlencoded"

/* 303: the browser continues with GET. */
enum err shop_go(struct request *req, Str path);
/* Whether an error is shown on the form's page; other errors end the request. */
bool shop_can_show(enum err e);

enum err shop_show_product(struct request *req, Str slug, const struct trouble *t);
enum err shop_show_cart(struct request *req, const struct trouble *t);

/* Lines of a cart as pages show them. */
struct page_line_list shop_lines(struct request *req, const struct cart *cart);
/* The wallet, when the customer is logged in and it holds `total` (0: do not ask), then every gateway that is switched
 * on.
 */
enum err shop_methods(struct request *req, struct sheet *s, Money total, Str chosen, struct page_method_list *ret);
/* The address of the page that leads to an order's payment: while it waits, and after an attempt that failed while
 * another one at the gateway may still succeed; else empty. */
enum err shop_way_to_pay(struct request *req, const struct order *o, Str *ret);
/* An order's page, for anybody with its address; and the owner's page, with what only the owner may do. */
enum err shop_show_order(struct request *req, const struct order *o, Str pay);
enum err shop_show_own_order(struct request *req, const struct order *o, Str pay, const struct trouble *t);
