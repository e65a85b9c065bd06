/* view/view_success.h - the envelope around the data of every success. */
#pragma once

#include "base/buf.h"

/* {"status": "success", "message": …, "data": …}: `message` may be NULL, `data` empty; `members` are written as they
 * are. */
void view_success(struct buf *out, const char *message, Str data, Str members);
