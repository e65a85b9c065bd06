#pragma once

#include "cli/command.h"

int account_create_command(const struct config *config, struct arena *a);
int token_create_command(const struct config *config, struct arena *a);

/* --email, trimmed and lower-case. False when it is not an e-mail address. */
bool cli_email(const struct config *config, struct arena *a, Str *ret);
