/* api/open/panel_none.c - replaces the panel's files in a build without the panel: /admin/ is then 404. */
#include "api/open/panel.h"

const struct web_file panel_files[] = {{0}};
