/* tests/fuzz/fuzz_server.c - the whole server in this process (tests/sim): bytes as they would come over a connection
 * go through the codec, the router, the handlers, the rules and SQLite, on a disk in memory.
 *
 * Every request must be answered or its connection closed, never with 500, with JSON where JSON is said, and with
 * header fields of one line. After each round the books must be in order, and the next round begins with the store as
 * it was first made. What a round was fed is kept in a file: FUZZ_HISTORY=FILE feeds it again before the input that
 * failed.
 *
 * The first byte says how the rest is meant; in a text of single characters no fuzzer would guess a token or a length,
 * so that some bytes stand for whole lines (macro.h). */
#include "fuzz.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../sim/client.h"
#include "../sim/control.h"
#include "../sim/schedule.h"
#include "../sim/seed.h"
#include "../sim/wire.h"
#include "db/tx.h"
#include "domain/invariant.h"
#include "domain/password.h"
#include "http/server.h"
#include "macro.h"
#include "json/reader.h"

#define ROUND_INPUTS 500
#define HISTORY_BYTES ((size_t)4 << 20)
#define JSON_READ_MAX 65536 /* the OpenAPI document is longer, and deeper than the reader goes */
#define MOVES_MAX 20000     /* of the server, until all is answered: more is a loop without an end */

enum { MODE_PLAIN = 1, MODE_PEERS = 6, MODE_LEAVES = 8 }; /* bits of the first byte */

static struct disk prepared, disk;
static struct store_facts facts;
static struct paying paying;
static struct macro_values values;
static int64_t epoch_ns;
static int inputs = -1; /* in this round; -1: no server runs */
static bool is_over;
static char folder[256];
static uint8_t *history;
static size_t history_used;

/* The server's own words on stderr, which the fuzzer prints above its report. */
static void broken(const char *what, const char *detail)
{
    fprintf(stderr, "fuzz_server: %s: %s; what came before is in %s/history\n", what, detail, folder);
    abort();
}

/* ---- the store ---- */

static void ask(const char *token, const char *method, const char *target, const char *body, char *ret)
{
    client_ask(token, method, target, body, 0, ret, 8192);
}

/* One of everything that a call can name, so that the ids 1 and 2 mean something everywhere. */
static void furnish(void)
{
    static const struct {
        bool is_staff;
        const char *method, *target, *body;
    } calls[] = {
        {true, "POST", "/api/admin/products/1/variants", "{\"name\":\"Team\",\"price\":49.00}"},
        {true, "POST", "/api/admin/departments", "{\"name\":\"Sales\"}"},
        {true, "POST", "/api/admin/pages", "{\"slug\":\"terms\",\"title\":\"Terms\"}"},
        {true, "POST", "/api/admin/webhook-endpoints", "{\"url\":\"https://hooks.example/in\",\"events\":[\"*\"]}"},
        {true, "POST", "/api/admin/licenses", "{\"customer_id\":2,\"product_id\":1}"},
        {false, "POST", "/api/customer/wallet/withdraw", "{\"amount\":10.00}"},
        {false, "POST", "/api/customer/tickets",
         "{\"department_id\":1,\"subject\":\"Help\",\"message\":\"It is broken\"}"},
        {false, "POST", "/api/customer/tokens", "{\"name\":\"second\",\"scopes\":[\"catalog\"]}"},
        {false, "POST", "/api/store/cart/add", "{\"product_id\":3,\"quantity\":1}"},
    };
    char answer[8192];
    ask(facts.customers[0].token, "POST", "/api/v1/order/create", "{\"product_id\":1,\"quantity\":2}", answer);
    client_text(answer, "value", values.license, sizeof values.license);
    values.license[strcspn(values.license, "\\")] = 0;
    ask(facts.customers[0].token, "POST", "/api/v1/order/create", "{\"product_id\":2,\"quantity\":1}", answer);
    ask(facts.customers[0].token, "POST", "/api/customer/wallet/topup",
        "{\"amount\":25.00,\"gateway\":\"card_gateway_a\"}", answer);
    client_text(answer, "reference", values.reference, sizeof values.reference);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        ask(calls[i].is_staff ? facts.owner : facts.customers[0].token, calls[i].method, calls[i].target, calls[i].body,
            answer);
}

static void start(struct disk *d)
{
    char why[256];
    provider_make(&paying);
    provider_use(&paying, &d->steps, 1);
    if (!store_start(d, why, sizeof why)) broken("the store does not start", why);
}

static void prepare(void)
{
    store_make(&prepared, &facts);
    start(&prepared);
    furnish();
    macro_log_in(store_database(), (Id){facts.customers[0].account}, &values);
    store_stop();
    values.owner = facts.owner;
    values.customers[0] = facts.customers[0].token;
    values.customers[1] = facts.customers[1].token;
    values.secret = PROVIDER_SECRET;
    epoch_ns = clock_ns();
}

/* ---- rounds ---- */

static enum err read_books(void *arg, struct db *db)
{
    const char **ret = arg;
    struct check_result *results;
    size_t n;
    enum err e = check_run(db, &results, &n);
    for (size_t i = 0; !e && i < n; i++)
        if (results[i].is_broken) *ret = results[i].sentence;
    return e;
}

/* NULL: they are. */
static const char *why_books_are_wrong(void)
{
    struct arena a = {0};
    const char *wrong = NULL;
    if (tx_call(store_database(), TX_READ, read_books, &wrong, &a) != OK) wrong = "they cannot be read";
    arena_done(&a);
    return wrong;
}

static void round_end(void)
{
    const char *wrong = why_books_are_wrong();
    if (wrong) broken("the books are not in order", wrong);
    store_stop();
    store_empty();
    inputs = -1;
}

static void round_begin(void)
{
    clock_rewind_ns(epoch_ns);
    seed_all(2); /* not the first: the store's own tokens came from it */
    disk_copy(&disk, &prepared);
    disk.has_no_log = true;
    start(&disk);
    inputs = 0;
    history_used = 0;
    memset(history, 0, sizeof(uint32_t));
}

static void remember(const uint8_t *data, size_t size)
{
    uint32_t n = (uint32_t)size, end = 0;
    if (HISTORY_BYTES - history_used < size + 2 * sizeof n) return;
    memcpy(history + history_used, &n, sizeof n);
    memcpy(history + history_used + sizeof n, data, size);
    history_used += sizeof n + size;
    memcpy(history + history_used, &end, sizeof end);
}

/* ---- what is heard ---- */

static bool is_line(Str s)
{
    return str_find(s, '\r') < 0 && str_find(s, '\n') < 0 && str_find(s, '\0') < 0;
}

static void heard(void *client, const struct wire_answer *a)
{
    (void)client;
    const struct http_answer *h = a->whole;
    bool is_json = false;
    for (size_t i = 0; i < h->header_count; i++) {
        MUST(h->headers[i].name.len && is_line(h->headers[i].name) && is_line(h->headers[i].value));
        if (str_eq_nocase(h->headers[i].name, STR("Content-Type")))
            is_json = str_starts(h->headers[i].value, STR("application/json"));
    }
    if (a->status == 500) {
        char why[512] = "";
        store_take_errors(why, sizeof why);
        broken("answered with 500", why);
    }
    if (!is_json || h->file || !a->body_length || a->body_length > JSON_READ_MAX) return;
    struct arena arena = {0};
    const struct json *read;
    const char *why = "";
    if (json_read(&arena, h->body, &read, &why) != OK) broken("an answer is not JSON", why);
    arena_done(&arena);
}

static void feed(const uint8_t *data, size_t size)
{
    static char expanded[MACRO_BYTES_MAX];
    if (size < 1) return;
    if (inputs < 0) round_begin();
    remember(data, size);
    Str text = {(const char *)data + 1, size - 1};
    values.now_s = time_now().ms / TIME_SECOND;
    values.count++;
    if (!(data[0] & MODE_PLAIN)) text = macro_expand(text, &values, expanded);
    char peer[32];
    snprintf(peer, sizeof peer, "192.0.2.%d", 1 + (data[0] & MODE_PEERS) / 2);
    wire_talk(text.ptr, text.len, peer, !(data[0] & MODE_LEAVES), heard, NULL);
    for (int moves = 0; wire_open(); moves++) {
        if (moves > MOVES_MAX) broken("no answer", "to the last input");
        let_work();
    }
    char why[512];
    if (store_take_errors(why, sizeof why)) broken("an error was logged", why);
    if (!store_is_healthy()) broken("the store", "gives up");
    clock_add_ms(100);
    if (++inputs == ROUND_INPUTS) round_end();
}

/* A server that delivers without an entry in its ledger must be found. */
static void try_control(void)
{
    static const uint8_t order[] = " POST /api/v1/order/create\x0c\x02\x0e\x05\r\n{\"product_id\":1,\"quantity\":1}";
    control_set(CONTROL_UNPAID);
    feed(order, sizeof order - 1);
    if (!why_books_are_wrong()) broken("the control", "is not found");
    control_set(CONTROL_NONE);
    store_stop();
    inputs = -1;
}

/* ---- the fuzzer's calls ---- */

static void leave(void)
{
    if (inputs >= 0) round_end();
    store_remove();
    is_over = true;
}

static void replay(const char *path)
{
    uint32_t n;
    FILE *f = fopen(path, "rb");
    if (!f) broken("cannot be read", path);
    while (fread(&n, sizeof n, 1, f) == 1 && n) {
        uint8_t *data = malloc(n);
        if (!data || fread(data, n, 1, f) != 1) abort();
        feed(data, n);
        free(data);
    }
    fclose(f);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); /* the last round ends at exit, and signs */
    char path[300];
    const char *fast = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", *wanted = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/souk-fuzz-XXXXXX", wanted ? wanted : fast);
    if (!mkdtemp(folder)) abort();
    snprintf(path, sizeof path, "%s/history", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)HISTORY_BYTES) != 0) abort();
    history = mmap(NULL, HISTORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (history == MAP_FAILED) abort();
    close(fd);
    seed_install();
    seed_all(1);
    password_make_cheap();
    store_folder(folder);
    prepare();
    try_control();
    atexit(leave);
    if (getenv("FUZZ_HISTORY")) replay(getenv("FUZZ_HISTORY"));
    return 0;
}

/* While the server runs, much is known only to the stacks of fibers, which the leak checker does not read. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return !is_over;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    feed(data, size);
    return 0;
}
