/* cli/import_source.c - see import_source.h. */
#include "cli/import_source.h"

#include "base/text.h"
#include "domain/slug.h"

struct mapped {
    const char *theirs;
    enum import_column ours;
};

struct import_source {
    const char *from;
    enum import_kind kind;
    struct mapped columns[12]; /* {0} at the end; none: our own names */
    bool (*convert)(struct arena *a, struct import_row *row);
};

static bool is(Str s, const char *word)
{
    return str_eq_nocase(s, str_from(word));
}

/* What MySQL's tools write for NULL. */
static bool is_none(Str s)
{
    return !s.len || is(s, "NULL") || is(s, "\\N");
}

static Str named(struct arena *a, const char *origin, Str ref)
{
    return is_none(ref) ? (Str){0} : str_printf(a, "%s:%.*s", origin, STR_FMT(ref));
}

/* `type`: 1 is delivered by itself, 2 by hand, which we do not do. */
static bool dujiaoka_product(struct arena *a, struct import_row *r)
{
    r->of[COLUMN_REF] = named(a, "dujiaoka", r->of[COLUMN_REF]);
    if (!is(r->of[COLUMN_DELIVERY_TYPE], "1")) return false;
    r->of[COLUMN_DELIVERY_TYPE] = STR("serial_code");
    if (is_none(r->of[COLUMN_DESCRIPTION])) r->of[COLUMN_DESCRIPTION] = (Str){0};
    return true;
}

/* `status` 1: not sold. `is_loop` 1: one code for everybody, which a pool cannot hold. Borrowed columns: status, the
 * time of deletion in reason, is_loop in default. */
static bool dujiaoka_serial(struct arena *a, struct import_row *r)
{
    bool is_wanted = is(r->of[COLUMN_STATUS], "1") && !is(r->of[COLUMN_DEFAULT], "1") && is_none(r->of[COLUMN_REASON]);
    r->of[COLUMN_PRODUCT_REF] = named(a, "dujiaoka", r->of[COLUMN_PRODUCT_REF]);
    return is_wanted;
}

static bool woocommerce_customer(struct arena *a, struct import_row *r)
{
    r->of[COLUMN_REF] = named(a, "woocommerce", r->of[COLUMN_REF]);
    return true;
}

/* Keys that nobody has bought yet, and those of guests, belong to no customer. */
static bool woocommerce_license(struct arena *a, struct import_row *r)
{
    Str status = r->of[COLUMN_STATUS];
    if (is(status, "INACTIVE") || is_none(r->of[COLUMN_CUSTOMER_REF]) || is(r->of[COLUMN_CUSTOMER_REF], "0"))
        return false;
    r->of[COLUMN_STATUS] = STR("active");
    r->of[COLUMN_PRODUCT_REF] = named(a, "woocommerce", r->of[COLUMN_PRODUCT_REF]);
    r->of[COLUMN_CUSTOMER_REF] = named(a, "woocommerce", r->of[COLUMN_CUSTOMER_REF]);
    if (is_none(r->of[COLUMN_EXPIRES_AT])) r->of[COLUMN_EXPIRES_AT] = (Str){0};
    if (is_none(r->of[COLUMN_CREATED_AT])) r->of[COLUMN_CREATED_AT] = (Str){0};
    return true;
}

/* The end of a licence is in seconds since 1970; 0 or nothing: never. */
static Str edd_time(struct arena *a, Str s)
{
    int64_t seconds;
    if (is_none(s) || is(s, "0") || is(s, "lifetime") || is(s, "never")) return (Str){0};
    if (!str_to_int64(s, &seconds) || seconds < 0 || seconds > INT32_MAX * 4LL) return s;
    char text[TIME_TEXT_LEN + 1];
    time_format((Time){seconds * TIME_SECOND}, text);
    return str_dup(a, str_from(text));
}

static bool edd_license(struct arena *a, struct import_row *r)
{
    Str status = r->of[COLUMN_STATUS];
    r->of[COLUMN_STATUS] = is(status, "disabled") || is(status, "revoked") ? STR("revoked") : STR("active");
    r->of[COLUMN_PRODUCT] = slug_from_name(a, r->of[COLUMN_PRODUCT]);
    r->of[COLUMN_EXPIRES_AT] = edd_time(a, r->of[COLUMN_EXPIRES_AT]);
    return true;
}

static bool gumroad_customer(struct arena *a, struct import_row *r)
{
    (void)a;
    return r->of[COLUMN_EMAIL].len > 0; /* the last line has totals */
}

/* Borrowed columns: fully refunded in active, disputed in default, dispute won in verified, enabled in status. */
static bool gumroad_license(struct arena *a, struct import_row *r)
{
    if (!r->of[COLUMN_KEY].len || !r->of[COLUMN_EMAIL].len) return false;
    bool is_lost = is(r->of[COLUMN_DEFAULT], "1") && !is(r->of[COLUMN_VERIFIED], "1");
    bool is_off = is(r->of[COLUMN_STATUS], "0");
    r->of[COLUMN_STATUS] = is(r->of[COLUMN_ACTIVE], "1") ? STR("refunded")
                           : is_lost || is_off           ? STR("revoked")
                                                         : STR("active");
    r->of[COLUMN_PRODUCT] = slug_from_name(a, r->of[COLUMN_PRODUCT]);
    return true;
}

static const struct import_source sources[] = {
    {"dujiaoka",
     IMPORT_PRODUCTS,
     {{"id", COLUMN_REF},
      {"gd_name", COLUMN_NAME},
      {"description", COLUMN_DESCRIPTION},
      {"actual_price", COLUMN_PRICE},
      {"type", COLUMN_DELIVERY_TYPE},
      {"is_open", COLUMN_ACTIVE},
      {"ord", COLUMN_POSITION}},
     dujiaoka_product},
    {"dujiaoka",
     IMPORT_SERIALS,
     {{"goods_id", COLUMN_PRODUCT_REF},
      {"carmi", COLUMN_CODE},
      {"status", COLUMN_STATUS},
      {"is_loop", COLUMN_DEFAULT},
      {"deleted_at", COLUMN_REASON}},
     dujiaoka_serial},
    {"woocommerce",
     IMPORT_CUSTOMERS,
     {{"customer_id", COLUMN_REF},
      {"user_id", COLUMN_REF},
      {"email", COLUMN_EMAIL},
      {"user_email", COLUMN_EMAIL},
      {"name", COLUMN_NAME},
      {"display_name", COLUMN_NAME}},
     woocommerce_customer},
    {"woocommerce",
     IMPORT_LICENSES,
     {{"license_key", COLUMN_KEY},
      {"product_id", COLUMN_PRODUCT_REF},
      {"user_id", COLUMN_CUSTOMER_REF},
      {"expires_at", COLUMN_EXPIRES_AT},
      {"status", COLUMN_STATUS},
      {"created_at", COLUMN_CREATED_AT}},
     woocommerce_license},
    {"edd",
     IMPORT_LICENSES,
     {{"License Key", COLUMN_KEY},
      {"License Status", COLUMN_STATUS},
      {"Customer Email", COLUMN_EMAIL},
      {"Customer Name", COLUMN_NAME},
      {"Product Name", COLUMN_PRODUCT},
      {"Purchase Date", COLUMN_CREATED_AT},
      {"Expiration Date", COLUMN_EXPIRES_AT}},
     edd_license},
    {"gumroad", IMPORT_CUSTOMERS, {{"Purchase Email", COLUMN_EMAIL}, {"Buyer Name", COLUMN_NAME}}, gumroad_customer},
    {"gumroad",
     IMPORT_LICENSES,
     {{"License Key", COLUMN_KEY},
      {"Purchase Email", COLUMN_EMAIL},
      {"Buyer Name", COLUMN_NAME},
      {"Item Name", COLUMN_PRODUCT},
      {"Purchase Time (UTC timezone)", COLUMN_CREATED_AT},
      {"Fully Refunded?", COLUMN_ACTIVE},
      {"Disputed?", COLUMN_DEFAULT},
      {"Dispute Won?", COLUMN_VERIFIED},
      {"License Key Enabled?", COLUMN_STATUS}},
     gumroad_license},
};

static const struct import_source ours = {.from = ""};

const struct import_source *import_source_find(Str from, enum import_kind kind)
{
    if (!from.len) return &ours;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (str_eq(from, str_from(sources[i].from)) && sources[i].kind == kind) return &sources[i];
    return NULL;
}

bool import_source_is_ours(const struct import_source *s)
{
    return s == &ours;
}

bool import_source_column(const struct import_source *s, enum import_kind kind, Str name, enum import_column *ret)
{
    for (size_t i = 0; s != &ours && s->columns[i].theirs; i++) {
        if (!is(name, s->columns[i].theirs)) continue;
        *ret = s->columns[i].ours;
        return true;
    }
    for (int i = 0; s == &ours && i < IMPORT_COLUMN_COUNT; i++) {
        if (!is(name, import_column_names[i]) || !import_has_column(kind, (enum import_column)i)) continue;
        *ret = (enum import_column)i;
        return true;
    }
    return false;
}

bool import_source_convert(const struct import_source *s, struct arena *a, struct import_row *row)
{
    return !s->convert || s->convert(a, row);
}
