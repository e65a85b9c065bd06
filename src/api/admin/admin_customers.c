/* api/admin/admin_customers.c - customers as staff see them: the list, their wallets and tokens. */
#include "api/admin/audit_trail.h"
#include "api/admin/desk.h"
#include "api/tables.h"
#include "api/token_body.h"
#include "domain/credit_request.h"
#include "domain/customer.h"
#include "domain/ledger.h"
#include "domain/password.h"
#include "domain/settings.h"
#include "domain/token.h"
#include "serve/app.h"
#include "view/view_account.h"
#include "view/view_staff.h"
#include "view/view_wallet.h"

static const struct list customer_rows = {LIST_ROWS(struct customer, account.id), .view = view_customer};

static enum err get_customers(struct request *req)
{
    const struct search_query *q = req->query;
    struct list_page page;
    struct customer *customers;
    enum err e = request_page(req, &page);
    if (!e) e = customer_list(req->db, q->q, page.after_id, page.ask, &customers, &page.found);
    return e ? e : request_list(req, &page, &customer_rows, customers);
}

static enum err get_customer(struct request *req)
{
    struct customer c;
    enum err e = customer_find(req->db, req->param_id, &c);
    if (e) return e;
    view_customer(&req->out, &c);
    return OK;
}

struct customer_body {
    Str email, name, password;
    Money credit_limit;
    bool is_active, has_name, has_is_active, has_credit_limit, has_password;
};

static const struct field customer_fields[] = {
    {"email", FIELD_EMAIL, REQUIRED, offsetof(struct customer_body, email)},
    {"name", FIELD_LINE, OPTIONAL, offsetof(struct customer_body, name), .max = 100},
    {"password", FIELD_SECRET, OPTIONAL, offsetof(struct customer_body, password), .min = PASSWORD_MIN,
     .max = PASSWORD_MAX, .has = offsetof(struct customer_body, has_password)},
    {0},
};
static const struct shape customer_shape = {customer_fields, sizeof(struct customer_body)};

static const struct field customer_patch_fields[] = {
    {"name", FIELD_LINE, OPTIONAL, offsetof(struct customer_body, name), .max = 100,
     .has = offsetof(struct customer_body, has_name)},
    {"is_active", FIELD_BOOL, OPTIONAL, offsetof(struct customer_body, is_active),
     .has = offsetof(struct customer_body, has_is_active)},
    {"credit_limit", FIELD_MONEY, OPTIONAL, offsetof(struct customer_body, credit_limit), .max = INT64_MAX / 4,
     .has = offsetof(struct customer_body, has_credit_limit)},
    {0},
};
static const struct shape customer_patch = {customer_patch_fields, sizeof(struct customer_body)};

static enum err customer_write(struct request *req, const Str *hash)
{
    const struct customer_body *in = req->body;
    struct account want = {.email = in->email, .name = in->name, .role = ROLE_CUSTOMER, .password_hash = *hash};
    struct customer made = {0};
    enum err e = account_create(req->db, &want, req->now, &made.account);
    if (e) return e;
    view_customer(&req->out, &made);
    request_created(req, "/api/admin/customers", made.account.id);
    return admin_audit(req, "customer.create", made.account.id, made.account.email, (Str){0},
                       admin_json(req, view_customer, &made));
}
REQUEST_STEP(customer_write);

static enum err post_customer(struct request *req)
{
    const struct customer_body *in = req->body;
    Str hash = {0};
    if (in->has_password) {
        hash = password_hash(req->arena, in->password);
        if (!hash.len) return ERR_UNAVAILABLE;
    }
    return request_step(req, TX_WRITE, customer_write, &hash);
}

enum err desk_is_others(const struct request *req, Id account)
{
    return req->role != ROLE_OWNER && id_eq(req->account, account) ? ERR_OWN_ACCOUNT : OK;
}

/* A large amount needs two people. */
static enum err may_give(struct request *req, const struct credit_request *want, bool *ret)
{
    struct settings s; /* read now, so that a limit that was just set applies */
    enum err e = settings_load(req->db, &s);
    if (e) return e;
    *ret = true;
    if (s.second_person_above.minor == 0 || money_cmp(want->amount, s.second_person_above) <= 0) return OK;
    return credit_request_ask(req->db, want, req->account, req->now, ret);
}

/* A higher credit limit is money to spend: as with a manual credit, staff give themselves none, and two people a large
 * one. Manual credits have a description; a limit has none, so neither approves the other. */
static enum err may_lend(struct request *req, bool *ret)
{
    const struct customer_body *in = req->body;
    const struct credit_request want = {.account = req->param_id, .amount = in->credit_limit, .description = STR("")};
    enum err e = request_is_confirmed(req, CONFIRMED);
    if (!e) e = desk_is_others(req, req->param_id);
    if (!e) e = may_give(req, &want, ret);
    if (!e && !*ret)
        req->message = "Somebody else has to approve this credit limit: it is set when they request the same one";
    return e;
}

static enum err patch_customer(struct request *req)
{
    const struct customer_body *in = req->body;
    struct customer before, after;
    bool is_lent = in->has_credit_limit;
    enum err e = customer_find(req->db, req->param_id, &before);
    if (!e && is_lent && money_cmp(in->credit_limit, before.credit_limit) > 0) e = may_lend(req, &is_lent);
    if (e) return e;
    struct customer_change change = {
        .name = in->name, .has_name = in->has_name, .is_active = in->is_active, .has_is_active = in->has_is_active};
    if (in->has_name || in->has_is_active) e = customer_change(req->db, req->param_id, &change);
    if (!e && is_lent) e = wallet_set_credit_limit(req->db, req->param_id, in->credit_limit);
    if (!e) e = customer_find(req->db, req->param_id, &after);
    if (e) return e;
    view_customer(&req->out, &after);
    return admin_audit(req, is_lent == in->has_credit_limit ? "customer.update" : "customer.limit_request",
                       req->param_id, after.account.email, admin_json(req, view_customer, &before),
                       admin_json(req, view_customer, &after));
}

/* ---- tokens ---- */

static const struct list token_rows = {LIST_ROWS(struct token, id), .view = view_token};

static enum err get_customer_tokens(struct request *req)
{
    struct customer c;
    struct list_page page;
    struct token *tokens;
    enum err e = request_page(req, &page);
    if (!e) e = customer_find(req->db, req->param_id, &c);
    if (!e) e = token_list(req->db, req->param_id, page.after_id, page.ask, &tokens, &page.found);
    return e ? e : request_list(req, &page, &token_rows, tokens);
}

static enum err post_customer_token(struct request *req)
{
    struct customer c;
    struct token want, made;
    enum err e = customer_find(req->db, req->param_id, &c);
    if (e) return e;
    /* With a staff token the caller could act as another member of staff. */
    if (c.account.role != ROLE_CUSTOMER) return ERR_FORBIDDEN;
    e = token_of_body(req, c.account.id, scopes_of_role(c.account.role), &want);
    if (!e) e = token_give(req, &want, &made);
    if (e) return e;
    req->status = 201;
    return admin_audit(req, "customer.token_create", c.account.id, c.account.email, (Str){0},
                       admin_json(req, view_token, &made));
}

static enum err delete_customer_token(struct request *req)
{
    struct customer c;
    int64_t token = 0;
    enum err e = customer_find(req->db, req->param_id, &c);
    if (e) return e;
    if (c.account.role != ROLE_CUSTOMER) return ERR_FORBIDDEN;
    if (!str_to_int64(req->params[1], &token)) return ERR_NOT_FOUND;
    unsigned scopes;
    e = token_revoke(req->db, req->param_id, (Id){token}, &scopes);
    if (e) return e;
    return admin_audit(req, "customer.token_revoke", c.account.id, c.account.email,
                       str_printf(req->arena, "{\"id\":%lld}", (long long)token), (Str){0});
}

/* ---- wallet ---- */

struct customer_wallet_query {
    int64_t limit;
    Id before;
};
static const struct field wallet_query_fields[] = {
    {"limit", FIELD_INT, OPTIONAL, offsetof(struct customer_wallet_query, limit), .min = 1, .max = 1000},
    {"before", FIELD_ID, OPTIONAL, offsetof(struct customer_wallet_query, before)},
    {0},
};
static const struct shape wallet_query = {wallet_query_fields, sizeof(struct customer_wallet_query)};

static enum err show_wallet(struct request *req, Id account, Id before, int64_t limit)
{
    struct wallet wallet;
    struct wallet_transaction *transactions;
    size_t count;
    enum err e = wallet_find(req->db, account, &wallet);
    if (!e) e = wallet_transactions(req->db, wallet.ledger_id, before, limit + 1, &transactions, &count);
    if (e) return e;
    view_wallet(&req->out, &wallet, req->settings->currency, transactions, count, (size_t)limit);
    return OK;
}

static enum err get_customer_wallet(struct request *req)
{
    const struct customer_wallet_query *q = req->query;
    struct customer c;
    enum err e = customer_find(req->db, req->param_id, &c);
    return e ? e : show_wallet(req, req->param_id, q->before, q->limit ? q->limit : 100);
}

struct adjust_body {
    Money amount; /* signed */
    Str description;
};
static const struct field adjust_fields[] = {
    {"amount", FIELD_MONEY, REQUIRED, offsetof(struct adjust_body, amount), .min = -INT64_MAX, .max = INT64_MAX},
    {"description", FIELD_LINE, REQUIRED, offsetof(struct adjust_body, description), .min = 1, .max = 255},
    {0},
};
static const struct shape adjust_shape = {adjust_fields, sizeof(struct adjust_body)};

enum err desk_wallet(struct request *req, Id account, Money amount, Str description, bool *ret_made)
{
    struct customer c, after;
    const struct credit_request want = {.account = account, .amount = amount, .description = description};
    enum err e = customer_find(req->db, account, &c);
    if (e) return e;
    if (amount.minor == 0) return request_bad_field(req, "amount", ERR_FIELD_RANGE);
    if (id_eq(req->account, account)) return ERR_OWN_ACCOUNT;
    e = may_give(req, &want, ret_made);
    if (e) return e;
    if (!*ret_made)
        return admin_audit(req, "customer.wallet_request", account, c.account.email, (Str){0},
                           admin_json(req, view_customer, &c));
    struct transfer t = {.kind = LEDGER_ADJUSTMENT,
                         .amount = {amount.minor < 0 ? -amount.minor : amount.minor},
                         .description = description,
                         .at = req->now};
    e = amount.minor > 0 ? ledger_credit(req->db, account, LEDGER_ADJUSTMENTS, &t)
                         : ledger_debit(req->db, account, LEDGER_ADJUSTMENTS, &t, false);
    if (e == ERR_EXCEEDS_BALANCE || e == ERR_FIELD_RANGE) return request_bad_field(req, "amount", e);
    if (!e) e = customer_find(req->db, account, &after);
    if (e) return e;
    return admin_audit(req, "customer.wallet_adjust", account, c.account.email, admin_json(req, view_customer, &c),
                       admin_json(req, view_customer, &after));
}

static enum err post_customer_wallet(struct request *req)
{
    const struct adjust_body *in = req->body;
    bool is_made = false;
    enum err e = desk_wallet(req, req->param_id, in->amount, in->description, &is_made);
    if (e) return e;
    req->message = is_made ? "The wallet was changed"
                           : "Somebody else has to approve this credit: it is made when they request the same one";
    return show_wallet(req, req->param_id, (Id){0}, 100);
}

const struct route admin_customers_routes[] = {
    {"GET", "/api/admin/customers", SCOPE_ADMIN, TX_READ, NULL, get_customers, .query = &search_query_shape},
    {"POST", "/api/admin/customers", SCOPE_ADMIN, TX_SELF, &customer_shape, post_customer, IDEMPOTENT},
    {"GET", "/api/admin/customers/{id}", SCOPE_ADMIN, TX_READ, NULL, get_customer},
    {"PATCH", "/api/admin/customers/{id}", SCOPE_ADMIN, TX_WRITE, &customer_patch, patch_customer},
    {"GET", "/api/admin/customers/{id}/tokens", SCOPE_ADMIN, TX_READ, NULL, get_customer_tokens,
     .query = &list_query_shape},
    {"POST", "/api/admin/customers/{id}/tokens", SCOPE_ADMIN, TX_WRITE, &token_body_shape, post_customer_token,
     CONFIRMED | IDEMPOTENT},
    {"DELETE", "/api/admin/customers/{id}/tokens/{token_id}", SCOPE_ADMIN, TX_WRITE, NULL, delete_customer_token},
    {"GET", "/api/admin/customers/{id}/wallet", SCOPE_ADMIN, TX_READ, NULL, get_customer_wallet,
     .query = &wallet_query},
    {"POST", "/api/admin/customers/{id}/wallet", SCOPE_ADMIN, TX_WRITE, &adjust_shape, post_customer_wallet,
     CONFIRMED | IDEMPOTENT},
    {0},
};
