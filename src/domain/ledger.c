/* domain/ledger.c - guarded updates and the transfers that explain them; ledger.h has the rules.
 *
 * A wallet's row is changed first, by one statement that checks and changes at once, and its lock is held until the end
 * of the transaction; the transfer is written after that. The row's time is also the transfer's: one request's clock
 * may be behind that of another which got the lock first. */
#include "domain/ledger.h"

#include "domain/event.h"

#include <assert.h>

#include "db/rows.h"
#include "domain/filing.h"

const char *const ledger_kind_names[] = {
    [LEDGER_ADJUSTMENT] = "adjustment",
    [LEDGER_ORDER] = "order",
    [LEDGER_REFUND] = "refund",
    [LEDGER_TOPUP] = "topup",
    [LEDGER_PAYMENT] = "payment",
    [LEDGER_WITHDRAWAL] = "withdrawal",
    [LEDGER_WITHDRAWAL_APPROVED] = "withdrawal_approved",
    [LEDGER_WITHDRAWAL_REJECTED] = "withdrawal_rejected",
    [LEDGER_RECEIVED_IN] = "received",
    [LEDGER_RETURNED] = "returned",
    [LEDGER_REFUND_FAILED] = "refund_failed",
    [LEDGER_TOLERANCE] = "tolerance",
    [LEDGER_DEBT] = "debt",
    [LEDGER_OPENING] = "opening",
    NULL,
};

#define INSERT_TRANSFER                                                                                                \
    "INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)"                  \
    " VALUES ($1, $2, $3, $4, $5, $6, $7)"

static struct stmt *recording(struct db *db, const char *insert, Id debit, Id credit, const struct transfer *t, Time at)
{
    struct stmt *st = db_prepare(db, insert);
    bind_id(st, debit);
    bind_id(st, credit);
    bind_money(st, t->amount);
    bind_choice(st, ledger_kind_names, t->kind);
    bind_id(st, t->reference);
    bind_text(st, t->description);
    bind_time(st, at);
    return st;
}

static enum err record(struct db *db, Id debit, Id credit, const struct transfer *t, Time at)
{
    static const char insert[] = INSERT_TRANSFER;

    return db_run(recording(db, insert, debit, credit, t, at));
}

/* With its event, which tells the transfer's number. */
static enum err record_credit(struct db *db, Id account, Id from, Id wallet, const struct transfer *t, Time at)
{
    static const char insert[] = INSERT_TRANSFER " RETURNING id";

    struct transfer *told = arena_new(db_arena(db), struct transfer);
    *told = *t;
    told->at = at;
    struct stmt *st = recording(db, insert, from, wallet, t, at);
    if (db_step(st)) told->id = col_id(st);
    enum err e = db_done(st);
    return e ? e : event_add_thing(db, EVENT_WALLET_CREDITED, account, told, t->at);
}

/* A debt is repaid from the money that has just come in. */
static enum err repay(struct db *db, Id wallet, Money debt, Money balance, Time at)
{
    static const char take[] = "UPDATE ledger_account SET balance = balance - $2, debt = debt - $2 WHERE id = $1";

    Money amount = money_cmp(debt, balance) < 0 ? debt : balance;
    if (amount.minor <= 0) return OK;
    struct stmt *st = db_prepare(db, take);
    bind_id(st, wallet);
    bind_money(st, amount);
    enum err e = db_run(st);
    struct transfer t = {.kind = LEDGER_DEBT, .amount = amount, .description = STR("Debt repaid"), .at = at};
    return e ? e : record(db, wallet, LEDGER_DEBTS, &t, at);
}

enum err ledger_credit(struct db *db, Id account, Id from, const struct transfer *t)
{
    static const char give[] =
        "INSERT INTO ledger_account (kind, owner_id, balance, last_transfer_at) VALUES ('wallet', $1, $2, $3)"
        " ON CONFLICT (owner_id) DO UPDATE SET balance = ledger_account.balance + excluded.balance,"
        " last_transfer_at = CASE WHEN ledger_account.last_transfer_at > excluded.last_transfer_at"
        " THEN ledger_account.last_transfer_at ELSE excluded.last_transfer_at END"
        " WHERE ledger_account.balance <= 9223372036854775807 - excluded.balance"
        " RETURNING id, last_transfer_at, debt, balance";

    assert(t->amount.minor > 0);
    struct stmt *st = db_prepare(db, give);
    bind_id(st, account);
    bind_money(st, t->amount);
    bind_time(st, t->at);
    bool fits = db_step(st);
    Id wallet = fits ? col_id(st) : (Id){0};
    Time at = fits ? col_time(st) : t->at;
    Money debt = fits ? col_money(st) : (Money){0}, balance = fits ? col_money(st) : (Money){0};
    enum err e = db_done(st);
    if (e) return e;
    if (!fits) return ERR_FIELD_RANGE;
    e = record_credit(db, account, from, wallet, t, at);
    return e || !debt.minor ? e : repay(db, wallet, debt, balance, at);
}

/* The limit is subtracted from the amount, not added to the balance, so that nothing can overflow. */
#define TAKE(guard)                                                                                                    \
    "UPDATE ledger_account SET balance = balance - $2,"                                                                \
    " last_transfer_at = CASE WHEN last_transfer_at > $3 THEN last_transfer_at ELSE $3 END"                            \
    " WHERE owner_id = $1 AND " guard " RETURNING id, last_transfer_at"

enum err ledger_take(struct db *db, Id account, Money amount, Time at, bool on_credit, struct ledger_taken *ret)
{
    static const char take[] = TAKE("balance - frozen >= $2");
    static const char take_on_credit[] = TAKE("balance - frozen >= $2 - credit_limit");

    assert(amount.minor > 0);
    struct stmt *st = db_prepare(db, on_credit ? take_on_credit : take);
    bind_id(st, account);
    bind_money(st, amount);
    bind_time(st, at);
    struct ledger_taken taken = {.at = at};
    bool enough = db_step(st);
    if (enough) {
        taken.wallet = col_id(st);
        taken.at = col_time(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    if (!enough) return ERR_EXCEEDS_BALANCE;
    *ret = taken;
    return OK;
}

/* No RETURNING, for which SQLite would make a temporary table. */
enum err ledger_take_seen(struct db *db, Money amount, const struct ledger_taken *seen)
{
    static const char take[] = "UPDATE ledger_account SET balance = balance - $2, last_transfer_at = $3 WHERE id = $1";

    assert(amount.minor > 0 && !db_is_postgres(db));
    struct stmt *st = db_prepare(db, take);
    bind_id(st, seen->wallet);
    bind_money(st, amount);
    bind_time(st, seen->at);
    return db_run(st);
}

enum err ledger_record_taken(struct db *db, const struct ledger_taken *taken, Id to, const struct transfer *t)
{
    return record(db, taken->wallet, to, t, taken->at);
}

enum err ledger_debit(struct db *db, Id account, Id to, const struct transfer *t, bool on_credit)
{
    struct ledger_taken taken;
    enum err e = ledger_take(db, account, t->amount, t->at, on_credit, &taken);
    return e ? e : ledger_record_taken(db, &taken, to, t);
}

/* The wallet's row, locked; made when there is none. */
static enum err lock_wallet(struct db *db, Id account, Time at, Id *ret, Money *ret_balance, Time *ret_at)
{
    static const char lock[] =
        "INSERT INTO ledger_account (kind, owner_id, last_transfer_at) VALUES ('wallet', $1, $2)"
        " ON CONFLICT (owner_id) DO UPDATE SET last_transfer_at = CASE WHEN ledger_account.last_transfer_at >"
        " excluded.last_transfer_at THEN ledger_account.last_transfer_at ELSE excluded.last_transfer_at END"
        " RETURNING id, balance, last_transfer_at";

    struct stmt *st = db_prepare(db, lock);
    bind_id(st, account);
    bind_time(st, at);
    if (db_step(st)) {
        *ret = col_id(st);
        *ret_balance = col_money(st);
        *ret_at = col_time(st);
    }
    return db_done(st);
}

enum err ledger_recover(struct db *db, Id account, Id to, const struct transfer *t)
{
    static const char take[] = "UPDATE ledger_account SET balance = balance - $2, debt = debt + $3 WHERE id = $1";

    assert(t->amount.minor > 0);
    Id wallet = {0};
    Money balance = {0};
    Time at = t->at;
    enum err e = lock_wallet(db, account, t->at, &wallet, &balance, &at);
    if (e) return e;
    struct transfer taken = *t, owed = *t;
    if (money_cmp(taken.amount, balance) > 0) taken.amount.minor = balance.minor > 0 ? balance.minor : 0;
    owed.kind = LEDGER_DEBT;
    owed.amount.minor = t->amount.minor - taken.amount.minor;
    struct stmt *st = db_prepare(db, take);
    bind_id(st, wallet);
    bind_money(st, taken.amount);
    bind_money(st, owed.amount);
    e = db_run(st);
    if (!e && taken.amount.minor) e = record(db, wallet, to, &taken, at);
    if (!e && owed.amount.minor) e = record(db, LEDGER_DEBTS, to, &owed, at);
    return e;
}

enum err wallet_freeze(struct db *db, Id account, Money change)
{
    static const char freeze[] = "UPDATE ledger_account SET frozen = frozen + $2 WHERE owner_id = $1";

    struct stmt *st = db_prepare(db, freeze);
    bind_id(st, account);
    bind_money(st, change);
    return db_run(st);
}

enum err ledger_move(struct db *db, Id from, Id to, const struct transfer *t)
{
    assert(t->amount.minor > 0 && !id_eq(from, to));
    return record(db, from, to, t, t->at);
}

enum err wallet_find(struct db *db, Id account, struct wallet *ret)
{
    static const char find[] = "SELECT id, balance, credit_limit, frozen, debt,"
                               " (SELECT CAST(COALESCE(SUM(amount), 0) AS BIGINT) FROM withdrawal WHERE account_id = "
                               "$1 AND status = 'pending')"
                               " FROM ledger_account WHERE owner_id = $1";

    struct wallet w = {0};
    struct stmt *st = db_prepare(db, find);
    bind_id(st, account);
    if (db_step(st)) {
        w.ledger_id = col_id(st);
        w.balance = col_money(st);
        w.credit_limit = col_money(st);
        w.frozen = col_money(st);
        w.debt = col_money(st);
        w.held = col_money(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    /* Frozen money never exceeds the balance. */
    if (money_cmp(w.frozen, w.balance) > 0) w.frozen.minor = w.balance.minor > 0 ? w.balance.minor : 0;
    w.balance.minor -= w.frozen.minor;
    *ret = w;
    return OK;
}

static struct stmt *ask_cover(struct db *db, Id account)
{
#define COVER "SELECT id, last_transfer_at, balance - frozen, credit_limit FROM ledger_account WHERE owner_id = $1"
    static const char find[] = COVER;
    static const char postgres_lock[] = COVER " FOR UPDATE SKIP LOCKED";
#undef COVER

    bool is_grouped = db_is_grouped(db);
    struct stmt *st = db_prepare(db, is_grouped ? postgres_lock : find);
    bind_id(st, account);
    return st;
}

void wallet_covers_ahead(struct db *db, Id account)
{
    db_ahead(ask_cover(db, account));
}

enum err wallet_covers(struct db *db, Id account, Money amount, Time at, bool on_credit, bool *ret,
                       struct ledger_taken *ret_seen)
{
    struct stmt *st = ask_cover(db, account);
    Money balance = {0}, limit = {0}; /* a customer who never had money */
    struct ledger_taken seen = {0};
    bool found = db_step(st);
    if (found) {
        seen.wallet = col_id(st);
        seen.at = col_time(st);
        balance = col_money(st);
        limit = col_money(st);
    }
    enum err e = db_done(st);
    if (e) return e;
    if (!found && db_is_grouped(db)) return ERR_RUN_LATER;
    if (seen.at.ms < at.ms) seen.at = at;
    *ret = balance.minor >= amount.minor - (on_credit ? limit.minor : 0);
    *ret_seen = seen;
    return OK;
}

enum err wallet_set_credit_limit(struct db *db, Id account, Money limit)
{
    static const char set[] = "INSERT INTO ledger_account (kind, owner_id, credit_limit) VALUES ('wallet', $1, $2)"
                              " ON CONFLICT (owner_id) DO UPDATE SET credit_limit = excluded.credit_limit"
                              " WHERE ledger_account.balance >= -excluded.credit_limit RETURNING id";

    assert(limit.minor >= 0);
    struct stmt *st = db_prepare(db, set);
    bind_id(st, account);
    bind_money(st, limit);
    bool changed = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    return changed ? OK : ERR_INVALID_STATE;
}

/* Each half stops after one page. */
#define SIDE(is_credit, rows, page)                                                                                    \
    "SELECT * FROM (SELECT id, CAST(" is_credit " AS BIGINT) AS is_credit, amount, description, created_at"            \
    " FROM " rows page ") AS side" is_credit
/* What transfer_by_credit has: the ids up to LEDGER_DEBTS are the system's. */
#define TO_WALLETS "(SELECT * FROM transfer WHERE credit_id > 7) AS t"
#define HISTORY(credits, debits)                                                                                       \
    "SELECT id, is_credit, amount, description, created_at FROM (" SIDE("1", TO_WALLETS, credits) " UNION ALL " SIDE(  \
        "0", "transfer", debits) " ORDER BY id DESC LIMIT $3) AS page ORDER BY id"
#define DEBITS_SQLITE " WHERE debit_id = $1 AND id IN (SELECT value FROM json_each($4))"

static void read_transaction(struct stmt *st, struct wallet_transaction *t)
{
    t->id = col_id(st);
    t->is_credit = col_bool(st);
    t->amount = col_money(st);
    t->description = col_text(st);
    t->created_at = col_time(st);
}
DB_READER(read_transaction);

enum err wallet_transactions(struct db *db, Id ledger, Id before, int64_t limit, struct wallet_transaction **ret,
                             size_t *ret_count)
{
    static const char sqlite[] = HISTORY(DB_PAGE_SQLITE("credit_id", "id"), DEBITS_SQLITE);
    static const char postgres[] = HISTORY(DB_PAGE_POSTGRES("credit_id", "id"), DB_PAGE_POSTGRES("debit_id", "id"));

    assert(limit > 0);
    Str debits;
    if (!id_is(before)) before = (Id){ID_MAX};
    enum err e = filing_page(db, FILING_DEBITS, ledger, before, limit, &debits);
    if (e) return e;
    struct stmt *st = db_prepare(db, db_sql(db, sqlite, postgres));
    bind_id(st, ledger);
    bind_id(st, before);
    bind_int(st, limit);
    if (!db_is_postgres(db)) bind_text(st, debits);
    return db_rows(st, read_transaction, limit, ret, ret_count);
}

static void read_ledger_row(struct stmt *st, struct ledger_row *r)
{
    r->id = col_id(st);
    r->debit = col_text(st);
    r->credit = col_text(st);
    r->debit_email = col_text(st);
    r->credit_email = col_text(st);
    r->amount = col_money(st);
    r->kind = col_text(st);
    r->reference = col_id(st);
    r->description = col_text(st);
    r->created_at = col_time(st);
}
DB_READER(read_ledger_row);

enum err ledger_list(struct db *db, Id after, int64_t limit, struct ledger_row **ret, size_t *ret_count)
{
    static const char list[] =
        "SELECT t.id, d.kind, c.kind, da.email, ca.email, t.amount, t.kind, t.reference_id, t.description, t.created_at"
        " FROM transfer t JOIN ledger_account d ON d.id = t.debit_id JOIN ledger_account c ON c.id = t.credit_id"
        " LEFT JOIN account da ON da.id = d.owner_id LEFT JOIN account ca ON ca.id = c.owner_id"
        " WHERE t.id > $1 ORDER BY t.id LIMIT $2";
    struct stmt *st = db_prepare(db, list);
    bind_id(st, after);
    bind_int(st, limit);
    return db_rows(st, read_ledger_row, limit, ret, ret_count);
}
