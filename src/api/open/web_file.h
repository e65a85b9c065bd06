/* api/open/web_file.h - files made from web/ at build time and served from memory: the admin panel, the reference and
 * the guides. */
#pragma once

#include <stddef.h>

#include "serve/request.h"

struct web_file {
    const char *name; /* without folders; the page itself is index.html */
    const char *content_type;
    const char *plain_etag, *gzip_etag; /* strong, quoted; the two variants are different bytes */
    const char *plain;                  /* NULL: kept as gzip only, and unpacked for clients that take none */
    const char *gzip;
    size_t plain_len, gzip_len;
};

/* NULL when there is none. `files` ends with {0}. */
const struct web_file *web_file_find(const struct web_file *files, Str name);

/* Makes the file the answer: packed or not, as the client takes it, or 304. ERR_UNAVAILABLE: no memory to unpack it. */
enum err web_file_coded(struct request *req, const struct web_file *file);
/* The same with the headers of a page's parts, under this policy. ERR_NOT_FOUND for NULL. */
enum err web_file_answer(struct request *req, const struct web_file *file, const char *cache_control,
                         const char *policy);

#define WEB_FILE_FOR_EVER "public, max-age=31536000, immutable" /* for names that carry a hash of the content */
