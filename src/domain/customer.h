/* domain/customer.h - accounts as staff see them. */
#pragma once

#include "domain/account.h"

struct customer {
    struct account account;
    Money balance, credit_limit;
};

/* Accounts, newest first, whose e-mail address or name contains q (any case; empty: all), with id below `before`. */
enum err customer_list(struct db *db, Str q, Id before, int64_t limit, struct customer **ret, size_t *ret_count);
/* All of them, oldest first, ids above `after`. */
enum err customer_list_after(struct db *db, Id after, int64_t limit, struct customer **ret, size_t *ret_count);
/* ERR_NOT_FOUND. */
enum err customer_find(struct db *db, Id id, struct customer *ret);

struct customer_change {
    Str name;
    bool has_name;
    bool is_active, has_is_active;
};
/* Customers only: staff are changed through domain/staff.h (ERR_NOT_FOUND here). Switching a customer off ends their
 * tokens. */
enum err customer_change(struct db *db, Id id, const struct customer_change *change);
