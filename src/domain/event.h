/* domain/event.h - what happened, for other systems: written in the transaction of the change, kept for 30 days.
 *
 * An event holds its resource as it was then, as JSON. How a resource looks is for the view to say: the program
 * installs view_event (view/view_event.h) here before anything is changed. In the text, marks stand for licence keys
 * and codes, which are sealed beside it.
 *
 * Events of orders that are delivered on the spot, and of the licences that any order delivers, are not written out:
 * all that they tell follows from rows that nobody changes. Code that changes one after all (another key,
 * another end, another e-mail address) has the events written out first: event_write_out. See docs/decisions/0038. */
#pragma once

#include "db/db.h"

enum event_type {
    EVENT_ORDER_CREATED,
    EVENT_ORDER_CONFIRMED,
    EVENT_ORDER_CANCELLED,
    EVENT_ORDER_REFUNDED,
    EVENT_ORDER_DISPUTED,
    EVENT_PAYMENT_REVIEW,
    EVENT_LICENSE_CREATED,
    EVENT_LICENSE_BOUND,
    EVENT_LICENSE_RELEASED,
    EVENT_LICENSE_REVOKED,
    EVENT_LICENSE_REINSTATED,
    EVENT_LICENSE_EXPIRED,
    EVENT_WALLET_CREDITED,
    EVENT_WITHDRAWAL_REQUESTED,
    EVENT_WITHDRAWAL_APPROVED,
    EVENT_WITHDRAWAL_REJECTED,
    EVENT_TICKET_CREATED,
    EVENT_TICKET_REPLIED,
    EVENT_TICKET_CLOSED,
    EVENT_CUSTOMER_CREATED,
    EVENT_STOCK_LOW,
    EVENT_STOCK_EMPTY,
    EVENT_PING,
    EVENT_TYPES,
};
extern const char *const event_type_names[];
/* The same words, and "*" behind them: what an endpoint may ask for. */
extern const char *const event_choice_names[];
#define EVENT_ALL (1u << EVENT_TYPES)

#define EVENT_MARK_KEY STR("\x01") /* in the data: the next of the keys */

/* What the view makes of a resource. */
struct event_text {
    Str data; /* an object */
    Str keys; /* in the order of their marks, each ended by '\n'; empty: none */
};
/* `thing` is the domain's struct where the event needs one, else NULL. EVENT_AS_MADE: the resource as it was made,
 * whatever has become of it since. */
typedef enum err event_view(struct db *db, enum event_type type, Id resource, const void *thing,
                            struct event_text *ret);
extern const char event_as_made[];
#define EVENT_AS_MADE ((const void *)event_as_made)
/* A ticket's messages are never changed, and may be many: an event keeps the number of the last one, and the view puts
 * the messages there when somebody asks. */
typedef enum err event_finish(struct db *db, Id ticket, struct event_text *text);
/* Once, before any thread starts. */
void event_install(event_view *view, event_finish *finish);

/* About a resource. TX_WRITE; the view reads it at the end of the transaction, when all that belongs to the change is
 * there, and what others will see first is what the event tells. */
enum err event_add(struct db *db, enum event_type type, Id resource, Time now);
/* The same with the thing, in db_arena(db). */
enum err event_add_thing(struct db *db, enum event_type type, Id resource, const void *thing, Time now);
/* At once; ret: the event's id. */
enum err event_add_ping(struct db *db, Id endpoint, Time now, Id *ret);
/* Not written out: order.created and order.confirmed of an order delivered on the spot. */
enum err event_add_placed(struct db *db, Id order, Time now);
/* license.created, of a licence that an order delivers. */
struct license_made;
enum err event_add_delivered(struct db *db, const struct license_made *license, Time now);
/* Before a licence's key or end changes; before a code of an order does; before an account's address does. */
enum err event_write_out_license(struct db *db, Id license);
enum err event_write_out_order(struct db *db, Id order);
enum err event_write_out_account(struct db *db, Id account);

struct event {
    Id id;
    enum event_type type;
    Id resource;
    Str data, keys; /* see view_event_data */
    Time created_at;
};
/* The columns that event_read takes, in its order; the table is named e. event_open comes next, when the statement is
 * done. */
#define EVENT_COLUMNS "e.id, e.type, e.resource_id, e.data, e.keys, e.created_at"
void event_read(struct stmt *st, struct event *ret);
/* Writes out and unseals, in memory. TX_READ is enough. */
enum err event_open(struct db *db, struct event *e);

/* Oldest first, ids above `after`, of these types (a bit set; EVENT_ALL: all), none that another may still appear
 * before. TX_READ is enough. */
enum err event_list(struct db *db, Id after, unsigned types, Time now, int64_t limit, struct event **ret,
                    size_t *ret_count);
enum err event_find(struct db *db, Id id, struct event *ret);

/* Up to which id all events are there: nothing will appear below. TX_READ is enough. */
enum err event_settled(struct db *db, Id *ret);
/* PostgreSQL: who was writing when the last number was looked at; once they have ended, the number is settled. */
struct event_watch {
    Id last;
    Str writers; /* ",123,124," */
    char room[2048];
};
/* PostgreSQL. Looks, and moves the horizon as far as is known. ERR_NEEDS_WRITE in a read when it has moved. */
enum err event_settle(struct db *db, struct event_watch *watch);

/* Deletes what is older than 30 days, with its deliveries; at most `limit`. TX_WRITE. */
enum err event_expire(struct db *db, Time now, int64_t limit);
