/* db/lock.h - who may write: one souk per SQLite file; on PostgreSQL everybody, unless souk move has the store for
 * itself.
 *
 * The lock file stands beside the database (FILE.lock), holds the owner's process id for the message that the next
 * process prints, and is never removed: removing it would let two processes lock two different files of the same name.
 * The lock itself is the kernel's and ends with the process, even if it crashes. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* PostgreSQL: every session that may write holds this advisory lock, shared. */
#define LOCK_OF_WRITERS "1936684396"

/* ERR_CONFLICT when another process has it. Give ret_fd to lock_release. */
enum err lock_take(const char *database_path, int *ret_fd, char *ret_why, size_t why_bytes);
void lock_release(int fd);
