/* cli/doctor_outside.c - see doctor.h: the mail server, the payment gateways, the public address. */
#include "base/random.h"
#include "cli/doctor.h"
#include "domain/gateway_config.h"
#include "domain/settings.h"
#include "gateway/link.h"
#include "outbound/address.h"
#include "outbound/smtp.h"
#include "json/reader.h"

#define CALL_MS 10000

void doctor_mail(struct doctor *d)
{
    const struct config *c = d->config;
    struct base_address at;
    if (!*c->smtp_url) {
        doctor_found(d, FINDING_LOOK, "mail",
                     STR("there is no mail server: customers get no receipts and no new passwords"),
                     "Set --smtp-url and --mail-from");
        return;
    }
    if (!mail_address_parse(str_from(c->smtp_url), &at) || !mail_address_is_fine(str_from(c->mail_from))) {
        doctor_found(d, FINDING_BROKEN, "mail", STR("--smtp-url or --mail-from is not an address"),
                     "Write smtp://host:587 or smtps://host:465, and the address that mail comes from");
        return;
    }
    struct outbound_mail mail = {.url = str_from(c->smtp_url),
                                 .is_plain = c->smtp_plain,
                                 .user = str_from(c->smtp_user),
                                 .password = str_from(c->smtp_password),
                                 .is_probe = true};
    struct outbound_job job = {.mail = &mail, .arena = d->arena, .timeout_ms = CALL_MS};
    outbound_call(d->outbound, &job);
    if (job.failure)
        doctor_found(d, FINDING_BROKEN, "mail",
                     str_printf(d->arena, "the mail server does not let us in: %s", job.failure),
                     "Check address, encryption, user and password of the mail server");
    else
        doctor_found(d, FINDING_OK, "mail",
                     *c->smtp_user ? STR("the mail server takes our login") : STR("the mail server answers"), "");
}

struct gateways {
    struct gateway_config *list;
    size_t count;
};

static enum err read_gateways(void *arg, struct db *db)
{
    struct gateways *g = arg;
    return gateway_config_list(db, &g->list, &g->count);
}

/* The provider's list of recent payments: reading it changes nothing, and needs a key that is accepted. */
static void call_gateway(struct doctor *d, struct gateway_link *link, const struct gateway_config *g)
{
    Time now = time_now();
    struct gateway_op op = {.kind = OP_BOOK, .timeout_ms = CALL_MS};
    op.book = (struct book_request){BOOK_CHARGES, time_add(now, -TIME_HOUR), now, (Str){0}};
    enum reply r = link_run(link, g, &op, d->arena);
    if (r == REPLY_OK)
        doctor_found(d, FINDING_OK, "gateways",
                     str_printf(d->arena, "%.*s answers and takes our key%s", STR_FMT(g->label),
                                g->is_live ? "" : " (test mode)"),
                     "");
    else if (r == REPLY_REFUSED || r == REPLY_UNAUTHORIZED)
        doctor_found(d, FINDING_BROKEN, "gateways",
                     str_printf(d->arena, "%.*s refuses our key: %s", STR_FMT(g->label), op.failure),
                     "Check the key and its permissions at the provider, then in Gateways in the panel");
    else
        doctor_found(d, FINDING_BROKEN, "gateways",
                     str_printf(d->arena, "%.*s does not answer: %s", STR_FMT(g->label), op.failure),
                     "Check the way out of this machine (firewall, DNS), and the provider's status page");
}

static void look_at_gateway(struct doctor *d, struct gateway_link *link, const struct gateway_config *g)
{
    if (g->provider == PROVIDER_SANDBOX)
        doctor_found(d, FINDING_LOOK, "gateways", STR("the sandbox is on: orders can be paid without money"),
                     "Switch it off in a real shop");
    else if (!g->api_key.len)
        doctor_found(d, FINDING_LOOK, "gateways",
                     str_printf(d->arena,
                                "%.*s has no API key: nobody can be sent there, and lost webhooks are not noticed",
                                STR_FMT(g->label)),
                     "Put the key in under Gateways in the panel");
    else
        call_gateway(d, link, g);
}

void doctor_gateways(struct doctor *d)
{
    struct gateways g = {0};
    size_t on = 0;
    if (!d->database || !d->has_key) return;
    if (tx_call(d->database, TX_READ, read_gateways, &g, d->arena) != OK) {
        doctor_found(d, FINDING_BROKEN, "gateways", STR("their settings cannot be read"), "Check the master key");
        return;
    }
    struct gateway_link *link = link_new(d->outbound);
    for (size_t i = 0; i < g.count; i++) {
        if (!g.list[i].is_enabled) continue;
        look_at_gateway(d, link, &g.list[i]);
        on++;
    }
    link_free(link);
    if (!on)
        doctor_found(d, FINDING_LOOK, "gateways",
                     STR("none is switched on: customers can pay out of their wallets only"),
                     "Connect one under Gateways in the panel");
}

static const char *const check_proxy =
    "Check the DNS name, the certificate and the reverse proxy, and that --base-url is the "
    "address that customers type";

/* Asks the public address for something that only this store can answer. */
void doctor_address(struct doctor *d)
{
    Str base = str_from(d->config->base_url);
    char nonce[32];
    if (!base.len) {
        doctor_found(d, FINDING_LOOK, "address",
                     STR("no public address is set: links in mails and webhooks lead nowhere"),
                     "Set --base-url to the address that customers type");
        return;
    }
    if (!base_url_is_fine(base)) {
        doctor_found(d, FINDING_BROKEN, "address", STR("--base-url is not an address"),
                     "Write https://shop.example, without a slash at its end");
        return;
    }
    if (!d->has_key) return;
    random_base62(nonce, sizeof nonce);
    Str asked = {nonce, sizeof nonce};
    struct http_call call = {.method = "GET"};
    call.url = str_printf(d->arena, "%.*s/livez?nonce=%.*s", STR_FMT(base), STR_FMT(asked));
    call_header(&call, STR("Accept"), STR("application/json"));
    struct outbound_job job = {.call = &call, .base_url = base, .arena = d->arena, .timeout_ms = CALL_MS};
    outbound_call(d->outbound, &job);
    const struct json *root = NULL;
    const char *why;
    if (job.failure) {
        doctor_found(d, FINDING_BROKEN, "address",
                     str_printf(d->arena, "%.*s does not answer: %s", STR_FMT(base), job.failure), check_proxy);
        return;
    }
    bool is_json = job.reply.status == 200 && json_read(d->arena, job.reply.body, &root, &why) == OK;
    Str proof = is_json ? json_text(json_get(root, "data"), "instance") : (Str){0};
    if (!str_eq(proof, settings_instance_proof(d->arena, asked)))
        doctor_found(d, FINDING_BROKEN, "address",
                     str_printf(d->arena, "%.*s leads to something else than this store (it answered %d)",
                                STR_FMT(base), job.reply.status),
                     check_proxy);
    else if (!str_starts(base, STR("https://")))
        doctor_found(d, FINDING_LOOK, "address", str_printf(d->arena, "%.*s leads here, unencrypted", STR_FMT(base)),
                     "Put a reverse proxy with TLS in front of it, and write https:// in --base-url");
    else
        doctor_found(d, FINDING_OK, "address", str_printf(d->arena, "%.*s leads here", STR_FMT(base)), "");
}
