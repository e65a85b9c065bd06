/* domain/backup_record.h - which backups were made, and which of them were proven to be good: what the dashboard, the
 * checklist and the metrics say. The newest few are kept. */
#pragma once

#include "db/db.h"

struct backup_record {
    Str name;         /* of the file */
    int64_t bytes;    /* its length */
    int64_t rows;     /* in it */
    Time made_at;     /* when its snapshot began */
    Time verified_at; /* none: it was not restored and checked */
};

/* TX_WRITE. */
enum err backup_record_add(struct db *db, const struct backup_record *r);
/* When the newest backup was made, and when the newest verified one was made; none: never. TX_READ is enough. */
enum err backup_record_last(struct db *db, Time *ret_made, Time *ret_verified);

/* What a command tells the server beside which it has made a backup: a text in a file of the data folder, which the
 * server reads. */
Str backup_record_text(struct arena *a, const struct backup_record *r);
bool backup_record_parse(Str text, struct backup_record *ret);
/* One for each, so that a backup that was not verified does not hide one that was. */
#define BACKUP_RECORD_FILE "last-backup"
#define BACKUP_VERIFIED_FILE "last-verified-backup"
