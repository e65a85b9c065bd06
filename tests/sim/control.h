/* tests/sim/control.h - a server that is broken on purpose: what the simulation must find. */
#pragma once

enum control {
    CONTROL_NONE,
    CONTROL_EARLY, /* answers are sent before their transaction is committed */
    CONTROLS
};

void control_set(enum control c);
const char *control_name(enum control c);
