#pragma once

#include "cli/command.h"

int demo_command(const struct config *config, struct arena *a);
