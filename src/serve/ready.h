/* serve/ready.h - pages that are the same for many visitors, kept ready to send: plain, and gzip for those without a
 * session.
 *
 * Of a session a kept page may show three things: whether somebody is logged in, how much is in the cart, and the csrf
 * of its forms. The first two are part of the key, the third is written into each answer. A page that shows more of its
 * visitor is not sent through here.
 *
 * A page is kept under its address and language, for the revisions of catalogue and settings at which it was made. On
 * SQLite a request reads the catalogue's revision in its own transaction. On PostgreSQL the revision is trusted for
 * READY_TRUSTS_NS after it was read, unless this process has changed the catalogue since: a change is seen at once by
 * the node that made it, and within that time by the others. The number of places is fixed: an address replaces another
 * that hashes to the same place. */
#pragma once

#include "serve/frame.h"

#define READY_TRUSTS_NS (INT64_C(1) * 1000 * 1000 * 1000)

struct ready_cache;
struct ready_cache *ready_cache_new(void);
void ready_cache_free(struct ready_cache *cache);

/* PostgreSQL, on the loop's thread: answers a visitor without a session with the kept page, if it is known to be the
 * present one. */
bool ready_answer_at_once(struct request *req);
/* Answers with the kept page: *ret_found. Inside a transaction; ERR_RUN_ALONE: in a group, and there is none. */
enum err ready_answer(struct request *req, bool *ret_found);
/* As sheet_send, for a page that may be kept. */
enum err ready_send(struct request *req, struct sheet *s);
