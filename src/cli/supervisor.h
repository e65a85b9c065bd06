/* cli/supervisor.h - what systemd, or another program that starts the server in the same way, gives to it and hears
 * from it: sd_listen_fds(3), sd_notify(3), sd_watchdog_enabled(3), in the few lines that the protocols take. All of it
 * is optional: without the variables in the environment nothing happens. */
#pragma once

#include "db/tx.h"
#include "http/server.h"

/* The listening socket that was handed over (LISTEN_FDS), or 0; -1 after saying why it cannot be used. */
int supervisor_socket(void);

/* One or more lines such as "READY=1", to NOTIFY_SOCKET. */
void supervisor_tell(const char *lines);

/* Tells the supervisor regularly that the server works, for as long as it does (WATCHDOG_USEC): each time every loop
 * has come around, and SQLite's writer has carried out a transaction. A server that merely has a living thread is
 * killed and started again. PostgreSQL is not asked: a database that is away is no reason to start souk again. */
struct pulse;
struct pulse *pulse_start(struct http_server *server, struct database *d); /* NULL: nobody watches */
void pulse_stop(struct pulse *p);
