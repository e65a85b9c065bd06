/* cli/routes_list.h */
#pragma once

#include "cli/command.h"

int routes_command(const struct config *config, struct arena *a);
