/* db/postgres_flight.c - see postgres_flight.h. */
#include "db/postgres_flight.h"

#include <assert.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/memory.h"
#include "db/set_text.h"

#define FORMS_MAX 256   /* texts that jobs of groups use; past it, row by row */
#define ELEMENTS_MAX 64 /* of one set */

/* The set that belongs to a text and the kinds of its parameters. */
struct form {
    const char *sql;
    int params;
    unsigned char kinds[PG_PARAMS_MAX];
    struct set_text set;
    struct pg_stmt stmt;
};

/* Asks with one text. */
struct bunch {
    const char *sql;
    bool is_read;
    struct pg_ask **asks;
    int count, cap;
};

/* A statement that was sent, and who waits for its result. */
struct answer {
    struct answer *next;
    PGresult *result;
    struct pg_ask **asks;
    int count;
    int elements; /* of a set; 0: the result is everybody's as it is */
};

struct pg_flight {
    struct pg_db *c;
    struct arena arena;
    struct bunch *bunches;
    int count, cap;
    int order;
    struct answer *answers, *kept; /* of this flight; of those before in the same transaction */
    int form_count;
    struct form *forms[FORMS_MAX];
};

struct pg_flight *flight_new(struct pg_db *c)
{
    struct pg_flight *f = memory_try_zeroed(1, sizeof *f);
    if (f) f->c = c;
    return f;
}

void flight_free(struct pg_flight *f)
{
    if (!f) return;
    flight_clear(f);
    for (int i = 0; i < f->form_count; i++) {
        free(f->forms[i]->set.text);
        free(f->forms[i]);
    }
    arena_done(&f->arena);
    free(f);
}

static void drop(struct answer *a)
{
    for (; a; a = a->next) {
        PQclear(a->result);
        a->result = NULL;
    }
}

void flight_clear(struct pg_flight *f)
{
    drop(f->answers);
    drop(f->kept);
    f->answers = f->kept = NULL;
    f->bunches = NULL;
    f->count = f->cap = f->order = 0;
    arena_reset(&f->arena);
}

static bool same_kinds(const struct pg_ask *a, const struct pg_ask *b)
{
    return a->params == b->params && memcmp(a->kinds, b->kinds, (size_t)a->params) == 0;
}

static struct bunch *bunch_for(struct pg_flight *f, const struct pg_ask *ask, int *place)
{
    for (; *place < f->count; ++*place) {
        struct bunch *b = &f->bunches[*place];
        if (b->sql == ask->sql && b->is_read == (ask->reader != NULL) && same_kinds(b->asks[0], ask)) return b;
    }
    if (f->count == f->cap) {
        int cap = f->cap ? f->cap * 2 : 16;
        f->bunches =
            arena_grow(&f->arena, f->bunches, (size_t)f->cap * sizeof *f->bunches, (size_t)cap * sizeof *f->bunches);
        f->cap = cap;
    }
    struct bunch *b = &f->bunches[f->count++];
    *b = (struct bunch){.sql = ask->sql, .is_read = ask->reader != NULL};
    return b;
}

void flight_add(struct pg_flight *f, struct pg_ask *ask, int *place)
{
    struct bunch *b = bunch_for(f, ask, place);
    if (b->count == b->cap) {
        int cap = b->cap ? b->cap * 2 : ELEMENTS_MAX;
        b->asks = arena_grow(&f->arena, b->asks, (size_t)b->cap * sizeof(void *), (size_t)cap * sizeof(void *));
        b->cap = cap;
    }
    ask->order = f->order++;
    b->asks[b->count++] = ask;
}

/* ---- sending ---- */

static struct form *form_of(struct pg_flight *f, const struct pg_ask *ask)
{
    for (int i = 0; i < f->form_count; i++) {
        struct form *form = f->forms[i];
        if (form->sql == ask->sql && form->params == ask->params &&
            memcmp(form->kinds, ask->kinds, (size_t)ask->params) == 0)
            return form;
    }
    struct form *form = f->form_count < FORMS_MAX ? memory_try_zeroed(1, sizeof *form) : NULL;
    if (!form) return NULL;
    form->sql = ask->sql;
    form->params = ask->params;
    memcpy(form->kinds, ask->kinds, (size_t)ask->params);
    form->set = set_text_make(ask->sql, ask->kinds, ask->params);
    form->stmt.text = form->set.text;
    form->stmt.params = ask->params;
    return f->forms[f->form_count++] = form;
}

static int compare_value(const struct pg_ask *a, const struct pg_ask *b, int i)
{
    if (!a->values[i] || !b->values[i]) return (a->values[i] != NULL) - (b->values[i] != NULL);
    int n = a->lengths[i] < b->lengths[i] ? a->lengths[i] : b->lengths[i];
    int by_bytes = memcmp(a->values[i], b->values[i], (size_t)n);
    return by_bytes ? by_bytes : a->lengths[i] - b->lengths[i];
}

static int compare_values(const struct pg_ask *a, const struct pg_ask *b)
{
    int c = 0;
    for (int i = 0; i < a->params && !c; i++) c = compare_value(a, b, i);
    return c;
}

static int by_values(const void *left, const void *right)
{
    const struct pg_ask *a = *(struct pg_ask *const *)left, *b = *(struct pg_ask *const *)right;
    int c = compare_values(a, b);
    return c ? c : a->order - b->order;
}

static struct answer *expect(struct pg_flight *f, struct pg_ask **asks, int count, int elements)
{
    struct answer *a = arena_new(&f->arena, struct answer);
    *a = (struct answer){.next = f->answers, .asks = asks, .count = count, .elements = elements};
    return f->answers = a;
}

static void send_statement(struct pg_flight *f, struct pg_stmt *st, struct answer *answer)
{
    if (answer)
        pipe_read(f->c, st, &answer->result);
    else
        pipe_execute(f->c, st, SENT_RUN);
}

/* asks[0] as it is; the others ask the same. */
static void send_one(struct pg_flight *f, struct pg_ask **asks, int count)
{
    struct db *db = &f->c->db;
    const struct pg_ask *ask = asks[0];
    struct pg_stmt *st = (struct pg_stmt *)db_table_find(db, ask->sql);
    if (!st) {
        struct stmt *fresh = db->engine->prepare(db, ask->sql);
        if (!fresh) return;
        fresh->db = db;
        fresh->sql = ask->sql;
        db_table_add(db, ask->sql, fresh);
        st = (struct pg_stmt *)fresh;
    }
    for (int i = 0; i < ask->params; i++) {
        st->values[i] = ask->values[i];
        st->lengths[i] = ask->lengths[i];
        st->kinds[i] = ask->kinds[i];
    }
    send_statement(f, st, ask->reader ? expect(f, asks, count, 0) : NULL);
}

static void put_int32(struct buf *b, int32_t v)
{
    uint32_t be = htobe32((uint32_t)v);
    buf_append(b, (Str){(const char *)&be, sizeof be});
}

/* PostgreSQL's binary form of an array. */
static Str array_of(struct pg_flight *f, struct pg_ask **asks, int count, int param)
{
    static const int32_t types[] = {[BIND_INT] = 20, [BIND_TEXT] = 25, [BIND_BLOB] = 17};
    struct buf b;
    buf_init(&b, &f->arena, SIZE_MAX);
    bool has_null = false;
    for (int i = 0; i < count; i++) has_null |= !asks[i]->values[param];
    put_int32(&b, 1); /* dimension */
    put_int32(&b, has_null);
    put_int32(&b, types[asks[0]->kinds[param]]);
    put_int32(&b, count);
    put_int32(&b, 1); /* the first index */
    for (int i = 0; i < count; i++) {
        const char *value = asks[i]->values[param];
        put_int32(&b, value ? asks[i]->lengths[param] : -1);
        if (value) buf_append(&b, (Str){value, (size_t)asks[i]->lengths[param]});
    }
    return buf_str(&b);
}

/* One element for each ask in `elements`; `asks` are all that wait for the result. */
static void send_set(struct pg_flight *f, struct form *form, struct pg_ask **elements, int element_count,
                     struct pg_ask **asks, int count)
{
    struct pg_stmt *st = &form->stmt;
    for (int i = 0; i < form->params; i++) {
        Str array = array_of(f, elements, element_count, i);
        st->values[i] = array.ptr;
        st->lengths[i] = (int)array.len;
        st->kinds[i] = (unsigned char)(PG_ARRAY + form->kinds[i]);
    }
    send_statement(f, st, elements[0]->reader ? expect(f, asks, count, element_count) : NULL);
}

/* Sorted asks that may share a row: one element for all that ask the same. */
static void send_shared(struct pg_flight *f, struct form *form, struct pg_ask **asks, int count)
{
    struct pg_ask *elements[ELEMENTS_MAX];
    for (int from = 0, to; from < count; from = to) {
        int n = 0;
        for (to = from; to < count; to++) {
            bool is_new = to == from || compare_values(asks[to], asks[to - 1]) != 0;
            if (is_new && n == ELEMENTS_MAX) break;
            if (is_new) elements[n++] = asks[to];
            asks[to]->element = n;
        }
        if (n > 1)
            send_set(f, form, elements, n, asks + from, to - from);
        else
            send_one(f, asks + from, to - from);
    }
}

/* Each ask is an element. An UPDATE changes a row once: what names the same row again waits for the next set. */
static void send_each(struct pg_flight *f, struct form *form, struct pg_ask **asks, int count)
{
    bool distinct = form->set.kind == SET_UPDATE;
    while (count) {
        struct pg_ask **elements = arena_array(&f->arena, struct pg_ask *, ELEMENTS_MAX);
        int n = 0, left = 0;
        for (int i = 0; i < count; i++) {
            bool again = distinct && n && compare_value(asks[i], elements[n - 1], 0) == 0;
            if (n == ELEMENTS_MAX || again)
                asks[left++] = asks[i];
            else
                elements[n++] = asks[i];
            if (elements[n - 1] == asks[i]) asks[i]->element = n;
        }
        if (n > 1)
            send_set(f, form, elements, n, elements, n);
        else
            send_one(f, elements, n);
        count = left;
    }
}

static void send_bunch(struct pg_flight *f, struct bunch *b)
{
    struct form *form = form_of(f, b->asks[0]);
    bool shares = form && form->set.may_share;
    if (!form || form->set.kind != SET_INSERT) qsort(b->asks, (size_t)b->count, sizeof(void *), by_values);
    if (shares && form->set.kind == SET_NOT && form->params == 0)
        send_one(f, b->asks, b->count);
    else if (!form || form->set.kind == SET_NOT || (b->is_read && !form->set.has_result))
        for (int i = 0; i < b->count; i++) send_one(f, b->asks + i, 1);
    else if (shares)
        send_shared(f, form, b->asks, b->count);
    else
        send_each(f, form, b->asks, b->count);
}

void flight_send(struct pg_flight *f)
{
    if (!f->count) return;
    postgres_open_transaction(f->c);
    for (int i = 0; i < f->count && !f->c->lost; i++) send_bunch(f, &f->bunches[i]);
    f->c->unread = true;
    f->bunches = NULL;
    f->count = f->cap = f->order = 0;
}

/* ---- receiving ---- */

static void give(struct pg_stmt *reader, PGresult *result, const int *rows, int count, int skip)
{
    reader->result = result;
    reader->rows = rows;
    reader->row_count = count;
    reader->skip = skip;
    reader->at = -1;
}

static int element_of(const PGresult *r, int row)
{
    uint64_t n;
    assert(PQgetlength(r, row, 0) == sizeof n);
    memcpy(&n, PQgetvalue(r, row, 0), sizeof n);
    return (int)be64toh(n);
}

/* The rows of each element, in the order in which they came. */
static void share_out(struct pg_flight *f, struct answer *a)
{
    int rows = PQntuples(a->result);
    if (!a->elements) {
        for (int i = 0; i < a->count; i++) give(a->asks[i]->reader, a->result, NULL, rows, 0);
        return;
    }
    int *from = arena_array(&f->arena, int, (size_t)a->elements + 2); /* of element n: from[n] up to from[n + 1] */
    int *list = arena_array(&f->arena, int, (size_t)rows + 1);
    int *next = arena_array(&f->arena, int, (size_t)a->elements + 2);
    for (int i = 0; i < rows; i++) from[element_of(a->result, i) + 1]++;
    for (int n = 1; n <= a->elements + 1; n++) next[n] = from[n] += from[n - 1];
    for (int i = 0; i < rows; i++) list[next[element_of(a->result, i)]++] = i;
    for (int i = 0; i < a->count; i++) {
        int n = a->asks[i]->element;
        give(a->asks[i]->reader, a->result, list + from[n], from[n + 1] - from[n], 1);
    }
}

bool flight_receive(struct pg_flight *f)
{
    pipe_sync(f->c);
    pipe_receive(f->c);
    f->c->unread = false;
    bool fine = !f->c->lost && !f->c->db.err;
    struct answer *a = f->answers;
    for (; a && fine; a = a->next) {
        assert(a->result);
        share_out(f, a);
    }
    while ((a = f->answers)) {
        f->answers = a->next;
        a->next = f->kept;
        f->kept = a;
    }
    return fine;
}
