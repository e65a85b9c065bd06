/* domain/serial_hint.h - where to begin looking for a free code in a pool.
 *
 * PostgreSQL keeps the index entries of sold codes for as long as any snapshot is older than the sale (a backup, a long
 * report), and every search for the first free code walks over all of them. The process therefore remembers the code
 * that was last taken from a pool and begins there. This is only a hint: codes below it may be free again (a rollback)
 * or appear late (a slow import). So a search that finds nothing after the hint begins again at the start, and every
 * SERIAL_HINT_LASTS one does so anyway. */
#pragma once

#include "base/id.h"
#include "base/timestamp.h"

#define SERIAL_HINT_LASTS (10 * TIME_SECOND)

/* The id to begin at; 0: the beginning. */
Id serial_hint(Id product, Id variant, Time now);
/* The same for who only looks, and takes nothing. */
Id serial_hint_peek(Id product, Id variant);
/* This code was taken. `from`: where its search began. */
void serial_hint_note(Id product, Id variant, Id from, Id taken);
/* The product has new codes. */
void serial_hint_forget(Id product);
