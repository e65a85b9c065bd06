/* backup/manifest.c - see manifest.h. */
#include "backup/manifest.h"

#include "base/pack.h"

#define MANIFEST_BYTES_MAX (64 * 1024)

static struct buf begin(struct arena *a)
{
    struct buf b;
    buf_init(&b, a, MANIFEST_BYTES_MAX);
    return b;
}

Str head_pack(struct arena *a, const struct backup_head *h)
{
    struct buf b = begin(a);
    pack_bytes(&b, h->program);
    pack_bytes(&b, h->engine);
    pack_int(&b, h->schema);
    pack_bytes(&b, h->schema_hash);
    pack_int(&b, h->made_at.ms);
    return buf_str(&b);
}

bool head_unpack(Str body, struct backup_head *ret)
{
    struct unpack u = {body, false};
    ret->program = unpack_bytes(&u);
    ret->engine = unpack_bytes(&u);
    ret->schema = unpack_int(&u);
    ret->schema_hash = unpack_bytes(&u);
    ret->made_at = (Time){unpack_int(&u)};
    return unpack_is_done(&u);
}

Str table_pack(struct arena *a, const struct schema_table *t)
{
    struct buf b = begin(a);
    pack_bytes(&b, t->name);
    pack_int(&b, (int64_t)t->column_count);
    for (size_t i = 0; i < t->column_count; i++) {
        pack_bytes(&b, t->columns[i].name);
        pack_int(&b, t->columns[i].kind);
    }
    return buf_str(&b);
}

bool table_unpack_name(Str body, Str *ret_name)
{
    struct unpack u = {body, false};
    *ret_name = unpack_bytes(&u);
    return !u.bad;
}

Str table_end_pack(struct arena *a, const struct table_sum *sum, int64_t last_id)
{
    struct buf b = begin(a);
    pack_int(&b, sum->rows);
    for (size_t i = 0; i < sizeof sum->lanes / sizeof *sum->lanes; i++) pack_int(&b, (int64_t)sum->lanes[i]);
    pack_int(&b, last_id);
    return buf_str(&b);
}

bool table_end_unpack(Str body, struct table_sum *ret_sum, int64_t *ret_last_id)
{
    struct unpack u = {body, false};
    ret_sum->rows = unpack_int(&u);
    for (size_t i = 0; i < sizeof ret_sum->lanes / sizeof *ret_sum->lanes; i++)
        ret_sum->lanes[i] = (uint64_t)unpack_int(&u);
    *ret_last_id = unpack_int(&u);
    return unpack_is_done(&u);
}

Str file_pack(struct arena *a, Str key, int64_t bytes)
{
    struct buf b = begin(a);
    pack_bytes(&b, key);
    pack_int(&b, bytes);
    return buf_str(&b);
}

bool file_unpack(Str body, Str *ret_key, int64_t *ret_bytes)
{
    struct unpack u = {body, false};
    *ret_key = unpack_bytes(&u);
    *ret_bytes = unpack_int(&u);
    return unpack_is_done(&u) && *ret_bytes >= 0;
}

Str totals_pack(struct arena *a, const struct backup_totals *t)
{
    struct buf b = begin(a);
    pack_int(&b, t->tables);
    pack_int(&b, t->rows);
    pack_int(&b, t->files);
    pack_int(&b, t->file_bytes);
    pack_int(&b, t->missing);
    return buf_str(&b);
}

bool totals_unpack(Str body, struct backup_totals *ret)
{
    struct unpack u = {body, false};
    ret->tables = unpack_int(&u);
    ret->rows = unpack_int(&u);
    ret->files = unpack_int(&u);
    ret->file_bytes = unpack_int(&u);
    ret->missing = unpack_int(&u);
    return unpack_is_done(&u);
}
