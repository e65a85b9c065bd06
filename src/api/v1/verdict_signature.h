/* api/v1/verdict_signature.h - signed answers (RFC 9421), for callers that ask with `Accept-Signature`.
 *
 * Covered are "@status" and "content-digest", so a client that keeps body and headers can check both later, offline,
 * against the store's public key. Nothing is computed for callers that do not ask. */
#pragma once

#include "serve/request.h"

/* Called by a handler, before it decides: if the caller asked, the answer will be signed, be it good or bad. */
void signature_on_request(struct request *req);
