/* domain/credit_request.h - manual credits that need two people. */
#pragma once

#include "db/db.h"

struct credit_request {
    Id account;
    Money amount;
    Str description;
};

/* `by` requests a credit. *ret_may: somebody else has requested the same one, so it can be made now; else it waits for
 * a second person. ERR_SECOND_PERSON_NEEDED: the earlier request was their own. TX_WRITE. */
enum err credit_request_ask(struct db *db, const struct credit_request *want, Id by, Time now, bool *ret_may);
