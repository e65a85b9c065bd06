/* api/shop/shop.h - what the shop's files share.
 *
 * The shop is a second face of what the API does: its handlers read a form instead of JSON, call the same functions and
 * show a page instead of a body. A form that is refused is shown again, with what was typed and what is wrong with it:
 * the change runs in one transaction, showing in the next. */
#pragma once

#include "domain/cart.h"
#include "domain/order.h"
#include "serve/frame.h"
#include "serve/render.h"

/* Flags of pages, and of forms. */
#define SHOP_PAGE (SHOP | HIDDEN | ANY_ACCEPT)
#define SHOP_FORM (SHOP | HIDDEN | ANY_ACCEPT | RAW_BODY)
#define FORM_TYPE "application/x-www-form-urlencoded"

/* 303: the browser goes on with GET. */
enum err shop_go(struct request *req, Str path);
/* Whether an error is shown on the form's page again; others end the request. */
bool shop_can_show(enum err e);

enum err shop_show_product(struct request *req, Str slug, const struct trouble *t);
enum err shop_show_cart(struct request *req, const struct trouble *t);

/* Lines of a cart as pages show them. */
struct page_line_list shop_lines(struct request *req, const struct cart *cart);
/* The wallet of who is logged in and has enough for `total` (0: not asked for), then every gateway that is switched on.
 */
enum err shop_methods(struct request *req, struct sheet *s, Money total, Str chosen, struct page_method_list *ret);
/* An order's page, for whoever has its address; and its owner's, with what only the owner may do. */
enum err shop_show_order(struct request *req, const struct order *o, Str pay);
enum err shop_show_own_order(struct request *req, const struct order *o, Str pay, const struct trouble *t);
