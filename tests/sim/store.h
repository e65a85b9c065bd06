/* tests/sim/store.h - a server on a disk: the store as it is first made, and restarts of it. */
#pragma once

#include "disk.h"

#define CUSTOMERS 8
#define TOKEN_MAX 80

/* What clients know of the store that store_make has made. */
struct store_facts {
    char owner[TOKEN_MAX]; /* a staff token */
    struct {
        char token[TOKEN_MAX];
        int64_t account;
    } customers[CUSTOMERS];
    int64_t licensed, coded, cheap; /* products: licence keys, serial codes, licence keys that cost little */
};

/* Folder for the files that are not simulated: the lock file and a head of a database that tells what the disk holds.
 */
void store_folder(const char *path);
void store_remove(void);
/* Files that were uploaded. */
void store_empty(void);
/* A new store on an empty disk; the server is stopped at the end. */
void store_make(struct disk *d, struct store_facts *ret);
/* False: the store does not open; `why` says why. */
bool store_start(struct disk *d, char *why, size_t bytes);
void store_stop(void);
struct database;
struct database *store_database(void);
/* False once the server would end itself: the outcome of a commit is not known. */
bool store_is_healthy(void);
/* Errors that were logged since the last call, for faults that were not asked for. */
int store_take_errors(char *ret, size_t bytes);
