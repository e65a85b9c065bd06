/* domain/gateway_config.c - see gateway_config.h. Each sealed column is bound to its label and name, so that a person
 * who can write to the database cannot move a secret to a gateway where it would be shown or sent elsewhere. */
#include "domain/gateway_config.h"

#include <assert.h>

#include "base/random.h"
#include "domain/vault.h"

#define GENERATED_CHARS 40

const char *const provider_names[] = {"stripe", "razorpay", "paypal", "btcpay", "sandbox", NULL};
const char *const gateway_mode_names[] = {"test", "live", NULL};
const char *const payment_policy_names[] = {"accept", "credit", "refund", "review", NULL};

#define COLUMNS                                                                                                        \
    "id, label, provider, is_enabled, mode, secrets, api_key, api_secret, webhook_id, store_id, base_url, ca_bundle,"  \
    " tolerance, underpaid, overpaid, late, updated_at, version"

bool gateway_label_is_fine(Str label)
{
    if (label.len < 1 || label.len > 40) return false;
    for (size_t i = 0; i < label.len; i++) {
        char c = label.ptr[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-') return false;
    }
    return true;
}

static Str context(struct arena *a, Str label, const char *column)
{
    return str_printf(a, "gateway:%.*s:%s", STR_FMT(label), column);
}

static Str seal(struct arena *a, Str label, const char *column, Str plain)
{
    return plain.len ? vault_seal(a, context(a, label, column), plain) : (Str){0};
}

/* False: sealed with another key, or for another place. */
static bool unseal(struct arena *a, Str label, const char *column, Str sealed, Str *ret)
{
    *ret = (Str){0};
    return !sealed.len || vault_unseal(a, context(a, label, column), sealed, ret);
}

static void split_secrets(Str lines, struct gateway_config *ret)
{
    while (lines.len && ret->secret_count < GATEWAY_SECRETS_MAX) {
        Str line = lines, rest = {0};
        str_cut(lines, '\n', &line, &rest);
        if (line.len) ret->secrets[ret->secret_count++] = line;
        lines = rest;
    }
}

static Str join_secrets(struct arena *a, const struct gateway_config *config)
{
    struct buf b;
    buf_init(&b, a, SIZE_MAX);
    for (size_t i = 0; i < config->secret_count; i++) {
        assert(config->secrets[i].len && str_find(config->secrets[i], '\n') < 0);
        if (i) buf_char(&b, '\n');
        buf_append(&b, config->secrets[i]);
    }
    return buf_str(&b);
}

static bool read_row(struct arena *a, struct stmt *st, struct gateway_config *ret)
{
    struct gateway_config c = {0};
    c.id = col_id(st);
    c.label = col_text(st);
    c.provider = col_choice(st, provider_names);
    c.is_enabled = col_bool(st);
    c.is_live = col_choice(st, gateway_mode_names) == 1;
    Str secrets = col_blob(st), api_key = col_blob(st), api_secret = col_blob(st), lines;
    c.webhook_id = col_text(st);
    c.store_id = col_text(st);
    c.base_url = col_text(st);
    c.ca_bundle = col_text(st);
    c.tolerance = col_int(st);
    c.underpaid = col_choice(st, payment_policy_names);
    c.overpaid = col_choice(st, payment_policy_names);
    c.late = col_choice(st, payment_policy_names);
    c.updated_at = col_time(st);
    c.version = col_int(st);
    bool ok = unseal(a, c.label, "secrets", secrets, &lines) && unseal(a, c.label, "api_key", api_key, &c.api_key) &&
              unseal(a, c.label, "api_secret", api_secret, &c.api_secret);
    if (!ok) return false;
    split_secrets(lines, &c);
    *ret = c;
    return true;
}

static enum err read_one(struct db *db, struct stmt *st, struct gateway_config *ret)
{
    struct gateway_config c = {0};
    bool found = db_step(st), whole = found && read_row(db_arena(db), st, &c);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    if (!whole) return ERR_INTERNAL;
    *ret = c;
    return OK;
}

enum err gateway_config_find(struct db *db, Str label, struct gateway_config *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM gateway WHERE label = $1";

    struct stmt *st = db_prepare(db, find);
    bind_text(st, label);
    return read_one(db, st, ret);
}

enum err gateway_config_find_id(struct db *db, Id id, struct gateway_config *ret)
{
    static const char find[] = "SELECT " COLUMNS " FROM gateway WHERE id = $1";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    return read_one(db, st, ret);
}

static enum err read_all(struct db *db, struct stmt *st, struct gateway_config **ret, size_t *ret_count)
{
    struct gateway_config *all = arena_array(db_arena(db), struct gateway_config, GATEWAYS_MAX);
    size_t count = 0;
    bool whole = true;
    while (count < GATEWAYS_MAX && whole && db_step(st)) whole = read_row(db_arena(db), st, &all[count++]);
    enum err e = db_done(st);
    if (e) return e;
    if (!whole) return ERR_INTERNAL;
    *ret = all;
    *ret_count = count;
    return OK;
}

enum err gateway_config_list(struct db *db, struct gateway_config **ret, size_t *ret_count)
{
    static const char list[] = "SELECT " COLUMNS " FROM gateway ORDER BY id";

    return read_all(db, db_prepare(db, list), ret, ret_count);
}

enum err gateway_config_named(struct db *db, Str name, struct gateway_config **ret, size_t *ret_count)
{
    static const char named[] =
        "SELECT " COLUMNS " FROM gateway WHERE (is_enabled = 1 OR provider <> 'sandbox'"
        " AND (secrets IS NOT NULL OR webhook_id <> '')) AND (label = $1 OR provider = $1"
        " AND NOT EXISTS (SELECT 1 FROM gateway g WHERE g.label = $1)) ORDER BY is_enabled DESC, id";

    struct stmt *st = db_prepare(db, named);
    bind_text(st, name);
    return read_all(db, st, ret, ret_count);
}

static Str generated(struct arena *a, const char *prefix)
{
    char text[GENERATED_CHARS];
    random_base62(text, sizeof text);
    return str_printf(a, "%s%.*s", prefix, GENERATED_CHARS, text);
}

void gateway_config_fill_sandbox(struct arena *a, struct gateway_config *config)
{
    if (config->provider != PROVIDER_SANDBOX) return;
    if (!config->secret_count) config->secrets[config->secret_count++] = generated(a, "sbx_secret_");
    if (!config->api_key.len) config->api_key = generated(a, "sbx_key_");
}

/* Whether money or messages have come through the gateway: its provider can then no longer change. */
static enum err is_used(struct db *db, Id id, bool *ret)
{
    static const char used[] = "SELECT 1 WHERE EXISTS (SELECT 1 FROM payment WHERE gateway_id = $1)"
                               " OR EXISTS (SELECT 1 FROM webhook_event WHERE gateway_id = $1)";

    struct stmt *st = db_prepare(db, used);
    bind_id(st, id);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret = found;
    return e;
}

static enum err may_save(struct db *db, const struct gateway_config *config)
{
    struct gateway_config before, *all;
    size_t count;
    bool used;
    enum err e = gateway_config_find(db, config->label, &before);
    if (e == ERR_NOT_FOUND) {
        e = gateway_config_list(db, &all, &count);
        return e ? e : count < GATEWAYS_MAX ? OK : ERR_FIELD_TOO_MANY;
    }
    if (e || before.provider == config->provider) return e;
    e = is_used(db, before.id, &used);
    return e ? e : used ? ERR_INVALID_STATE : OK;
}

static void bind_opt_blob(struct stmt *st, Str s)
{
    if (s.len)
        bind_blob(st, s);
    else
        bind_null(st);
}

enum err gateway_config_save(struct db *db, const struct gateway_config *config, Time now, struct gateway_config *ret)
{
    static const char save[] =
        "INSERT INTO gateway (label, provider, is_enabled, mode, secrets, api_key, api_secret, webhook_id, store_id,"
        " base_url, ca_bundle, tolerance, underpaid, overpaid, late, updated_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
        " ON CONFLICT (label) DO UPDATE SET provider = excluded.provider, is_enabled = excluded.is_enabled,"
        " mode = excluded.mode, secrets = excluded.secrets, api_key = excluded.api_key,"
        " api_secret = excluded.api_secret, webhook_id = excluded.webhook_id, store_id = excluded.store_id,"
        " base_url = excluded.base_url, ca_bundle = excluded.ca_bundle, tolerance = excluded.tolerance,"
        " underpaid = excluded.underpaid, overpaid = excluded.overpaid, late = excluded.late,"
        " updated_at = excluded.updated_at, version = gateway.version + 1";

    struct arena *a = db_arena(db);
    assert(gateway_label_is_fine(config->label));
    enum err e = may_save(db, config);
    if (e) return e;
    struct stmt *st = db_prepare(db, save);
    bind_text(st, config->label);
    bind_choice(st, provider_names, config->provider);
    bind_bool(st, config->is_enabled);
    bind_choice(st, gateway_mode_names, config->is_live);
    bind_opt_blob(st, seal(a, config->label, "secrets", join_secrets(a, config)));
    bind_opt_blob(st, seal(a, config->label, "api_key", config->api_key));
    bind_opt_blob(st, seal(a, config->label, "api_secret", config->api_secret));
    bind_text(st, config->webhook_id);
    bind_text(st, config->store_id);
    bind_text(st, config->base_url);
    bind_text(st, config->ca_bundle);
    bind_int(st, config->tolerance);
    bind_choice(st, payment_policy_names, config->underpaid);
    bind_choice(st, payment_policy_names, config->overpaid);
    bind_choice(st, payment_policy_names, config->late);
    bind_time(st, now);
    e = db_run(st);
    return e ? e : gateway_config_find(db, config->label, ret);
}
