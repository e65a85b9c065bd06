/* cli/control_call.c - the command's end of the control socket. See control.h. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/control.h"
#include "cli/control_wire.h"
#include "serve/version.h"

/* A connection to the server at this place, or -1. */
static int reach(const struct config *config)
{
    struct control_place place;
    if (!control_place_open(config, &place)) return -1;
    struct sockaddr_un address = control_address(&place, place.name);
    int fd = place.folder < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        fd = -1;
    }
    control_place_close(&place);
    return fd;
}

enum greeting { GREETING_OURS, GREETING_NONE, GREETING_REFUSED };

static enum greeting greeted(int fd, const struct config *config, struct arena *a)
{
    Str hello[3];
    size_t count = 0;
    if (!control_receive(fd, a, 3, hello, &count) || !count) return GREETING_NONE; /* it is about to end */
    if (str_eq(hello[0], STR(CONTROL_REFUSED))) {
        cli_fail("the running server takes commands from its own user and from root, not from uid %lld",
                 (long long)geteuid());
        return GREETING_REFUSED;
    }
    if (count != 3 || !str_eq(hello[2], control_store(config, a))) return GREETING_NONE; /* another store's */
    if (str_eq(hello[0], STR(CONTROL_HELLO)) && str_eq(hello[1], STR(SOUK_VERSION))) return GREETING_OURS;
    cli_fail("the running server is souk %.*s, this is souk %s: restart the server", STR_FMT(hello[1]), SOUK_VERSION);
    return GREETING_REFUSED;
}

/* A line, or all that comes. False after saying why. */
static bool read_input(FILE *f, bool is_line, const char *name, struct arena *a, Str *ret)
{
    struct buf b;
    buf_init(&b, a, CONTROL_BYTES_MAX - 1024 * 1024);
    char part[65536];
    size_t n;
    if (is_line) {
        if (fgets(part, sizeof part, f)) buf_append(&b, str_from(part));
    } else {
        while (!b.full && (n = fread(part, 1, sizeof part, f)) > 0) buf_append(&b, (Str){part, n});
    }
    *ret = buf_str(&b);
    if (!ferror(f) && !b.full) return true;
    if (b.full)
        cli_fail("%s is too large beside a running server: import it in parts", name);
    else
        cli_fail("cannot read %s to its end", name);
    return false;
}

/* What the command will read: its file, or stdin. */
static bool gather_input(const struct command *command, const struct config *config, struct arena *a, Str *ret)
{
    const char *operand = config->operand_count ? config->operands[0] : "";
    bool is_stdin = command->reads_file && strcmp(operand, "-") == 0;
    *ret = (Str){"", 0};
    if (config->password_stdin || is_stdin) return read_input(stdin, !is_stdin, "stdin", a, ret);
    if (!command->reads_file || !*operand) return true;
    FILE *f = fopen(operand, "rbe");
    if (!f) {
        cli_fail("cannot read %s: %s", operand, strerror(errno));
        return false;
    }
    bool ok = read_input(f, false, operand, a, ret);
    fclose(f);
    return ok;
}

static int ask(int fd, const struct command *command, const struct config *config, struct arena *a)
{
    const char *words[CONTROL_TEXTS_MAX];
    Str texts[CONTROL_TEXTS_MAX], answer[3], input;
    const size_t most = CONTROL_TEXTS_MAX - 2; /* beside the command and its input */
    size_t n = config_command_words(words, most), count = 0;
    if (n > most) return cli_usage("a running server takes a command of at most %zu words", most);
    if (!gather_input(command, config, a, &input)) return EXIT_FAILED;
    texts[count++] = str_from(command->words);
    for (size_t i = 0; i < n; i++) {
        /* The server gets the file's content, and no path. */
        bool is_file = command->reads_file && config->operand_count && words[i] == config->operands[0];
        texts[count++] = is_file ? STR("-") : str_from(words[i]);
    }
    texts[count++] = input;
    int64_t code;
    size_t parts = 0;
    if (!control_send(fd, texts, count) || !control_receive(fd, a, 3, answer, &parts) || parts != 3 ||
        !str_to_int64(answer[0], &code))
        return cli_fail("the running server ended before it answered: look whether the change was made");
    fwrite(answer[1].ptr, 1, answer[1].len, stdout);
    fwrite(answer[2].ptr, 1, answer[2].len, stderr);
    return fflush(stdout) == 0 ? (int)code : cli_fail("the command was run; its output could not be written");
}

bool control_call(const struct command *command, const struct config *config, struct arena *a, int *ret)
{
    if (!command->through_server) return false;
    int fd = reach(config);
    if (fd < 0) return false;
    enum greeting g = greeted(fd, config, a);
    if (g == GREETING_OURS)
        *ret = ask(fd, command, config, a);
    else
        *ret = EXIT_FAILED;
    close(fd);
    return g != GREETING_NONE;
}
