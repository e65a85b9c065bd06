/* domain/withdrawal.c - see withdrawal.h. */
#include "domain/withdrawal.h"

#include "db/rows.h"
#include "domain/addressee.h"
#include "domain/event.h"
#include "domain/ledger.h"
#include "domain/mail.h"
#include "domain/notification.h"
#include "domain/settings.h"
#include "page/words.h"

#include <assert.h>

#define MAILS_AN_HOUR 10 /* about withdrawals that a customer asks for or takes back */

const char *const withdrawal_status_names[] = {"pending", "approved", "rejected", "cancelled", NULL};

#define COLUMNS "id, account_id, amount, status, destination, first_by, reason, requested_at, decided_at, decided_by"

static void read_row(struct stmt *st, struct withdrawal *w)
{
    w->id = col_id(st);
    w->account = col_id(st);
    w->amount = col_money(st);
    w->status = col_choice(st, withdrawal_status_names);
    w->destination = col_text(st);
    w->first_by = col_id(st);
    w->reason = col_text(st);
    w->requested_at = col_time(st);
    w->decided_at = col_time(st);
    w->decided_by = col_id(st);
}
DB_READER(read_row);

/* Asking and taking back costs nothing, and the address may be somebody else's. */
static enum err is_enough(struct db *db, const struct withdrawal *w, enum mail_kind kind, Time now, bool *ret)
{
    static const char count[] = "SELECT COUNT(*) FROM (SELECT requested_at FROM withdrawal WHERE account_id = $1"
                                " ORDER BY id DESC LIMIT 11) AS w WHERE requested_at > $2";

    *ret = false;
    if (kind != MAIL_withdrawal_requested && kind != MAIL_withdrawal_cancelled) return OK;
    struct stmt *st = db_prepare(db, count);
    bind_id(st, w->account);
    bind_time(st, time_add(now, -TIME_HOUR));
    int64_t n = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (!e) *ret = n > MAILS_AN_HOUR;
    return e;
}

static enum err send_mail(struct db *db, const struct withdrawal *w, enum mail_kind kind, Time now)
{
    struct mail_draft m;
    bool enough;
    if (!mail_is_enabled()) return OK;
    enum err told = is_enough(db, w, kind, now, &enough);
    if (told || enough) return told;
    enum err e = mail_begin(db, w->account, kind, &m);
    if (e) return e;
    m.values.of[PARAM_number] = mail_number(&m, w->id);
    m.values.of[PARAM_amount] = mail_amount(&m, w->amount, (Str){0});
    if (kind == MAIL_withdrawal_rejected) m.values.of[PARAM_reason] = w->reason;
    m.values.of[PARAM_link] = mail_address(&m, "/account/wallet");
    return mail_queue(db, &m, now);
}

enum err withdrawal_request(struct db *db, Id account, Money amount, Str destination, Time now, struct withdrawal *ret)
{
    static const char insert[] = "INSERT INTO withdrawal (account_id, amount, destination, requested_at)"
                                 " VALUES ($1, $2, $3, $4) RETURNING id";

    assert(amount.minor > 0);
    struct settings limits;
    enum err e = settings_load(db, &limits);
    if (e) return e;
    if (money_cmp(amount, limits.withdraw_min) < 0) return ERR_FIELD_RANGE;
    if (limits.withdraw_max.minor && money_cmp(amount, limits.withdraw_max) > 0) return ERR_FIELD_RANGE;
    struct stmt *st = db_prepare(db, insert);
    bind_id(st, account);
    bind_money(st, amount);
    bind_text(st, destination);
    bind_time(st, now);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    e = db_done(st);
    if (e) return e;

    const struct transfer hold = {
        .kind = LEDGER_WITHDRAWAL,
        .amount = amount,
        .reference = id,
        .description = str_printf(db_arena(db), "Withdrawal request #%lld", (long long)id.v),
        .at = now,
    };
    e = ledger_debit(db, account, LEDGER_HELD, &hold, false);
    if (e) return e;
    *ret = (struct withdrawal){
        .id = id, .account = account, .amount = amount, .destination = destination, .requested_at = now};
    e = event_add(db, EVENT_WITHDRAWAL_REQUESTED, id, now);
    return e ? e : send_mail(db, ret, MAIL_withdrawal_requested, now);
}

/* Leaves `pending`, once. */
static enum err decide(struct db *db, Id id, enum withdrawal_status status, Id by, Str reason, Time now,
                       struct withdrawal *ret)
{
    static const char update[] = "UPDATE withdrawal SET status = $2, reason = $3, decided_at = $4, decided_by = $5"
                                 " WHERE id = $1 AND status = 'pending' RETURNING " COLUMNS;

    struct withdrawal w = {0};
    struct stmt *st = db_prepare(db, update);
    bind_id(st, id);
    bind_choice(st, withdrawal_status_names, status);
    bind_text(st, reason);
    bind_time(st, now);
    bind_opt_id(st, by);
    bool decided = db_step(st);
    if (decided) read_row(st, &w);
    enum err e = db_done(st);
    if (e) return e;
    if (!decided) {
        e = withdrawal_find(db, id, (Id){0}, &w);
        return e ? e : ERR_INVALID_STATE;
    }
    *ret = w;
    return OK;
}

static enum err tell(struct db *db, const struct withdrawal *w, const char *kind, enum mail_kind mail, enum word word,
                     Str reason, Time now)
{
    const struct notification n = {.kind = str_from(kind), .reference = w->id};
    struct page p;
    enum err e = addressee_of_account(db, w->account, &p);
    if (e) return e;
    const Str args[] = {page_int(&p, w->id.v), reason};
    e = notification_say(db, w->account, &n, &p, word, args, reason.len ? 2 : 1, now);
    return e ? e : send_mail(db, w, mail, now);
}

/* Locks the withdrawal; it must not belong to the person who decides. */
static enum err lock(struct db *db, Id id, Id by, struct withdrawal *ret)
{
    static const char lock[] = "UPDATE withdrawal SET status = status WHERE id = $1 RETURNING " COLUMNS;

    struct withdrawal w = {0};
    struct stmt *st = db_prepare(db, lock);
    bind_id(st, id);
    bool found = db_step(st);
    if (found) read_row(st, &w);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    *ret = w;
    return id_eq(by, w.account) ? ERR_OWN_ACCOUNT : OK;
}

static enum err approve_first(struct db *db, struct withdrawal *w, Id by)
{
    static const char set[] = "UPDATE withdrawal SET first_by = $2 WHERE id = $1";

    struct stmt *st = db_prepare(db, set);
    bind_id(st, w->id);
    bind_id(st, by);
    w->first_by = by;
    return db_run(st);
}

enum err withdrawal_approve(struct db *db, Id id, Id by, Money two_above, Time now, struct withdrawal *ret)
{
    struct withdrawal w;
    enum err e = lock(db, id, by, &w);
    if (e) return e;
    if (w.status != WITHDRAWAL_PENDING) return ERR_INVALID_STATE;
    bool needs_two = two_above.minor > 0 && money_cmp(w.amount, two_above) > 0;
    if (needs_two && id_eq(w.first_by, by)) return ERR_SECOND_PERSON_NEEDED;
    if (needs_two && !id_is(w.first_by)) {
        *ret = w;
        e = approve_first(db, ret, by);
        return e;
    }
    e = decide(db, id, WITHDRAWAL_APPROVED, by, (Str){0}, now, &w);
    if (e) return e;

    struct arena *a = db_arena(db);
    const struct transfer pay = {
        .kind = LEDGER_WITHDRAWAL_APPROVED,
        .amount = w.amount,
        .reference = id,
        .description = str_printf(a, "Withdrawal #%lld paid out", (long long)id.v),
        .at = now,
    };
    e = ledger_move(db, LEDGER_HELD, LEDGER_PAID_OUT, &pay);
    if (e) return e;
    e = tell(db, &w, "withdrawal_approved", MAIL_withdrawal_approved, WORD_news_withdrawal_approved, (Str){0}, now);
    if (!e) e = event_add(db, EVENT_WITHDRAWAL_APPROVED, id, now);
    if (e) return e;
    *ret = w;
    return OK;
}

static enum err give_back(struct db *db, const struct withdrawal *w, const char *what, Time now)
{
    const struct transfer back = {
        .kind = LEDGER_WITHDRAWAL_REJECTED,
        .amount = w->amount,
        .reference = w->id,
        .description = str_printf(db_arena(db), "Withdrawal request #%lld %s", (long long)w->id.v, what),
        .at = now,
    };
    return ledger_credit(db, w->account, LEDGER_HELD, &back);
}

enum err withdrawal_cancel(struct db *db, Id id, Id account, Time now, struct withdrawal *ret)
{
    struct withdrawal w;
    enum err e = withdrawal_find(db, id, account, &w);
    if (!e) e = decide(db, id, WITHDRAWAL_CANCELLED, (Id){0}, STR(""), now, &w);
    if (!e) e = give_back(db, &w, "cancelled", now);
    if (!e) e = send_mail(db, &w, MAIL_withdrawal_cancelled, now);
    if (!e) *ret = w;
    return e;
}

enum err withdrawal_reject(struct db *db, Id id, Id by, Str reason, Time now, struct withdrawal *ret)
{
    struct withdrawal w;
    enum err e = lock(db, id, by, &w);
    if (!e) e = decide(db, id, WITHDRAWAL_REJECTED, by, reason, now, &w);
    if (!e) e = give_back(db, &w, "rejected", now);
    if (e) return e;
    e = tell(db, &w, "withdrawal_rejected", MAIL_withdrawal_rejected,
             reason.len ? WORD_news_withdrawal_rejected_why : WORD_news_withdrawal_rejected, reason, now);
    if (!e) e = event_add(db, EVENT_WITHDRAWAL_REJECTED, id, now);
    if (e) return e;
    *ret = w;
    return OK;
}

enum err withdrawal_find(struct db *db, Id id, Id account, struct withdrawal *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM withdrawal WHERE id = $1";

    struct withdrawal w = {0};
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    bool found = db_step(st);
    if (found) read_row(st, &w);
    enum err e = db_done(st);
    if (e) return e;
    if (!found || (id_is(account) && !id_eq(w.account, account))) return ERR_NOT_FOUND;
    *ret = w;
    return OK;
}

static Id below(Id before)
{
    return id_is(before) ? before : (Id){ID_MAX};
}

enum err withdrawal_list_account(struct db *db, Id account, Id before, int64_t limit, struct withdrawal **ret,
                                 size_t *ret_count)
{
    struct stmt *st = db_prepare(db, DB_PAGE(db, "SELECT " COLUMNS " FROM withdrawal", "account_id", "id"));
    bind_id(st, account);
    bind_id(st, below(before));
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}

enum err withdrawal_list_status(struct db *db, enum withdrawal_status status, Id before, int64_t limit,
                                struct withdrawal **ret, size_t *ret_count)
{
    struct stmt *st = db_prepare(db, DB_PAGE(db, "SELECT " COLUMNS " FROM withdrawal", "status", "id"));
    bind_choice(st, withdrawal_status_names, status);
    bind_id(st, below(before));
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}

enum err withdrawal_list_all(struct db *db, Id before, int64_t limit, struct withdrawal **ret, size_t *ret_count)
{
    static const char list[] = "SELECT " COLUMNS " FROM withdrawal WHERE id < $1 ORDER BY id DESC LIMIT $2";

    struct stmt *st = db_prepare(db, list);
    bind_id(st, below(before));
    bind_int(st, limit);
    return db_rows(st, read_row, limit, ret, ret_count);
}
