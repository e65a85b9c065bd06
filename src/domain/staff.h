/* domain/staff.h - the people who run the store, and how the first of them gets in.
 *
 * Once there is an owner, there is always one who can log in: the last owner can be neither demoted nor switched off.
 */
#pragma once

#include "domain/account.h"

/* Makes a new one-time setup token while there is no owner; older ones become void. *ret_text is empty when there
 * already is an owner. */
enum err setup_begin(struct db *db, Time now, Str *ret_text);
enum err setup_is_needed(struct db *db, bool *ret);
/* The first owner: of any number of callers with the right token one wins. ERR_NOT_FOUND for a wrong or used token. */
enum err setup_finish(struct db *db, Str token, const struct account *owner, Time now, struct account *ret);

struct staff_member {
    struct account account;
    bool totp_is_on;
};

/* Staff and owners, by id. */
enum err staff_list(struct db *db, Id after, int64_t limit, struct staff_member **ret, size_t *ret_count);
/* ERR_NOT_FOUND also for customers. */
enum err staff_find(struct db *db, Id id, struct staff_member *ret);

struct staff_change {
    Str name;
    bool has_name;
    enum role role; /* ROLE_NONE: unchanged */
    bool is_active, has_is_active;
};
/* ERR_INVALID_STATE for the last owner. Losing rights ends the person's tokens. */
enum err staff_change(struct db *db, Id id, const struct staff_change *change);
/* No longer staff: a customer without tokens. */
enum err staff_remove(struct db *db, Id id);
