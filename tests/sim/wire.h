/* tests/sim/wire.h - the way between clients and the router without sockets: takes the place of http/server.h.
 *
 * A request is the bytes that a client would send; the real codec reads them. The answer is handed to the client at the
 * moment at which the server would have written it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_answer {
    int status;
    const char *body;
    size_t body_length;
};

/* The answer's bytes are gone when it returns. */
typedef void wire_heard(void *client, const struct wire_answer *answer);

void wire_send(const char *request, size_t length, wire_heard *heard, void *client);
/* One turn of the event loop; false: there was nothing to do. */
bool wire_turn(void);
/* Requests that wait for their answer. */
int wire_open(void);
