/* cli/control.h - commands that change data, beside a running server.
 *
 * A server owns its SQLite file, and with both engines it has caches and limits in memory. So it listens at a socket in
 * the data folder (--control-socket), and a command with `through_server` hands its words, arguments and input over
 * and prints what comes back. The server runs the same function, on a thread of its own, one command at a time. Only
 * root and the server's own user are heard: the kernel says who is at the other end.
 *
 * The socket of the newest server stands in the folder: its name is moved there in one step, so a file that a crash
 * left behind is in nobody's way, and a server that starts while another one drains takes over. */
#pragma once

#include "cli/command.h"

struct control;

/* NULL after logging why there is none: the server works without. */
struct control *control_start(const struct config *config, struct database *d);
/* A running command ends first. */
void control_stop(struct control *c);

/* True: the running server has carried the command out, or has refused it; *ret is the exit code. False: no server of
 * this store answers, and nothing has happened. */
bool control_call(const struct command *command, const struct config *config, struct arena *a, int *ret);
