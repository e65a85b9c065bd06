/* serve/backup_schedule.h - backups that the server makes by itself, on a thread of its own: made, restored and
 * checked, recorded, handed to the operator's program, and the oldest removed.
 *
 * The files are FOLDER/souk-20261115T012345Z.souk; nothing else in the folder is touched, except what an interrupted
 * backup or check of ours has left there. A backup that is not good is kept for a look, and no older one is removed for
 * it. The thread also reads what `souk backup create` has left for the server (domain/backup_record.h). */
#pragma once

#include <stdatomic.h>

#include "backup/archive.h"
#include "db/tx.h"

struct backup_options {
    const char *url;    /* of the database: a snapshot has a connection of its own */
    const char *folder; /* "": none are made */
    const char *hook;   /* program to run with the path of a new backup; "": none */
    int64_t every_ms;   /* from one to the next */
    int64_t keep;       /* how many; 0: all */
    bool is_unverified; /* do not restore and check them */
    bool is_sealed;
    uint8_t recipient[ARCHIVE_KEY_BYTES]; /* if sealed: to this public key */
};

struct backup_schedule;
/* The options and the data folder must outlive it. */
struct backup_schedule *backup_schedule_start(struct database *database, const char *data_dir,
                                              const struct backup_options *options);
/* Backups that could not be made or were not good, since the start. */
int64_t backup_schedule_failures(const struct backup_schedule *s);
/* Gives up a backup that is being made. */
void backup_schedule_stop(struct backup_schedule *s);
