#pragma once

#include "cli/command.h"

/* `souk manual 1|5`: souk(1) or souk.conf(5), for man. */
int manual_command(const struct config *config, struct arena *a);
/* `souk completion`: for bash. */
int completion_command(const struct config *config, struct arena *a);
