#pragma once

#include "cli/command.h"

int serials_import_command(const struct config *config, struct arena *a);
