/* tests/sim/check.h - are the books in order, and is everything there that was acknowledged? Reads the database file
 * with queries of its own, and shares no code with the server. */
#pragma once

#include "disk.h"
#include "facts.h"

struct checker;

/* A connection that stays open while what lies on the disk is exchanged beneath it. `name` is the disk's, mounted for
 * it. NULL: the database cannot be opened. */
struct checker *checker_open(struct disk *d, const char *name);
void checker_close(struct checker *c);
/* The disk was exchanged, as after a power cut: the log is read again, by SQLite's own recovery. False: something is
 * wrong, and `why` says what. `thorough`: SQLite's integrity_check, too. */
bool checker_run(struct checker *c, const struct facts *facts, bool thorough, char *why, size_t bytes);
