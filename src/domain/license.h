/* domain/license.h - licences: what was promised to whom, and whether it still holds.
 *
 * A licence is active, revoked (by staff, who can reinstate it) or refunded (for good). On hold means that its order is
 * disputed: the licence counts as revoked until the dispute ends. It expires when expires_at has passed. It is bound to
 * the first hardware id with which it is verified; only staff can unbind it. */
#pragma once

#include "db/db.h"
#include "domain/license_key.h"

enum license_status { LICENSE_ACTIVE, LICENSE_REVOKED, LICENSE_REFUNDED };
extern const char *const license_status_names[];

struct license {
    Id id;
    Str key; /* as delivered */
    Id product_id, variant_id, account_id;
    Id order_id;             /* 0: given by staff */
    Str product_name, email; /* filled in by the functions that read */
    enum license_status status;
    bool on_hold;
    Str reason;      /* of a revocation */
    Time expires_at; /* 0: never */
    Str hardware_id; /* empty: unbound */
    Time bound_at, created_at, last_seen_at;
    int64_t seen_count;
};

/* The verdict on a valid licence. */
struct license_verdict {
    Id license_id, account_id;
    Time expires_at;
    Str hardware_id; /* what it is bound to; empty: unbound */
};

/* ERR_LICENSE_NOT_FOUND (also for another product's), ERR_LICENSE_REVOKED, ERR_LICENSE_EXPIRED, ERR_HARDWARE_MISMATCH,
 * in this order. An unbound licence is bound to `hardware_id` if one is given: of any number of concurrent callers one
 * wins, the others see a mismatch. TX_READ is enough unless it has to bind: then ERR_NEEDS_WRITE. */
enum err license_verify(struct db *db, Str key, Id product, Str hardware_id, Time now, struct license_verdict *ret);

/* A licence of this transaction, for a statement that refers to it: SQLite has its id, PostgreSQL, where nobody waits
 * for the row, finds it by its key. `n` is the parameter that license_bind_made binds. */
struct license_made {
    Id id; /* SQLite */
    uint8_t hash[LICENSE_HASH_BYTES];
};
#define LICENSE_MADE_SQLITE(n) n
#define LICENSE_MADE_POSTGRES(n) "(SELECT id FROM license WHERE key_hash = " n ")"
void license_bind_made(struct stmt *st, const struct license_made *made);

/* Makes a key for one unit of an order item (TX_WRITE). Only ids, prefix and expiry are read from `l`; *ret_key is in
 * the arena. */
enum err license_make(struct db *db, const struct license *l, Id order_item, Str prefix, Time now, Str *ret_key,
                      struct license_made *ret);
/* When a licence that starts now ends: 0 days is never. */
Time license_expiry(Time now, int64_t days);

/* Granted by staff, without an order. ERR_PRODUCT_NOT_FOUND; ERR_FIELD_NOT_FOUND: the variant is not of this product;
 * ERR_NOT_FOUND: no such account. Any product will do, sold or not. */
enum err license_issue(struct db *db, Id product, Id variant, Id account, Time expires_at, Time now,
                       struct license *ret);

/* A licence that another system sold, with its key. Nothing happens when the key is known. TX_WRITE. */
enum err license_import(struct db *db, const struct license *l);
enum err license_key_is_known(struct db *db, Str key, bool *ret);

/* ERR_NOT_FOUND. */
enum err license_find(struct db *db, Id id, struct license *ret);
/* Newest first, ids below `before` (0: all). */
enum err license_list(struct db *db, Id account, Id before, int64_t limit, struct license **ret, size_t *ret_count);
/* For staff: a whole key, or part of its owner's e-mail address; empty: all. */
enum err license_search(struct db *db, Str q, Id before, int64_t limit, struct license **ret, size_t *ret_count);

/* By staff. ERR_NOT_FOUND; ERR_INVALID_STATE: revoking what is not active, reinstating what is not revoked. */
enum err license_revoke(struct db *db, Id id, Str reason, Time now);
enum err license_reinstate(struct db *db, Id id, Time now);
/* Unbinding what is not bound changes nothing. */
enum err license_clear_hardware(struct db *db, Id id, Time now);
/* 0: never expires. A refunded licence cannot be extended: ERR_INVALID_STATE. */
enum err license_set_expiry(struct db *db, Id id, Time expires_at);

/* Replaces the key with a new one, unbound; the old key is no longer ours. A licence that is not active keeps its key:
 * ERR_INVALID_STATE. ERR_NOT_FOUND. */
enum err license_replace_key(struct db *db, Id id, Time now);

/* Everything that one order gave. */
enum err license_refund_order(struct db *db, Id order, Time now);
enum err license_hold_order(struct db *db, Id order, bool on_hold, Time now);

/* Tells of licences that have expired, once each; some at a time. ERR_NEEDS_WRITE in a read when there are any. */
enum err license_tell_expired(struct db *db, Time now);

/* Counts verifications that were collected in memory: `count` more, the latest at `at`. */
enum err license_seen(struct db *db, Id id, int64_t count, Time at);
/* The same for many, in order of their ids: PostgreSQL, which does it by one statement. */
struct license_use {
    Id id;
    int64_t count;
    Time at;
};
enum err license_seen_all(struct db *db, const struct license_use *uses, size_t count);
