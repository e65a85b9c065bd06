/* tests/sim/control.h - a server that is broken on purpose: what the simulation must find. */
#pragma once

enum control {
    CONTROL_NONE,
    CONTROL_EARLY,   /* answers are sent before their transaction is committed */
    CONTROL_KEYLESS, /* what was kept under a key is not looked for */
    CONTROL_UNPAID,  /* orders are delivered, and the ledger has no entry */
    CONTROL_SERIAL,  /* the same serial code for everybody */
    CONTROL_COUPON,  /* uses of a coupon are not counted */
    CONTROLS
};

struct database;

void control_set(enum control c);
const char *control_name(enum control c);
/* The server has opened its database. */
void control_started(struct database *d);
