/* domain/audit.h - who changed what. Written in the transaction of the change; never changed afterwards. */
#pragma once

#include "db/db.h"

struct audit_entry {
    Id id;
    Id actor; /* 0: the command line */
    Str actor_email;
    Str action; /* "product.update": the resource, then the action */
    Id resource;
    Str label;
    Str before, after; /* JSON; empty: nothing */
    Str request_id, address;
    Time created_at;
};

enum err audit_add(struct db *db, const struct audit_entry *entry);

struct audit_filter {
    Str action;  /* a whole action, or the part before the dot; empty: all */
    Id actor;    /* 0: all */
    Id resource; /* 0: all */
    Str q;       /* a part of the label, or of the actor's name or e-mail address; empty: all */
};
/* Newest first, with an id below `before` (0: from the newest). */
enum err audit_list(struct db *db, const struct audit_filter *filter, Id before, int64_t limit,
                    struct audit_entry **ret, size_t *ret_count);
