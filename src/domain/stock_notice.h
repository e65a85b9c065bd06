/* domain/stock_notice.h - a mail to staff and an event when codes run low, and an event when the last one is gone: once
 * for each product or variant, and again only after it was filled up and ran low again. */
#pragma once

#include "db/db.h"

/* `low_stock` 0: no mail, and only the end of the last code is told. Tells of what has run low since the last look, and
 * forgets what was filled up. ERR_NEEDS_WRITE in a read when there is something to do. */
enum err stock_notice_check(struct db *db, int64_t low_stock, Time now);
