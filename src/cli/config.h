/* cli/config.h - options: flag > SOUK_* environment > config file > default. config.c has the table, one row each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct config {
    const char *db;
    const char *listen;
    const char *key_file;
    const char *key;           /* environment only */
    const char *metrics_token; /* environment only */
    const char *data;
    const char *base_url;
    const char *port_file;
    const char *control_socket;
    const char *log_level;
    const char *log_format;
    const char *trusted_proxy;
    const char *cors_origins;
    const char *smtp_url, *smtp_user, *smtp_password, *mail_from; /* the password: environment only */
    bool smtp_plain;
    bool create;
    bool cheap_passwords;
    const char *ca_file;
    bool webhook_private_ok;
    bool log_requests;
    int64_t loops, workers, connections_max, connections_per_address, body_memory_max, unsent_max, tokens_max;
    int64_t header_timeout_ms, idle_timeout_ms, drain_timeout_ms, drain_idle_ms, body_rate_min, report_timeout_ms;
    int64_t body_max, file_max;
    int64_t rate_v1, rate_customer, rate_auth;
    const char *backup_folder, *backup_public_key, *backup_hook;
    int64_t backup_every_hours, backup_keep;
    bool backup_unverified;
    /* of single commands */
    const char *email, *name, *role, *amount, *description, *scopes, *currency, *store_name, *product, *variant;
    const char *from, *to, *scratch, *secret_key_file, *key_passphrase_file;
    bool pages, fields, password_stdin, verify, json, dry_run;
    const char *format;
    const char *operands[8]; /* arguments that are not options */
    size_t operand_count;
};

/* Reads argv (behind the command), the environment and the file. False after saying on stderr what is wrong. */
bool config_read(int argc, char **argv, struct config *ret);
/* Reads the same arguments, environment and file again: the file may have changed. Earlier texts stay valid. */
bool config_read_again(struct config *ret);
/* The arguments that belong to the command, without those that say which store to open: what another process needs to
 * run it. Gives how many there are; the first `max` of them are in `ret`. */
size_t config_command_words(const char **ret, size_t max);
/* The options of a running server with those of one command, which came from another process. From any thread. */
bool config_of_command(const struct config *server, size_t count, char **words, struct config *ret);
/* Every option with its value and where the value came from. Secrets are not shown. */
void config_show(void);
/* One row of the table of options. */
struct config_row {
    const char *name, *fallback, *help;
    char env[64];    /* SOUK_NAME */
    bool is_flag;    /* takes no value on the command line */
    bool is_secret;  /* environment only */
    bool of_command; /* flag only */
};
void config_each(void (*fn)(void *ctx, const struct config_row *row), void *ctx);
/* The list for --help. */
void config_help(FILE *to);
