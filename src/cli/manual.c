/* cli/manual.c - the manual pages and the completion of the shell, written out of the tables of commands and options.
 */
#include "cli/manual.h"

#include <stdio.h>

#include "serve/version.h"

/* Text for roff: a hyphen that can be copied, no escapes, no line that looks like a request. */
static void put(const char *text)
{
    if (*text == '.' || *text == '\'') printf("\\&");
    for (; *text; text++) {
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
    }
}

static void entry(const char *before, const char *name, const char *help, const char *fallback)
{
    printf(".TP\n.B ");
    put(before);
    put(name);
    printf("\n");
    put(*help ? help : "");
    if (*fallback) {
        printf(" [");
        put(fallback);
        printf("]");
    }
    printf("\n");
}

static void flag_entry(void *ctx, const struct config_row *row)
{
    bool of_command = *(const bool *)ctx;
    if (row->of_command == of_command && !row->is_secret) entry("--", row->name, row->help, row->fallback);
}

static void file_entry(void *ctx, const struct config_row *row)
{
    (void)ctx;
    if (!row->of_command && !row->is_secret) entry("", row->name, row->help, row->fallback);
}

static void secret_entry(void *ctx, const struct config_row *row)
{
    (void)ctx;
    if (row->is_secret) entry("", row->env, row->help, "");
}

static void program_page(void)
{
    printf(".TH SOUK 1 \"\" \"souk %s\" \"souk\"\n", SOUK_VERSION);
    printf(".SH NAME\nsouk \\- self\\-hosted store for digital goods\n"
           ".SH SYNOPSIS\n.B souk\n.I COMMAND\n.RI [ OPTION\\~... ]\n"
           ".SH DESCRIPTION\nA shop, an administration panel and an API for licence keys, serial codes and downloads,"
           " with SQLite inside or PostgreSQL beside it.\nData goes to standard output, messages go to standard"
           " error.\n.SH COMMANDS\n");
    for (const struct command *c = commands; c->words; c++) {
        entry("", c->words, c->help, "");
        if (c->through_server)
            printf(
                "While a server of this store runs, the server carries it out (see\n.BR \\-\\-control\\-socket ).\n");
    }
    printf(".SH OPTIONS OF COMMANDS\n");
    config_each(flag_entry, &(bool){true});
    printf(".SH OPTIONS\nA flag wins over the environment\n.RB ( SOUK_NAME ,\nin capitals, with _ for each"
           " hyphen), which wins over the config file, which wins over the default in brackets.\n");
    entry("--", "config", "lines of name = value, see souk.conf(5); also SOUK_CONFIG", "");
    config_each(flag_entry, &(bool){false});
    printf(".SH ENVIRONMENT\nSecrets are taken from the environment alone:\n");
    config_each(secret_entry, NULL);
    printf(".PP\n.BR souk\\~serve\nunderstands systemd:\n"
           ".B LISTEN_FDS\n(one listening socket),\n.BR NOTIFY_SOCKET ,\n.BR WATCHDOG_USEC ,\nand\n"
           ".B CREDENTIALS_DIRECTORY\n(a file\n.B master.key\nthere is the master key).\n"
           ".SH SIGNALS\n.B SIGTERM\nlets running requests end and exits with 0;\n.B SIGHUP\nreads the settings and how"
           " to log again.\n"
           ".SH EXIT STATUS\n0: done; 1: it failed; 2: the command line is wrong.\n"
           ".SH SEE ALSO\n.BR souk.conf (5)\n");
}

static void file_page(void)
{
    printf(".TH SOUK.CONF 5 \"\" \"souk %s\" \"souk\"\n", SOUK_VERSION);
    printf(".SH NAME\nsouk.conf \\- options of souk\n.SH DESCRIPTION\n"
           "Given by\n.B \\-\\-config\nor\n.BR SOUK_CONFIG .\nLines of\n.IR name\\~=\\~value ;\n"
           "empty lines and lines that start with # are skipped; the value of a switch is true or false. A line that"
           " cannot be read stops the program, which names it.\n"
           "\n.B souk config show\nshows every option, its value and where the value comes from.\n.SH OPTIONS\n");
    config_each(file_entry, NULL);
    printf(".SH SECRETS\nThey are taken from the environment alone:\n");
    config_each(secret_entry, NULL);
    printf(".SH SEE ALSO\n.BR souk (1)\n");
}

int manual_command(const struct config *config, struct arena *a)
{
    (void)a;
    const char *which = config->operand_count == 1 ? config->operands[0] : "";
    if (strcmp(which, "1") == 0)
        program_page();
    else if (strcmp(which, "5") == 0)
        file_page();
    else
        return cli_usage("which page: 1 (the program) or 5 (its config file)?");
    return EXIT_OK;
}

enum chosen { OWN, COMMON, WITH_VALUE };
struct choice {
    enum chosen what;
    const char *command; /* of OWN */
};

/* The help of a command's own option names the command. */
static void flag_word(void *ctx, const struct config_row *row)
{
    const struct choice *choice = ctx;
    if (row->is_secret) return;
    if (choice->what == WITH_VALUE && !row->is_flag) printf("|--%s", row->name);
    if (choice->what == COMMON && !row->of_command) printf(" --%s", row->name);
    if (choice->what == OWN && row->of_command && strstr(row->help, choice->command)) printf(" --%s", row->name);
}

int completion_command(const struct config *config, struct arena *a)
{
    (void)config, (void)a;
    printf("# bash completion for souk %s, written by `souk completion`.\n"
           "_souk() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words='' own=''\n"
           "    COMPREPLY=()\n"
           "    case $prev in\n"
           "    --config",
           SOUK_VERSION);
    config_each(flag_word, &(struct choice){.what = WITH_VALUE});
    printf(") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n    esac\n"
           "    case $COMP_CWORD,${COMP_WORDS[1]} in\n");
    for (const struct command *c = commands; c->words; c++) {
        Str first, second;
        if (str_cut(str_from(c->words), ' ', &first, &second))
            printf("    2,%.*s) words+=' %.*s' ;;&\n", STR_FMT(first), STR_FMT(second));
        else
            first = str_from(c->words);
        printf("    1,*) words+=' %.*s' ;;&\n", STR_FMT(first));
    }
    printf("    esac\n    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]} \" in\n");
    for (const struct command *c = commands; c->words; c++) {
        printf("    '%s '*) own='", c->words);
        config_each(flag_word, &(struct choice){.what = OWN, .command = c->words});
        printf("' ;;\n");
    }
    printf("    esac\n"
           "    if [[ $cur == -* ]]; then\n"
           "        words=\"$own --config");
    config_each(flag_word, &(struct choice){.what = COMMON});
    printf("\"\n"
           "    elif [[ -z $words ]]; then\n"
           "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
           "        return\n"
           "    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "}\n"
           "complete -o filenames -F _souk souk\n");
    return EXIT_OK;
}
