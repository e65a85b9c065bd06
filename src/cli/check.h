#pragma once

#include "cli/command.h"

int check_command(const struct config *config, struct arena *a);
