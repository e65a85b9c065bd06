/* domain/export_row.c - see export_row.h. */
#include "domain/export_row.h"

#include "domain/sealed_code.h"

struct export_reading {
    struct db *db;
    struct stmt *st;
    struct import_row *row;
    int exponent;
    Str hash, sealed; /* of a key or code; empty: none */
    enum import_column clear;
};

static void take_text(struct export_reading *r, enum import_column column)
{
    r->row->of[column] = col_text(r->st);
}

static void take_bool(struct export_reading *r, enum import_column column)
{
    r->row->of[column] = col_bool(r->st) ? STR("true") : STR("false");
}

/* 0 and NULL are left empty. */
static void take_count(struct export_reading *r, enum import_column column)
{
    int64_t n = col_is_null(r->st) ? (col_time(r->st), 0) : col_int(r->st);
    r->row->of[column] = n ? str_printf(db_arena(r->db), "%lld", (long long)n) : (Str){0};
}

static void take_money(struct export_reading *r, enum import_column column)
{
    char text[MONEY_TEXT_MAX];
    size_t n = money_format(col_money(r->st), r->exponent, text);
    r->row->of[column] = str_dup(db_arena(r->db), (Str){text, n});
}

static void take_time(struct export_reading *r, enum import_column column)
{
    char text[TIME_TEXT_LEN + 1];
    Time t = col_time(r->st);
    time_format(t, text);
    r->row->of[column] = time_is(t) ? str_dup(db_arena(r->db), str_from(text)) : (Str){0};
}

static void read_product(struct export_reading *r)
{
    take_text(r, COLUMN_SLUG);
    take_text(r, COLUMN_NAME);
    take_text(r, COLUMN_DESCRIPTION);
    take_money(r, COLUMN_PRICE);
    take_text(r, COLUMN_DELIVERY_TYPE);
    take_bool(r, COLUMN_ACTIVE);
    take_count(r, COLUMN_POSITION);
    take_count(r, COLUMN_LICENSE_DAYS);
    take_text(r, COLUMN_KEY_PREFIX);
    take_text(r, COLUMN_DOWNLOAD_URL);
    take_count(r, COLUMN_DOWNLOAD_LIMIT);
    take_count(r, COLUMN_DOWNLOAD_DAYS);
}

static void read_variant(struct export_reading *r)
{
    take_text(r, COLUMN_PRODUCT);
    take_text(r, COLUMN_NAME);
    take_money(r, COLUMN_PRICE);
    take_bool(r, COLUMN_DEFAULT);
    take_bool(r, COLUMN_ACTIVE);
    take_count(r, COLUMN_LICENSE_DAYS);
}

static void read_customer(struct export_reading *r)
{
    take_text(r, COLUMN_EMAIL);
    take_text(r, COLUMN_NAME);
    take_text(r, COLUMN_LANGUAGE);
    take_bool(r, COLUMN_VERIFIED);
    take_time(r, COLUMN_CREATED_AT);
}

static void read_sealed(struct export_reading *r, enum import_column column)
{
    r->hash = str_dup(db_arena(r->db), col_blob(r->st));
    r->sealed = str_dup(db_arena(r->db), col_blob(r->st));
    r->clear = column;
}

static void read_license(struct export_reading *r)
{
    read_sealed(r, COLUMN_KEY);
    take_text(r, COLUMN_PRODUCT);
    take_text(r, COLUMN_VARIANT);
    take_text(r, COLUMN_EMAIL);
    take_text(r, COLUMN_STATUS);
    take_text(r, COLUMN_REASON);
    take_time(r, COLUMN_EXPIRES_AT);
    take_text(r, COLUMN_HARDWARE_ID);
    take_time(r, COLUMN_CREATED_AT);
}

static void read_serial(struct export_reading *r)
{
    read_sealed(r, COLUMN_CODE);
    take_text(r, COLUMN_PRODUCT);
    take_text(r, COLUMN_VARIANT);
}

static void read_wallet(struct export_reading *r)
{
    take_text(r, COLUMN_EMAIL);
    take_money(r, COLUMN_BALANCE);
}

static struct stmt *prepare(struct db *db, enum import_kind kind)
{
    static const char products[] =
        "SELECT id, slug, name, description, price, delivery_type, is_active, position, license_days, key_prefix,"
        " download_url, download_limit, download_days FROM product WHERE id > $1 ORDER BY id LIMIT $2";
    static const char variants[] =
        "SELECT v.id, p.slug, v.name, v.price, v.is_default, v.is_active, v.license_days"
        " FROM variant v JOIN product p ON p.id = v.product_id WHERE v.id > $1 ORDER BY v.id LIMIT $2";
    static const char customers[] = "SELECT id, email, name, language, 1 - is_unproven, created_at FROM account"
                                    " WHERE id > $1 AND role = 'customer' ORDER BY id LIMIT $2";
    static const char licenses[] =
        "SELECT l.id, l.key_hash, l.sealed_key, p.slug, COALESCE(v.name, ''), a.email, l.status, l.reason, "
        "l.expires_at,"
        " COALESCE(l.hardware_id, ''), l.created_at FROM license l JOIN product p ON p.id = l.product_id JOIN account a"
        " ON a.id = l.account_id LEFT JOIN variant v ON v.id = l.variant_id WHERE l.id > $1 ORDER BY l.id LIMIT $2";
    static const char serials[] =
        "SELECT s.id, s.code_hash, s.sealed_code, p.slug, COALESCE(v.name, '') FROM serial s JOIN product p"
        " ON p.id = s.product_id LEFT JOIN variant v ON v.id = s.variant_id WHERE s.id > $1 AND s.taken_by IS NULL"
        " ORDER BY s.id LIMIT $2";
    static const char wallets[] =
        "SELECT w.id, a.email, w.balance FROM ledger_account w JOIN account a ON a.id = w.owner_id"
        " WHERE w.id > $1 AND w.balance > 0 AND a.role = 'customer' ORDER BY w.id LIMIT $2";
    switch (kind) {
    case IMPORT_PRODUCTS: return db_prepare(db, products);
    case IMPORT_VARIANTS: return db_prepare(db, variants);
    case IMPORT_CUSTOMERS: return db_prepare(db, customers);
    case IMPORT_LICENSES: return db_prepare(db, licenses);
    case IMPORT_SERIALS: return db_prepare(db, serials);
    default: return db_prepare(db, wallets);
    }
}

enum err export_page(struct db *db, enum import_kind kind, Id after, int64_t limit, int exponent,
                     struct import_row *ret, size_t *ret_count, Id *ret_last)
{
    static void (*const readers[IMPORT_KIND_COUNT])(struct export_reading *) = {
        read_product, read_variant, read_customer, read_license, read_serial, read_wallet};
    struct stmt *st = prepare(db, kind);
    struct export_reading *sealed = arena_array(db_arena(db), struct export_reading, (size_t)limit);
    size_t n = 0;
    Id last = after;
    bind_id(st, after);
    bind_int(st, limit);
    while (n < (size_t)limit && db_step(st)) {
        last = col_id(st);
        ret[n] = (struct import_row){0};
        sealed[n] = (struct export_reading){.db = db, .st = st, .row = &ret[n], .exponent = exponent};
        readers[kind](&sealed[n]);
        n++;
    }
    enum err e = db_done(st);
    for (size_t i = 0; !e && i < n; i++)
        if (sealed[i].sealed.len)
            e = code_unseal(db_arena(db), sealed[i].hash, sealed[i].sealed, &ret[i].of[sealed[i].clear]);
    if (e) return e;
    *ret_count = n;
    *ret_last = last;
    return OK;
}
