/* page/asset.h - the shop's own files, made from web/shop/assets at build time. */
#pragma once

#include "base/str.h"

struct asset {
    const char *file; /* as in web/shop/assets */
    const char *name; /* as in /assets/NAME: carries a hash of the content */
    const char *content_type;
    const char *plain_etag, *gzip_etag; /* strong, quoted; the two variants are different bytes */
    Str plain, gzip;
};

extern const struct asset assets[]; /* ends with {0} */
