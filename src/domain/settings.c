/* domain/settings.c - see settings.h. */
#include "domain/settings.h"

#include "domain/vault.h"

static void copy_text(char *to, size_t bytes, Str value)
{
    size_t n = value.len < bytes - 1 ? value.len : bytes - 1;
    if (n) memcpy(to, value.ptr, n); /* an empty text may have no bytes at all */
    to[n] = '\0';
}

/* The merchant's pages that every page links to. */
static enum err load_footer(struct db *db, struct settings *s)
{
    static const char list[] = "SELECT slug, title FROM own_page WHERE in_footer = 1 ORDER BY id";
    struct buf b;
    buf_init(&b, db_arena(db), sizeof s->footer - 1);
    struct stmt *st = db_prepare(db, list);
    while (db_step(st)) {
        size_t start = b.len;
        buf_append(&b, col_text(st));
        buf_char(&b, '\t');
        buf_append(&b, col_text(st));
        buf_char(&b, '\n');
        if (b.full) b.len = start; /* no half lines */
    }
    enum err e = db_done(st);
    if (!e) copy_text(s->footer, sizeof s->footer, buf_str(&b));
    return e;
}

/* A hash of the merchant's colour and style sheet. */
static enum err load_theme(struct db *db, struct settings *s)
{
    Str style;
    uint8_t hash[VAULT_HASH_BYTES];
    enum err e = settings_get(db, "style_sheet", &style);
    if (e || (!style.len && !s->accent[0])) return e;
    vault_hash(VAULT_FINGERPRINT, str_printf(db_arena(db), "theme %s\n%.*s", s->accent, STR_FMT(style)), hash);
    copy_text(s->theme, sizeof s->theme, hex_encode(db_arena(db), hash, 8));
    return OK;
}

enum err settings_load(struct db *db, struct settings *ret)
{
    static const char list[] = "SELECT name, value FROM setting WHERE name IN ('currency', 'store_name', 'rate_v1',"
                               " 'rate_customer', 'require_verified_email', 'order_units_max', 'storefront', "
                               "'languages', 'accent', 'tagline', 'logo', 'withdraw_min', 'withdraw_max', "
                               "'second_person_above', 'reserve_minutes',"
                               " 'reserve_codes_max', 'mail_new_order', 'mail_logo', 'low_stock', 'staff_mail')";
    struct settings s = {.currency = SETTINGS_CURRENCY,
                         .exponent = 2,
                         .store_name = "souk",
                         .rate_v1 = 120,
                         .rate_customer = 600,
                         .order_units_max = 1000,
                         .reserve_codes_max = 10,
                         .storefront = true,
                         .languages = "en"};
    enum err e = settings_revision(db, &s.revision);
    if (e) return e;

    struct stmt *st = db_prepare(db, list);
    while (db_step(st)) {
        Str name = col_text(st), value = col_text(st);
        if (str_eq(name, STR("currency")) && currency_exponent(value) >= 0) {
            copy_text(s.currency, sizeof s.currency, value);
            s.exponent = currency_exponent(value);
        } else if (str_eq(name, STR("store_name"))) {
            copy_text(s.store_name, sizeof s.store_name, value);
        } else if (str_eq(name, STR("rate_v1"))) {
            str_to_int64(value, &s.rate_v1);
        } else if (str_eq(name, STR("rate_customer"))) {
            str_to_int64(value, &s.rate_customer);
        } else if (str_eq(name, STR("withdraw_min"))) {
            str_to_int64(value, &s.withdraw_min.minor);
        } else if (str_eq(name, STR("withdraw_max"))) {
            str_to_int64(value, &s.withdraw_max.minor);
        } else if (str_eq(name, STR("second_person_above"))) {
            str_to_int64(value, &s.second_person_above.minor);
        } else if (str_eq(name, STR("require_verified_email"))) {
            s.require_verified_email = str_eq(value, STR("1"));
        } else if (str_eq(name, STR("storefront"))) {
            s.storefront = str_eq(value, STR("1"));
        } else if (str_eq(name, STR("languages"))) {
            copy_text(s.languages, sizeof s.languages, value);
        } else if (str_eq(name, STR("accent"))) {
            copy_text(s.accent, sizeof s.accent, value);
        } else if (str_eq(name, STR("tagline"))) {
            copy_text(s.tagline, sizeof s.tagline, value);
        } else if (str_eq(name, STR("logo"))) {
            copy_text(s.logo, sizeof s.logo, value);
        } else if (str_eq(name, STR("order_units_max"))) {
            str_to_int64(value, &s.order_units_max);
        } else if (str_eq(name, STR("mail_logo"))) {
            s.mail_logo = str_eq(value, STR("1"));
        } else if (str_eq(name, STR("mail_new_order"))) {
            s.mail_new_order = str_eq(value, STR("1"));
        } else if (str_eq(name, STR("low_stock"))) {
            str_to_int64(value, &s.low_stock);
        } else if (str_eq(name, STR("staff_mail"))) {
            copy_text(s.staff_mail, sizeof s.staff_mail, value);
        } else if (str_eq(name, STR("reserve_minutes"))) {
            str_to_int64(value, &s.reserve_minutes);
        } else if (str_eq(name, STR("reserve_codes_max"))) {
            str_to_int64(value, &s.reserve_codes_max);
        }
    }
    e = db_done(st);
    if (e) return e;
    e = load_footer(db, &s);
    if (!e) e = load_theme(db, &s);
    if (e) return e;
    *ret = s;
    return OK;
}

enum err settings_revision(struct db *db, int64_t *ret)
{
    static const char find[] = "SELECT number FROM revision WHERE name = 'settings'";
    struct stmt *st = db_prepare(db, find);
    int64_t number = db_step(st) ? col_int(st) : 0;
    enum err e = db_done(st);
    if (e) return e;
    *ret = number;
    return OK;
}

enum err settings_lock(struct db *db)
{
    static const char lock[] = "UPDATE revision SET number = number WHERE name = 'settings'";
    return db_run(db_prepare(db, lock));
}

enum err settings_touch(struct db *db)
{
    static const char bump[] = "UPDATE revision SET number = number + 1 WHERE name = 'settings'";
    return db_run(db_prepare(db, bump));
}

enum err settings_set(struct db *db, const char *name, Str value)
{
    static const char set[] = "INSERT INTO setting (name, value) VALUES ($1, $2)"
                              " ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    struct stmt *st = db_prepare(db, set);
    bind_text(st, str_from(name));
    bind_text(st, value);
    enum err e = db_run(st);
    return e ? e : settings_touch(db);
}

enum err settings_keep(struct db *db, const char *name, Str value)
{
    static const char keep[] = "INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
    struct stmt *st = db_prepare(db, keep);
    bind_text(st, str_from(name));
    bind_text(st, value);
    return db_run(st);
}

enum err settings_get(struct db *db, const char *name, Str *ret)
{
    static const char find[] = "SELECT value FROM setting WHERE name = $1";
    struct stmt *st = db_prepare(db, find);
    bind_text(st, str_from(name));
    Str value = db_step(st) ? col_text(st) : (Str){0};
    enum err e = db_done(st);
    if (e) return e;
    *ret = value;
    return OK;
}

enum err settings_set_currency(struct db *db, Str code)
{
    static const char used[] = "SELECT 1 FROM transfer UNION ALL SELECT 1 FROM product UNION ALL SELECT 1 FROM coupon"
                               " UNION ALL SELECT 1 FROM payment UNION ALL SELECT 1 FROM orders LIMIT 1";
    if (currency_exponent(code) < 0) return ERR_FIELD_VALUE;
    Str present;
    enum err e = settings_get(db, "currency", &present);
    if (e) return e;
    if (str_eq(present, code)) return OK;
    struct stmt *st = db_prepare(db, used);
    bool is_used = db_step(st);
    e = db_done(st);
    if (e) return e;
    if (is_used) return ERR_INVALID_STATE;
    return settings_set(db, "currency", code);
}

enum err settings_check_key(struct db *db)
{
    uint8_t hash[VAULT_HASH_BYTES];
    vault_hash(VAULT_FINGERPRINT, STR("souk"), hash);
    Str mine = hex_encode(db_arena(db), hash, 16), stored;
    enum err e = settings_get(db, "key_fingerprint", &stored);
    if (e) return e;
    if (!stored.len) {
        if (!db_can_write(db)) return ERR_NEEDS_WRITE;
        e = settings_keep(db, "key_fingerprint", mine);
        if (!e) e = settings_get(db, "key_fingerprint", &stored);
        if (e) return e;
    }
    return str_eq(stored, mine) ? OK : ERR_CONFLICT;
}

enum err settings_check_unproven(struct db *db)
{
    Str value;
    enum err e = settings_get(db, "require_verified_email", &value);
    return e ? e : str_eq(value, STR("1")) ? ERR_EMAIL_UNVERIFIED : OK;
}
