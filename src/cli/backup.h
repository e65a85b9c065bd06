/* cli/backup.h - souk backup create, verify, restore, keygen. */
#pragma once

#include "cli/command.h"

int backup_create_command(const struct config *config, struct arena *a);
int backup_verify_command(const struct config *config, struct arena *a);
int backup_restore_command(const struct config *config, struct arena *a);
int backup_keygen_command(const struct config *config, struct arena *a);
