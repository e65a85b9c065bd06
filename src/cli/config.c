/* cli/config.c - see config.h. The texts live as long as the process: they come from argv, the environment, or the
 * config file, which is read once and kept. */
#include "cli/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/str.h"

enum kind { TEXT, NUMBER, FLAG };
enum source { FROM_DEFAULT, FROM_FILE, FROM_ENVIRONMENT, FROM_FLAG };

static const char *const source_names[] = {"default", "file", "environment", "flag"};

struct option {
    const char *name; /* --name, SOUK_NAME, name = … */
    enum kind kind;
    size_t offset;
    const char *fallback;
    const char *help;
    bool is_secret;  /* environment only, never shown */
    bool of_command; /* flag only: belongs to one command, not to the configuration */
};

#define AT(member) offsetof(struct config, member)

static const struct option options[] = {
    {"db", TEXT, AT(db), "souk.db", "SQLite file, or a postgres:// address"},
    {"create", FLAG, AT(create), "", "serve: make the store if there is none at --db"},
    {"listen", TEXT, AT(listen), "127.0.0.1:8080", "address and port to serve on"},
    {"key-file", TEXT, AT(key_file), "", "master key; default: master.key in the data folder"},
    {"key", TEXT, AT(key), "", "master key as 64 hex digits", .is_secret = true},
    {"metrics-token", TEXT, AT(metrics_token), "",
     "bearer token for /metrics; without one it answers this machine only, and not on a public address",
     .is_secret = true},
    {"data", TEXT, AT(data), "", "folder for product files; default: beside the SQLite file"},
    {"base-url", TEXT, AT(base_url), "", "public address of the store, for links"},
    {"control-socket", TEXT, AT(control_socket), "",
     "where commands reach the running server; default: control.sock in the data folder; off: nowhere"},
    {"port-file", TEXT, AT(port_file), "", "write the bound port to this file"},
    {"log-level", TEXT, AT(log_level), "info", "debug, info, warn or error"},
    {"log-format", TEXT, AT(log_format), "logfmt", "logfmt or json"},
    {"log-requests", FLAG, AT(log_requests), "", "one record per request"},
    {"trusted-proxy", TEXT, AT(trusted_proxy), "", "address of the proxy whose X-Forwarded-For is believed"},
    {"cors-origins", TEXT, AT(cors_origins), "", "origins that browsers may call from, separated by commas"},
    {"smtp-url", TEXT, AT(smtp_url), "", "mail server: smtp://host:587 (STARTTLS) or smtps://host:465; empty: no mail"},
    {"smtp-user", TEXT, AT(smtp_user), "", "login at the mail server"},
    {"smtp-password", TEXT, AT(smtp_password), "", "password at the mail server", .is_secret = true},
    {"smtp-plain", FLAG, AT(smtp_plain), "", "mail without encryption, inside the private network only"},
    {"mail-from", TEXT, AT(mail_from), "", "address that mail is sent from"},
    {"ca-file", TEXT, AT(ca_file), "", "authorities to trust for outgoing calls and mail; default: the system's"},
    {"webhook-private-ok", FLAG, AT(webhook_private_ok), "",
     "events may be sent to private addresses and without encryption: for trying things out"},
    {"loops", NUMBER, AT(loops), "0", "event loop threads; 0: one per core"},
    {"workers", NUMBER, AT(workers), "0", "PostgreSQL connections; 0: chosen by cores"},
    {"connections-max", NUMBER, AT(connections_max), "10000", "open client connections at most"},
    {"connections-per-address", NUMBER, AT(connections_per_address), "512",
     "of these, from one address (IPv6: one /64); 0: no cap; the trusted proxy has none"},
    {"body-memory-max", NUMBER, AT(body_memory_max), "268435456",
     "bytes of request bodies in memory at most; one address may hold a quarter"},
    {"tokens-max", NUMBER, AT(tokens_max), "100", "API tokens of one account, and sessions"},
    {"unsent-max", NUMBER, AT(unsent_max), "33554432",
     "bytes of long answers that one account may leave unread; 0: no cap"},
    {"header-timeout-ms", NUMBER, AT(header_timeout_ms), "10000",
     "for a connection's first byte, and from there to the end of the head"},
    {"idle-timeout-ms", NUMBER, AT(idle_timeout_ms), "60000", "between the requests of a connection"},
    {"report-timeout-ms", NUMBER, AT(report_timeout_ms), "30000",
     "SQLite: for one look at the database that staff or an export take; 0: no limit"},
    {"drain-timeout-ms", NUMBER, AT(drain_timeout_ms), "30000", "for running requests to end after SIGTERM"},
    {"drain-idle-ms", NUMBER, AT(drain_idle_ms), "1000",
     "with a socket from systemd: for idle connections to send one more request after SIGTERM"},
    {"body-rate-min", NUMBER, AT(body_rate_min), "500", "bytes per second at which a body must arrive"},
    {"body-max", NUMBER, AT(body_max), "65536", "bytes of a JSON body"},
    {"file-max", NUMBER, AT(file_max), "4294967296", "bytes of a product file"},
    {"rate-v1", NUMBER, AT(rate_v1), "-1", "v1 requests per minute and token; 0: no limit; -1: the stored setting"},
    {"rate-customer", NUMBER, AT(rate_customer), "-1", "other requests per minute and caller; as above"},
    {"rate-auth", NUMBER, AT(rate_auth), "10", "failed logins per minute and e-mail address; 0: no limit"},
    {"cheap-passwords", FLAG, AT(cheap_passwords), "",
     "serve, for test runs only: passwords are hashed at the smallest cost; on a loopback address without a proxy"},
    {"backup-folder", TEXT, AT(backup_folder), "", "serve: make backups there; empty: none"},
    {"backup-every-hours", NUMBER, AT(backup_every_hours), "24", "serve: hours from one backup to the next"},
    {"backup-keep", NUMBER, AT(backup_keep), "14", "serve: backups to keep; older ones are removed; 0: all"},
    {"backup-public-key", TEXT, AT(backup_public_key), "",
     "seal backups to this key ('souk backup keygen' makes one); empty: they are not sealed"},
    {"backup-unverified", FLAG, AT(backup_unverified), "", "serve: do not restore and check each backup"},
    {"backup-hook", TEXT, AT(backup_hook), "", "serve: program to run with the path of each new backup, to upload it"},
    {"email", TEXT, AT(email), "", "account create, token create, wallet credit", .of_command = true},
    {"name", TEXT, AT(name), "", "account create, token create", .of_command = true},
    {"role", TEXT, AT(role), "customer", "account create: customer, staff or owner", .of_command = true},
    {"password-stdin", FLAG, AT(password_stdin), "", "account create: read the password from stdin",
     .of_command = true},
    {"fields", FLAG, AT(fields), "", "routes: what each endpoint takes", .of_command = true},
    {"scopes", TEXT, AT(scopes), "", "token create: names separated by commas", .of_command = true},
    {"amount", TEXT, AT(amount), "", "wallet credit: in major units", .of_command = true},
    {"description", TEXT, AT(description), "", "wallet credit", .of_command = true},
    {"currency", TEXT, AT(currency), "", "init: ISO 4217 code of the store", .of_command = true},
    {"store-name", TEXT, AT(store_name), "", "init", .of_command = true},
    {"product", TEXT, AT(product), "", "serials import: slug", .of_command = true},
    {"pages", FLAG, AT(pages), "", "routes: the shop's pages and forms too", .of_command = true},
    {"json", FLAG, AT(json), "", "doctor: as JSON", .of_command = true},
    {"variant", TEXT, AT(variant), "", "serials import: id", .of_command = true},
    {"from", TEXT, AT(from), "",
     "move: the database that the store leaves; import: dujiaoka, woocommerce, edd or gumroad, whose columns the file "
     "has",
     .of_command = true},
    {"dry-run", FLAG, AT(dry_run), "", "import: check every line, change nothing", .of_command = true},
    {"format", TEXT, AT(format), "csv", "export: csv or jsonl", .of_command = true},
    {"to", TEXT, AT(to), "", "backup create, backup keygen: file to make; move: the new database; export all: folder",
     .of_command = true},
    {"verify", FLAG, AT(verify), "", "backup create: restore and check it too", .of_command = true},
    {"scratch", TEXT, AT(scratch), "",
     "where a backup is restored to be checked: a folder, or an empty PostgreSQL database; default: $TMPDIR or /tmp",
     .of_command = true},
    {"secret-key-file", TEXT, AT(secret_key_file), "", "backup verify, restore: what opens a sealed backup",
     .of_command = true},
    {"key-passphrase-file", TEXT, AT(key_passphrase_file), "",
     "backup create: put the master key inside, sealed with this passphrase; backup restore: take it out",
     .of_command = true},
};
#define OPTIONS (sizeof options / sizeof *options)

static struct config current;
static enum source sources[OPTIONS];
static struct arena from_file; /* values of the config file, for as long as the process lives */

static void env_name(const struct option *o, char *ret, size_t bytes)
{
    snprintf(ret, bytes, "SOUK_%s", o->name);
    for (char *p = ret; *p; p++) *p = *p == '-' ? '_' : *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
}

/* Where the text being read comes from, for error messages. */
static struct {
    const char *file;
    int line;
} place;

/* False, after saying which option wants what, and where the wrong text is. */
static bool refuse(const struct option *o, enum source source, const char *wants, const char *text)
{
    char name[64];
    env_name(o, name, sizeof name);
    if (source == FROM_FILE)
        fprintf(stderr, "souk: %s, line %d: %s wants %s, not '%s'\n", place.file, place.line, o->name, wants, text);
    else if (source == FROM_ENVIRONMENT)
        fprintf(stderr, "souk: %s wants %s, not '%s'\n", name, wants, text);
    else
        fprintf(stderr, "souk: --%s wants %s, not '%s'\n", o->name, wants, text);
    return false;
}

static bool is_other_scheme(const char *db)
{
    return strstr(db, "://") && strncmp(db, "postgres://", 11) != 0 && strncmp(db, "postgresql://", 13) != 0;
}

/* Touches nothing but `c`: a server reads the options of commands while it runs. */
static bool put(struct config *c, const struct option *o, const char *text, enum source source)
{
    if (o->offset == AT(db) && is_other_scheme(text)) return refuse(o, source, "a file or a postgres:// address", text);
    char *at = (char *)c + o->offset;
    if (o->kind == TEXT) {
        memcpy(at, &text, sizeof text);
    } else if (o->kind == FLAG) {
        bool on = strcmp(text, "") != 0 && strcmp(text, "0") != 0 && strcmp(text, "false") != 0;
        memcpy(at, &on, sizeof on);
    } else {
        int64_t v;
        if (!str_to_int64(str_from(text), &v)) return refuse(o, source, "a whole number", text);
        memcpy(at, &v, sizeof v);
    }
    return true;
}

static bool set(size_t i, const char *text, enum source source)
{
    if (!put(&current, &options[i], text, source)) return false;
    sources[i] = source;
    return true;
}

static size_t find(Str name)
{
    size_t i = 0;
    while (i < OPTIONS && !str_eq(name, str_from(options[i].name))) i++;
    return i;
}

static bool read_environment(void)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        char name[64];
        env_name(&options[i], name, sizeof name);
        const char *value = options[i].of_command ? NULL : getenv(name);
        if (value && !set(i, value, FROM_ENVIRONMENT)) return false;
    }
    return true;
}

/* Lines `name = value`; empty ones and those that start with # are skipped. */
static bool read_file(const char *path)
{
    FILE *f = fopen(path, "re");
    if (!f) {
        fprintf(stderr, "souk: cannot read the config file %s: %s\n", path, strerror(errno));
        return false;
    }
    char *line = NULL;
    size_t cap = 0;
    bool ok = true;
    for (int number = 1; ok && getline(&line, &cap, f) >= 0; number++) {
        Str text = str_trim(str_from(line)), name = text, value;
        if (!text.len || text.ptr[0] == '#') continue;
        size_t i = OPTIONS;
        if (str_cut(text, '=', &name, &value)) i = find(str_trim(name));
        if (i == OPTIONS || options[i].of_command) {
            fprintf(stderr, "souk: %s, line %d: there is no option '%.*s'\n", path, number, STR_FMT(str_trim(name)));
            ok = false;
        } else {
            place.file = path;
            place.line = number;
            ok = set(i, str_cstr(&from_file, str_trim(value)), FROM_FILE);
        }
    }
    free(line);
    fclose(f);
    return ok;
}

/* A flag among the arguments: its option, or `config`, and its value. */
struct flag {
    size_t option; /* OPTIONS: --config */
    const char *value;
    int used; /* arguments that it takes up */
};

static bool is_flag(const char *argument)
{
    return strncmp(argument, "--", 2) == 0 && argument[2];
}

static bool read_flag(int argc, char **argv, int at, struct flag *ret)
{
    Str text = str_from(argv[at] + 2), name = text, value = {0};
    bool joined = str_cut(text, '=', &name, &value);
    bool is_config = str_eq(name, STR("config"));
    size_t i = find(name);
    if (!is_config && (i == OPTIONS || options[i].is_secret)) {
        fprintf(stderr, "souk: there is no option --%.*s\n", STR_FMT(name));
        return false;
    }
    const char *given = joined ? value.ptr : NULL;
    ret->used = 1;
    if (!given && !is_config && options[i].kind == FLAG) {
        given = "1";
    } else if (!given) {
        if (at + 1 >= argc) {
            fprintf(stderr, "souk: --%.*s wants a value\n", STR_FMT(name));
            return false;
        }
        given = argv[at + 1];
        ret->used = 2;
    }
    ret->option = i;
    ret->value = given;
    return true;
}

static bool add_operand(struct config *c, const char *text)
{
    if (c->operand_count == sizeof c->operands / sizeof *c->operands) {
        fprintf(stderr, "souk: too many arguments\n");
        return false;
    }
    c->operands[c->operand_count++] = text;
    return true;
}

static struct {
    int count;
    char **words;
} arguments;

bool config_read(int argc, char **argv, struct config *ret)
{
    arguments.count = argc;
    arguments.words = argv;
    const char *config_file = getenv("SOUK_CONFIG");
    for (size_t i = 0; i < OPTIONS; i++) set(i, options[i].fallback, FROM_DEFAULT);

    /* The file's name may come from a flag, and flags win over the file, so flags are read twice. */
    for (int pass = 0; pass < 2; pass++) {
        current.operand_count = 0;
        struct flag flag;
        for (int i = 0; i < argc; i += flag.used) {
            flag = (struct flag){.used = 1};
            if (!is_flag(argv[i])) {
                if (!add_operand(&current, argv[i])) return false;
                continue;
            }
            if (!read_flag(argc, argv, i, &flag)) return false;
            if (flag.option == OPTIONS)
                config_file = flag.value;
            else if (!set(flag.option, flag.value, FROM_FLAG))
                return false;
        }
        if (pass == 1) break;
        if (config_file && !read_file(config_file)) return false;
        if (!read_environment()) return false;
    }
    *ret = current;
    return true;
}

bool config_read_again(struct config *ret)
{
    return config_read(arguments.count, arguments.words, ret);
}

size_t config_command_words(const char **ret, size_t max)
{
    size_t n = 0;
    struct flag flag;
    for (int i = 0; i < arguments.count; i += flag.used) {
        flag = (struct flag){.used = 1};
        if (is_flag(arguments.words[i]) && (!read_flag(arguments.count, arguments.words, i, &flag) ||
                                            flag.option == OPTIONS || !options[flag.option].of_command))
            continue;
        for (int k = 0; k < flag.used; k++, n++)
            if (n < max) ret[n] = arguments.words[i + k];
    }
    return n;
}

bool config_of_command(const struct config *server, size_t count, char **words, struct config *ret)
{
    struct config c = *server;
    c.operand_count = 0;
    for (size_t i = 0; i < OPTIONS; i++)
        if (options[i].of_command && !put(&c, &options[i], options[i].fallback, FROM_DEFAULT)) return false;
    struct flag flag;
    for (size_t i = 0; i < count; i += (size_t)flag.used) {
        flag = (struct flag){.used = 1};
        if (!is_flag(words[i])) {
            if (!add_operand(&c, words[i])) return false;
            continue;
        }
        if (!read_flag((int)count, words, (int)i, &flag) || flag.option == OPTIONS) return false;
        if (!options[flag.option].of_command) return false;
        if (!put(&c, &options[flag.option], flag.value, FROM_FLAG)) return false;
    }
    *ret = c;
    return true;
}

static void show_value(const struct option *o)
{
    const char *at = (const char *)&current + o->offset;
    if (o->kind == TEXT) {
        const char *text;
        memcpy(&text, at, sizeof text);
        bool hide = o->is_secret && *text;
        /* The password inside a database address stays hidden too. */
        const char *sign = strcmp(o->name, "db") == 0 && strstr(text, "://") ? strchr(text, '@') : NULL;
        const char *host = strstr(text, "://");
        if (hide)
            printf("(set)");
        else if (sign && host)
            printf("%.*s***%s", (int)(host + 3 - text), text, sign);
        else
            printf("%s", text);
    } else if (o->kind == FLAG) {
        bool on;
        memcpy(&on, at, sizeof on);
        printf("%s", on ? "true" : "false");
    } else {
        int64_t v;
        memcpy(&v, at, sizeof v);
        printf("%lld", (long long)v);
    }
}

void config_show(void)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        if (options[i].of_command) continue;
        printf("%s = ", options[i].name);
        show_value(&options[i]);
        printf("  # %s\n", source_names[sources[i]]);
    }
}

void config_each(void (*fn)(void *ctx, const struct config_row *row), void *ctx)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *o = &options[i];
        struct config_row row = {.name = o->name,
                                 .fallback = o->fallback,
                                 .help = o->help,
                                 .is_flag = o->kind == FLAG,
                                 .is_secret = o->is_secret,
                                 .of_command = o->of_command};
        env_name(o, row.env, sizeof row.env);
        fn(ctx, &row);
    }
}

static void help_line(void *to, const struct config_row *row)
{
    if (row->is_secret)
        fprintf(to, "  %s (environment only)  %s\n", row->env, row->help);
    else
        fprintf(to, "  --%-20s %s%s%s%s\n", row->name, row->help, *row->fallback ? " [" : "", row->fallback,
                *row->fallback ? "]" : "");
}

void config_help(FILE *to)
{
    config_each(help_line, to);
    fprintf(to, "  --%-20s lines of name = value\n", "config");
}
