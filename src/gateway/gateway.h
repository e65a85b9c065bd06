/* gateway/gateway.h - what every payment provider can do, as one table of functions per provider.
 *
 * All of them are pure: they check and read bytes, and describe HTTP calls. Sending, the clock and PayPal's
 * certificates are handed in. So every one can be tried with bytes that were made up.
 *
 * Order of use for a webhook: verify (on the raw bytes), then parse, then, where the provider's word alone is not
 * enough
 * (`confirms`), confirm_call and confirm_read: only what the provider's own API answered is believed. */
#pragma once

#include "domain/gateway_config.h"
#include "domain/payment_event.h"
#include "domain/reconciliation.h"
#include "outbound/http_call.h"

enum verdict {
    VERDICT_OK,
    VERDICT_BAD,         /* forged, altered, or signed with a secret that is not ours */
    VERDICT_STALE,       /* genuine, but not of now */
    VERDICT_MALFORMED,   /* no signature, or none that can be read */
    VERDICT_UNAVAILABLE, /* cannot be told at the moment: the sender should try again */
};

struct webhook {
    const struct http_header *headers;
    size_t header_count;
    Str raw;
};
/* The header's value when it was sent exactly once; else an empty Str, which no signature is. */
Str webhook_header(const struct webhook *hook, const char *name);

/* Where certificates come from: a path on the provider's host, already checked, to PEM text. OK, BAD (there is none) or
 * UNAVAILABLE. */
struct certificates {
    void *ctx;
    enum verdict (*find)(void *ctx, const struct gateway_config *config, Str path, struct arena *a, Str *ret_pem);
};

/* A payment that is to be made possible. */
struct pay_request {
    Str reference;   /* unique, ours: makes repeating the call harmless */
    Str order_ref;   /* comes back in events, see struct payment_event */
    Str description; /* one line for the payment page */
    Money amount;
    Str currency;
    Str email;
    Str success_url, cancel_url; /* where the customer is sent back to; may be empty */
    Time now;
    Time expires_at;
};

struct pay_page {
    Str group_ref;
    Str payment_ref; /* empty where the provider gives it only when the customer pays */
    Str url;
    Time expires_at; /* 0: as requested */
};

struct refund_request {
    Str reference; /* unique, ours */
    Str payment_ref, group_ref;
    Money amount;
    Money paid; /* of the whole payment */
    Str currency;
    Str method; /* how it was paid, as method_read said; empty: not known */
};

struct refund_page {
    Str refund_ref;
    Str url; /* btcpay: where the customer claims the money; empty elsewhere */
};

/* A page of a provider's books; it may show more than is asked for. */
struct book_request {
    enum book book;
    Time since, until;
    Str next; /* what the page before gave; empty: the first */
};

struct book_lines {
    struct book_entry *entries;
    Str next; /* empty: that was the last page */
};

/* What an answer means. */
enum reply {
    REPLY_OK,
    REPLY_RETRY,        /* no answer, 408, 409, 425, 429 or 5xx: the same call again, later */
    REPLY_REFUSED,      /* it will not get better */
    REPLY_UNAUTHORIZED, /* the credentials, or an access token that ran out */
};
enum reply reply_of_status(int status);
/* The status, and a body that is JSON: *ret is its root on REPLY_OK. A 2xx that cannot be read is REPLY_RETRY: the
 * effect may be there, and all our calls can be repeated. */
struct json;
enum reply reply_read(struct arena *a, const struct http_reply *answer, const struct json **ret);

struct gateway {
    Str name; /* as in POST /webhook/{name} */
    enum provider provider;
    bool confirms;
    bool expires; /* a payment page ends by itself, and the provider says so */

    /* What is missing in a configuration, as a sentence, and which field of it; NULL when it can be used. */
    const char *(*problem)(const struct gateway_config *config, const char **ret_field);

    enum verdict (*verify)(const struct gateway_config *config, const struct webhook *hook,
                           const struct certificates *certs, struct arena *a, Time now);
    /* False: verified, but not a message that this provider would send. */
    bool (*parse)(struct arena *a, const struct gateway_config *config, const struct webhook *hook,
                  struct payment_event *ret);

    /* An access token for the calls below; NULL where the configured key is enough. ret_seconds: its lifetime. */
    bool (*auth_call)(struct arena *a, const struct gateway_config *config, struct http_call *ret);
    enum reply (*auth_read)(struct arena *a, const struct http_reply *answer, Str *ret_token, int64_t *ret_seconds);

    /* Each *_call gives false when the call cannot be made at all (an amount that the provider cannot express, an id
     * that is missing). */
    bool (*create_call)(struct arena *a, const struct gateway_config *config, const struct pay_request *in,
                        struct http_call *ret);
    enum reply (*create_read)(struct arena *a, const struct http_reply *answer, struct pay_page *ret);
    /* For providers that would make a second one, or refuse, when create is repeated: looks for what an earlier attempt
     * may have made. REPLY_REFUSED: nothing was. NULL where repeating is harmless. */
    bool (*find_call)(struct arena *a, const struct gateway_config *config, const struct pay_request *in,
                      struct http_call *ret);
    enum reply (*find_read)(struct arena *a, const struct http_reply *answer, const struct pay_request *in,
                            struct pay_page *ret);

    bool (*refund_call)(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                        struct http_call *ret);
    enum reply (*refund_read)(struct arena *a, const struct http_reply *answer, struct refund_page *ret);
    /* How long the provider knows a repeated refund by its reference; 0: not at all, a repeated call is a second
     * refund. */
    int64_t refund_key_ms;
    /* After that: looks for what an earlier attempt may have made. REPLY_REFUSED: nothing was. NULL where the reference
     * is known for longer than we try. */
    bool (*refund_find_call)(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                             struct http_call *ret);
    enum reply (*refund_find_read)(struct arena *a, const struct http_reply *answer, const struct refund_request *in,
                                   struct refund_page *ret);
    /* How the payment was paid, where a refund has to say so; NULL elsewhere. */
    bool (*method_call)(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                        struct http_call *ret);
    enum reply (*method_read)(struct arena *a, const struct http_reply *answer, Str *ret);

    /* Ends the page, so that it takes no money any more; NULL where the provider has no such call. REPLY_REFUSED: it
     * cannot be ended, because it was paid or has ended already. */
    bool (*close_call)(struct arena *a, const struct gateway_config *config, Str group_ref, Str reference,
                       struct http_call *ret);

    /* NULL unless the provider has to be told to take the money. The answer is as good as a confirmed event. */
    bool (*capture_call)(struct arena *a, const struct gateway_config *config, Str group_ref, Str reference,
                         struct http_call *ret);
    enum reply (*capture_read)(struct arena *a, const struct gateway_config *config, const struct http_reply *answer,
                               struct payment_event *ret);

    /* The authoritative state behind a claim; NULL unless `confirms`. */
    bool (*confirm_call)(struct arena *a, const struct gateway_config *config, const struct payment_event *claim,
                         struct http_call *ret);
    enum reply (*confirm_read)(struct arena *a, const struct gateway_config *config, const struct payment_event *claim,
                               const struct http_reply *answer, struct payment_event *ret);

    /* Its books, for reconciliation. */
    bool has_book[BOOK_COUNT];
    bool (*book_call)(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                      struct http_call *ret);
    enum reply (*book_read)(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                            const struct http_reply *answer, struct book_lines *ret);

    /* What became of a payment that we made and heard nothing of. event_id is empty: nobody sent it. */
    bool (*ask_call)(struct arena *a, const struct gateway_config *config, Str group_ref, struct http_call *ret);
    enum reply (*ask_read)(struct arena *a, const struct gateway_config *config, const struct http_reply *answer,
                           struct payment_event *ret);
};

extern const struct gateway gateway_stripe, gateway_razorpay, gateway_paypal, gateway_btcpay, gateway_sandbox;

const struct gateway *gateway_of(enum provider provider);
/* base_url, or the provider's own address. */
Str gateway_base_url(const struct gateway_config *config);
