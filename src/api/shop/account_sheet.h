/* api/shop/account_sheet.h - what the account's pages share. Lists are read page by page: `?before=` is the last id
 * seen. */
#pragma once

#include "api/shop/shop.h"
#include "domain/ticket.h"

#define ACCOUNT_ROWS 20

void account_sheet(struct request *req, struct sheet *s, enum word title);
/* `?before=`; 0 without. */
Id account_before(struct request *req);
/* The address of the next page, or empty, for rows of which one more than a page was read; *count is the number to
 * show. */
Str account_older(struct request *req, const char *path, size_t *count, Id last);
#define ACCOUNT_OLDER(req, path, rows, count)                                                                          \
    account_older((req), (path), &(count), (count) > ACCOUNT_ROWS ? (rows)[ACCOUNT_ROWS - 1].id : (Id){0})

struct page_orderrow_list account_order_rows(struct request *req, const struct order *orders, size_t count);
struct page_ticketrow account_ticket_row(const struct ticket *t);
