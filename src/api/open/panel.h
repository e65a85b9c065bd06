/* api/open/panel.h - the files of the admin panel, made from web/ at build time. A build without the panel has none. */
#pragma once

#include <stddef.h>

struct panel_file {
    const char *name; /* as in /admin/assets/NAME; the page itself is index.html */
    const char *content_type;
    const char *plain_etag, *gzip_etag; /* strong, quoted; the two variants are different bytes */
    const char *plain, *gzip;
    size_t plain_len, gzip_len;
};

extern const struct panel_file panel_files[]; /* ends with {0} */
