/* serve/ready.h - pages that are the same for every visitor without a session, kept ready to send: plain and gzip.
 *
 * A page is kept under its address and language, for the revisions of catalogue and settings at which it was made. A
 * request reads the catalogue's revision in its own transaction, so an answer is never older than that, whichever node
 * made the change. The number of places is fixed: an address replaces another that hashes to the same place. */
#pragma once

#include "serve/frame.h"

struct ready_cache;
struct ready_cache *ready_cache_new(void);
void ready_cache_free(struct ready_cache *cache);

/* Answers with the kept page: *ret_found. Inside a transaction. Only for visitors without a session. */
enum err ready_answer(struct request *req, bool *ret_found);
/* As sheet_send, for a page that may be kept. */
enum err ready_send(struct request *req, struct sheet *s);
