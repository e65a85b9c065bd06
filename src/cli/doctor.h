/* cli/doctor.h - `souk doctor`: looks at everything that a store depends on and says in plain words what is wrong and
 * what to do. Changes nothing, and never prints a secret. Exit code, as monitoring plugins have it: 0 all is well, 1
 * something deserves a look, 2 something is broken. */
#pragma once

#include "cli/command.h"

enum finding_level { FINDING_OK, FINDING_LOOK, FINDING_BROKEN };

struct finding {
    enum finding_level level;
    const char *subject; /* clock, permissions, … */
    Str what;
    const char *action; /* what to do; "": nothing */
};

#define FINDINGS_MAX 128

struct outbound;

struct doctor {
    const struct config *config;
    struct arena *arena;
    struct database *database; /* NULL: it cannot be opened, or has another schema */
    bool has_key;
    struct outbound *outbound;
    struct finding findings[FINDINGS_MAX];
    size_t count;
};

void doctor_found(struct doctor *d, enum finding_level level, const char *subject, Str what, const char *action);

/* Each adds at least one finding. In this order: later ones need what earlier ones opened. */
void doctor_clock(struct doctor *d);       /* doctor_machine.c */
void doctor_permissions(struct doctor *d); /* doctor_machine.c */
void doctor_disk(struct doctor *d);        /* doctor_machine.c */
void doctor_database(struct doctor *d);    /* doctor_store.c: the schema, too */
void doctor_key(struct doctor *d);         /* doctor_store.c */
void doctor_records(struct doctor *d);     /* doctor_store.c: the clock, as the database sees it */
void doctor_backup(struct doctor *d);      /* doctor_store.c */
void doctor_mail(struct doctor *d);        /* doctor_outside.c */
void doctor_gateways(struct doctor *d);    /* doctor_outside.c */
void doctor_address(struct doctor *d);     /* doctor_outside.c */

int doctor_command(const struct config *config, struct arena *a);
