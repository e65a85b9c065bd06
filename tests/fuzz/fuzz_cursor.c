/* tests/fuzz/fuzz_cursor.c - cursors of lists: none can be made up, and one that we made gives its place back.
 *
 * The input is a cursor as a client sends it; its first bytes are also a place in a list, whose cursor is then made and
 * spoiled. */
#include "fuzz.h"

#include "base/base64.h"
#include "domain/settings.h"
#include "domain/vault.h"
#include "serve/render.h"

struct row {
    Id id;
    int64_t key;
};

static void view_row(struct json_writer *w, const void *row)
{
    (void)row;
    json_null(w);
}

static const struct route here = {"GET", "/api/a", .scope = 0}, elsewhere = {"GET", "/api/b", .scope = 0};
static const struct list rows = {LIST_ROWS(struct row, id), .key_at = offsetof(struct row, key), .view = view_row};

static void request_init(struct request *req, struct exchange *x, struct arena *a)
{
    static const struct settings settings = {.exponent = 2};
    *req = (struct request){.route = &here, .arena = a, .exchange = x, .settings = &settings};
    x->head.path = STR("/api/a");
    answer_reset(req);
}

static enum err read_cursor(struct request *req, Str cursor, struct list_page *ret)
{
    struct list_query query = {.limit = 1, .cursor = cursor};
    req->query = &query;
    enum err e = request_page(req, ret);
    MUST(e == OK || (e == ERR_VALIDATION && req->errors.count));
    return e;
}

/* The cursor behind the first of two rows, out of the Link header. */
static Str made_cursor(struct request *req, struct row first)
{
    struct row two[2] = {first, {{1}, 1}};
    struct list_page page = {.ask = 2, .found = 2};
    MUST(request_list(req, &page, &rows, two) == OK);
    for (size_t i = 0; i < req->answer->header_count; i++) {
        Str value = req->answer->headers[i].value, before, after;
        if (!str_eq(req->answer->headers[i].name, STR("Link"))) continue;
        MUST(str_cut(value, '=', &before, &after) && str_cut(after, '>', &before, &value));
        return before;
    }
    abort();
}

static void there_and_back(struct arena *a, const uint8_t *data)
{
    static struct exchange x;
    struct request req;
    struct row row;
    struct list_page page = {0};
    memcpy(&row.id.v, data, 8);
    memcpy(&row.key, data + 8, 8);
    request_init(&req, &x, a);
    Str cursor = made_cursor(&req, row);
    MUST(read_cursor(&req, cursor, &page) == OK && page.after_id.v == row.id.v && page.after_key == row.key);
    req.route = &elsewhere;
    MUST(read_cursor(&req, cursor, &page) != OK);
    req.route = &here;
    char *spoiled = arena_alloc(a, cursor.len);
    memcpy(spoiled, cursor.ptr, cursor.len);
    size_t at = data[16] % cursor.len;
    spoiled[at] = spoiled[at] == 'A' ? 'B' : 'A';
    MUST(read_cursor(&req, (Str){spoiled, cursor.len}, &page) != OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char key[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
    char why[64];
    if (!vault_is_open()) MUST(vault_open(NULL, key, false, why, sizeof why) == OK);
    static struct exchange x;
    struct arena a = {0};
    struct request req;
    struct list_page page;
    Str text = {(const char *)data, size};
    request_init(&req, &x, &a);
    if (size && read_cursor(&req, text, &page) == OK) {
        uint8_t raw[24]; /* nobody guesses 64 bits: it must be one that a run before this one made */
        MUST(base64_get(BASE64_URL, text, raw, sizeof raw));
    }
    if (size >= 17) there_and_back(&a, data);
    arena_done(&a);
    return 0;
}
