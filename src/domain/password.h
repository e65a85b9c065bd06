/* domain/password.h - argon2id. Slow on purpose: only ever called on the blocking pool or in the CLI. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

#define PASSWORD_MIN 10
#define PASSWORD_MAX 256

/* 19 MiB and 2 passes for everybody: the duration of a login must not tell staff from customers, or either from an
 * unknown address. Empty Str: out of memory. */
Str password_hash(struct arena *a, Str password);
/* With an empty hash (unknown account) it costs the same and is false. */
bool password_verify(Str hash, Str password);
/* From now on the smallest cost there is: for test runs, which make thousands of accounts whose passwords nobody wants.
 * The server refuses it wherever others can reach it. */
void password_make_cheap(void);
