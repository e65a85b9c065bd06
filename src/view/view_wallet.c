/* view/view_wallet.c - see view_wallet.h. */
#include "view/view_wallet.h"

static void view_wallet_transaction(struct json_writer *w, const struct wallet_transaction *t)
{
    json_begin_object(w);
    json_kv_id(w, "id", t->id);
    json_kv_cstr(w, "type", t->is_credit ? "credit" : "debit");
    json_kv_money(w, "amount", t->amount);
    json_kv_str(w, "description", t->description);
    json_kv_time(w, "created_at", t->created_at);
    json_end_object(w);
}

void view_wallet_members(struct json_writer *w, const struct wallet *wallet, const char *currency)
{
    json_kv_money(w, "balance", wallet->balance);
    json_kv_cstr(w, "currency", currency);
    json_kv_money(w, "held", wallet->held);
    json_kv_money(w, "credit_limit", wallet->credit_limit);
    if (wallet->frozen.minor) json_kv_money(w, "frozen", wallet->frozen);
    if (wallet->debt.minor) json_kv_money(w, "debt", wallet->debt);
}

void view_wallet(struct json_writer *w, const struct wallet *wallet, const char *currency,
                 const struct wallet_transaction *items, size_t count, size_t limit)
{
    size_t older = count > limit ? count - limit : 0; /* the list is oldest first */
    json_begin_object(w);
    view_wallet_members(w, wallet, currency);
    json_key(w, "transactions");
    json_begin_array(w);
    for (size_t i = older; i < count; i++) view_wallet_transaction(w, &items[i]);
    json_end_array(w);
    json_kv_bool(w, "has_more", older > 0);
    json_end_object(w);
}

static void withdrawal_members(struct json_writer *w, const struct withdrawal *wd)
{
    json_kv_id(w, "withdrawal_id", wd->id);
    json_kv_money(w, "amount", wd->amount);
    json_kv_cstr(w, "status", withdrawal_status_names[wd->status]);
    json_kv_time(w, "requested_at", wd->requested_at);
}

void view_withdrawal(struct json_writer *w, const struct withdrawal *wd)
{
    json_begin_object(w);
    withdrawal_members(w, wd);
    json_end_object(w);
}

void view_withdrawal_decided(struct json_writer *w, const void *row)
{
    const struct withdrawal *wd = row;
    json_begin_object(w);
    withdrawal_members(w, wd);
    json_kv_time(w, "decided_at", wd->decided_at);
    json_kv_opt_str(w, "reason", wd->reason);
    if (wd->destination.len) json_kv_str(w, "destination", wd->destination);
    json_end_object(w);
}
