/* db/sqlite_cache.h - SQLite's cache of pages, without a walk through all of it at the end of each commit. For db/
 * only.
 *
 * When SQLite splits a page of an index it may exchange the numbers of pages, by way of a number that no page of a file
 * has. Its cache remembers that number as the highest there is. At the end of the commit pages behind the end of the
 * file are dropped, and the cache looks for them everywhere: with 64 MiB of pages that is a tenth of an order's cost.
 * This cache is SQLite's own, but knows that nothing is left under that number, and does not look. */
#pragma once

/* Once, before SQLite is initialized. Without effect afterwards, which only costs speed. */
void sqlite_cache_install(void);
