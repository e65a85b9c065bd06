/* api/open/panel.h - the files of the admin panel, made from web/src at build time. A build without the panel has none.
 */
#pragma once

#include "api/open/web_file.h"

extern const struct web_file panel_files[]; /* ends with {0} */
