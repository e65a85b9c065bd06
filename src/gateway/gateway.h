/* gateway/gateway.h - what every payment provider can do, as one table of functions per provider.
 *
 * All of them are pure: they check and read bytes, and describe HTTP calls. Sending, the clock and PayPal's
 * certificates are handed in. So each can be tested with made-up bytes.
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
    VERDICT_STALE,       /* genuine, but too old or too new */
    VERDICT_MALFORMED,   /* no signature, or an unreadable one */
    VERDICT_UNAVAILABLE, /* cannot be checked right now: the sender should try again */
};

struct webhook {
    const struct http_header *headers;
    size_t header_count;
    Str raw;
};
/* The header's value when it was sent exactly once; else an empty Str, which matches no signature. */
Str webhook_header(const struct webhook *hook, const char *name);

/* Where certificates come from: a path on the provider's host, already checked, to PEM text. OK, BAD (there is no such
 * certificate) or UNAVAILABLE. */
struct certificates {
    void *ctx;
    Str network; /* that asks for them */
    enum verdict (*find)(void *ctx, Str network, const struct gateway_config *config, Str path, struct arena *a,
                         Str *ret_pem);
};

/* The payment that the provider is asked to take. */
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
    Str payment_ref; /* empty where the provider assigns it only when the customer pays */
    Str url;
    Time expires_at; /* 0: as requested */
};

struct refund_request {
    Str reference; /* unique, ours */
    Str payment_ref, group_ref;
    Money amount;
    Money paid; /* of the whole payment */
    Str currency;
    Str method; /* how it was paid, from method_read; empty: not known */
};

struct refund_page {
    Str refund_ref;
    Str url; /* btcpay: where the customer claims the money; empty elsewhere */
};

/* A page of a provider's books; the page may hold more than was asked for. */
struct book_request {
    enum book book;
    Time since, until;
    Str next; /* from the page before; empty: the first page */
};

struct book_lines {
    struct book_entry *entries;
    Str next; /* empty: that was the last page */
};

/* What an answer means. */
enum reply {
    REPLY_OK,
    REPLY_RETRY,        /* no answer, 408, 409, 425, 429 or 5xx: make the same call again, later */
    REPLY_REFUSED,      /* final: trying again will not help */
    REPLY_UNAUTHORIZED, /* the credentials are wrong, or the access token has expired */
};
enum reply reply_of_status(int status);
/* The status, and a body that is JSON: *ret is its root on REPLY_OK. A 2xx that cannot be read is REPLY_RETRY: the call
 * may have taken effect, and all our calls can be repeated. */
struct json;
enum reply reply_read(struct arena *a, const struct http_reply *answer, const struct json **ret);

struct gateway {
    Str name; /* as in POST /webhook/{name} */
    enum provider provider;
    bool confirms;
    bool expires; /* a payment page ends by itself, and the provider sends an event */

    /* What a configuration lacks, as a sentence, and which field; NULL when it is complete. */
    const char *(*problem)(const struct gateway_config *config, const char **ret_field);

    enum verdict (*verify)(const struct gateway_config *config, const struct webhook *hook,
                           const struct certificates *certs, struct arena *a, Time now);
    /* False: the signature is right, but this provider sends no such message. */
    bool (*parse)(struct arena *a, const struct gateway_config *config, const struct webhook *hook,
                  struct payment_event *ret);

    /* An access token for the calls below; NULL where the configured key is enough. ret_seconds: its lifetime. */
    bool (*auth_call)(struct arena *a, const struct gateway_config *config, struct http_call *ret);
    enum reply (*auth_read)(struct arena *a, const struct http_reply *answer, Str *ret_token, int64_t *ret_seconds);

    /* Each *_call returns false when the call cannot be made at all (an amount that the provider cannot express, a
     * missing id). */
    bool (*create_call)(struct arena *a, const struct gateway_config *config, const struct pay_request *in,
                        struct http_call *ret);
    enum reply (*create_read)(struct arena *a, const struct http_reply *answer, struct pay_page *ret);
    /* For providers that would make a second payment, or refuse, when create is repeated: looks for what an earlier
     * attempt may have made. REPLY_REFUSED: it made nothing. NULL where repeating is harmless. */
    bool (*find_call)(struct arena *a, const struct gateway_config *config, const struct pay_request *in,
                      struct http_call *ret);
    enum reply (*find_read)(struct arena *a, const struct http_reply *answer, const struct pay_request *in,
                            struct pay_page *ret);

    bool (*refund_call)(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                        struct http_call *ret);
    enum reply (*refund_read)(struct arena *a, const struct http_reply *answer, struct refund_page *ret);
    /* How long the provider recognises a repeated refund by its reference; 0: not at all, a repeated call is a second
     * refund. */
    int64_t refund_key_ms;
    /* After that: looks for what an earlier attempt may have made. REPLY_REFUSED: it made nothing. NULL where the
     * provider knows the reference for longer than we try. */
    bool (*refund_find_call)(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                             struct http_call *ret);
    enum reply (*refund_find_read)(struct arena *a, const struct http_reply *answer, const struct refund_request *in,
                                   struct refund_page *ret);
    /* How the payment was paid, where a refund must state it; NULL elsewhere. */
    bool (*method_call)(struct arena *a, const struct gateway_config *config, const struct refund_request *in,
                        struct http_call *ret);
    enum reply (*method_read)(struct arena *a, const struct http_reply *answer, Str *ret);

    /* Ends the page, so that it takes no more money; NULL where the provider has no such call. REPLY_REFUSED: the page
     * was paid or has ended already. */
    bool (*close_call)(struct arena *a, const struct gateway_config *config, Str group_ref, Str reference,
                       struct http_call *ret);

    /* NULL unless the provider has to be told to take the money. The answer is as good as a confirmed event. */
    bool (*capture_call)(struct arena *a, const struct gateway_config *config, Str group_ref, Str reference,
                         struct http_call *ret);
    enum reply (*capture_read)(struct arena *a, const struct gateway_config *config, const struct http_reply *answer,
                               struct payment_event *ret);

    /* The authoritative state behind an event's claim; NULL unless `confirms`. */
    bool (*confirm_call)(struct arena *a, const struct gateway_config *config, const struct payment_event *claim,
                         struct http_call *ret);
    enum reply (*confirm_read)(struct arena *a, const struct gateway_config *config, const struct payment_event *claim,
                               const struct http_reply *answer, struct payment_event *ret);

    /* The provider's books, for reconciliation. */
    bool has_book[BOOK_COUNT];
    bool names_refunds; /* the refunds' book is known to have the names that refund_read gave */
    bool (*book_call)(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                      struct http_call *ret);
    enum reply (*book_read)(struct arena *a, const struct gateway_config *config, const struct book_request *in,
                            const struct http_reply *answer, struct book_lines *ret);

    /* What became of a payment that no event has told us about. event_id is empty: this is not an event. */
    bool (*ask_call)(struct arena *a, const struct gateway_config *config, Str group_ref, struct http_call *ret);
    enum reply (*ask_read)(struct arena *a, const struct gateway_config *config, const struct http_reply *answer,
                           struct payment_event *ret);
};

extern const struct gateway gateway_stripe, gateway_razorpay, gateway_paypal, gateway_btcpay, gateway_sandbox;

const struct gateway *gateway_of(enum provider provider);
/* base_url, or the provider's own address. */
Str gateway_base_url(const struct gateway_config *config);
