/* outbound/outbound.h - HTTP calls and e-mail going out, on a thread of their own.
 *
 * A job is submitted from any thread; its `done` is called exactly once, on the outbound thread, and must not block.
 * outbound_call waits instead. Nothing here is ever called inside a database transaction.
 *
 * Where a call may go is decided by configuration alone: its URL must lie below the configured base address, redirects
 * are not followed, proxies named in the environment are not used, and plain http only when the base address says so. A
 * name that resolves to a private address is refused unless the base address itself names the private network (an
 * address in digits, localhost, a name without a dot or below .local, .internal, .lan, .home.arpa): so a name that
 * somebody else controls cannot point souk at its own network. Webhooks have no base address: private addresses are
 * refused whatever names them, unless the operator allows all of them. */
#pragma once

#include "base/mailbox.h"
#include "base/trace.h"
#include "outbound/http_call.h"

#define OUTBOUND_REPLY_MAX (256 * 1024)
#define OUTBOUND_TIMEOUT_MS 20000

struct outbound;

struct outbound_options {
    const char *ca_file; /* PEM of authorities to trust; "" or NULL: the system's */
    const char *resolve; /* "host:port:address" for tests, or NULL */
    int connections_max; /* 0: 64 */
};

/* A message to one receiver; `bytes` is a whole RFC 5322 text (outbound/smtp.h). */
struct outbound_mail {
    Str url;            /* smtp://host:587 (STARTTLS is demanded) or smtps://host:465 */
    bool is_plain;      /* no encryption: only to an address of this machine */
    Str user, password; /* empty: no login */
    Str from, to;
    Str bytes;
    bool is_probe; /* only connects, encrypts and logs in; from, to and bytes are not used */
};

struct outbound_job {
    struct letter letter; /* first */
    /* The request; what it points at must live until done. One of the two: */
    const struct http_call *call;
    const struct outbound_mail *mail;
    Str base_url;        /* of `call`; empty: is_webhook */
    bool is_webhook;     /* the address is the merchant's own, whatever its host is called: see webhook_url_is_fine */
    bool allows_private; /* of a webhook: also to private addresses, also without encryption */
    bool cuts_reply;     /* what is beyond reply_bytes_max is dropped instead */
    int64_t timeout_ms;  /* 0: OUTBOUND_TIMEOUT_MS */
    size_t reply_bytes_max; /* 0: OUTBOUND_REPLY_MAX; a longer reply counts as no reply */
    struct arena *arena;    /* the reply's; used by nothing else until done */
    void (*done)(struct outbound_job *job);
    void *ctx;
    /* The reply. For mail: status 250 when it was accepted, else the server's reply code or 0. */
    struct http_reply reply;
    const char *failure;   /* NULL when there was a reply; else a text for logs, without secrets. Of a mail server that
                              refused: its reply */
    int64_t retry_after_s; /* as the other side asked; 0: it did not */
    /* The module's own. */
    char traceparent[TRACEPARENT_LEN + 1]; /* of the thread that submitted it; "": none */
    struct transfer_state *state;
};

struct outbound *outbound_start(const struct outbound_options *options);
/* Running and waiting jobs fail at once; so do all that are submitted from now on. */
void outbound_cancel(struct outbound *o);
/* Cancels, and ends the thread. Nothing may be submitted after this. */
void outbound_stop(struct outbound *o);
void outbound_submit(struct outbound *o, struct outbound_job *job);
/* Blocks until the job is done; its `done` is not called. Not from an event loop. */
void outbound_call(struct outbound *o, struct outbound_job *job);

/* Whether a base address can be used: http or https, a host, no userinfo, query or fragment, no slash at its end. */
bool base_url_is_fine(Str url);
/* Whether events may be sent there: https (http where private addresses are allowed), a host, no userinfo nor fragment,
 * and no host that is private by its name or digits, unless allowed. What a name resolves to is checked when the
 * connection is made. */
bool webhook_url_is_fine(Str url, bool allows_private);
