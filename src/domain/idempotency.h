/* domain/idempotency.h - one key, one effect, one answer.
 *
 * claim() comes first in the transaction of the effect, store() last: the row and the effect exist together or not at
 * all. A concurrent copy waits in claim() until the first has ended, and then finds its answer. On PostgreSQL it waits
 * for the row that claim() made. On SQLite there is one writer, so claim() only looks and store() writes the row; a
 * refused request has then written nothing at all. A group on PostgreSQL does the same; should the key have been taken
 * meanwhile, the unique index undoes the group, and each request is run by itself. Answers are sealed: they may hold
 * tokens and licence keys.
 *
 * The answer to a usual order follows from the order. On SQLite its key stands in the order's own row, and no answer is
 * kept (docs/decisions/0091): order_place keeps the key, and before anything changes that the answer says, the answer
 * is written out (idempotency_write_out). PostgreSQL reads such keys of a store that was moved there. */
#pragma once

#include "db/db.h"
#include "domain/key_index.h"

#define IDEMPOTENCY_DAYS 30
#define REQUEST_HASH_BYTES 16

/* Answers that one account keeps. Past each limit those kept for longest go, and their keys stay. */
#define KEPT_LONG 8192 /* a longer answer is long */
#define KEPT_LONG_BYTES (8 * 1024 * 1024)
#define KEPT_LONG_COUNT 500
/* Others are short, and more than anybody repeats: with what is not counted yet about 10,064 are kept, 79 MiB. */
#define KEPT_SHORT_COUNT 10000
#define KEPT_SHORT_LOOK 64
/* Small ones, such as that of an order, are no larger than what else the request leaves in the database. They are not
 * counted, up to so many of a day. */
#define KEPT_SMALL 1024
#define KEPT_SMALL_COUNT 10000

struct idempotency {
    Id account;
    uint8_t key_hash[KEY_HASH_BYTES];         /* the key is found under this; it belongs to one account and one route */
    uint8_t request_hash[REQUEST_HASH_BYTES]; /* what the request asked for */
};

/* A key as the caller sent it. Callers without an account (0) are distinguished by network address. */
struct idempotency_scope {
    Id account;
    Str network;
    const char *method, *path; /* the route's */
    Str key;
};

/* Hashes both, once for the request's life. */
void idempotency_init(const struct idempotency_scope *scope, Str target, Str body, struct idempotency *ret);

struct kept_answer {
    int status;   /* 0: nothing kept */
    Str location; /* header, may be empty */
    Str body;
};

/* Makes the body of the answer to an order again, byte for byte, as long as nothing in it was changed. */
typedef enum err idempotency_view(struct db *db, Id order, Str *ret);
/* Before any of the functions below. */
void idempotency_install(idempotency_view *view);

/* Only looks; TX_READ is enough while nothing is kept (ERR_NEEDS_WRITE: db_confirm_read). ret->status 0 when the key is
 * free. ERR_IDEMPOTENCY_KEY_REUSED: another request;
 * ERR_ANSWER_NOT_KEPT: it was done, and its answer had to make room for newer ones. */
enum err idempotency_find(struct db *db, const struct idempotency *i, Time now, struct kept_answer *ret);
/* In a group: it will be asked for soon (db_ahead). */
void idempotency_find_ahead(struct db *db, const struct idempotency *i, Time now);
/* In a group, when idempotency_find has just found the key free: ERR_RUN_ALONE when another request of the group has
 * the same key. */
enum err idempotency_join(struct db *db, const struct idempotency *i);
/* Takes the key, or finds its kept answer: as idempotency_find; in a group also ERR_RUN_ALONE. */
enum err idempotency_claim(struct db *db, const struct idempotency *i, Time now, struct kept_answer *ret);
/* In the transaction in which idempotency_claim has found the key free. */
enum err idempotency_store(struct db *db, const struct idempotency *i, Time now, const struct kept_answer *answer);
/* The same, when its key was just written into the row of this order. SQLite. */
enum err idempotency_store_order(struct db *db, const struct idempotency *i, Id order);
/* The answer to this order is about to be changed: it is kept as it was. TX_WRITE. */
enum err idempotency_write_out(struct db *db, Id order, Time now);
/* In a later one of the same request: what was stored before gives way. */
enum err idempotency_store_later(struct db *db, const struct idempotency *i, Time now,
                                 const struct kept_answer *answer);
/* Frees a key: what was done under it has been undone in this transaction. */
enum err idempotency_forget(struct db *db, const struct idempotency *i);
/* Forgets keys older than 30 days, at most `limit` of them. TX_READ is enough until there are any: ERR_NEEDS_WRITE. */
enum err idempotency_expire(struct db *db, Time now, int64_t limit);
