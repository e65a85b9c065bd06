/* api/open/panel_none.c - stands in for the panel's files where it is not built: /admin/ is 404 then. */
#include "api/open/panel.h"

const struct panel_file panel_files[] = {{0}};
