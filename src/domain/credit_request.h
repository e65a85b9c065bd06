/* domain/credit_request.h - credits by hand that need two people. */
#pragma once

#include "db/db.h"

struct credit_request {
    Id account;
    Money amount;
    Str description;
};

/* `by` asks for it. *ret_may: somebody else had asked for the same, so that it can be made now; else it waits for a
 * second person. ERR_SECOND_PERSON_NEEDED: they had asked themselves. TX_WRITE. */
enum err credit_request_ask(struct db *db, const struct credit_request *want, Id by, Time now, bool *ret_may);
