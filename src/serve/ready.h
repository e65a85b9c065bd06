/* serve/ready.h - pages that are the same for every visitor without a session, kept as they were sent: plain and gzip.
 *
 * A page is kept under its address and language, and is good for the revisions of catalogue and settings that it was
 * made at. Whoever asks reads the catalogue's revision in their own transaction, so an answer is never older than that,
 * whichever node made the change. A fixed number of places: an address takes the place of another that falls on it. */
#pragma once

#include "serve/frame.h"

struct ready_cache;
struct ready_cache *ready_cache_new(void);
void ready_cache_free(struct ready_cache *cache);

/* Answers with the kept page: *ret_found. Inside a transaction. Only for visitors without a session. */
enum err ready_answer(struct request *req, bool *ret_found);
/* As sheet_send, for a page that may be kept. */
enum err ready_send(struct request *req, struct sheet *s);
