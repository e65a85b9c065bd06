/* api/open/openapi_json.h - the OpenAPI document, merged from api/ at build time and served unchanged. */
#pragma once

#include <stddef.h>

extern const char openapi_json[]; /* UTF-8, followed by a NUL that is not counted */
extern const size_t openapi_json_len;
