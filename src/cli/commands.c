/* cli/commands.c - the list of commands, and the small ones. */
#include <stdio.h>

#include "cli/accounts.h"
#include "cli/backup.h"
#include "cli/check.h"
#include "cli/data_export.h"
#include "cli/data_import.h"
#include "cli/demo.h"
#include "cli/doctor.h"
#include "cli/manual.h"
#include "cli/move_store.h"
#include "cli/routes_list.h"
#include "cli/serials.h"
#include "cli/serve.h"
#include "cli/wallet.h"
#include "db/migrate.h"
#include "domain/settings.h"
#include "serve/version.h"

static int version_command(const struct config *config, struct arena *a)
{
    (void)config, (void)a;
    printf("souk %s\n", SOUK_VERSION);
    return EXIT_OK;
}

static int config_show_command(const struct config *config, struct arena *a)
{
    (void)config, (void)a;
    config_show();
    return EXIT_OK;
}

static int migrate_command(const struct config *config, struct arena *a)
{
    (void)a;
    struct database *d = cli_open(config, OPEN_CHANGE);
    if (!d) return EXIT_FAILED;
    fprintf(stderr, "souk: the schema is at version %d\n", migrate_version());
    database_close(d);
    return EXIT_OK;
}

struct init_job {
    Str currency, store_name;
};

static enum err init(void *arg, struct db *db)
{
    struct init_job *job = arg;
    enum err e = OK;
    if (job->currency.len) e = settings_set_currency(db, job->currency);
    if (!e && job->store_name.len) e = settings_set(db, "store_name", job->store_name);
    return e;
}

static int init_command(const struct config *config, struct arena *a)
{
    struct init_job job = {str_upper(a, str_from(config->currency)), str_trim(str_from(config->store_name))};
    if (!utf8_valid(job.store_name) || utf8_count(job.store_name) > 60)
        return cli_usage("--store-name wants at most 60 characters");
    if (job.currency.len && currency_exponent(job.currency) < 0)
        return cli_usage("--currency wants an ISO 4217 code such as USD, EUR or JPY");
    struct database *d = cli_open(config, OPEN_NEW);
    if (!d) return EXIT_FAILED;
    enum err e = tx_call(d, TX_WRITE, init, &job, a);
    if (e == ERR_INVALID_STATE)
        cli_fail("the currency can no longer be changed: there are prices or money already");
    else if (e)
        cli_fail("%s", err_info(e)->message);
    database_close(d);
    return e ? EXIT_FAILED : EXIT_OK;
}

const struct command commands[] = {
    {"serve", "run the store", serve_command},
    {"demo", "fill an empty database with a store to look around in", demo_command},
    {"init", "make the database and the master key, choose currency and name", init_command},
    {"account create", "make an account, print its id", account_create_command, .through_server = true},
    {"token create", "make a token, print it", token_create_command, .through_server = true},
    {"wallet credit", "put money into a customer's wallet, print the balance", wallet_credit_command,
     .through_server = true},
    {"serials import", "put codes into a product's pool: FILE or -, one per line", serials_import_command,
     .through_server = true, .reads_file = true},
    {"import products", "put products of a CSV file into the store: FILE or -", import_products_command,
     .through_server = true, .reads_file = true},
    {"import variants", "the same for their variants", import_variants_command, .through_server = true,
     .reads_file = true},
    {"import customers", "the same for customers", import_customers_command, .through_server = true,
     .reads_file = true},
    {"import licenses", "the same for licences, with the keys that customers have", import_licenses_command,
     .through_server = true, .reads_file = true},
    {"import serials", "the same for serial codes of several products", import_serials_command, .through_server = true,
     .reads_file = true},
    {"import wallets", "the same for balances that customers bring along", import_wallets_command,
     .through_server = true, .reads_file = true},
    {"export", "print KIND as CSV or JSON lines; all: every table into --to", export_command},
    {"doctor", "say what is wrong with the store and its surroundings, and what to do", doctor_command},
    {"check", "verify every rule that the data must keep", check_command},
    {"backup create", "write the whole store into one file, beside a running server", backup_create_command},
    {"backup verify", "restore FILE into a scratch database and run every check", backup_verify_command},
    {"backup restore", "make a store of FILE at --db, which must be empty", backup_restore_command},
    {"backup keygen", "make a pair of keys: the secret one into --to, the public one is printed",
     backup_keygen_command},
    {"move", "copy a store that is not being served into another database, of either engine", move_command},
    {"migrate", "bring the schema up to date", migrate_command},
    {"routes", "list every endpoint", routes_command},
    {"config show", "show every option and where it comes from", config_show_command},
    {"manual", "print the manual page 1 (the program) or 5 (its config file), for man", manual_command},
    {"completion", "print the completion script for bash", completion_command},
    {"version", "print the version", version_command},
    {0},
};
