/* cli/data_export.h - `souk export KIND`: rows as `souk import` takes them, to stdout; `souk export all --to FOLDER`:
 * every table as a file of JSON lines. Memory does not grow with the store. */
#pragma once

#include "cli/command.h"

int export_command(const struct config *config, struct arena *a);
