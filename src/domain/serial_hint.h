/* domain/serial_hint.h - where to begin looking for a free code in a pool.
 *
 * PostgreSQL keeps the index entries of sold codes for as long as any snapshot is older than the sale (a backup, a long
 * report), and whoever looks for the first free code walks over all of them, each time. The process therefore remembers
 * the code that was last taken from a pool, and begins there. It is a hint, no more: codes below it may be free again
 * (somebody rolled back) or appear late (an import that took long). So whoever finds nothing behind the hint looks
 * again from the beginning, and every SERIAL_HINT_LASTS somebody does anyway. */
#pragma once

#include "base/id.h"
#include "base/timestamp.h"

#define SERIAL_HINT_LASTS (10 * TIME_SECOND)

/* The id to begin at; 0: the beginning. */
Id serial_hint(Id product, Id variant, Time now);
/* This code was taken. `from`: what the look for it began at. */
void serial_hint_note(Id product, Id variant, Id from, Id taken);
/* The product has new codes. */
void serial_hint_forget(Id product);
