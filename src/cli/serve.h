#pragma once

#include "cli/command.h"

int serve_command(const struct config *config, struct arena *a);
