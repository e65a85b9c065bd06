/* cli/accounts.c - accounts and tokens from the command line. */
#include <sodium.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/accounts.h"
#include "cli/caller.h"
#include "domain/audit.h"
#include "domain/password.h"
#include "domain/token.h"

struct account_job {
    struct account want, made;
    Str address;
};

static enum err create_account(void *arg, struct db *db)
{
    struct account_job *job = arg;
    Time now = time_now();
    enum err e = account_create(db, &job->want, now, &job->made);
    if (e) return e;
    const struct audit_entry entry = {.action = job->made.role == ROLE_CUSTOMER ? STR("customer.create")
                                                                                : STR("staff.create"),
                                      .resource = job->made.id,
                                      .label = job->made.email,
                                      .address = job->address,
                                      .created_at = now};
    return audit_add(db, &entry);
}

/* One line from stdin, without its end. */
static bool read_password(char *ret, size_t bytes)
{
    if (!fgets(ret, (int)bytes, cli_in())) return false;
    ret[strcspn(ret, "\r\n")] = '\0';
    return true;
}

bool cli_email(const struct config *config, struct arena *a, Str *ret)
{
    Str email = text_trim(str_from(config->email));
    if (!utf8_valid(email) || !email_is_plausible(email)) return false;
    *ret = str_lower(a, email);
    return true;
}

int account_create_command(const struct config *config, struct arena *a)
{
    struct account_job job = {0};
    char password[4 * PASSWORD_MAX + 2] = {0};
    int result = EXIT_FAILED;

    job.want.name = text_trim(str_from(config->name));
    if (!cli_email(config, a, &job.want.email)) return cli_usage("--email wants an e-mail address");
    if (!utf8_valid(job.want.name) || !text_is_line(job.want.name) || utf8_count(job.want.name) > 100)
        return cli_usage("--name wants at most 100 characters on one line");
    int role = str_choice(str_from(config->role), role_names);
    if (role < ROLE_CUSTOMER) return cli_usage("--role is customer, staff or owner");
    job.want.role = (enum role)role;
    job.address = caller_address(a);
    if (config->password_stdin) {
        if (!read_password(password, sizeof password)) return cli_fail("no password came on stdin");
        Str text = str_from(password);
        if (!utf8_valid(text) || utf8_count(text) < PASSWORD_MIN || utf8_count(text) > PASSWORD_MAX)
            return cli_fail("a password has %d to %d characters", PASSWORD_MIN, PASSWORD_MAX);
    }
    struct database *d = cli_open(config, OPEN_CHANGE);
    if (!d) return EXIT_FAILED;
    if (config->password_stdin) job.want.password_hash = password_hash(a, str_from(password));
    sodium_memzero(password, sizeof password);
    if (cli_tx(d, TX_WRITE, create_account, &job, a)) {
        fprintf(cli_out(), "%lld\n", (long long)job.made.id.v);
        result = EXIT_OK;
    }
    cli_close(d);
    return result;
}

struct token_job {
    Str email, name, text, address;
    unsigned scopes;
};

static enum err create_token(void *arg, struct db *db)
{
    struct token_job *job = arg;
    struct account account;
    enum err e = account_find_email(db, job->email, &account);
    if (e) return e;
    unsigned may = scopes_of_role(account.role);
    if (job->scopes & ~may) return ERR_FORBIDDEN;
    struct token want = {
        .account = account.id, .kind = TOKEN_API, .name = job->name, .scopes = job->scopes ? job->scopes : may};
    struct token made;
    Time now = time_now();
    e = token_create(db, &want, now, &made, &job->text);
    if (e || !(made.scopes & SCOPES_OF_POWER)) return e;
    struct audit_entry entry = {.action = STR("auth.token_create"),
                                .resource = account.id,
                                .label = account.email,
                                .address = job->address,
                                .created_at = now};
    return audit_add(db, &entry);
}

int token_create_command(const struct config *config, struct arena *a)
{
    struct token_job job = {.name = text_trim(str_from(config->name)), .address = caller_address(a)};
    int result = EXIT_FAILED;
    if (!cli_email(config, a, &job.email)) return cli_usage("--email wants an e-mail address");
    if (!utf8_valid(job.name) || !text_is_line(job.name) || utf8_count(job.name) > 100)
        return cli_usage("--name wants at most 100 characters on one line");
    if (*config->scopes && !scopes_parse(str_from(config->scopes), &job.scopes))
        return cli_usage("--scopes wants names from: customer, store, catalog, verify, order, admin, owner");
    struct database *d = cli_open(config, OPEN_CHANGE);
    if (!d) return EXIT_FAILED;
    enum err e = tx_call(d, TX_WRITE, create_token, &job, a);
    if (e == ERR_NOT_FOUND)
        cli_fail("no account has the e-mail address %.*s", STR_FMT(job.email));
    else if (e == ERR_FORBIDDEN)
        cli_fail("this account may not have all of these scopes");
    else if (e)
        cli_fail("%s", err_info(e)->message);
    else {
        fprintf(cli_out(), "%.*s\n", STR_FMT(job.text));
        result = EXIT_OK;
    }
    cli_close(d);
    return result;
}
