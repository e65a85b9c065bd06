/* domain/order_search.h - orders as staff look for them. */
#pragma once

#include "domain/order.h"

struct order_filter {
    bool has_status;
    enum order_status status;
    Str q;      /* an order's number, part of the buyer's e-mail address, or a gateway's reference; empty: all */
    Id account; /* 0: everybody's */
};

/* Newest first, without items, ids below `before` (0: all). TX_READ is enough. */
enum err order_search(struct db *db, const struct order_filter *filter, Id before, int64_t limit, struct order **ret,
                      size_t *ret_count);

/* All of them, oldest first, without items, ids above `after`. */
enum err order_list_after(struct db *db, Id after, int64_t limit, struct order **ret, size_t *ret_count);
