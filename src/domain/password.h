/* domain/password.h - argon2id. Slow on purpose: only ever called on the blocking pool or in the CLI. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "domain/account.h"

#define PASSWORD_MIN 10
#define PASSWORD_MAX 256

/* Customers 19 MiB and 2 passes, staff 64 MiB and 3. Empty Str: out of memory. */
Str password_hash(struct arena *a, Str password, enum role role);
/* With an empty hash (unknown account) it costs the same and is false. */
bool password_verify(Str hash, Str password);
