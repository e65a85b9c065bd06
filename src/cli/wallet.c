/* cli/wallet.c - money into wallets from the command line. */
#include <stdio.h>

#include "base/text.h"
#include "cli/accounts.h"
#include "cli/caller.h"
#include "cli/wallet.h"
#include "domain/account.h"
#include "domain/audit.h"
#include "domain/ledger.h"
#include "domain/settings.h"

#define DESCRIPTION_MAX 255

struct credit_job {
    Str email, amount, description, address;
    enum money_text text; /* what is wrong with the amount */
    bool is_positive;
    struct settings settings;
    struct wallet wallet;
};

static enum err credit(void *arg, struct db *db)
{
    struct credit_job *job = arg;
    enum err e = settings_load(db, &job->settings);
    if (e) return e;
    Money amount = {0};
    job->text = money_parse(job->amount, job->settings.exponent, &amount);
    job->is_positive = amount.minor > 0;
    if (job->text != MONEY_OK || !job->is_positive) return ERR_FIELD_VALUE;

    struct account account;
    e = account_find_email(db, job->email, &account);
    if (e) return e;
    const struct transfer t = {
        .kind = LEDGER_ADJUSTMENT, .amount = amount, .description = job->description, .at = time_now()};
    e = ledger_credit(db, account.id, LEDGER_ADJUSTMENTS, &t);
    if (!e) e = wallet_find(db, account.id, &job->wallet);
    if (e) return e;
    const struct audit_entry entry = {.action = STR("customer.wallet_adjust"),
                                      .resource = account.id,
                                      .label = account.email,
                                      .address = job->address,
                                      .created_at = t.at};
    return audit_add(db, &entry);
}

static int bad_amount(const struct credit_job *job)
{
    if (job->text == MONEY_TOO_PRECISE) return cli_usage("--amount has more decimals than %s", job->settings.currency);
    if (job->text == MONEY_OUT_OF_RANGE) return cli_usage("--amount is too large");
    if (job->text == MONEY_MALFORMED) return cli_usage("--amount wants a number such as 100.00");
    return cli_usage("--amount must be greater than 0");
}

int wallet_credit_command(const struct config *config, struct arena *a)
{
    struct credit_job job = {.amount = str_from(config->amount),
                             .description = text_trim(str_from(config->description))};
    if (!cli_email(config, a, &job.email)) return cli_usage("--email wants an e-mail address");
    if (!job.amount.len) return cli_usage("--amount is missing");
    if (!utf8_valid(job.description) || !text_is_line(job.description) || utf8_count(job.description) > DESCRIPTION_MAX)
        return cli_usage("--description wants at most %d characters on one line", DESCRIPTION_MAX);
    if (!job.description.len) job.description = STR("Credit");
    job.address = caller_address(a);

    struct database *d = cli_open(config, OPEN_CHANGE);
    if (!d) return EXIT_FAILED;
    enum err e = tx_call(d, TX_WRITE, credit, &job, a);
    cli_close(d);
    if (e == ERR_FIELD_VALUE) return bad_amount(&job);
    if (e == ERR_NOT_FOUND) return cli_fail("no account has the e-mail address %.*s", STR_FMT(job.email));
    if (e == ERR_FIELD_RANGE) return cli_fail("the wallet cannot hold that much");
    if (e) return cli_fail("%s", err_info(e)->message);

    char text[MONEY_TEXT_MAX];
    size_t n = money_format(job.wallet.balance, job.settings.exponent, text);
    fprintf(cli_out(), "%.*s\n", (int)n, text);
    return EXIT_OK;
}
