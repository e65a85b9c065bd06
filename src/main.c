/* main.c - finds the command. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/command.h"

static void help(void)
{
    fprintf(stderr, "usage: souk COMMAND [OPTION …]\n\nCommands:\n");
    for (const struct command *c = commands; c->words; c++) fprintf(stderr, "  %-18s %s\n", c->words, c->help);
    fprintf(stderr, "\nOptions (flag > SOUK_* environment > config file > default):\n");
    config_help();
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
    if (argc && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0 || strcmp(argv[0], "help") == 0)) {
        help();
        return EXIT_OK;
    }
    if (argc && strcmp(argv[0], "--version") == 0) argv[0] = (char[]){"version"};
    for (const struct command *c = commands; c->words; c++) {
        int n = words_match(c->words, argc, argv);
        if (!n) continue;
        struct config config;
        if (!config_read(argc - n, argv + n, &config)) return EXIT_USAGE;
        struct arena a = {0};
        int result = c->run(&config, &a);
        arena_done(&a);
        return result;
    }
    help();
    return EXIT_USAGE;
}
