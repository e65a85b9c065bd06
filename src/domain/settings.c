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

enum value_kind { TEXT, NUMBER, YES_NO };

/* Where the value of a row goes. */
struct value_place {
    const char *name;
    enum value_kind kind;
    size_t offset, bytes;
};
#define PLACE(name, kind, member)                                                                                      \
    {                                                                                                                  \
        name, kind, offsetof(struct settings, member), sizeof(((struct settings *)0)->member)                          \
    }
#define TEXT_OF(member) PLACE(#member, TEXT, member)
#define NUMBER_OF(member) PLACE(#member, NUMBER, member)
#define MONEY_OF(member) PLACE(#member, NUMBER, member) /* Money is its minor units and nothing else */
#define YES_NO_OF(member) PLACE(#member, YES_NO, member)

static const struct value_place places[] = {
    TEXT_OF(store_name),
    TEXT_OF(currency),
    NUMBER_OF(rate_v1),
    NUMBER_OF(rate_customer),
    YES_NO_OF(require_verified_email),
    YES_NO_OF(storefront),
    TEXT_OF(languages),
    TEXT_OF(accent),
    TEXT_OF(tagline),
    TEXT_OF(logo),
    NUMBER_OF(order_units_max),
    MONEY_OF(withdraw_min),
    MONEY_OF(withdraw_max),
    MONEY_OF(second_person_above),
    YES_NO_OF(mail_logo),
    YES_NO_OF(mail_new_order),
    NUMBER_OF(low_stock),
    TEXT_OF(staff_mail),
    NUMBER_OF(reserve_minutes),
    NUMBER_OF(reserve_codes_max),
    NUMBER_OF(keep_audit_days),
    NUMBER_OF(keep_notification_days),
    NUMBER_OF(keep_webhook_body_days),
    NUMBER_OF(keep_outbox_days),
};

static void put_value(struct settings *s, const struct value_place *p, Str value)
{
    void *to = (char *)s + p->offset;
    switch (p->kind) {
    case TEXT: copy_text(to, p->bytes, value); break;
    case NUMBER: str_to_int64(value, to); break;
    case YES_NO: *(bool *)to = str_eq(value, STR("1")); break;
    }
}

enum err settings_load(struct db *db, struct settings *ret)
{
    /* Long texts and secrets are read where they are needed. */
    static const char list[] = "SELECT name, value FROM setting WHERE LENGTH(value) < 1000";
    struct settings s = {.currency = SETTINGS_CURRENCY,
                         .store_name = "souk",
                         .rate_v1 = 120,
                         .rate_customer = 600,
                         .order_units_max = 1000,
                         .reserve_codes_max = 10,
                         .keep_notification_days = 365,
                         .keep_webhook_body_days = 180,
                         .keep_outbox_days = 30,
                         .storefront = true,
                         .languages = "en"};
    enum err e = settings_revision(db, &s.revision);
    if (e) return e;

    struct stmt *st = db_prepare(db, list);
    while (db_step(st)) {
        Str name = col_text(st), value = col_text(st);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (str_eq(name, str_from(places[i].name))) put_value(&s, &places[i], value);
    }
    e = db_done(st);
    if (e) return e;
    s.exponent = currency_exponent(str_from(s.currency));
    if (s.exponent < 0) return ERR_INTERNAL; /* settings_set_currency knows better */
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

Str settings_instance_proof(struct arena *a, Str nonce)
{
    uint8_t hash[VAULT_HASH_BYTES];
    vault_hash(VAULT_INSTANCE, nonce, hash);
    return hex_encode(a, hash, 16);
}

enum err settings_check_unproven(struct db *db)
{
    Str value;
    enum err e = settings_get(db, "require_verified_email", &value);
    return e ? e : str_eq(value, STR("1")) ? ERR_EMAIL_UNVERIFIED : OK;
}
