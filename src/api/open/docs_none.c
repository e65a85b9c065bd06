/* api/open/docs_none.c - replaces the files of the documentation in a build without node: /docs/ is then 404. */
#include "api/open/docs.h"

const struct web_file docs_assets[] = {{0}};
const struct web_file docs_guides[] = {{0}};
