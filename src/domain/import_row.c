/* domain/import_row.c - see import_row.h. */
#include "domain/import_row.h"

#include "base/text.h"
#include "domain/account.h"
#include "domain/ledger.h"
#include "domain/license.h"
#include "domain/product.h"
#include "domain/serial.h"
#include "domain/slug.h"

#define REF_MAX 200
#define DAYS_MAX 36500
#define PRICE_MAX (INT64_MAX / 1000)

const char *const import_kind_names[] = {"products", "variants", "customers", "licenses", "serials", "wallets", NULL};
const char *const import_column_names[] = {
    "ref",           "slug",        "name",         "description", "price",        "delivery_type",
    "active",        "position",    "license_days", "key_prefix",  "download_url", "download_limit",
    "download_days", "product",     "product_ref",  "variant",     "default",      "email",
    "customer_ref",  "language",    "verified",     "key",         "status",       "reason",
    "expires_at",    "hardware_id", "code",         "balance",     "created_at",   NULL};

#define COLUMNS_MAX 16
static const struct {
    size_t count;
    enum import_column columns[COLUMNS_MAX];
} kinds[IMPORT_KIND_COUNT] = {
    [IMPORT_PRODUCTS] = {13,
                         {COLUMN_REF, COLUMN_SLUG, COLUMN_NAME, COLUMN_DESCRIPTION, COLUMN_PRICE, COLUMN_DELIVERY_TYPE,
                          COLUMN_ACTIVE, COLUMN_POSITION, COLUMN_LICENSE_DAYS, COLUMN_KEY_PREFIX, COLUMN_DOWNLOAD_URL,
                          COLUMN_DOWNLOAD_LIMIT, COLUMN_DOWNLOAD_DAYS}},
    [IMPORT_VARIANTS] = {7,
                         {COLUMN_PRODUCT, COLUMN_PRODUCT_REF, COLUMN_NAME, COLUMN_PRICE, COLUMN_DEFAULT, COLUMN_ACTIVE,
                          COLUMN_LICENSE_DAYS}},
    [IMPORT_CUSTOMERS] = {6,
                          {COLUMN_REF, COLUMN_EMAIL, COLUMN_NAME, COLUMN_LANGUAGE, COLUMN_VERIFIED, COLUMN_CREATED_AT}},
    [IMPORT_LICENSES] = {12,
                         {COLUMN_KEY, COLUMN_PRODUCT, COLUMN_PRODUCT_REF, COLUMN_VARIANT, COLUMN_EMAIL,
                          COLUMN_CUSTOMER_REF, COLUMN_NAME, COLUMN_STATUS, COLUMN_REASON, COLUMN_EXPIRES_AT,
                          COLUMN_HARDWARE_ID, COLUMN_CREATED_AT}},
    [IMPORT_SERIALS] = {4, {COLUMN_PRODUCT, COLUMN_PRODUCT_REF, COLUMN_VARIANT, COLUMN_CODE}},
    [IMPORT_WALLETS] = {4, {COLUMN_REF, COLUMN_EMAIL, COLUMN_CUSTOMER_REF, COLUMN_BALANCE}},
};

const enum import_column *import_columns(enum import_kind kind, size_t *ret_count)
{
    *ret_count = kinds[kind].count;
    return kinds[kind].columns;
}

bool import_has_column(enum import_kind kind, enum import_column column)
{
    for (size_t i = 0; i < kinds[kind].count; i++)
        if (kinds[kind].columns[i] == column) return true;
    return false;
}

struct putting {
    struct db *db;
    enum import_kind kind;
    const struct import_row *row;
    int exponent;
    bool is_real;
    Time now;
    enum import_end end;
    Str why;
};

/* ---- values ---- */

static enum err wrong(struct putting *p, enum import_column column, const char *what)
{
    p->why = str_printf(db_arena(p->db), "%s: %s", import_column_names[column], what);
    return ERR_FIELD_VALUE;
}

static Str of(const struct putting *p, enum import_column column)
{
    return p->row->of[column];
}

static enum err line(struct putting *p, enum import_column column, size_t min, size_t max, Str *ret)
{
    Str s = of(p, column);
    if (!s.len && min) return wrong(p, column, "is missing");
    if (!utf8_valid(s) || !text_is_line(s)) return wrong(p, column, "has characters that do not belong there");
    if (utf8_count(s) > max) return wrong(p, column, "is too long");
    *ret = s;
    return OK;
}

static enum err flag(struct putting *p, enum import_column column, bool fallback, bool *ret)
{
    Str s = str_lower(db_arena(p->db), of(p, column));
    bool yes = str_eq(s, STR("1")) || str_eq(s, STR("true")) || str_eq(s, STR("yes"));
    bool no = str_eq(s, STR("0")) || str_eq(s, STR("false")) || str_eq(s, STR("no"));
    if (s.len && !yes && !no) return wrong(p, column, "wants true or false");
    *ret = s.len ? yes : fallback;
    return OK;
}

static enum err number(struct putting *p, enum import_column column, int64_t max, int64_t *ret)
{
    int64_t v = 0;
    Str s = of(p, column);
    if (s.len && (!str_to_int64(s, &v) || v < 0 || v > max)) return wrong(p, column, "wants a whole number in range");
    *ret = v;
    return OK;
}

static enum err money(struct putting *p, enum import_column column, int64_t min, Money *ret)
{
    Str s = of(p, column);
    if (!s.len) return wrong(p, column, "is missing");
    switch (money_parse(s, p->exponent, ret)) {
    case MONEY_OK: break;
    case MONEY_TOO_PRECISE: return wrong(p, column, "has more decimals than the currency");
    case MONEY_OUT_OF_RANGE: return wrong(p, column, "is too large");
    default: return wrong(p, column, "wants a number such as 19.99");
    }
    if (ret->minor < min || ret->minor > PRICE_MAX) return wrong(p, column, "is out of range");
    return OK;
}

/* ISO 8601; also a day alone, or with a space for the T and "UTC" for the Z. */
static enum err when(struct putting *p, enum import_column column, Time *ret)
{
    Str s = of(p, column);
    if (!s.len) return OK;
    if (str_ends(s, STR(" UTC"))) s.len -= 4;
    Str text = s.len == 10   ? str_printf(db_arena(p->db), "%.*sT00:00:00Z", STR_FMT(s))
               : s.len == 19 ? str_printf(db_arena(p->db), "%.10s%c%.8sZ", s.ptr, 'T', s.ptr + 11)
                             : s;
    if (!time_parse(text, ret)) return wrong(p, column, "wants a time such as 2026-11-15T12:00:00Z");
    return OK;
}

/* ---- references ---- */

static enum err find_ref(struct putting *p, enum import_kind kind, Str ref, Id *ret)
{
    static const char find[] = "SELECT target FROM import_reference WHERE kind = $1 AND ref = $2";
    *ret = (Id){0};
    if (!ref.len) return OK;
    struct stmt *st = db_prepare(p->db, find);
    bind_choice(st, import_kind_names, kind);
    bind_text(st, ref);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    enum err e = db_done(st);
    if (!e) *ret = id;
    return e;
}

static enum err keep_ref(struct putting *p, Str ref, Id target)
{
    static const char keep[] = "INSERT INTO import_reference (kind, ref, target, created_at) VALUES ($1, $2, $3, $4)"
                               " ON CONFLICT (kind, ref) DO NOTHING";
    if (!ref.len) return OK;
    struct stmt *st = db_prepare(p->db, keep);
    bind_choice(st, import_kind_names, p->kind);
    bind_text(st, ref);
    bind_id(st, target);
    bind_time(st, p->now);
    return db_run(st);
}

static enum err find_product(struct putting *p, struct product *ret)
{
    Id id;
    enum err e = find_ref(p, IMPORT_PRODUCTS, of(p, COLUMN_PRODUCT_REF), &id);
    if (e) return e;
    if (!of(p, COLUMN_PRODUCT).len && !of(p, COLUMN_PRODUCT_REF).len) return wrong(p, COLUMN_PRODUCT, "is missing");
    e = id_is(id) ? product_find(p->db, id, ret) : product_find_slug(p->db, of(p, COLUMN_PRODUCT), ret);
    return e == ERR_NOT_FOUND ? wrong(p, COLUMN_PRODUCT, "no product has this slug or reference") : e;
}

static enum err find_variant(struct putting *p, const struct product *product, Id *ret)
{
    Str name = of(p, COLUMN_VARIANT);
    *ret = (Id){0};
    for (size_t i = 0; name.len && i < product->variant_count; i++)
        if (str_eq(product->variants[i].name, name)) *ret = product->variants[i].id;
    return name.len && !id_is(*ret) ? wrong(p, COLUMN_VARIANT, "the product has no variant of this name") : OK;
}

/* *ret is 0 when the address is good and nobody has it. */
static enum err find_customer(struct putting *p, Id *ret, Str *ret_email)
{
    Id id;
    enum err e = find_ref(p, IMPORT_CUSTOMERS, of(p, COLUMN_CUSTOMER_REF), &id);
    if (e) return e;
    *ret = id;
    if (id_is(id)) return OK;
    Str email = of(p, COLUMN_EMAIL);
    if (!email.len) return wrong(p, COLUMN_EMAIL, "is missing, and no customer has this reference");
    if (!utf8_valid(email) || !email_is_plausible(email)) return wrong(p, COLUMN_EMAIL, "is not an e-mail address");
    *ret_email = str_lower(db_arena(p->db), email);
    struct account account;
    e = account_find_email(p->db, *ret_email, &account);
    if (e == ERR_NOT_FOUND) return OK;
    if (!e) *ret = account.id;
    return e;
}

/* ---- kinds ---- */

static enum err read_product(struct putting *p, struct product *ret)
{
    struct product w = {0};
    enum err e = line(p, COLUMN_NAME, 1, 200, &w.name);
    if (!e) e = line(p, COLUMN_SLUG, 0, 100, &w.slug);
    if (!e && w.slug.len && !slug_is_valid(w.slug))
        e = wrong(p, COLUMN_SLUG, "wants small letters, digits and hyphens");
    w.description = of(p, COLUMN_DESCRIPTION);
    if (!e && (!utf8_valid(w.description) || utf8_count(w.description) > 20000))
        e = wrong(p, COLUMN_DESCRIPTION, "is too long, or not UTF-8");
    if (!e) e = money(p, COLUMN_PRICE, 0, &w.own_price);
    Str type = of(p, COLUMN_DELIVERY_TYPE);
    size_t t = 0;
    while (delivery_type_names[t] && !str_eq(type, str_from(delivery_type_names[t]))) t++;
    if (!e && !delivery_type_names[t])
        e = wrong(p, COLUMN_DELIVERY_TYPE, "wants license_key, serial_code or download_url");
    w.delivery_type = (enum delivery_type)t;
    if (!e) e = flag(p, COLUMN_ACTIVE, true, &w.is_active);
    if (!e) e = number(p, COLUMN_POSITION, 1000000, &w.position);
    if (!e) e = number(p, COLUMN_LICENSE_DAYS, DAYS_MAX, &w.license_days);
    if (!e) e = line(p, COLUMN_KEY_PREFIX, 0, 16, &w.key_prefix);
    if (!e && !license_key_prefix_is_valid(w.key_prefix))
        e = wrong(p, COLUMN_KEY_PREFIX, "wants letters, digits and hyphens");
    if (!e) e = line(p, COLUMN_DOWNLOAD_URL, 0, 2048, &w.download_url);
    if (!e && w.download_url.len && !str_starts(w.download_url, STR("https://")) &&
        !str_starts(w.download_url, STR("http://")))
        e = wrong(p, COLUMN_DOWNLOAD_URL, "wants an address that begins with https://");
    if (!e) e = number(p, COLUMN_DOWNLOAD_LIMIT, 1000000, &w.download_limit);
    if (!e) e = number(p, COLUMN_DOWNLOAD_DAYS, DAYS_MAX, &w.download_days);
    if (!e) *ret = w;
    return e;
}

static enum err put_product(struct putting *p)
{
    struct product want, have;
    Str ref;
    Id known;
    enum err e = line(p, COLUMN_REF, 0, REF_MAX, &ref);
    if (!e) e = read_product(p, &want);
    if (!e) e = find_ref(p, IMPORT_PRODUCTS, ref, &known);
    if (e) return e;
    /* Without a reference the slug is what makes the product known, also the one that its name would get. */
    if (!want.slug.len && !ref.len) want.slug = slug_from_name(db_arena(p->db), want.name);
    if (!id_is(known) && want.slug.len) {
        e = product_find_slug(p->db, want.slug, &have);
        if (!e) known = have.id;
        if (e && e != ERR_NOT_FOUND) return e;
    }
    p->end = id_is(known) ? IMPORT_PRESENT : IMPORT_ADDED;
    if (!p->is_real) return OK;
    if (!id_is(known)) {
        e = product_create(p->db, &want, p->now, &have);
        if (e) return e;
        known = have.id;
    }
    return keep_ref(p, ref, known);
}

static enum err put_variant(struct putting *p)
{
    struct product product;
    struct variant want = {0}, have;
    enum err e = find_product(p, &product);
    if (!e) e = line(p, COLUMN_NAME, 1, 100, &want.name);
    if (!e) e = money(p, COLUMN_PRICE, 0, &want.price);
    if (!e) e = flag(p, COLUMN_DEFAULT, false, &want.is_default);
    if (!e) e = flag(p, COLUMN_ACTIVE, true, &want.is_active);
    if (!e) e = number(p, COLUMN_LICENSE_DAYS, DAYS_MAX, &want.license_days);
    if (e) return e;
    p->end = IMPORT_ADDED;
    for (size_t i = 0; i < product.variant_count; i++)
        if (str_eq(product.variants[i].name, want.name)) p->end = IMPORT_PRESENT;
    return p->end == IMPORT_ADDED && p->is_real ? variant_create(p->db, product.id, &want, p->now, &have) : OK;
}

static enum err make_customer(struct putting *p, Str email, Str name, Id *ret)
{
    struct account want = {.email = email, .name = name, .role = ROLE_CUSTOMER}, made;
    bool is_verified = true;
    Time since = p->now;
    enum err e = OK;
    if (p->kind == IMPORT_CUSTOMERS) {
        e = line(p, COLUMN_LANGUAGE, 0, 8, &want.language);
        if (!e) e = flag(p, COLUMN_VERIFIED, true, &is_verified);
        if (!e) e = when(p, COLUMN_CREATED_AT, &since);
    }
    want.is_unproven = !is_verified;
    if (e || !p->is_real) return e;
    e = account_create(p->db, &want, since, &made);
    if (!e) *ret = made.id;
    return e;
}

static enum err put_customer(struct putting *p)
{
    Str ref, name, email = {0};
    Id id, known;
    enum err e = line(p, COLUMN_REF, 0, REF_MAX, &ref);
    if (!e) e = line(p, COLUMN_NAME, 0, 100, &name);
    if (!e) e = find_ref(p, IMPORT_CUSTOMERS, ref, &known);
    if (!e) e = find_customer(p, &id, &email);
    if (e) return e;
    if (!id_is(id)) id = known;
    p->end = id_is(id) ? IMPORT_PRESENT : IMPORT_ADDED;
    if (!id_is(id)) e = make_customer(p, email, name, &id);
    return e || !p->is_real ? e : keep_ref(p, ref, id);
}

static enum err put_license(struct putting *p)
{
    struct product product;
    struct license want = {0};
    Str name, email = {0};
    enum err e = line(p, COLUMN_KEY, 1, 255, &want.key);
    if (!e && !license_key_is_importable(want.key))
        e = wrong(p, COLUMN_KEY, "is not a key: 6 to 255 printable characters");
    if (!e) e = find_product(p, &product);
    if (!e) e = find_variant(p, &product, &want.variant_id);
    if (!e) e = line(p, COLUMN_NAME, 0, 100, &name);
    if (!e) e = find_customer(p, &want.account_id, &email);
    if (!e) e = line(p, COLUMN_REASON, 0, 255, &want.reason);
    if (!e) e = when(p, COLUMN_EXPIRES_AT, &want.expires_at);
    if (!e) e = line(p, COLUMN_HARDWARE_ID, 0, 255, &want.hardware_id);
    want.created_at = p->now;
    if (!e) e = when(p, COLUMN_CREATED_AT, &want.created_at);
    size_t status = 0;
    Str word = of(p, COLUMN_STATUS).len ? of(p, COLUMN_STATUS) : STR("active");
    while (license_status_names[status] && !str_eq(word, str_from(license_status_names[status]))) status++;
    if (!e && !license_status_names[status]) e = wrong(p, COLUMN_STATUS, "wants active, revoked or refunded");
    if (e) return e;
    want.status = (enum license_status)status;
    want.product_id = product.id;
    bool is_there;
    e = license_key_is_known(p->db, want.key, &is_there);
    if (e) return e;
    p->end = is_there ? IMPORT_PRESENT : IMPORT_ADDED;
    if (is_there) return OK;
    if (!id_is(want.account_id)) e = make_customer(p, email, name, &want.account_id);
    return e || !p->is_real ? e : license_import(p->db, &want);
}

static enum err put_serial(struct putting *p)
{
    struct product product;
    Id variant;
    int64_t added = 0, duplicates = 0;
    Str code = of(p, COLUMN_CODE);
    enum err e = find_product(p, &product);
    if (!e) e = find_variant(p, &product, &variant);
    if (!e && product.delivery_type != DELIVERY_SERIAL_CODE)
        e = wrong(p, COLUMN_PRODUCT, "does not deliver serial codes");
    if (!e && !serial_code_is_valid(code)) e = wrong(p, COLUMN_CODE, "is not a code: 1 to 255 characters on one line");
    if (e) return e;
    p->end = IMPORT_ADDED;
    if (!p->is_real) return OK;
    e = serial_import(p->db, product.id, variant, &code, 1, &added, &duplicates);
    if (!added) p->end = IMPORT_PRESENT;
    return e;
}

static enum err put_wallet(struct putting *p)
{
    Money balance;
    Str ref, email = {0};
    Id account, known;
    enum err e = line(p, COLUMN_REF, 0, REF_MAX, &ref);
    if (!e) e = money(p, COLUMN_BALANCE, 1, &balance);
    if (!e) e = find_customer(p, &account, &email);
    if (!e && !id_is(account)) e = wrong(p, COLUMN_EMAIL, "no customer has this address");
    if (e) return e;
    if (!ref.len) ref = email.len ? email : of(p, COLUMN_CUSTOMER_REF);
    e = find_ref(p, IMPORT_WALLETS, ref, &known);
    if (e) return e;
    p->end = id_is(known) ? IMPORT_PRESENT : IMPORT_ADDED;
    if (id_is(known) || !p->is_real) return OK;
    const struct transfer t = {
        .kind = LEDGER_OPENING, .amount = balance, .description = STR("Opening balance"), .at = p->now};
    e = ledger_credit(p->db, account, LEDGER_ADJUSTMENTS, &t);
    if (e == ERR_FIELD_RANGE) return wrong(p, COLUMN_BALANCE, "is too large for this wallet");
    return e ? e : keep_ref(p, ref, account);
}

enum err import_put(struct db *db, enum import_kind kind, const struct import_row *row, int exponent, bool is_real,
                    Time now, enum import_end *ret, Str *ret_why)
{
    static enum err (*const put[IMPORT_KIND_COUNT])(struct putting *) = {put_product, put_variant, put_customer,
                                                                         put_license, put_serial,  put_wallet};
    struct putting p = {.db = db, .kind = kind, .row = row, .exponent = exponent, .is_real = is_real, .now = now};
    enum err e = put[kind](&p);
    if (e == ERR_FIELD_VALUE) *ret_why = p.why;
    if (!e) *ret = p.end;
    return e;
}
