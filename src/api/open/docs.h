/* api/open/docs.h - the files of the reference and the guides, made from web/docs, docs/ and npm's Swagger UI at build
 * time. A build without the panel has none. */
#pragma once

#include "api/open/web_file.h"

/* Each ends with {0}. */
extern const struct web_file docs_assets[]; /* the reference itself is index.html */
extern const struct web_file docs_guides[]; /* by the last part of their addresses; the contents are index */
