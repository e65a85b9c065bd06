/* domain/stock_notice.h - a mail to staff when codes run low: once for each product or variant, and again only after it
 * was filled up and ran low again. */
#pragma once

#include "db/db.h"

/* Tells of what has run low since the last look, and forgets what was filled up. ERR_NEEDS_WRITE in a read when there
 * is something to do. */
enum err stock_notice_check(struct db *db, int64_t low_stock, Time now);
