#pragma once

#include "cli/command.h"

int account_create_command(const struct config *config);
int token_create_command(const struct config *config);
