/* api/admin/admin_serials.c - pools of serial codes: counts, masked codes, bulk import.
 *
 * Codes come as JSON or as plain text, one per line, at most 16 MiB. A short import is one transaction. A long one is
 * added in slices, so that orders go on meanwhile: if something stops it, the codes of the finished slices are in the
 * pool, and importing the list again adds the rest. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "base/text.h"
#include "domain/product.h"
#include "domain/sealed_code.h"
#include "domain/serial.h"
#include "serve/app.h"

#define IMPORT_BYTES_MAX ((int64_t)16 * 1024 * 1024)
#define IMPORT_CODES_MAX 500000

struct import_body {
    Id variant_id;
    struct str_list codes;
};
static const struct field import_fields[] = {
    {"variant_id", FIELD_ID, OPTIONAL, offsetof(struct import_body, variant_id)},
    {"codes", FIELD_LINES, REQUIRED, offsetof(struct import_body, codes), .min = 1, .max = IMPORT_CODES_MAX,
     .item_max = SERIAL_CODE_MAX},
    {0},
};
static const struct shape import_shape = {import_fields, sizeof(struct import_body)};

struct import_query {
    Id variant_id;
};
static const struct field import_query_fields[] = {
    {"variant_id", FIELD_ID, OPTIONAL, offsetof(struct import_query, variant_id)},
    {0},
};
static const struct shape import_query = {import_query_fields, sizeof(struct import_query)};

/* One code per line; empty lines are skipped. */
static enum err codes_of_text(struct request *req, struct str_list *ret)
{
    Str text = req->raw_body;
    size_t lines = 1, n = 0;
    for (size_t i = 0; i < text.len; i++) lines += text.ptr[i] == '\n';
    if (lines > IMPORT_CODES_MAX + 1) return request_bad_field(req, "codes", ERR_FIELD_TOO_MANY);
    if (!utf8_valid(text)) return request_bad_field(req, "codes", ERR_FIELD_CHARACTERS);
    Str *codes = arena_array(req->arena, Str, lines);
    while (text.len) {
        Str line = text, rest = {0};
        str_cut(text, '\n', &line, &rest);
        line = text_trim(line);
        text = rest;
        if (!line.len) continue;
        if (!serial_code_is_valid(line)) return request_bad_field(req, "codes", ERR_FIELD_FORMAT);
        codes[n++] = line;
    }
    if (!n) return request_bad_field(req, "codes", ERR_FIELD_TOO_FEW);
    *ret = (struct str_list){codes, n};
    return OK;
}

struct import {
    Id variant;
    struct str_list codes;
    struct product product;
    int64_t added, duplicates;
};

static enum err import_read(struct request *req, struct import *im)
{
    return product_find(req->db, req->param_id, &im->product);
}
REQUEST_STEP(import_read);

/* The codes are in: the audit says so, and a key keeps the answer. */
static enum err import_told(struct request *req, struct import *im)
{
    Str result =
        str_printf(req->arena, "{\"added\":%lld,\"duplicates\":%lld}", (long long)im->added, (long long)im->duplicates);
    json_raw(&req->out, result);
    return admin_audit(req, "serial.import", im->product.id, im->product.name, (Str){0}, result);
}
REQUEST_STEP(import_told);

static enum err import_all(struct request *req, struct import *im)
{
    enum err e = serial_import(req->db, im->product.id, im->variant, im->codes.items, im->codes.count, &im->added,
                               &im->duplicates);
    return e ? e : import_told(req, im);
}
REQUEST_STEP(import_all);

struct begun {
    struct request *req;
    const struct import *im;
};

/* Before the first slice: should the server be killed between two of them, the audit knows whose codes these are. */
static enum err import_begin(void *arg, struct db *db)
{
    const struct begun *b = arg;
    b->req->db = db;
    Str what = str_printf(b->req->arena, "{\"codes\":%zu}", b->im->codes.count);
    enum err e = admin_audit(b->req, "serial.import_begun", b->im->product.id, b->im->product.name, (Str){0}, what);
    b->req->db = NULL;
    return e;
}

static enum err import_slices(struct request *req, struct import *im)
{
    struct begun b = {req, im};
    struct database *d = req->app->database;
    enum err e = tx_call(d, TX_WRITE, import_begin, &b, req->arena);
    if (!e)
        e = serial_import_slices(d, im->product.id, im->variant, im->codes.items, im->codes.count, &im->added,
                                 &im->duplicates);
    return e ? e : request_step(req, TX_WRITE, import_told, im);
}

static enum err post_serials(struct request *req)
{
    const struct import_body *in = req->body;
    const struct import_query *q = req->query;
    struct import im = {.variant = in ? in->variant_id : q->variant_id};
    enum err e = OK;
    if (in)
        im.codes = in->codes;
    else
        e = codes_of_text(req, &im.codes);
    if (!e) e = request_step(req, TX_READ, import_read, &im);
    if (!e) e = im.codes.count <= SERIAL_SLICE ? request_step(req, TX_WRITE, import_all, &im) : import_slices(req, &im);
    return e == ERR_NOT_FOUND && id_is(im.product.id) ? request_bad_field(req, "variant_id", ERR_FIELD_NOT_FOUND) : e;
}

static void view_pools(struct json_writer *w, const struct serial_pool *pools, size_t count)
{
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) {
        json_begin_object(w);
        json_kv_opt_id(w, "variant_id", pools[i].variant_id);
        json_kv_str(w, "variant_name", pools[i].variant_name);
        json_kv_int(w, "free", pools[i].free);
        json_kv_int(w, "reserved", pools[i].reserved);
        json_kv_int(w, "taken", pools[i].taken);
        json_kv_int(w, "refunded", pools[i].refunded);
        json_end_object(w);
    }
    json_end_array(w);
}

static enum err show_serial(struct request *req, const void *row)
{
    const struct serial_row *s = row;
    struct json_writer *w = &req->out;
    json_begin_object(w);
    json_kv_id(w, "id", s->id);
    json_kv_opt_id(w, "variant_id", s->variant_id);
    json_kv_str(w, "code", code_mask(req->arena, s->code));
    json_kv_opt_id(w, "order_item_id", s->order_item);
    json_kv_time(w, "taken_at", s->taken_at);
    json_kv_bool(w, "is_reserved", s->is_reserved);
    json_kv_bool(w, "is_refunded", s->is_refunded);
    json_end_object(w);
    return OK;
}

static const struct list serial_rows = {LIST_ROWS(struct serial_row, id), .show = show_serial};

static enum err read_serials(struct request *req)
{
    struct list_page page;
    struct product p;
    struct serial_row *rows;
    struct serial_pool *pools;
    size_t pool_count;
    enum err e = request_page(req, &page);
    if (!e) e = product_find(req->db, req->param_id, &p);
    if (!e) e = serial_pools(req->db, req->param_id, &pools, &pool_count);
    if (!e) e = serial_list(req->db, req->param_id, page.after_id, page.ask, &rows, &page.found);
    if (e) return e;
    json_begin_object(&req->out);
    json_key(&req->out, "pools");
    view_pools(&req->out, pools, pool_count);
    json_key(&req->out, "codes");
    e = request_list(req, &page, &serial_rows, rows);
    json_end_object(&req->out);
    return e;
}

/* Counting a hundred thousand codes takes too long for a loop's own thread. */
static enum err get_serials(struct request *req)
{
    return request_tx(req, TX_READ, read_serials);
}

const struct route admin_serials_routes[] = {
    {"GET", "/api/admin/products/{id}/serials", SCOPE_ADMIN, TX_SELF, NULL, get_serials, .query = &list_query_shape},
    {"POST", "/api/admin/products/{id}/serials", SCOPE_ADMIN, TX_SELF, &import_shape, post_serials,
     IDEMPOTENT | RAW_BODY, .query = &import_query, .body_bytes_max = IMPORT_BYTES_MAX, .accepts = "text/plain"},
    {0},
};
