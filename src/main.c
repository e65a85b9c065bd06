/* main.c - finds the command. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/command.h"
#include "cli/control.h"

static void help(FILE *to, const struct command *only)
{
    fprintf(to, "usage: souk %s [OPTION …]\n\n", only ? only->words : "COMMAND");
    if (only) fprintf(to, "%s\n", only->help);
    if (only && only->through_server)
        fprintf(to, "While a server of this store runs, the server carries it out: see --control-socket.\n");
    for (const struct command *c = commands; c->words && !only; c++) fprintf(to, "  %-18s %s\n", c->words, c->help);
    fprintf(to, "\nOptions (flag > SOUK_* environment > config file > default):\n");
    config_help(to);
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (is_help(argv[i])) return true;
    return false;
}

/* How many arguments the command's words take; 0: it is not this one. */
static int words_match(const char *words, int argc, char **argv)
{
    int n = 0;
    for (Str rest = str_from(words); rest.len; n++) {
        Str word = rest, after = {0};
        str_cut(rest, ' ', &word, &after);
        if (n >= argc || !str_eq(str_from(argv[n]), word)) return 0;
        rest = after;
    }
    return n;
}

int main(int argc, char **argv)
{
    argc--, argv++;
    if (argc && is_help(argv[0])) {
        help(stdout, NULL);
        return EXIT_OK;
    }
    static char version[] = "version";
    if (argc && strcmp(argv[0], "--version") == 0) argv[0] = version;
    for (const struct command *c = commands; c->words; c++) {
        int n = words_match(c->words, argc, argv);
        if (!n) continue;
        if (asks_for_help(argc - n, argv + n)) {
            help(stdout, c);
            return EXIT_OK;
        }
        struct config config;
        if (!config_read(argc - n, argv + n, &config)) return EXIT_USAGE;
        struct arena a = {0};
        int result;
        if (!control_call(c, &config, &a, &result)) result = c->run(&config, &a);
        arena_done(&a);
        return result;
    }
    help(stderr, NULL);
    return EXIT_USAGE;
}
