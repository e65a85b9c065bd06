/* Products and variants: what staff does, what customers then see, what an order is offered. On both engines. */
#include "store.h"

#include "base/text.h"
#include "domain/coupon.h"
#include "domain/product.h"
#include "domain/serial.h"
#include "domain/settings.h"
#include "domain/slug.h"
#include "serve/catalog_cache.h"
#include "unit.h"

static const Time now = {1000000};

static void test_slugs(void **state)
{
    (void)state;
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"Photo Editor", "photo-editor"},
        {"  Photo -- Editor!  ", "photo-editor"},
        {"Bob's Tools", "bobs-tools"},
        {"Bob\u2019s Tools", "bobs-tools"},
        {"Übergröße 2000", "ubergrose-2000"},
        {"Žluťoučký kůň", "zlutoucky-kun"},
        {"Łódź × 3", "lodz-3"},
        {"日本語", "product"},
        {"日本語 Pack", "pack"},
        {"C++", "c"},
        {"---", "product"},
        {"", "product"},
        {"\xc3", "product"}, /* cut short */
    };
    struct arena a = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Str slug = slug_from_name(&a, str_from(cases[i].name));
        assert_str(slug, cases[i].want);
        assert_true(slug_is_valid(slug));
    }
    char name[400];
    for (size_t i = 0; i < sizeof name; i++) name[i] = i % 10 == 9 ? ' ' : 'x';
    Str slug = slug_from_name(&a, (Str){name, sizeof name});
    assert_true(slug.len <= SLUG_BYTES_MAX && slug_is_valid(slug));
    slug = slug_numbered(&a, slug, 2147483647);
    assert_true(slug.len <= SLUG_BYTES_MAX && slug_is_valid(slug));
    assert_str(slug_numbered(&a, STR("tool"), 2), "tool-2");
    arena_done(&a);
}

static struct product make(struct db *db, const char *name, enum delivery_type type)
{
    struct product p = {.name = str_from(name), .own_price = {1999}, .delivery_type = type, .is_active = true}, made;
    assert_err(product_create(db, &p, now, &made), OK);
    return made;
}

static struct variant make_variant(struct db *db, Id product, const char *name, int64_t price, bool is_default)
{
    struct variant v = {.name = str_from(name), .price = {price}, .is_default = is_default, .is_active = true}, made;
    assert_err(variant_create(db, product, &v, now, &made), OK);
    return made;
}

static size_t listed(struct db *db, struct product **ret)
{
    size_t count;
    assert_err(catalog_list(db, ret, &count), OK);
    return count;
}

static int64_t revision(struct db *db)
{
    int64_t n = -1;
    assert_err(catalog_revision(db, &n), OK);
    return n;
}

static enum err products(struct db *db)
{
    struct product *list;
    assert_int_equal(listed(db, &list), 0);
    int64_t before = revision(db);
    struct product want = {.name = STR("Photo Editor"),
                           .description = STR("Edits\nphotos"),
                           .own_price = {4900},
                           .delivery_type = DELIVERY_LICENSE_KEY,
                           .is_active = true,
                           .position = 5,
                           .license_days = 365,
                           .key_prefix = STR("PE"),
                           .download_limit = 3,
                           .download_days = 7},
                   p, again;
    assert_err(product_create(db, &want, now, &p), OK);
    assert_true(revision(db) > before);
    assert_str(p.slug, "photo-editor");
    assert_true(p.version == 1 && p.price.minor == 4900 && p.position == 5 && p.license_days == 365 && p.in_stock);
    assert_true(p.download_limit == 3 && p.download_days == 7 && p.created_at.ms == now.ms);
    assert_str(p.description, "Edits\nphotos");
    assert_err(product_create(db, &want, now, &again), OK); /* the same name: another slug */
    assert_str(again.slug, "photo-editor-2");
    want.slug = STR("photo-editor");
    assert_err(product_create(db, &want, now, &again), ERR_SLUG_TAKEN);

    struct product edit = p;
    edit.name = STR("Photo Editor 2");
    edit.own_price = (Money){5900};
    edit.license_days = 0;
    before = revision(db);
    assert_err(product_update(db, &edit, (Time){2000000}, &again), OK);
    assert_true(again.version == 2 && again.price.minor == 5900 && again.license_days == 0);
    assert_true(again.updated_at.ms == 2000000 && again.created_at.ms == now.ms && revision(db) > before);
    assert_str(again.slug, "photo-editor");
    assert_err(product_update(db, &edit, now, &again), ERR_PRECONDITION_FAILED); /* read at version 1 */
    edit.version = 2;
    edit.slug = STR("photo-editor-2");
    assert_err(product_update(db, &edit, now, &again), ERR_SLUG_TAKEN);
    edit.id = (Id){99999};
    edit.slug = STR("free");
    assert_err(product_update(db, &edit, now, &again), ERR_NOT_FOUND);

    assert_err(product_find_slug(db, STR("photo-editor"), &again), OK);
    assert_true(id_eq(again.id, p.id));
    assert_err(product_find_slug(db, STR("nothing"), &again), ERR_NOT_FOUND);
    assert_err(product_find(db, (Id){99999}, &again), ERR_NOT_FOUND);
    return OK;
}

static void test_products(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, products), OK);
}

/* Many products of one name still get slugs, each its own. */
static enum err same_names(struct db *db)
{
    for (int i = 0; i < 40; i++) make(db, "Same", DELIVERY_LICENSE_KEY);
    return OK;
}

static void test_same_names(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, same_names), OK);
    assert_int_equal(test_number(store.d, "SELECT COUNT(DISTINCT slug) FROM product"), 40);
}

static enum err what_customers_see(struct db *db)
{
    struct product late = make(db, "Late", DELIVERY_LICENSE_KEY), early = make(db, "Early", DELIVERY_DOWNLOAD_URL);
    struct product draft = make(db, "Draft", DELIVERY_LICENSE_KEY), codes = make(db, "Codes", DELIVERY_SERIAL_CODE);
    late.position = 2;
    assert_err(product_update(db, &late, now, &late), OK);
    draft.is_active = false;
    assert_err(product_update(db, &draft, now, &draft), OK);

    struct product *list, found;
    assert_int_equal(listed(db, &list), 3);
    assert_true(id_eq(list[0].id, early.id) && id_eq(list[1].id, codes.id) && id_eq(list[2].id, late.id));
    assert_true(list[2].in_stock && !list[1].in_stock && !list[0].in_stock); /* no codes, no file */
    early.download_url = STR("https://files.example/x.zip");
    assert_err(product_update(db, &early, now, &early), OK);
    assert_true(early.in_stock);
    early.download_url = (Str){0};
    assert_err(product_update(db, &early, now, &early), OK);
    assert_err(product_set_file(db, early.id, STR("x.zip"), STR("k1"), 12, now, &early), OK);
    assert_true(early.in_stock && early.file_bytes == 12);
    assert_str(early.file_name, "x.zip");
    assert_err(product_set_file(db, (Id){99999}, STR("x.zip"), STR("k1"), 12, now, &found), ERR_NOT_FOUND);

    assert_err(catalog_find_slug(db, STR("early"), &found), OK);
    assert_err(catalog_find_slug(db, STR("draft"), &found), ERR_PRODUCT_NOT_FOUND);
    assert_err(catalog_find_slug(db, STR("unknown"), &found), ERR_PRODUCT_NOT_FOUND);

    size_t count; /* staff sees all of them, page by page */
    assert_err(product_list(db, 0, (Id){0}, 3, &list, &count), OK);
    assert_true(count == 3 && id_eq(list[0].id, early.id) && id_eq(list[1].id, draft.id));
    assert_err(product_list(db, list[2].position, list[2].id, 3, &list, &count), OK);
    assert_true(count == 1 && id_eq(list[0].id, late.id));

    struct variant deluxe = make_variant(db, codes.id, "Deluxe", 1, true); /* its pool counts for the product */
    const Str code = STR("code");
    int64_t added, duplicates;
    assert_err(serial_import(db, codes.id, deluxe.id, &code, 1, &added, &duplicates), OK);
    assert_err(product_list(db, 0, (Id){0}, 3, &list, &count), OK);
    assert_true(id_eq(list[2].id, codes.id) && list[2].in_stock);
    make_variant(db, codes.id, "Standard", 1, true);
    deluxe.is_active = false; /* and not when it is off */
    assert_err(variant_update(db, &deluxe, now, &deluxe), OK);
    assert_err(product_list(db, 0, (Id){0}, 3, &list, &count), OK);
    assert_false(list[2].in_stock);
    assert_err(product_find(db, codes.id, &found), OK);
    assert_false(found.in_stock);
    return OK;
}

static void test_what_customers_see(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, what_customers_see), OK);
}

static Id default_of(struct db *db, Id product)
{
    struct product p;
    assert_err(product_find(db, product, &p), OK);
    size_t defaults = 0;
    for (size_t i = 0; i < p.variant_count; i++) defaults += p.variants[i].is_default;
    assert_true(defaults <= 1);
    return defaults ? p.variants[0].id : (Id){0};
}

static enum err variants(struct db *db)
{
    struct product p = make(db, "Tool", DELIVERY_LICENSE_KEY);
    struct variant one = make_variant(db, p.id, "Monthly", 500, false);
    assert_true(one.is_default); /* the first one is */
    struct variant two = make_variant(db, p.id, "Yearly", 5000, false);
    assert_false(two.is_default);
    struct variant three = make_variant(db, p.id, "For ever", 20000, true);
    assert_true(three.is_default && id_eq(default_of(db, p.id), three.id));
    struct product *list, after;
    assert_int_equal(listed(db, &list), 1);
    assert_true(list[0].variant_count == 3 && list[0].price.minor == 20000 && list[0].own_price.minor == 1999);
    assert_true(id_eq(list[0].variants[0].id, three.id) && id_eq(list[0].variants[1].id, one.id));

    assert_err(product_find(db, p.id, &after), OK);
    assert_true(after.version == p.version + 3); /* a variant is part of its product */
    three.is_active = false;                     /* the default goes: the oldest takes its place */
    assert_err(variant_update(db, &three, now, &three), OK);
    assert_true(!three.is_default && id_eq(default_of(db, p.id), one.id));
    two.is_default = true;
    two.price = (Money){4500};
    two.license_days = 365;
    assert_err(variant_update(db, &two, now, &two), OK);
    assert_true(two.is_default && two.price.minor == 4500 && two.license_days == 365);
    two.is_default = false; /* somebody must be it */
    assert_err(variant_update(db, &two, now, &two), OK);
    assert_true(two.is_default);

    bool deleted = false;
    assert_err(variant_delete(db, two.id, now, &deleted), OK);
    assert_true(deleted && id_eq(default_of(db, p.id), one.id));
    assert_err(variant_delete(db, two.id, now, &deleted), ERR_NOT_FOUND);
    one.is_active = false;
    assert_err(variant_update(db, &one, now, &one), OK);
    assert_false(id_is(default_of(db, p.id)));
    assert_int_equal(listed(db, &list), 0); /* nothing to sell: its own price was never meant to be paid */
    struct variant none;
    assert_err(variant_create(db, (Id){99999}, &one, now, &none), ERR_NOT_FOUND);
    none = (struct variant){.id = {99999}, .name = STR("x")};
    assert_err(variant_update(db, &none, now, &none), ERR_NOT_FOUND);
    return OK;
}

static void test_variants(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, variants), OK);
}

static enum err offers(struct db *db)
{
    struct product plain = make(db, "Plain", DELIVERY_LICENSE_KEY), tool = make(db, "Tool", DELIVERY_LICENSE_KEY);
    struct variant one = make_variant(db, tool.id, "Monthly", 500, false);
    struct variant two = make_variant(db, tool.id, "Yearly", 5000, true);
    const Id none = {0}, nobody = {99999};
    struct offer o;
    assert_err(catalog_offer(db, plain.id, none, VARIANT_REQUIRED, &o), OK);
    assert_true(o.price.minor == 1999 && !id_is(o.variant_id) && o.variant_name.len == 0);
    assert_err(catalog_offer(db, plain.id, one.id, VARIANT_REQUIRED, &o), ERR_FIELD_CONFLICT);
    assert_err(catalog_offer(db, plain.id, one.id, VARIANT_DEFAULT, &o), ERR_FIELD_CONFLICT);
    assert_err(catalog_offer(db, tool.id, none, VARIANT_REQUIRED, &o), ERR_FIELD_REQUIRED);
    assert_err(catalog_offer(db, tool.id, nobody, VARIANT_REQUIRED, &o), ERR_FIELD_NOT_FOUND);
    assert_err(catalog_offer(db, nobody, none, VARIANT_DEFAULT, &o), ERR_PRODUCT_NOT_FOUND);
    assert_err(catalog_offer(db, tool.id, none, VARIANT_DEFAULT, &o), OK);
    assert_true(id_eq(o.variant_id, two.id) && o.price.minor == 5000);
    assert_err(catalog_offer(db, tool.id, one.id, VARIANT_DEFAULT, &o), OK);
    assert_true(id_eq(o.variant_id, one.id) && o.price.minor == 500);
    assert_str(o.variant_name, "Monthly");

    tool.license_days = 30; /* a variant without its own takes the product's */
    assert_err(product_find(db, tool.id, &tool), OK);
    tool.license_days = 30;
    assert_err(product_update(db, &tool, now, &tool), OK);
    two.license_days = 365;
    assert_err(variant_update(db, &two, now, &two), OK);
    assert_err(catalog_offer(db, tool.id, one.id, VARIANT_REQUIRED, &o), OK);
    assert_true(o.license_days == 30);
    assert_err(catalog_offer(db, tool.id, two.id, VARIANT_REQUIRED, &o), OK);
    assert_true(o.license_days == 365);

    two.is_active = false;
    assert_err(variant_update(db, &two, now, &two), OK);
    assert_err(catalog_offer(db, tool.id, two.id, VARIANT_REQUIRED, &o), ERR_FIELD_NOT_FOUND);
    assert_err(catalog_offer(db, tool.id, none, VARIANT_DEFAULT, &o), OK);
    assert_true(id_eq(o.variant_id, one.id));
    one.is_active = false;
    assert_err(variant_update(db, &one, now, &one), OK);
    assert_err(catalog_offer(db, tool.id, none, VARIANT_DEFAULT, &o), ERR_PRODUCT_NOT_FOUND);
    plain.is_active = false;
    assert_err(product_update(db, &plain, now, &plain), OK);
    assert_err(catalog_offer(db, plain.id, none, VARIANT_DEFAULT, &o), ERR_PRODUCT_NOT_FOUND);
    return OK;
}

static void test_offers(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, offers), OK);
}

static void run(struct db *db, const char *sql, Id id)
{
    struct stmt *st = db_prepare(db, sql);
    bind_id(st, id);
    assert_err(db_run(st), OK);
}

static enum err deletions(struct db *db)
{
    static const char sell[] =
        "INSERT INTO order_item (order_id, product_id, name, delivery_type, quantity, unit_price,"
        " subtotal) SELECT id, CAST($1 AS BIGINT), 'x', 'license_key', 1, 0, 0 FROM orders";
    static const char order[] = "INSERT INTO orders (account_id, status, channel, subtotal, total, created_at)"
                                " VALUES ($1, 'confirmed', 'cart', 0, 0, 1)";
    struct product fresh = make(db, "Fresh", DELIVERY_LICENSE_KEY), sold = make(db, "Sold", DELIVERY_LICENSE_KEY);
    struct product in_coupon = make(db, "In a coupon", DELIVERY_LICENSE_KEY), after;
    make_variant(db, fresh.id, "Only", 1, true);
    run(db, order, ada);
    run(db, sell, sold.id);
    struct coupon c = {.code = STR("ONE"), .value = 10, .is_active = true};
    assert_err(coupon_create(db, &c, &in_coupon.id, 1, now, &c), OK);

    bool deleted = false;
    assert_err(product_delete(db, fresh.id, now, &deleted), OK);
    assert_true(deleted);
    assert_err(product_find(db, fresh.id, &after), ERR_NOT_FOUND);
    assert_err(product_delete(db, fresh.id, now, &deleted), ERR_NOT_FOUND);
    assert_err(product_delete(db, sold.id, now, &deleted), OK);
    assert_false(deleted);
    assert_err(product_find(db, sold.id, &after), OK);
    assert_false(after.is_active);
    assert_err(product_delete(db, in_coupon.id, now, &deleted), OK);
    assert_false(deleted); /* else the coupon would be for everything */
    return OK;
}

static void test_deletions(void **state)
{
    (void)state;
    assert_err(store_tx(TX_WRITE, deletions), OK);
}

static struct catalog_cache *cache;

static enum err read_catalogue(struct db *db)
{
    struct settings settings;
    struct catalog_snapshot *s;
    enum err e = settings_load(db, &settings);
    if (!e) e = catalog_cache_get(cache, db, &settings, &s);
    if (!e) catalog_snapshot_release(s);
    return e;
}

static enum err read_on_loop(struct tx_job *job, struct db *db)
{
    (void)job;
    return read_catalogue(db);
}

static void nothing(struct tx_job *job, enum err e)
{
    (void)job, (void)e;
}

static enum err on_loop(struct test_port *port)
{
    struct tx_job job = {.mode = TX_READ, .run = read_on_loop, .done = nothing, .arena = &store_arena};
    tx_submit(port->port, &job);
    tx_port_pass(port->port);
    return job.result;
}

static enum err one_more(struct db *db)
{
    struct product p = {.name = STR("Photo Editor"), .delivery_type = DELIVERY_LICENSE_KEY, .is_active = true};
    return product_create(db, &p, now, &p);
}

/* A loop uses the catalogue that is there, and leaves it to others to make a new one. */
static void test_who_builds(void **state)
{
    (void)state;
    struct test_port port;
    test_port_open(&port, store.d);
    cache = catalog_cache_new();
    for (int i = 0; i < 2; i++) {
        assert_err(on_loop(&port), ERR_RUN_ALONE);
        assert_err(store_tx(TX_READ, read_catalogue), OK);
        assert_err(on_loop(&port), OK);
        assert_err(store_tx(TX_WRITE, one_more), OK);
    }
    catalog_cache_free(cache);
    test_port_close(&port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"sqlite test_slugs", test_slugs},
        ON_BOTH(test_products),
        ON_BOTH(test_same_names),
        ON_BOTH(test_what_customers_see),
        ON_BOTH(test_variants),
        ON_BOTH(test_offers),
        ON_BOTH(test_deletions),
        {"sqlite test_who_builds", test_who_builds, store_open_sqlite, store_close, NULL},
    };
    if (!test_postgres()) cmocka_set_test_filter("sqlite *");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
