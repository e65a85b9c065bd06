/* api/open/openapi_json.h - the OpenAPI document, merged from api/ at build time and served unchanged. */
#pragma once

#include "api/open/web_file.h"

extern const struct web_file openapi_json;
