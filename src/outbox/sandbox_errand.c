/* outbox/sandbox_errand.c - delivers a webhook of the sandbox to this server. */
#include "gateway/sandbox.h"
#include "gateway/signature.h"
#include "outbox/errand.h"

static enum err read_gateway(struct errand *x, struct db *db)
{
    return gateway_config_find(db, STR("sandbox"), &x->gateway);
}

static void send_payment(struct errand *x)
{
    x->reply = REPLY_REFUSED;
    x->error = "the sandbox is switched off";
    struct sandbox_message message;
    if (!x->gateway.is_enabled || !x->gateway.secret_count) return;
    if (!sandbox_message_unpack(x->item->payload, &message)) return;
    Str base = x->gateway.base_url.len ? x->gateway.base_url : x->options->self_url;
    struct http_call call = {.method = "POST", .body = sandbox_body(x->arena, &message)};
    call.url = str_printf(x->arena, "%.*s/webhook/%.*s", STR_FMT(base), STR_FMT(x->gateway.label));
    call_header(&call, STR("Content-Type"), STR("application/json"));
    call_header(&call, STR(SANDBOX_SIGNATURE), stamped_sign(x->arena, x->gateway.secrets[0], call.body, x->now));
    struct outbound_job job = {.call = &call, .base_url = base, .arena = x->arena};
    outbound_call(x->options->outbound, &job);
    x->reply = job.failure ? REPLY_RETRY : reply_of_status(job.reply.status);
    x->error = job.failure ? job.failure : x->reply == REPLY_OK ? "" : "the webhook was not accepted";
}

const struct errand_kind errand_sandbox = {read_gateway, send_payment, errand_record_sending};
