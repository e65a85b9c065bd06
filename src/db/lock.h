/* db/lock.h - one writing souk per SQLite file.
 *
 * The lock file stands beside the database (FILE.lock), holds the owner's process number for the message to the next
 * one, and is never removed: removing it would let two processes lock two different files of the same name. The lock
 * itself is the kernel's and ends with the process, however it ends. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* ERR_CONFLICT when somebody else has it. ret_fd is to be given to lock_release. */
enum err lock_take(const char *database_path, int *ret_fd, char *ret_why, size_t why_bytes);
void lock_release(int fd);
