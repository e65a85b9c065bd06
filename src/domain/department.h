/* domain/department.h - the parts of the support desk that tickets are addressed to. */
#pragma once

#include "db/db.h"

struct department {
    Id id;
    Str name;       /* unique */
    bool is_active; /* takes new tickets and is shown to customers */
};

/* By name. TX_READ is enough. */
enum err department_list(struct db *db, bool active_only, struct department **ret, size_t *ret_count);
/* ERR_NOT_FOUND. TX_READ is enough. */
enum err department_find(struct db *db, Id id, struct department *ret);

/* ERR_NAME_TAKEN. TX_WRITE, as the following. */
enum err department_create(struct db *db, Str name, bool is_active, struct department *ret);
/* Sets name and flag of d->id. ERR_NOT_FOUND, ERR_NAME_TAKEN. */
enum err department_update(struct db *db, const struct department *d);
/* ERR_NOT_FOUND; ERR_INVALID_STATE when the department ever had a ticket: switch it off instead. */
enum err department_delete(struct db *db, Id id);
