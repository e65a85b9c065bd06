/* api/shop/shop_wallet.c - a customer's wallet: balance, movements, top-ups and withdrawals. */
#include "api/pay.h"
#include "api/shop/account_sheet.h"
#include "api/tables.h"
#include "domain/ledger.h"
#include "domain/order_ref.h"
#include "domain/withdrawal.h"
#include "page/words.h"
#include "serve/app.h"
#include "serve/form.h"

#define WITHDRAWALS_SHOWN 10

static struct page_move_list moves_of(struct request *req, const struct wallet_transaction *items, size_t count)
{
    struct page_move *moves = arena_array(req->arena, struct page_move, count);
    for (size_t i = 0; i < count; i++) { /* the newest first */
        const struct wallet_transaction *t = &items[count - 1 - i];
        moves[i] = (struct page_move){.placed = t->created_at,
                                      .description = t->description,
                                      .amount = {t->is_credit ? t->amount.minor : -t->amount.minor}};
    }
    return (struct page_move_list){moves, count};
}

static struct page_withdrawalrow_list withdrawals_of(struct request *req, const struct withdrawal *items, size_t count)
{
    static const enum word words[] = {[WITHDRAWAL_PENDING] = WORD_withdrawal_pending,
                                      [WITHDRAWAL_APPROVED] = WORD_withdrawal_approved,
                                      [WITHDRAWAL_REJECTED] = WORD_withdrawal_rejected,
                                      [WITHDRAWAL_CANCELLED] = WORD_withdrawal_cancelled};
    struct page_withdrawalrow *rows = arena_array(req->arena, struct page_withdrawalrow, count);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct page_withdrawalrow){.id = items[i].id.v,
                                              .placed = items[i].requested_at,
                                              .amount = items[i].amount,
                                              .status = words[items[i].status],
                                              .reason = items[i].reason.len ? items[i].reason : items[i].destination,
                                              .can_cancel = items[i].status == WITHDRAWAL_PENDING};
    return (struct page_withdrawalrow_list){rows, count};
}

static enum err show_wallet(struct request *req, struct trouble *t)
{
    struct wallet wallet;
    struct wallet_transaction *items;
    struct withdrawal *withdrawals;
    struct page_method_list methods;
    size_t count, withdrawal_count;
    struct sheet s;
    enum err e = wallet_find(req->db, req->account, &wallet);
    if (!e) e = wallet_transactions(req->db, wallet.ledger_id, account_before(req), ACCOUNT_ROWS + 1, &items, &count);
    if (!e)
        e = withdrawal_list_account(req->db, req->account, (Id){0}, WITHDRAWALS_SHOWN, &withdrawals, &withdrawal_count);
    if (e) return e;
    account_sheet(req, &s, WORD_wallet);
    e = shop_methods(req, &s, (Money){0}, t->e ? form_field(req, "gateway") : (Str){0}, &methods);
    if (e) return e;
    bool more = count > ACCOUNT_ROWS, is_out = str_ends(req->exchange->head.path, STR("/withdraw"));
    if (more) items++, count--; /* the oldest comes first */
    Str older = more ? str_printf(req->arena, "/account/wallet?before=%lld", (long long)items[0].id.v) : (Str){0};
    Str amount = t->e ? form_field(req, "amount") : (Str){0}, problem = trouble_field(&s, t, "amount");
    page_write_wallet(&s.page, &(const struct page_wallet){
                                   .frame = s.frame,
                                   .balance = wallet.balance,
                                   .held = wallet.held,
                                   .moves = moves_of(req, items, count),
                                   .withdrawals = withdrawals_of(req, withdrawals, withdrawal_count),
                                   .methods = methods,
                                   .older = older,
                                   .amount = is_out ? (Str){0} : amount,
                                   .amount_problem = is_out ? (Str){0} : problem,
                                   .gateway_problem = trouble_field(&s, t, "gateway"),
                                   .out_amount = is_out ? amount : (Str){0},
                                   .out_problem = is_out ? problem : (Str){0},
                                   .destination = t->e ? form_field(req, "destination") : (Str){0},
                                   .destination_problem = trouble_field(&s, t, "destination"),
                                   .problem = trouble_text(&s, t),
                               });
    sheet_send(req, &s);
    if (t->e) req->status = err_info(t->e)->status;
    return OK;
}
REQUEST_STEP(show_wallet);

static enum err get_wallet(struct request *req)
{
    return show_wallet(req, &(struct trouble){0});
}

static enum err show_again(struct request *req, enum err e)
{
    if (!shop_can_show(e)) return e;
    struct trouble t = trouble_of(req, e);
    return request_step(req, TX_READ, show_wallet, &t);
}

struct topup_form {
    Money amount;
    Str gateway;
};
static const struct field topup_fields[] = {
    {"amount", FIELD_MONEY, REQUIRED, offsetof(struct topup_form, amount), .min = 1},
    {"gateway", FIELD_LINE, REQUIRED, offsetof(struct topup_form, gateway), .min = 1, .max = 40},
    {0},
};
static const struct shape topup_form = {topup_fields, sizeof(struct topup_form)};

struct topup {
    struct pay pay; /* first */
    const struct topup_form *in;
};

static enum err topup_answer(struct request *req, struct pay *pay)
{
    return shop_go(req,
                   str_printf(req->arena, "/pay/%.*s", STR_FMT(ref_make(req->arena, REF_PAYMENT, pay->payment.id))));
}

static enum err topup_undo(struct request *req, struct pay *pay)
{
    (void)req, (void)pay;
    return OK;
}

static enum err topup_write(struct request *req, struct topup *t)
{
    Str page = str_printf(req->arena, "%s/account/wallet", req->app->shop_url);
    enum err e = pay_gateway(req->db, t->in->gateway, &t->pay.gateway);
    if (e == ERR_FIELD_VALUE) return request_bad_field(req, "gateway", e);
    if (e) return e;
    struct payment want = {
        .account_id = req->account, .amount = t->in->amount, .success_url = page, .cancel_url = page};
    e = pay_begin(req, &t->pay, &want);
    return e ? e : topup_answer(req, &t->pay);
}
REQUEST_STEP(topup_write);

static enum err post_topup(struct request *req)
{
    void *in = NULL;
    struct topup *t = arena_new(req->arena, struct topup);
    enum err e = form_read(req, &topup_form, &in);
    t->in = in;
    if (!e) e = request_step(req, TX_WRITE, topup_write, t);
    if (!e) e = pay_finish(req, &t->pay, topup_answer, topup_undo);
    return e ? show_again(req, e) : OK;
}

struct withdraw_form {
    Money amount;
    Str destination;
};
static const struct field withdraw_fields[] = {
    {"amount", FIELD_MONEY, REQUIRED, offsetof(struct withdraw_form, amount), .min = 1},
    {"destination", FIELD_LINE, OPTIONAL, offsetof(struct withdraw_form, destination), .min = 1, .max = 255},
    {0},
};
static const struct shape withdraw_form = {withdraw_fields, sizeof(struct withdraw_form)};

static enum err withdraw_write(struct request *req, const struct withdraw_form *in)
{
    struct withdrawal w;
    enum err e = withdrawal_request(req->db, req->account, in->amount, in->destination, req->now, &w);
    if (e == ERR_EXCEEDS_BALANCE || e == ERR_FIELD_RANGE) return request_bad_field(req, "amount", e);
    return e ? e : shop_go(req, STR("/account/wallet"));
}
REQUEST_STEP(withdraw_write);

static enum err post_withdraw(struct request *req)
{
    void *in = NULL;
    enum err e = form_read(req, &withdraw_form, &in);
    if (!e) e = request_step(req, TX_WRITE, withdraw_write, in);
    return e ? show_again(req, e) : OK;
}

static enum err cancel_write(struct request *req, struct withdrawal *w)
{
    enum err e = withdrawal_cancel(req->db, req->param_id, req->account, req->now, w);
    return e ? e : shop_go(req, STR("/account/wallet"));
}
REQUEST_STEP(cancel_write);

static enum err post_cancel(struct request *req)
{
    struct withdrawal w;
    enum err e = request_step(req, TX_WRITE, cancel_write, &w);
    return e ? show_again(req, e) : OK;
}

const struct route shop_wallet_routes[] = {
    {"GET", "/account/wallet", SCOPE_NONE, TX_READ, NULL, get_wallet, SHOP_PAGE | LOGIN_FIRST},
    {"POST", "/account/wallet/topup", SCOPE_NONE, TX_SELF, NULL, post_topup,
     SHOP_FORM | LOGIN_FIRST | CALLS_OUT | PROVEN_EMAIL, .accepts = FORM_TYPE},
    {"POST", "/account/wallet/withdraw", SCOPE_NONE, TX_SELF, NULL, post_withdraw,
     SHOP_FORM | LOGIN_FIRST | PROVEN_EMAIL, .accepts = FORM_TYPE},
    {"POST", "/account/wallet/withdrawals/{id}/cancel", SCOPE_NONE, TX_SELF, NULL, post_cancel, SHOP_FORM | LOGIN_FIRST,
     .accepts = FORM_TYPE},
    {0},
};
