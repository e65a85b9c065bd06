/* api/admin/admin_gateways.c - how the store is connected to its payment providers. Secrets go in and never come out:
 * only their last four characters are shown. */
#include "api/admin/audit_trail.h"
#include "api/tables.h"
#include "gateway/gateway.h"
#include "outbound/outbound.h"
#include "serve/app.h"

#define SECRET_MAX 400
#define BUNDLE_MAX 60000

/* Nothing is shown of a short secret: four characters would be half of it. */
static Str hint(Str secret)
{
    if (secret.len < 8) return STR("****");
    return (Str){secret.ptr + secret.len - 4, 4};
}

static void kv_hint(struct json_writer *w, const char *key, Str secret)
{
    if (secret.len)
        json_kv_str(w, key, hint(secret));
    else
        json_kv_null(w, key);
}

static void view_gateway(struct json_writer *w, const void *thing)
{
    const struct gateway_config *c = thing;
    const char *field;
    json_begin_object(w);
    json_kv_id(w, "id", c->id);
    json_kv_str(w, "label", c->label);
    json_kv_cstr(w, "provider", provider_names[c->provider]);
    json_kv_bool(w, "is_enabled", c->is_enabled);
    json_kv_cstr(w, "mode", c->is_live ? "live" : "test");
    json_key(w, "secrets");
    json_begin_array(w);
    for (size_t i = 0; i < c->secret_count; i++) json_str(w, hint(c->secrets[i]));
    json_end_array(w);
    kv_hint(w, "api_key", c->api_key);
    kv_hint(w, "api_secret", c->api_secret);
    json_kv_opt_str(w, "webhook_id", c->webhook_id);
    json_kv_opt_str(w, "store_id", c->store_id);
    json_kv_opt_str(w, "base_url", c->base_url);
    json_kv_bool(w, "has_ca_bundle", c->ca_bundle.len > 0);
    json_kv_int(w, "tolerance", c->tolerance);
    json_kv_cstr(w, "underpaid", payment_policy_names[c->underpaid]);
    json_kv_cstr(w, "overpaid", payment_policy_names[c->overpaid]);
    json_kv_cstr(w, "late", payment_policy_names[c->late]);
    json_kv_opt_str(w, "problem", str_from(gateway_of(c->provider)->problem(c, &field)));
    json_kv_time(w, "updated_at", c->updated_at);
    json_kv_int(w, "version", c->version);
    json_end_object(w);
}

static enum err get_gateways(struct request *req)
{
    struct gateway_config *all;
    size_t count;
    enum err e = gateway_config_list(req->db, &all, &count);
    return e ? e : request_all(req, all, count, view_gateway);
}

struct gateway_body {
    int provider, mode;
    bool is_enabled;
    struct str_list secrets;
    Str add_secret, api_key, api_secret, webhook_id, store_id, base_url, ca_bundle;
    bool has_provider, has_mode, has_is_enabled, has_secrets, has_add_secret;
    bool has_api_key, has_api_secret, has_webhook_id, has_store_id, has_base_url, has_ca_bundle;
    int64_t tolerance;
    int underpaid, overpaid, late;
    bool has_tolerance, has_underpaid, has_overpaid, has_late;
    bool no_api_key, no_api_secret, no_webhook_id, no_store_id, no_base_url, no_ca_bundle;
};
#define AT(member) offsetof(struct gateway_body, member)

static const struct field gateway_fields[] = {
    {"provider", FIELD_CHOICE, OPTIONAL, AT(provider), .choices = provider_names, .has = AT(has_provider)},
    {"is_enabled", FIELD_BOOL, OPTIONAL, AT(is_enabled), .has = AT(has_is_enabled)},
    {"mode", FIELD_CHOICE, OPTIONAL, AT(mode), .choices = gateway_mode_names, .has = AT(has_mode)},
    {"secrets", FIELD_LINES, OPTIONAL, AT(secrets), .max = GATEWAY_SECRETS_MAX, .item_max = SECRET_MAX,
     .has = AT(has_secrets)},
    {"add_secret", FIELD_SECRET, OPTIONAL, AT(add_secret), .min = 1, .max = SECRET_MAX, .has = AT(has_add_secret)},
    {"api_key", FIELD_SECRET, NULLABLE, AT(api_key), .min = 1, .max = SECRET_MAX, .has = AT(has_api_key),
     .is_null = AT(no_api_key)},
    {"api_secret", FIELD_SECRET, NULLABLE, AT(api_secret), .min = 1, .max = SECRET_MAX, .has = AT(has_api_secret),
     .is_null = AT(no_api_secret)},
    {"webhook_id", FIELD_LINE, NULLABLE, AT(webhook_id), .min = 1, .max = 100, .has = AT(has_webhook_id),
     .is_null = AT(no_webhook_id)},
    {"store_id", FIELD_LINE, NULLABLE, AT(store_id), .min = 1, .max = 100, .has = AT(has_store_id),
     .is_null = AT(no_store_id)},
    {"base_url", FIELD_URL, NULLABLE, AT(base_url), .has = AT(has_base_url), .is_null = AT(no_base_url)},
    {"ca_bundle", FIELD_TEXT, NULLABLE, AT(ca_bundle), .min = 1, .max = BUNDLE_MAX, .has = AT(has_ca_bundle),
     .is_null = AT(no_ca_bundle)},
    {"tolerance", FIELD_INT, OPTIONAL, AT(tolerance), .min = 0, .max = TOLERANCE_MAX, .has = AT(has_tolerance)},
    {"underpaid", FIELD_CHOICE, OPTIONAL, AT(underpaid), .choices = payment_policy_names, .has = AT(has_underpaid)},
    {"overpaid", FIELD_CHOICE, OPTIONAL, AT(overpaid), .choices = payment_policy_names, .has = AT(has_overpaid)},
    {"late", FIELD_CHOICE, OPTIONAL, AT(late), .choices = payment_policy_names, .has = AT(has_late)},
    {0},
};
static const struct shape gateway_shape = {gateway_fields, sizeof(struct gateway_body)};

static void set_text(Str *at, bool has, bool is_null, Str value)
{
    if (is_null)
        *at = (Str){0};
    else if (has)
        *at = value;
}

/* Put in front of the others; the oldest is dropped when there are too many. */
static void add_secret(struct gateway_config *c, Str secret)
{
    if (c->secret_count < GATEWAY_SECRETS_MAX) c->secret_count++;
    for (size_t i = c->secret_count - 1; i > 0; i--) c->secrets[i] = c->secrets[i - 1];
    c->secrets[0] = secret;
}

static void change(struct request *req, const struct gateway_body *in, struct gateway_config *c)
{
    if (in->has_provider) c->provider = (enum provider)in->provider;
    if (in->has_is_enabled) c->is_enabled = in->is_enabled;
    if (in->has_mode) c->is_live = in->mode == 1;
    if (in->has_secrets) {
        c->secret_count = in->secrets.count;
        for (size_t i = 0; i < in->secrets.count; i++) c->secrets[i] = in->secrets.items[i];
    }
    if (in->has_add_secret) add_secret(c, in->add_secret);
    set_text(&c->api_key, in->has_api_key, in->no_api_key, in->api_key);
    set_text(&c->api_secret, in->has_api_secret, in->no_api_secret, in->api_secret);
    set_text(&c->webhook_id, in->has_webhook_id, in->no_webhook_id, in->webhook_id);
    set_text(&c->store_id, in->has_store_id, in->no_store_id, in->store_id);
    set_text(&c->base_url, in->has_base_url, in->no_base_url, in->base_url);
    set_text(&c->ca_bundle, in->has_ca_bundle, in->no_ca_bundle, in->ca_bundle);
    if (in->has_tolerance) c->tolerance = in->tolerance;
    if (in->has_underpaid) c->underpaid = (enum payment_policy)in->underpaid;
    if (in->has_overpaid) c->overpaid = (enum payment_policy)in->overpaid;
    if (in->has_late) c->late = (enum payment_policy)in->late;
    gateway_config_fill_sandbox(req->arena, c);
}

static enum err validate(struct request *req, const struct gateway_body *in, const struct gateway_config *c)
{
    const char *field;
    if (in->has_base_url && !in->no_base_url && !base_url_is_fine(c->base_url))
        return request_bad_field(req, "base_url", ERR_FIELD_FORMAT);
    /* Late money can be accepted; too much or too little cannot. */
    if (c->underpaid == POLICY_ACCEPT) return request_bad_field(req, "underpaid", ERR_FIELD_VALUE);
    if (c->overpaid == POLICY_ACCEPT) return request_bad_field(req, "overpaid", ERR_FIELD_VALUE);
    if (c->provider == PROVIDER_SANDBOX && c->is_live) return request_bad_field(req, "mode", ERR_FIELD_CONFLICT);
    if (!c->is_enabled || !gateway_of(c->provider)->problem(c, &field)) return OK;
    return request_bad_field(req, field, ERR_FIELD_REQUIRED);
}

static enum err find_or_new(struct request *req, const struct gateway_body *in, struct gateway_config *ret,
                            bool *ret_is_new)
{
    enum err e = gateway_config_find(req->db, req->params[0], ret);
    *ret_is_new = e == ERR_NOT_FOUND;
    if (e != ERR_NOT_FOUND) return e;
    if (!gateway_label_is_fine(req->params[0]) || str_eq(req->params[0], STR("wallet"))) return ERR_NOT_FOUND;
    if (!in->has_provider) return request_bad_field(req, "provider", ERR_FIELD_REQUIRED);
    *ret = (struct gateway_config){.label = req->params[0], .underpaid = POLICY_REVIEW, .overpaid = POLICY_REVIEW};
    return OK;
}

static enum err put_gateway(struct request *req)
{
    const struct gateway_body *in = req->body;
    struct gateway_config before, after;
    bool is_new;
    enum err e = find_or_new(req, in, &before, &is_new);
    if (!e && !is_new) e = request_if_match(req, before.version);
    if (e) return e;
    struct gateway_config want = before;
    change(req, in, &want);
    e = validate(req, in, &want);
    if (!e) e = gateway_config_save(req->db, &want, req->now, &after);
    if (e == ERR_FIELD_TOO_MANY) return request_bad_field(req, "label", e);
    if (e) return e;
    request_etag_version(req, after.version);
    view_gateway(&req->out, &after);
    Str was = {0};
    if (!is_new) was = admin_json(req, view_gateway, &before);
    return admin_audit(req, is_new ? "gateway.create" : "gateway.update", after.id, after.label, was,
                       admin_json(req, view_gateway, &after));
}

const struct route admin_gateways_routes[] = {
    {"GET", "/api/admin/gateways", SCOPE_ADMIN, TX_READ, NULL, get_gateways},
    {"PUT", "/api/admin/gateways/{label}", SCOPE_ADMIN, TX_WRITE, &gateway_shape, put_gateway, OWNER_ONLY | SENSITIVE,
     .body_bytes_max = 128 * 1024},
    {0},
};
