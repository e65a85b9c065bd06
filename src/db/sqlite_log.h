/* db/sqlite_log.h - how the writer reaches the log of its database: a commit's pages go out in few writes. For db/
 * only.
 *
 * SQLite writes each page of a commit with two calls of the system, one of them for 24 bytes, and then syncs. This VFS
 * is the system's own, except for a log that is written through it: what is written behind one another is held back
 * until it is asked for, by a sync, a read, or a look at the length. Nobody else can miss what is held: the pages of a
 * commit are shown to other connections only after the sync (synchronous=FULL). */
#pragma once

/* The name for sqlite3_open_v2. SQLite has to be initialized. */
const char *sqlite_log_vfs(void);
