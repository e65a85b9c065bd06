/* cli/move_store.h - souk move. */
#pragma once

#include "cli/command.h"

int move_command(const struct config *config, struct arena *a);
