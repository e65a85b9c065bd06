/* api/admin/admin_settings.c - the store's settings. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "domain/image.h"
#include "outbound/smtp.h"
#include "page/color.h"
#include "page/words.h"
#include "serve/app.h"

static void view_languages(struct json_writer *w, const struct settings *s)
{
    json_key(w, "languages");
    json_begin_array(w);
    for (Str list = str_from(s->languages); list.len;) {
        Str code = list, rest = {0};
        str_cut(list, ',', &code, &rest);
        json_str(w, code);
        list = rest;
    }
    json_end_array(w);
}

/* Includes the long texts, which servers otherwise read only where they are shown. */
struct settings_shown {
    struct settings settings;
    Str welcome, style_sheet;
};

static enum err load(struct request *req, struct settings_shown *ret)
{
    enum err e = settings_load(req->db, &ret->settings);
    if (!e) e = settings_get(req->db, "welcome", &ret->welcome);
    return e ? e : settings_get(req->db, "style_sheet", &ret->style_sheet);
}

static void view_settings(struct json_writer *w, const void *thing)
{
    const struct settings_shown *shown = thing;
    const struct settings *s = &shown->settings;
    json_begin_object(w);
    json_kv_cstr(w, "store_name", s->store_name);
    json_kv_cstr(w, "currency", s->currency);
    json_kv_int(w, "rate_v1", s->rate_v1);
    json_kv_int(w, "rate_customer", s->rate_customer);
    json_kv_bool(w, "require_verified_email", s->require_verified_email);
    json_kv_bool(w, "storefront", s->storefront);
    view_languages(w, s);
    json_kv_cstr(w, "accent", s->accent);
    json_kv_cstr(w, "tagline", s->tagline);
    json_kv_cstr(w, "logo", s->logo);
    json_kv_int(w, "order_units_max", s->order_units_max);
    json_kv_str(w, "welcome", shown->welcome);
    json_kv_str(w, "style_sheet", shown->style_sheet);
    json_kv_money(w, "withdraw_min", s->withdraw_min);
    json_kv_money(w, "withdraw_max", s->withdraw_max);
    json_kv_money(w, "second_person_above", s->second_person_above);
    json_kv_bool(w, "mail_logo", s->mail_logo);
    json_kv_bool(w, "mail_new_order", s->mail_new_order);
    json_kv_int(w, "low_stock", s->low_stock);
    json_kv_cstr(w, "staff_mail", s->staff_mail);
    json_kv_int(w, "reserve_minutes", s->reserve_minutes);
    json_kv_int(w, "reserve_codes_max", s->reserve_codes_max);
    json_kv_int(w, "keep_audit_days", s->keep_audit_days);
    json_kv_int(w, "keep_notification_days", s->keep_notification_days);
    json_kv_int(w, "keep_webhook_body_days", s->keep_webhook_body_days);
    json_kv_int(w, "keep_outbox_days", s->keep_outbox_days);
    json_end_object(w);
}

struct settings_body {
    Str store_name, currency;
    int64_t rate_v1, rate_customer, order_units_max;
    bool require_verified_email, storefront;
    struct str_list languages;
    Str accent, tagline, welcome, style_sheet;
    bool has_store_name, has_currency, has_rate_v1, has_rate_customer, has_require_verified_email, has_storefront,
        has_languages, has_accent, has_tagline, has_welcome, has_style_sheet, has_order_units_max;
    Money withdraw_min, withdraw_max, second_person_above;
    bool has_withdraw_min, has_withdraw_max, has_second_person_above;
    bool mail_logo, has_mail_logo, mail_new_order, has_mail_new_order, has_low_stock, has_staff_mail;
    int64_t low_stock;
    Str staff_mail;
    int64_t reserve_minutes, reserve_codes_max;
    bool has_reserve_minutes, has_reserve_codes_max;
    int64_t keep_audit_days, keep_notification_days, keep_webhook_body_days, keep_outbox_days;
    bool has_keep_audit_days, has_keep_notification_days, has_keep_webhook_body_days, has_keep_outbox_days;
};

#define RATE_MAX 1000000
#define UNITS_MAX 10000 /* more would hold up the writer for too long */
#define RESERVE_MINUTES_MAX (24 * 60)
#define LOW_STOCK_MAX 1000
#define KEEP_DAYS_MAX 36500
#define WELCOME_MAX 5000
#define STYLE_MAX 20000
/* Each code point may come as two escapes of six bytes. */
#define SETTINGS_BYTES_MAX ((WELCOME_MAX + STYLE_MAX) * 12 + 16 * 1024)

static const struct field settings_fields[] = {
    {"store_name", FIELD_LINE, OPTIONAL, offsetof(struct settings_body, store_name), .min = 1, .max = 60,
     .has = offsetof(struct settings_body, has_store_name)},
    {"currency", FIELD_LINE, OPTIONAL, offsetof(struct settings_body, currency), .min = 3, .max = 3,
     .has = offsetof(struct settings_body, has_currency)},
    {"rate_v1", FIELD_INT, OPTIONAL, offsetof(struct settings_body, rate_v1), .min = 0, .max = RATE_MAX,
     .has = offsetof(struct settings_body, has_rate_v1)},
    {"rate_customer", FIELD_INT, OPTIONAL, offsetof(struct settings_body, rate_customer), .min = 0, .max = RATE_MAX,
     .has = offsetof(struct settings_body, has_rate_customer)},
    {"require_verified_email", FIELD_BOOL, OPTIONAL, offsetof(struct settings_body, require_verified_email),
     .has = offsetof(struct settings_body, has_require_verified_email)},
    {"storefront", FIELD_BOOL, OPTIONAL, offsetof(struct settings_body, storefront),
     .has = offsetof(struct settings_body, has_storefront)},
    {"languages", FIELD_LINES, OPTIONAL, offsetof(struct settings_body, languages), .min = 1, .max = LANG_COUNT,
     .item_max = 8, .has = offsetof(struct settings_body, has_languages)},
    {"accent", FIELD_LINE, OPTIONAL, offsetof(struct settings_body, accent), .max = 7,
     .has = offsetof(struct settings_body, has_accent)},
    {"tagline", FIELD_LINE, OPTIONAL, offsetof(struct settings_body, tagline), .max = 160,
     .has = offsetof(struct settings_body, has_tagline)},
    {"order_units_max", FIELD_INT, OPTIONAL, offsetof(struct settings_body, order_units_max), .min = 1,
     .max = UNITS_MAX, .has = offsetof(struct settings_body, has_order_units_max)},
    {"welcome", FIELD_TEXT, OPTIONAL, offsetof(struct settings_body, welcome), .max = WELCOME_MAX,
     .has = offsetof(struct settings_body, has_welcome)},
    {"style_sheet", FIELD_TEXT, OPTIONAL, offsetof(struct settings_body, style_sheet), .max = STYLE_MAX,
     .has = offsetof(struct settings_body, has_style_sheet)},
    {"withdraw_min", FIELD_MONEY, OPTIONAL, offsetof(struct settings_body, withdraw_min), .min = 0, .max = INT64_MAX,
     .has = offsetof(struct settings_body, has_withdraw_min)},
    {"withdraw_max", FIELD_MONEY, OPTIONAL, offsetof(struct settings_body, withdraw_max), .min = 0, .max = INT64_MAX,
     .has = offsetof(struct settings_body, has_withdraw_max)},
    {"second_person_above", FIELD_MONEY, OPTIONAL, offsetof(struct settings_body, second_person_above), .min = 0,
     .max = INT64_MAX, .has = offsetof(struct settings_body, has_second_person_above)},
    {"mail_logo", FIELD_BOOL, OPTIONAL, offsetof(struct settings_body, mail_logo),
     .has = offsetof(struct settings_body, has_mail_logo)},
    {"mail_new_order", FIELD_BOOL, OPTIONAL, offsetof(struct settings_body, mail_new_order),
     .has = offsetof(struct settings_body, has_mail_new_order)},
    {"low_stock", FIELD_INT, OPTIONAL, offsetof(struct settings_body, low_stock), .min = 0, .max = LOW_STOCK_MAX,
     .has = offsetof(struct settings_body, has_low_stock)},
    {"staff_mail", FIELD_LINE, OPTIONAL, offsetof(struct settings_body, staff_mail), .max = 254,
     .has = offsetof(struct settings_body, has_staff_mail)},
    {"reserve_minutes", FIELD_INT, OPTIONAL, offsetof(struct settings_body, reserve_minutes), .min = 0,
     .max = RESERVE_MINUTES_MAX, .has = offsetof(struct settings_body, has_reserve_minutes)},
    {"reserve_codes_max", FIELD_INT, OPTIONAL, offsetof(struct settings_body, reserve_codes_max), .min = 1,
     .max = UNITS_MAX, .has = offsetof(struct settings_body, has_reserve_codes_max)},
    {"keep_audit_days", FIELD_INT, OPTIONAL, offsetof(struct settings_body, keep_audit_days), .min = 0,
     .max = KEEP_DAYS_MAX, .has = offsetof(struct settings_body, has_keep_audit_days)},
    {"keep_notification_days", FIELD_INT, OPTIONAL, offsetof(struct settings_body, keep_notification_days), .min = 0,
     .max = KEEP_DAYS_MAX, .has = offsetof(struct settings_body, has_keep_notification_days)},
    {"keep_webhook_body_days", FIELD_INT, OPTIONAL, offsetof(struct settings_body, keep_webhook_body_days), .min = 0,
     .max = KEEP_DAYS_MAX, .has = offsetof(struct settings_body, has_keep_webhook_body_days)},
    {"keep_outbox_days", FIELD_INT, OPTIONAL, offsetof(struct settings_body, keep_outbox_days), .min = 0,
     .max = KEEP_DAYS_MAX, .has = offsetof(struct settings_body, has_keep_outbox_days)},
    {0},
};
static const struct shape settings_shape = {settings_fields, sizeof(struct settings_body)};

static enum err get_settings(struct request *req)
{
    struct settings_shown s;
    enum err e = load(req, &s);
    if (e) return e;
    request_etag_version(req, s.settings.revision);
    view_settings(&req->out, &s);
    return OK;
}

static enum err set_number(struct request *req, bool has, const char *name, int64_t value)
{
    return has ? settings_set(req->db, name, str_printf(req->arena, "%lld", (long long)value)) : OK;
}

static enum err set_currency(struct request *req, Str code)
{
    enum err e = settings_set_currency(req->db, str_upper(req->arena, code));
    return e == ERR_FIELD_VALUE ? request_bad_field(req, "currency", e) : e;
}

/* Languages that the shop has words in, each once. */
static enum err set_languages(struct request *req, const struct str_list *codes)
{
    bool seen[LANG_COUNT] = {0};
    struct buf b;
    buf_init(&b, req->arena, 64);
    for (size_t i = 0; i < codes->count; i++) {
        enum lang lang;
        if (!lang_find(codes->items[i], &lang)) return request_bad_field(req, "languages", ERR_FIELD_VALUE);
        if (seen[lang]) return request_bad_field(req, "languages", ERR_FIELD_DUPLICATE);
        seen[lang] = true;
        if (b.len) buf_char(&b, ',');
        buf_append(&b, str_from(lang_codes[lang]));
    }
    return settings_set(req->db, "languages", buf_str(&b));
}

/* "#rrggbb", dark enough for white text on it or light enough for black: buttons stay readable. Empty: the shop's own.
 */
static enum err set_accent(struct request *req, Str accent)
{
    struct color color;
    if (accent.len && !color_read(accent, &color)) return request_bad_field(req, "accent", ERR_FIELD_FORMAT);
    if (accent.len && !color_is_readable(&color)) return request_bad_field(req, "accent", ERR_FIELD_VALUE);
    return settings_set(req->db, "accent", str_lower(req->arena, accent));
}

/* How the shop looks and whether it is open. */
static enum err set_shop(struct request *req, const struct settings_body *in)
{
    enum err e = OK;
    if (in->has_storefront) e = settings_set(req->db, "storefront", in->storefront ? STR("1") : STR("0"));
    if (!e && in->has_languages) e = set_languages(req, &in->languages);
    if (!e && in->has_accent) e = set_accent(req, in->accent);
    if (!e && in->has_tagline) e = settings_set(req->db, "tagline", in->tagline);
    if (!e && in->has_welcome) e = settings_set(req->db, "welcome", in->welcome);
    if (!e && in->has_style_sheet) e = settings_set(req->db, "style_sheet", in->style_sheet);
    return e;
}

/* What mails look like; who of those who work here is written to, and of what. */
static enum err set_mail(struct request *req, const struct settings_body *in)
{
    if (in->has_staff_mail && in->staff_mail.len && !mail_address_is_fine(in->staff_mail))
        return request_bad_field(req, "staff_mail", ERR_FIELD_FORMAT);
    enum err e = set_number(req, in->has_mail_new_order, "mail_new_order", in->mail_new_order);
    if (!e) e = set_number(req, in->has_mail_logo, "mail_logo", in->mail_logo);
    if (!e) e = set_number(req, in->has_low_stock, "low_stock", in->low_stock);
    return !e && in->has_staff_mail ? settings_set(req->db, "staff_mail", in->staff_mail) : e;
}

/* How long things stay. */
static enum err set_keeping(struct request *req, const struct settings_body *in)
{
    enum err e = set_number(req, in->has_keep_audit_days, "keep_audit_days", in->keep_audit_days);
    if (!e) e = set_number(req, in->has_keep_notification_days, "keep_notification_days", in->keep_notification_days);
    if (!e) e = set_number(req, in->has_keep_webhook_body_days, "keep_webhook_body_days", in->keep_webhook_body_days);
    return e ? e : set_number(req, in->has_keep_outbox_days, "keep_outbox_days", in->keep_outbox_days);
}

static enum err patch_settings(struct request *req)
{
    const struct settings_body *in = req->body;
    struct settings_shown before, after;
    enum err e = settings_lock(req->db);
    if (!e) e = load(req, &before);
    if (!e) e = request_if_match(req, before.settings.revision);
    if (!e && in->has_store_name) e = settings_set(req->db, "store_name", in->store_name);
    if (!e && in->has_currency) e = set_currency(req, in->currency);
    if (!e) e = set_number(req, in->has_rate_v1, "rate_v1", in->rate_v1);
    if (!e) e = set_number(req, in->has_rate_customer, "rate_customer", in->rate_customer);
    if (!e) e = set_number(req, in->has_require_verified_email, "require_verified_email", in->require_verified_email);
    if (!e) e = set_shop(req, in);
    if (!e) e = set_mail(req, in);
    if (!e) e = set_number(req, in->has_order_units_max, "order_units_max", in->order_units_max);
    if (!e) e = set_number(req, in->has_withdraw_min, "withdraw_min", in->withdraw_min.minor);
    if (!e) e = set_number(req, in->has_withdraw_max, "withdraw_max", in->withdraw_max.minor);
    if (!e) e = set_number(req, in->has_second_person_above, "second_person_above", in->second_person_above.minor);
    if (!e) e = set_number(req, in->has_reserve_minutes, "reserve_minutes", in->reserve_minutes);
    if (!e) e = set_number(req, in->has_reserve_codes_max, "reserve_codes_max", in->reserve_codes_max);
    if (!e) e = set_keeping(req, in);
    if (!e) e = load(req, &after);
    if (e) return e;
    request_etag_version(req, after.settings.revision);
    view_settings(&req->out, &after);
    return admin_audit(req, "settings.update", (Id){0}, STR("settings"), admin_json(req, view_settings, &before),
                       admin_json(req, view_settings, &after));
}

#define LOGO_BYTES_MAX (1024 * 1024)

static enum err change_logo(struct request *req, Str bytes)
{
    struct settings_shown before, after;
    enum err e = settings_lock(req->db);
    if (!e) e = load(req, &before);
    if (!e) e = logo_set(req->db, bytes);
    if (e == ERR_FIELD_FORMAT) return request_bad_field(req, "body", e);
    if (!e) e = load(req, &after);
    if (e) return e;
    request_etag_version(req, after.settings.revision);
    view_settings(&req->out, &after);
    return admin_audit(req, "settings.update", (Id){0}, STR("settings"), admin_json(req, view_settings, &before),
                       admin_json(req, view_settings, &after));
}

static enum err put_logo(struct request *req)
{
    return req->raw_body.len ? change_logo(req, req->raw_body) : request_bad_field(req, "body", ERR_FIELD_FORMAT);
}

static enum err delete_logo(struct request *req)
{
    return change_logo(req, (Str){0});
}

const struct route admin_settings_routes[] = {
    {"GET", "/api/admin/settings", SCOPE_ADMIN, TX_READ, NULL, get_settings},
    {"PATCH", "/api/admin/settings", SCOPE_ADMIN, TX_WRITE, &settings_shape, patch_settings, OWNER_ONLY | SENSITIVE,
     .body_bytes_max = SETTINGS_BYTES_MAX},
    {"PUT", "/api/admin/settings/logo", SCOPE_ADMIN, TX_WRITE, NULL, put_logo, OWNER_ONLY | SENSITIVE | RAW_BODY,
     .body_bytes_max = LOGO_BYTES_MAX},
    {"DELETE", "/api/admin/settings/logo", SCOPE_ADMIN, TX_WRITE, NULL, delete_logo, OWNER_ONLY | SENSITIVE},
    {0},
};
