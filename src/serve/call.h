/* serve/call.h - one request inside the router. Seen by router.c, admit.c and send.c only.
 *
 * A call lives in its exchange's arena and is on one thread at a time. */
#pragma once

#include "base/log.h"
#include "domain/idempotency.h"
#include "domain/token_cache.h"
#include "serve/app.h"
#include "serve/limit.h"
#include "serve/match.h"
#include "serve/render.h"
#include "serve/turn.h"

struct loop {
    struct app *app;
    struct http_loop *http;
    struct tx_port *port;
    struct mailbox home;             /* calls coming back from the pool */
    struct periodic_state *periodic; /* the first loop's */
    struct log_gate overloaded, rate_limited;
    struct refusals {
        struct letter *first, **end; /* the `home` of calls that wait for their refusal */
        int64_t earned;              /* see refusal.c */
        int64_t earned_ns;           /* by the clock, until then */
    } refusals;
};

struct call {
    struct tx_job job; /* first: jobs come back as calls */
    struct pool_job pool_job;
    struct letter home;
    struct request req;
    struct request_answer answer;
    struct loop *loop;
    struct match match;
    struct token_known token;
    bool has_token;
    bool is_admitted; /* limits and the token's form were checked before the body arrived */
    bool is_checked;  /* authenticated and read; not repeated when a transaction is retried */
    bool is_replayed; /* the answer is a kept one */
    bool has_key;
    bool is_account_charged; /* also counted against its account's limit */
    bool is_key_charged;     /* and against that of its keys */
    bool is_unproven;        /* the account's e-mail address */
    struct idempotency key;
    struct limit_result limit;
    int64_t limit_rate;
    const char *limit_name;
    enum err pool_result;
    int64_t queued_ns;   /* when it began to wait for a thread */
    int64_t unsent;      /* bytes of its answer that are counted */
    size_t unsent_place; /* at this place of the app's quota */
    struct turn turn;    /* among the jobs of its account or network */
    struct intake *intake;
    void (*came_home)(struct call *c); /* on the loop's thread, once `home` has arrived */
};

#define call_of(ptr, member) ((struct call *)((char *)(ptr)-offsetof(struct call, member)))

/* admit.c: what is decided before the handler runs. */
/* Without the database: does the route exist, is the caller within the limits, does the token look like one. */
enum err call_admit(struct call *c);
/* Who is calling, and may they? Fills in the request's account, scopes and role. */
enum err call_authenticate(struct call *c, struct db *db);
/* visit.c: the browser's session from its cookie, and whether a form came from one of our pages. ERR_FORM_REFUSED,
 * ERR_LOGIN_FIRST. */
enum err call_visit(struct call *c, struct db *db);
/* The one-time key of a form. */
enum err call_read_once(struct call *c);
/* Path, query and body into their structs. */
enum err call_read(struct call *c);
/* All of these, and the kept answer for the Idempotency-Key, which ends the call (is_replayed). */
enum err call_check(struct call *c, struct db *db);
/* Makes a kept answer the call's answer. */
void call_replay(struct call *c, const struct kept_answer *kept);

/* Whether the call is still worth running: ERR_CLIENT_GONE, or ERR_OVERLOADED when the client has shut down its side
 * and the call has waited for long. From any thread. */
enum err call_is_wanted(const struct call *c);
/* The place (base/quota.h) that counts the call's turns and bytes: the account's, or the network's of a caller without
 * one. */
size_t call_place(const struct call *c);

/* intake.c: long bodies, and files. */
bool call_wants_intake(const struct call *c);
/* From `begin`: admits and authenticates, and lets the body be read, or answers. */
void call_intake(struct call *c);
/* On the pool, before the handler: the last bytes of a file. */
void call_intake_end(struct call *c);
/* At the end of the exchange: deletes a file that was not kept. */
void call_intake_drop(struct call *c);

/* refusal.c: 503 overloaded, on the loop's thread. */
void call_overloaded(struct call *c);
void refusals_init(struct refusals *r);
/* A call has ended that was let in. */
void refusals_earn(struct refusals *r);
/* Once for each pass: sends refusals that had to wait. */
void refusals_pass(struct loop *loop);

/* send.c: the answer on its way out, on the loop's thread. */
void call_finish(struct call *c, enum err e);
/* The path for the log: only the pattern where the path holds a secret. */
Str call_path(const struct call *c);
/* The answer has gone out, or was dropped. */
void call_sent(struct call *c);
/* For an error that the server itself answers with. */
void call_refuse(struct call *c, enum err e, struct http_answer *ret);
