/* domain/notification.h - what a customer is told: kept in a list that the customer can read. */
#pragma once

#include "db/db.h"
#include "page/template.h"

struct notification {
    Id id;
    Str kind;     /* withdrawal_approved, withdrawal_rejected, ticket_answered, … */
    Str message;  /* a sentence for people */
    Id reference; /* what it is about: the withdrawal, ticket, order …; 0: nothing */
    bool is_read;
    Time created_at;
};

/* Tells `account`, in the transaction of what happened. `id`, `is_read` and `created_at` are not read. TX_WRITE. */
enum err notification_add(struct db *db, Id account, const struct notification *n, Time now);
/* Tells `account` in words of `reader`, their language: n->message is not read. */
enum err notification_say(struct db *db, Id account, const struct notification *n, struct page *reader, enum word word,
                          const Str *args, size_t arg_count, Time now);
/* The arguments of a word and how many there are. */
#define SAYING(...) (const Str[]){__VA_ARGS__}, sizeof((const Str[]){__VA_ARGS__}) / sizeof(Str)
/* Tells all staff, as notification_add does. */
enum err notification_add_staff(struct db *db, const struct notification *n, Time now);
/* And for the owners alone. */
enum err notification_add_owners(struct db *db, const struct notification *n, Time now);

/* The newest `limit` with an id below `before` (0: the newest of all), newest first. TX_READ is enough. */
enum err notification_list(struct db *db, Id account, Id before, int64_t limit, struct notification **ret,
                           size_t *ret_count);
/* Only unread ones. */
enum err notification_list_unread(struct db *db, Id account, int64_t limit, struct notification **ret,
                                  size_t *ret_count);

/* Marks all up to this one, the newest that the customer saw, as read. *ret_marked: how many were new. TX_WRITE. */
enum err notification_mark_read(struct db *db, Id account, Id up_to, int64_t *ret_marked);
