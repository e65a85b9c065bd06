/* db/set_text.c - see set_text.h. It knows as much of SQL as it needs: quotes, parentheses, and words between them. */
#include "db/set_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The first `word` outside quotes and parentheses; NULL: none. */
static const char *find_word(const char *sql, const char *word)
{
    size_t n = strlen(word);
    int depth = 0;
    bool quoted = false;
    for (const char *p = sql; *p; p++) {
        if (*p == '\'') quoted = !quoted;
        if (quoted) continue;
        if (*p == '(') depth++;
        if (*p == ')') depth--;
        bool starts = depth == 0 && (p == sql || !is_word(p[-1]));
        if (starts && strncmp(p, word, n) == 0 && !is_word(p[n])) return p;
    }
    return NULL;
}

/* Behind the parenthesis that closes the one at p. */
static const char *behind_parentheses(const char *p)
{
    int depth = 0;
    bool quoted = false;
    for (; *p; p++) {
        if (*p == '\'') quoted = !quoted;
        if (quoted) continue;
        if (*p == '(') depth++;
        if (*p == ')' && --depth == 0) return p + 1;
    }
    return NULL;
}

static bool begins(const char *sql, const char *word)
{
    return strncmp(sql, word, strlen(word)) == 0;
}

/* $3 becomes q._3. */
static void put(FILE *out, const char *from, const char *to)
{
    bool quoted = false;
    for (const char *p = from; p < to; p++) {
        if (*p == '\'') quoted = !quoted;
        if (*p == '$' && !quoted)
            fputs("q._", out);
        else
            fputc(*p, out);
    }
}

static void put_source(FILE *out, const unsigned char *kinds, int params)
{
    static const char *const types[] = {[BIND_INT] = "bigint", [BIND_TEXT] = "text", [BIND_BLOB] = "bytea"};
    fputs("unnest(", out);
    for (int i = 0; i < params; i++) fprintf(out, "%s$%d::%s[]", i ? ", " : "", i + 1, types[kinds[i]]);
    fputs(") WITH ORDINALITY AS q(", out);
    for (int i = 0; i < params; i++) fprintf(out, "_%d, ", i + 1);
    fputs("n)", out);
}

static bool put_select(FILE *out, const char *sql, const unsigned char *kinds, int params)
{
    fputs("SELECT q.n, r.* FROM ", out);
    put_source(out, kinds, params);
    fputs(", LATERAL (SELECT * FROM (", out);
    put(out, sql, sql + strlen(sql));
    fputs(") one OFFSET 0) r", out);
    return true;
}

static bool put_insert(FILE *out, const char *sql, const unsigned char *kinds, int params)
{
    const char *values = find_word(sql, "VALUES"), *returning = find_word(sql, "RETURNING");
    if (!values) return false;
    const char *first = strchr(values, '('), *end = first ? behind_parentheses(first) : NULL;
    if (!end || *end == ',') return false;
    put(out, sql, values);
    fputs("SELECT ", out);
    put(out, first + 1, end - 1);
    fputs(" FROM ", out);
    put_source(out, kinds, params);
    put(out, end, returning ? returning : end + strlen(end));
    return true;
}

/* WHERE must begin with `column = $1`. */
static bool put_update(FILE *out, const char *sql, const unsigned char *kinds, int params)
{
    const char *where = find_word(sql, "WHERE"), *returning = find_word(sql, "RETURNING");
    if (!where || find_word(sql, "FROM")) return false;
    const char *column = where + strlen("WHERE ");
    while (is_word(*column)) column++;
    if (!begins(column, " = $1") || is_word(column[strlen(" = $1")])) return false;
    put(out, sql, where);
    fputs("FROM ", out);
    put_source(out, kinds, params);
    fputc(' ', out);
    if (!returning) {
        put(out, where, where + strlen(where));
        return true;
    }
    put(out, where, returning);
    fputs("RETURNING q.n, ", out);
    returning += strlen("RETURNING ");
    put(out, returning, returning + strlen(returning));
    return true;
}

bool set_text_writes(const char *sql)
{
    return !begins(sql, "SELECT");
}

struct set_text set_text_make(const char *sql, const unsigned char *kinds, int params)
{
    struct set_text t = {.kind = begins(sql, "SELECT")   ? SET_SELECT
                                 : begins(sql, "INSERT") ? SET_INSERT
                                 : begins(sql, "UPDATE") ? SET_UPDATE
                                                         : SET_NOT};
    bool may_share = t.kind == SET_SELECT && !strstr(sql, "nextval");
    for (int i = 0; i < params; i++)
        if (kinds[i] == BIND_UNKNOWN) t.kind = SET_NOT;
    if (params == 0) t.kind = SET_NOT;
    size_t bytes;
    FILE *out = t.kind ? open_memstream(&t.text, &bytes) : NULL;
    if (!out) return (struct set_text){.may_share = may_share};
    bool fits = t.kind == SET_SELECT   ? put_select(out, sql, kinds, params)
                : t.kind == SET_INSERT ? put_insert(out, sql, kinds, params)
                                       : put_update(out, sql, kinds, params);
    if (fclose(out) != 0 || !fits) {
        free(t.text);
        return (struct set_text){.may_share = may_share};
    }
    t.may_share = may_share;
    t.has_result = t.kind == SET_SELECT || (t.kind == SET_UPDATE && find_word(sql, "RETURNING"));
    return t;
}
