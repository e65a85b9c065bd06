/* api/v1/verdict_signature.h - signed answers (RFC 9421), for callers that ask with `Accept-Signature`.
 *
 * Covered are "@status", "content-digest" and "content-digest";req, so a client that keeps its request and the answer
 * can check both later, offline, against the store's public key, and nobody in between can swap the question. Nothing
 * is computed for callers that do not ask. */
#pragma once

#include "serve/request.h"

/* Called by a handler before it decides: if the caller asked, the answer will be signed, good or bad. */
void signature_on_request(struct request *req);
