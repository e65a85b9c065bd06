/* cli/routes_list.c - `souk routes`: every endpoint; with --pages the shop's pages and forms too, with
 * --fields what each of them takes. */
#include "cli/routes_list.h"

#include <stdio.h>

#include "api/tables.h"

static const char *scope_text(const struct route *r)
{
    if (r->scope == SCOPE_NONE) return "-";
    if (r->scope & SCOPE_LOGIN) return "login";
    return scope_name(r->scope);
}

/* METHOD PATH SCOPE TRANSACTION [owner] [confirmed] [owner-token] [idempotent] [login] */
static void print_route(const struct route *r)
{
    static const char *const modes[] = {
        [TX_NONE] = "none", [TX_READ] = "read", [TX_WRITE] = "write", [TX_SELF] = "self"};
    printf("%s %s %s %s%s%s%s%s%s\n", r->method, r->path, scope_text(r), modes[r->tx],
           r->flags & OWNER_ONLY ? " owner" : "", r->flags & CONFIRMED ? " confirmed" : "",
           r->flags & OWNER_TOKEN ? " owner-token" : "", r->flags & IDEMPOTENT ? " idempotent" : "",
           r->flags & LOGIN_FIRST ? " login" : "");
}

/* METHOD PATH body|query NAME TYPE required|optional nullable|- MIN MAX ITEM_MAX [WORD …] */
static void print_fields(const struct route *r, const char *place, const struct shape *shape)
{
    static const char *const types[] = {
        [FIELD_BOOL] = "bool",       [FIELD_INT] = "int",       [FIELD_ID] = "id",     [FIELD_MONEY] = "money",
        [FIELD_DECIMAL] = "decimal", [FIELD_NUMBER] = "number", [FIELD_LINE] = "line", [FIELD_TEXT] = "text",
        [FIELD_SECRET] = "secret",   [FIELD_EMAIL] = "email",   [FIELD_SLUG] = "slug", [FIELD_URL] = "url",
        [FIELD_TIME] = "time",       [FIELD_CHOICE] = "choice", [FIELD_IDS] = "ids",   [FIELD_LINES] = "lines",
        [FIELD_CHOICES] = "choices"};
    if (!shape) return;
    for (const struct field *f = shape->fields; f->name; f++) {
        printf("%s %s %s %s %s %s %s %lld %lld %lld", r->method, r->path, place, f->name, types[f->type],
               f->flags & REQUIRED ? "required" : "optional", f->flags & NULLABLE ? "nullable" : "-", (long long)f->min,
               (long long)f->max, (long long)f->item_max);
        for (const char *const *word = f->choices; word && *word; word++) printf(" %s", *word);
        printf("\n");
    }
}

int routes_command(const struct config *config, struct arena *a)
{
    (void)a;
    for (size_t t = 0; route_tables[t]; t++)
        for (const struct route *r = route_tables[t]; r->method; r++) {
            if (r->flags & HIDDEN && !(config->pages && r->flags & SHOP)) continue;
            if (!config->fields) print_route(r);
            if (config->fields) print_fields(r, "body", r->body);
            if (config->fields) print_fields(r, "query", r->query);
        }
    return EXIT_OK;
}
