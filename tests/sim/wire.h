/* tests/sim/wire.h - the way between clients and the router without sockets: takes the place of http/server.h.
 *
 * A client sends bytes; the real codec reads them, one request after the other, as on a connection. Each answer is
 * handed to the client at the moment at which the server would have written it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_answer;

struct wire_answer {
    int status;
    const char *body;
    size_t body_length;
    const struct http_answer *whole;
};

/* The answer's bytes are gone when it returns. */
typedef void wire_heard(void *client, const struct wire_answer *answer);

void wire_send(const char *request, size_t length, wire_heard *heard, void *client);
/* The same for any bytes, from that address. The client stays to hear the answers, or is gone once it has sent all. */
void wire_talk(const char *bytes, size_t length, const char *peer, bool stays, wire_heard *heard, void *client);
/* One turn of the event loop; false: there was nothing to do. */
bool wire_turn(void);
/* Connections on which something is still to be done. */
int wire_open(void);
