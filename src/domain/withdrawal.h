/* domain/withdrawal.h - money on its way out.
 *
 * Requested: the amount moves from the wallet to `held` at once, so that it cannot be spent twice. Approved: it moves
 * on to `paid out`. Rejected: it goes back to the wallet. Each is one transfer, and each happens once: a conditional
 * update leaves `pending`. The customer is told of either decision. All functions need TX_WRITE unless said otherwise.
 */
#pragma once

#include "db/db.h"

enum withdrawal_status { WITHDRAWAL_PENDING, WITHDRAWAL_APPROVED, WITHDRAWAL_REJECTED, WITHDRAWAL_CANCELLED };
extern const char *const withdrawal_status_names[];

struct withdrawal {
    Id id, account;
    Money amount;
    enum withdrawal_status status;
    Str destination; /* where the money goes; may be empty */
    Id first_by;     /* the first of the two people who must approve it; 0: nobody yet */
    Str reason;      /* of a rejection; may be empty */
    Time requested_at, decided_at;
    Id decided_by;
};

/* ERR_FIELD_RANGE: outside the store's limits; ERR_EXCEEDS_BALANCE: the wallet does not hold that much. Post-pay credit
 * does not count. */
enum err withdrawal_request(struct db *db, Id account, Money amount, Str destination, Time now, struct withdrawal *ret);

/* `by` is the member of staff, or 0: the command line. Above `two_above` (0: off) two different people must approve it:
 * after the first it is still pending. ERR_NOT_FOUND; ERR_INVALID_STATE: already decided; ERR_OWN_ACCOUNT: `by` owns
 * it; ERR_SECOND_PERSON_NEEDED: `by` was the first. */
enum err withdrawal_approve(struct db *db, Id id, Id by, Money two_above, Time now, struct withdrawal *ret);
enum err withdrawal_reject(struct db *db, Id id, Id by, Str reason, Time now, struct withdrawal *ret);
/* The owner cancels it: as a rejection, while it is pending. */
enum err withdrawal_cancel(struct db *db, Id id, Id account, Time now, struct withdrawal *ret);

/* TX_READ is enough. ERR_NOT_FOUND. With an `account`, somebody else's is not found either. */
enum err withdrawal_find(struct db *db, Id id, Id account, struct withdrawal *ret);
/* Newest first, the `limit` below id `before` (0: the newest of all). TX_READ is enough. */
enum err withdrawal_list_account(struct db *db, Id account, Id before, int64_t limit, struct withdrawal **ret,
                                 size_t *ret_count);
/* Those of every customer in one state. */
enum err withdrawal_list_status(struct db *db, enum withdrawal_status status, Id before, int64_t limit,
                                struct withdrawal **ret, size_t *ret_count);
enum err withdrawal_list_all(struct db *db, Id before, int64_t limit, struct withdrawal **ret, size_t *ret_count);
