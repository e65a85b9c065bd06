/* domain/ledger.h - double entry: money only ever moves from one account to another.
 *
 * A transfer takes its amount from the debit account and gives it to the credit account. It is one row, never changed.
 * Wallets keep a balance beside their transfers, changed in the same transaction by guarded updates with a CHECK behind
 * them. System accounts keep no balance: theirs is the sum of their transfers. A wallet's transfers are made while its
 * row is locked, so their ids and times grow in the order in which they take effect. All functions need TX_WRITE unless
 * said otherwise. Lock order on PostgreSQL: a transfer touches at most one wallet; code that touches several takes them
 * in the order of their ids. */
#pragma once

#include "db/db.h"

/* The system accounts, as 0002_ledger.sql numbers them. */
#define LEDGER_SALES ((Id){1})
#define LEDGER_CLEARING ((Id){2})
#define LEDGER_HELD ((Id){3})
#define LEDGER_PAID_OUT ((Id){4})
#define LEDGER_ADJUSTMENTS ((Id){5})
#define LEDGER_RECEIVED ((Id){6})
#define LEDGER_DEBTS ((Id){7})

enum ledger_kind {
    LEDGER_ADJUSTMENT,
    LEDGER_ORDER,
    LEDGER_REFUND,
    LEDGER_TOPUP,
    LEDGER_PAYMENT,
    LEDGER_WITHDRAWAL,
    LEDGER_WITHDRAWAL_APPROVED,
    LEDGER_WITHDRAWAL_REJECTED,
    LEDGER_RECEIVED_IN,   /* came through a gateway */
    LEDGER_RETURNED,      /* went back before it was used */
    LEDGER_REFUND_FAILED, /* had gone back, and has returned */
    LEDGER_TOLERANCE,     /* the shortfall of a payment that was accepted all the same */
    LEDGER_DEBT,          /* went back although the wallet did not hold it; or was repaid */
    LEDGER_OPENING,       /* a balance that was brought along from another system */
};
extern const char *const ledger_kind_names[];

struct transfer {
    enum ledger_kind kind;
    Money amount;    /* > 0 */
    Id reference;    /* order, withdrawal or payment; 0: none */
    Str description; /* shown to the customer */
    Time at;
    Id id; /* once it is recorded */
};

struct wallet {
    Id ledger_id;
    Money balance; /* what can be spent or withdrawn now; negative while on credit */
    Money held;    /* pending withdrawals */
    Money frozen;  /* of disputed top-ups: in the wallet, but cannot be spent */
    Money debt;    /* owed to the store */
    Money credit_limit;
};

/* Reading; a customer who never had money has an empty wallet. TX_READ is enough. */
enum err wallet_find(struct db *db, Id account, struct wallet *ret);

/* Money into a wallet, from a system account; a customer's first money makes the wallet, and debts are repaid at once.
 * ERR_FIELD_RANGE, with nothing changed, when the balance would not fit into an int64. */
enum err ledger_credit(struct db *db, Id account, Id from, const struct transfer *t);

/* Money out of a wallet, to a system account. ERR_EXCEEDS_BALANCE, with nothing changed, when the wallet does not hold
 * it. With on_credit the wallet may go down to -credit_limit. */
enum err ledger_debit(struct db *db, Id account, Id to, const struct transfer *t, bool on_credit);
/* The same in two steps, for those who know only later what the money was for: takes it, and records where it went. */
struct ledger_taken {
    Id wallet;
    Time at; /* the transfer's */
};
enum err ledger_take(struct db *db, Id account, Money amount, Time at, bool on_credit, struct ledger_taken *ret);
/* Whether ledger_take would succeed now, and what it would return. TX_READ is enough. In a group the answer holds until
 * the transaction ends; ERR_RUN_LATER when somebody else is changing the wallet. */
enum err wallet_covers(struct db *db, Id account, Money amount, Time at, bool on_credit, bool *ret,
                       struct ledger_taken *ret_seen);
/* In a group: it will be asked for soon (db_ahead). */
void wallet_covers_ahead(struct db *db, Id account);
/* SQLite, whose one writer has just asked wallet_covers and was told yes: takes it without looking again. */
enum err ledger_take_seen(struct db *db, Money amount, const struct ledger_taken *seen);
enum err ledger_record_taken(struct db *db, const struct ledger_taken *taken, Id to, const struct transfer *t);

/* Takes money that the owner no longer has a right to, frozen or not: what the wallet does not hold is owed. */
enum err ledger_recover(struct db *db, Id account, Id to, const struct transfer *t);
/* Freezes this much more (less, when negative). */
enum err wallet_freeze(struct db *db, Id account, Money change);

/* Between two system accounts. */
enum err ledger_move(struct db *db, Id from, Id to, const struct transfer *t);

/* Sets how far API orders may take the wallet below zero. ERR_INVALID_STATE when more than that is owed already. */
enum err wallet_set_credit_limit(struct db *db, Id account, Money limit);

/* One line of a wallet's history. */
struct wallet_transaction {
    Id id;
    bool is_credit;
    Money amount;
    Str description;
    Time created_at;
};
/* The newest `limit` transactions of the wallet with this ledger_id (0: none) that have an id below `before` (0: the
 * newest of all), oldest first. Takes the time of one page, however long the history. TX_READ is enough. */
enum err wallet_transactions(struct db *db, Id ledger, Id before, int64_t limit, struct wallet_transaction **ret,
                             size_t *ret_count);

/* Every movement of the books, for staff: oldest first, with an id above `after`. TX_READ is enough. */
struct ledger_row {
    Id id;
    Str debit, credit;             /* kinds of the accounts */
    Str debit_email, credit_email; /* of wallets */
    Money amount;
    Str kind;
    Id reference;
    Str description;
    Time created_at;
};
enum err ledger_list(struct db *db, Id after, int64_t limit, struct ledger_row **ret, size_t *ret_count);
