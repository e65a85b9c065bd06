#pragma once

#include "cli/command.h"

int wallet_credit_command(const struct config *config, struct arena *a);
