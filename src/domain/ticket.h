/* domain/ticket.h - support tickets: a subject, a department, a conversation.
 *
 * `open` waits for staff, `answered` for the customer. A message moves the ticket to the other side's turn, even from
 * `closed`. A ticket's messages are written while its row is locked, so their ids and times grow in the order of the
 * conversation, and last_reply_at is the time of the last one. All functions need TX_WRITE unless said otherwise. */
#pragma once

#include "db/db.h"

enum ticket_status { TICKET_OPEN, TICKET_ANSWERED, TICKET_CLOSED };
extern const char *const ticket_status_names[];

#define TICKET_SUBJECT_MAX 255
#define TICKET_MESSAGE_MAX 50000
/* Of a request that holds a message: each code point may come as two escapes of six bytes. */
#define TICKET_BODY_BYTES (TICKET_MESSAGE_MAX * 12 + 16 * 1024)

struct ticket {
    Id id, account, department_id;
    Str subject;
    Str department;          /* its name */
    Id order_id, license_id; /* what it is about, the customer's own; 0: nothing was named */
    enum ticket_status status;
    Time created_at, last_reply_at;
};

struct ticket_message {
    Id id;
    bool by_staff;
    Str author_name; /* never empty: a customer without a name is called by the e-mail address, staff "Support" */
    Str body;
    Time created_at;
};

/* A place in a list sorted by latest activity, newest first: after (last_reply_at, id); zeros: the start. */
struct ticket_page {
    Time after;
    Id after_id;
    int64_t limit;
};

/* Which ids of a ticket are not there for its customer. */
struct ticket_unknown {
    bool department, order, license;
};
/* Of `want` account, department, subject, order and licence are read; a licence brings its order along. With
 * ERR_FIELD_NOT_FOUND *ret_unknown says what: no such department, or it takes no tickets; an order or a licence that is
 * not the account's own. */
enum err ticket_create(struct db *db, const struct ticket *want, Str message, Time now, struct ticket *ret,
                       struct ticket_unknown *ret_unknown);

/* TX_READ is enough. ERR_NOT_FOUND. With an `account`, somebody else's is not found either. */
enum err ticket_find(struct db *db, Id id, Id account, struct ticket *ret);
enum err ticket_list_account(struct db *db, Id account, const struct ticket_page *page, struct ticket **ret,
                             size_t *ret_count);
/* Everybody's, for staff; status -1 and department 0 mean any. */
enum err ticket_list_all(struct db *db, int status, Id department, const struct ticket_page *page, struct ticket **ret,
                         size_t *ret_count);
#define TICKET_PAGE_BYTES (1024 * 1024)
#define TICKET_STAFF_MESSAGES_MAX 1000 /* that staff see at once */
/* The newest `limit` messages with an id below `before` (0: the newest of all), oldest first; fewer when they exceed
 * TICKET_PAGE_BYTES together, but at least one. */
enum err ticket_messages(struct db *db, Id id, Id before, int64_t limit, struct ticket_message **ret,
                         size_t *ret_count);

/* By the customer: ERR_NOT_FOUND for somebody else's ticket. */
enum err ticket_reply(struct db *db, Id id, Id account, Str message, Time now, struct ticket_message *ret);
/* Closing a closed ticket changes nothing and is not an error. */
enum err ticket_close(struct db *db, Id id, Id account, Time now, struct ticket *ret);

/* By staff: the customer is told. ERR_NOT_FOUND. */
enum err ticket_reply_staff(struct db *db, Id id, Id staff, Str message, Time now, struct ticket_message *ret);
/* Locks the ticket until the transaction ends. ERR_NOT_FOUND. */
enum err ticket_lock(struct db *db, Id id, struct ticket *ret);
enum err ticket_set_status(struct db *db, Id id, enum ticket_status status, Time now, struct ticket *ret);
/* ERR_FIELD_NOT_FOUND: no such department. A department that takes no new tickets may still be given one by staff. */
enum err ticket_move(struct db *db, Id id, Id department, struct ticket *ret);
/* Names the order and the licence that it is about; 0: none. As ticket_create. */
enum err ticket_set_about(struct db *db, Id id, Id order, Id license, struct ticket *ret,
                          struct ticket_unknown *ret_unknown);
