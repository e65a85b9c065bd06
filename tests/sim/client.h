/* tests/sim/client.h - customers and staff: what they ask for, and what they were told.
 *
 * A world is the memory of all clients. Each has a list of things to do, one after the other, each under a key of its
 * own; a thing may need the answer to an earlier one. What a client has heard, it knows for ever; what it has not heard
 * when the server dies, it asks for again with the same key. */
#pragma once

#include "facts.h"
#include "provider.h"
#include "store.h"

#define DEEDS 16 /* of one client */
#define CLIENTS (CUSTOMERS + 1)
#define STAFF CUSTOMERS
#define ANSWER_MAX 800

enum deed_kind {
    DEED_ORDER,
    DEED_WITHDRAW,
    DEED_VERIFY,
    DEED_DECIDE, /* staff, about a withdrawal */
    DEED_REFUND, /* staff, of an order */
    DEED_CART,
    DEED_CHECKOUT, /* through the gateway, or from the wallet */
    DEED_TOPUP,
    DEED_PAY, /* at the provider: no call to the store */
    DEED_KINDS
};

struct deed {
    enum deed_kind kind;
    int64_t product, quantity, amount;
    bool with_coupon, flag;
    int of_client, of_deed;   /* whose answer it needs; -1: none */
    size_t sent_at, heard_at; /* steps of the disk; NOT_YET */
    bool is_open;             /* on its way right now */
    int status;
    uint64_t answer_hash;
    char answer[ANSWER_MAX]; /* its beginning */
};

struct world {
    const struct store_facts *store;
    uint64_t seed;
    struct disk *disk;
    struct deed deeds[CLIENTS][DEEDS];
    int next[CLIENTS];
    struct paying provider;
    char trouble[256]; /* something that no client should see */
};

void world_make(struct world *w, const struct store_facts *store, uint64_t seed);
/* Everybody does what is left, until the end or until the server gives up. */
void world_run(struct world *w, struct disk *d, uint64_t seed);
/* As if the power had failed after so many steps: what was heard later was never heard. */
void world_cut(struct world *w, size_t step);
/* Asks again for everything that was acknowledged, under the same keys: the answers must be the same. */
void world_repeat(struct world *w);
/* What was heard at that time, and what was on its way. */
struct facts world_facts(const struct world *w, size_t step, struct fact *list);
#define FACTS_MAX (CLIENTS * DEEDS + SESSIONS * (HOOKS + 1))

/* Lets the server work; when it has nothing to do, time passes. */
void let_work(void);
/* A single call, waited for. Another status than the wanted one (0: any success) ends the program. */
void client_ask(const char *token, const char *method, const char *target, const char *body, int wanted, char *ret,
                size_t bytes);
/* The first member of that name in a JSON text, as a number; -1: none. Amounts are in minor units. */
int64_t client_number(const char *json, const char *name);
int64_t client_money(const char *json, const char *name);
bool client_text(const char *json, const char *name, char *ret, size_t bytes);
