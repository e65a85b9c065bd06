/* api/customer/customer_wallet.c - the customer's wallet and withdrawals. */
#include "api/tables.h"
#include "domain/ledger.h"
#include "domain/settings.h"
#include "domain/withdrawal.h"
#include "serve/request.h"
#include "view/view_wallet.h"

#define TRANSACTIONS_DEFAULT 100
#define TRANSACTIONS_MAX 1000

struct wallet_query {
    int64_t limit;
    Id before;
};

static const struct field wallet_query_fields[] = {
    {"limit", FIELD_INT, OPTIONAL, offsetof(struct wallet_query, limit), .min = 1, .max = TRANSACTIONS_MAX},
    {"before", FIELD_ID, OPTIONAL, offsetof(struct wallet_query, before)},
    {0},
};
static const struct shape wallet_query = {wallet_query_fields, sizeof(struct wallet_query)};

static enum err get_wallet(struct request *req)
{
    const struct wallet_query *q = req->query;
    struct wallet wallet;
    enum err e = wallet_find(req->db, req->account, &wallet);
    if (e) return e;
    struct wallet_transaction *items;
    size_t count;
    int64_t limit = q->limit ? q->limit : TRANSACTIONS_DEFAULT;
    e = wallet_transactions(req->db, wallet.ledger_id, q->before, limit + 1, &items, &count);
    if (e) return e;
    view_wallet(&req->out, &wallet, req->settings->currency, items, count, (size_t)limit);
    return OK;
}

struct withdraw {
    Money amount;
    Str destination;
};

static const struct field withdraw_fields[] = {
    {"amount", FIELD_MONEY, REQUIRED, offsetof(struct withdraw, amount), .min = 1},
    {"destination", FIELD_LINE, OPTIONAL, offsetof(struct withdraw, destination), .min = 1, .max = 255},
    {0},
};
static const struct shape withdraw_body = {withdraw_fields, sizeof(struct withdraw)};

static enum err post_withdraw(struct request *req)
{
    const struct withdraw *in = req->body;
    struct withdrawal w;
    enum err e = withdrawal_request(req->db, req->account, in->amount, in->destination, req->now, &w);
    if (e == ERR_EXCEEDS_BALANCE || e == ERR_FIELD_RANGE) return request_bad_field(req, "amount", e);
    if (e) return e;
    view_withdrawal(&req->out, &w);
    return OK;
}

static const struct list withdrawal_rows = {LIST_ROWS(struct withdrawal, id), .view = view_withdrawal_decided};

static enum err get_withdrawals(struct request *req)
{
    struct list_page page;
    struct withdrawal *items;
    enum err e = request_page(req, &page);
    if (!e) e = withdrawal_list_account(req->db, req->account, page.after_id, page.ask, &items, &page.found);
    return e ? e : request_list(req, &page, &withdrawal_rows, items);
}

static enum err get_withdrawal(struct request *req)
{
    struct withdrawal w;
    enum err e = withdrawal_find(req->db, req->param_id, req->account, &w);
    if (e) return e;
    view_withdrawal_decided(&req->out, &w);
    return OK;
}

static enum err post_cancel(struct request *req)
{
    struct withdrawal w;
    enum err e = withdrawal_cancel(req->db, req->param_id, req->account, req->now, &w);
    if (!e) view_withdrawal_decided(&req->out, &w);
    return e;
}

const struct route customer_wallet_routes[] = {
    {"GET", "/api/customer/wallet", SCOPE_CUSTOMER, TX_READ, NULL, get_wallet, .query = &wallet_query},
    {"POST", "/api/customer/wallet/withdraw", SCOPE_CUSTOMER, TX_WRITE, &withdraw_body, post_withdraw,
     IDEMPOTENT | PROVEN_EMAIL},
    {"GET", "/api/customer/wallet/withdrawals", SCOPE_CUSTOMER, TX_READ, NULL, get_withdrawals,
     .query = &list_query_shape},
    {"GET", "/api/customer/wallet/withdrawals/{id}", SCOPE_CUSTOMER, TX_READ, NULL, get_withdrawal},
    {"POST", "/api/customer/wallet/withdrawals/{id}/cancel", SCOPE_CUSTOMER, TX_WRITE, NULL, post_cancel, IDEMPOTENT},
    {0},
};
