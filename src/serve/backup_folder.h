/* serve/backup_folder.h - the folder of scheduled backups: names, retention, leftovers, and the operator's program. */
#pragma once

#include <stdatomic.h>

#include "base/timestamp.h"

/* FOLDER/souk-20261115T012345Z.souk. False: too long. */
bool backup_folder_name(const char *folder, Time now, char *ret, size_t bytes);
/* Removes the oldest beyond `keep` of the files that have such a name; 0: none. */
void backup_folder_keep(const char *folder, int64_t keep);
/* Removes what an interrupted backup or check has left more than an hour ago. */
void backup_folder_sweep(const char *folder);
/* Runs `program PATH`, without a shell and without our SOUK_* variables, and waits for its end, or until *stop. False,
 * and why, unless it ended with 0.
 */
bool backup_hook_run(const char *program, const char *path, const _Atomic bool *stop, char *ret_why, size_t why_bytes);
