/* view/view_timeline.h - what happened to an order, as JSON. */
#pragma once

#include "domain/timeline.h"
#include "json/writer.h"

/* "timeline": all of it, with who did it and what they said. */
void view_timeline_staff(struct json_writer *w, const struct timeline_entry *entries, size_t count);
/* "timeline": what concerns the customer. */
void view_timeline_customer(struct json_writer *w, const struct timeline_entry *entries, size_t count);
