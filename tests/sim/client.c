/* tests/sim/client.c - see client.h. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "seed.h"
#include "wire.h"

/* ---- answers ---- */

static const char *member(const char *json, const char *name)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = strstr(json, quoted);
    return at ? at + strlen(quoted) : NULL;
}

int64_t client_number(const char *json, const char *name)
{
    const char *at = member(json, name);
    return at ? strtoll(at, NULL, 10) : -1;
}

int64_t client_money(const char *json, const char *name)
{
    const char *at = member(json, name);
    if (!at) return -1;
    if (*at == '"') at++;
    char *end;
    int64_t minor = strtoll(at, &end, 10) * 100;
    if (*end == '.' && end[1] >= '0' && end[1] <= '9') {
        minor += (end[1] - '0') * 10;
        if (end[2] >= '0' && end[2] <= '9') minor += end[2] - '0';
    }
    return minor;
}

bool client_text(const char *json, const char *name, char *ret, size_t bytes)
{
    const char *at = member(json, name);
    if (!at || *at != '"') return false;
    const char *end = strchr(++at, '"');
    if (!end || (size_t)(end - at) >= bytes) return false;
    memcpy(ret, at, (size_t)(end - at));
    ret[end - at] = 0;
    return true;
}

/* ---- a single call ---- */

struct single {
    int status;
    char *ret;
    size_t bytes;
};

static void heard_single(void *client, const struct wire_answer *a)
{
    struct single *s = client;
    s->status = a->status;
    snprintf(s->ret, s->bytes, "%.*s", (int)a->body_length, a->body);
}

static size_t write_request(char *ret, size_t bytes, const char *token, const char *method, const char *target,
                            const char *key, const char *body)
{
    int n = snprintf(ret, bytes,
                     "%s %s HTTP/1.1\r\nHost: shop.example\r\nAuthorization: Bearer %s\r\n%s%s%s"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     method, target, token, *key ? "Idempotency-Key: " : "", key, *key ? "\r\n" : "", strlen(body),
                     body);
    if (n < 0 || (size_t)n >= bytes) abort();
    return (size_t)n;
}

/* Lets the server work; when it has nothing to do, time passes. */
static void let_work(void)
{
    if (wire_turn() || sched_step()) return;
    int64_t next = sched_next_ns(), tick = clock_ns() + 50 * 1000000;
    clock_set_ns(next < tick ? next : tick);
}

void client_ask(const char *token, const char *method, const char *target, const char *body, int wanted, char *ret,
                size_t bytes)
{
    char request[8192];
    struct single s = {0, ret, bytes};
    wire_send(request, write_request(request, sizeof request, token, method, target, "", body), heard_single, &s);
    while (!s.status) let_work();
    if (s.status == wanted) return;
    fprintf(stderr, "sim: %s %s: %d %s\n", method, target, s.status, ret);
    abort();
}

/* ---- the world ---- */

static struct deed make_deed(const struct world *w, struct random *r, int client, int n)
{
    struct deed d = {.of_client = -1, .of_deed = -1, .sent_at = NOT_YET, .heard_at = NOT_YET};
    enum deed_kind last = n ? w->deeds[client][n - 1].kind : DEED_VERIFY;
    if (last == DEED_CART) return (struct deed){.kind = DEED_CHECKOUT, .of_deed = n - 1, .flag = random_under(r, 3) > 0,
                                                .sent_at = NOT_YET, .heard_at = NOT_YET};
    if (last == DEED_CHECKOUT || last == DEED_TOPUP)
        return (struct deed){.kind = DEED_PAY, .of_deed = n - 1, .flag = random_under(r, 8) == 0, .sent_at = NOT_YET,
                             .heard_at = NOT_YET};
    switch (random_under(r, n ? 11 : 3)) {
    case 0:
    case 1: d.product = w->store->licensed; break;
    case 2:
    case 3:
    case 4: d.product = w->store->coded; break;
    case 5:
        d.kind = DEED_WITHDRAW;
        d.amount = 100 + random_under(r, 3000);
        return d;
    case 6:
        d.kind = DEED_TOPUP;
        d.amount = 500 + random_under(r, 5000);
        return d;
    case 7:
    case 8:
        d.kind = DEED_CART;
        d.product = random_under(r, 2) ? w->store->coded : w->store->cheap;
        d.quantity = 1 + random_under(r, 2);
        return d;
    default:
        d.kind = DEED_VERIFY;
        d.flag = random_under(r, 4) > 0;
        d.of_deed = (int)random_under(r, (uint32_t)n);
        return d;
    }
    d.quantity = 1 + random_under(r, 3);
    d.with_coupon = random_under(r, 3) == 0;
    return d;
}

static struct deed make_decision(struct random *r)
{
    struct deed d = {.kind = random_under(r, 2) ? DEED_DECIDE : DEED_REFUND, .sent_at = NOT_YET, .heard_at = NOT_YET};
    d.of_client = (int)random_under(r, CUSTOMERS);
    d.of_deed = (int)random_under(r, DEEDS);
    d.flag = random_under(r, 2);
    return d;
}

void world_make(struct world *w, const struct store_facts *store, uint64_t seed)
{
    struct random r;
    random_seed(&r, seed);
    *w = (struct world){.store = store, .seed = seed};
    provider_make(&w->provider);
    for (int c = 0; c < CLIENTS; c++) {
        for (int i = 0; i < DEEDS; i++) {
            w->deeds[c][i] = c == STAFF ? make_decision(&r) : make_deed(w, &r, c, i);
            if (c != STAFF) w->deeds[c][i].of_client = c;
        }
    }
}

static const struct deed *needed(const struct world *w, const struct deed *d)
{
    return d->of_deed < 0 ? NULL : &w->deeds[d->of_client][d->of_deed];
}

static bool has_succeeded(const struct deed *d)
{
    return d->heard_at != NOT_YET && d->status >= 200 && d->status < 300;
}

/* Whether the deed can follow from that one. */
static bool suits(const struct world *w, const struct deed *d, const struct deed *n)
{
    switch (d->kind) {
    case DEED_VERIFY: return n->kind == DEED_ORDER && n->product != w->store->coded;
    case DEED_DECIDE: return n->kind == DEED_WITHDRAW;
    case DEED_REFUND: return n->kind == DEED_ORDER || n->kind == DEED_CHECKOUT;
    default: return true;
    }
}

/* Whether the deed can be done: 1, 0 never, -1 not yet. */
static int is_possible(struct world *w, const struct deed *d)
{
    const struct deed *n = needed(w, d);
    if (!n) return 1;
    if (!suits(w, d, n)) return 0;
    if (n->heard_at == NOT_YET) return -1;
    if (!has_succeeded(n) || d->kind != DEED_PAY) return has_succeeded(n);
    char reference[REF_MAX];
    if (!client_text(n->answer, "reference", reference, sizeof reference)) return 0; /* paid from the wallet */
    return provider_find(&w->provider, reference) ? 1 : -1;
}

static size_t write_deed(const struct world *w, int client, int i, char *ret, size_t bytes)
{
    const struct deed *d = &w->deeds[client][i], *n = needed(w, d);
    const char *token = client == STAFF ? w->store->owner : w->store->customers[client].token;
    char key[32], target[128] = "/api/v1/order/create", body[512] = "{}", license[256] = "";
    snprintf(key, sizeof key, "key-%d-%d", client, i);
    switch (d->kind) {
    case DEED_ORDER:
        snprintf(body, sizeof body, "{\"product_id\":%lld,\"quantity\":%lld%s}", (long long)d->product,
                 (long long)d->quantity, d->with_coupon ? ",\"coupon_code\":\"TENTH\"" : "");
        break;
    case DEED_WITHDRAW:
        snprintf(target, sizeof target, "/api/customer/wallet/withdraw");
        snprintf(body, sizeof body, "{\"amount\":%lld.%02lld}", (long long)d->amount / 100, (long long)d->amount % 100);
        break;
    case DEED_VERIFY:
        snprintf(target, sizeof target, "/api/v1/license/verify");
        client_text(n->answer, "value", license, sizeof license);
        license[strcspn(license, "\\")] = 0; /* of several keys: the first */
        *key = 0;
        if (d->flag)
            snprintf(body, sizeof body, "{\"license_key\":\"%s\",\"product_id\":%lld,\"hardware_id\":\"pc-%d-%d\"}",
                     license, (long long)n->product, client, i);
        else
            snprintf(body, sizeof body, "{\"license_key\":\"%s\",\"product_id\":%lld}", license, (long long)n->product);
        break;
    case DEED_DECIDE:
        snprintf(target, sizeof target, "/api/admin/withdrawals/%lld/%s", (long long)client_number(n->answer, "withdrawal_id"),
                 d->flag ? "approve" : "reject");
        break;
    case DEED_REFUND:
        snprintf(target, sizeof target, "/api/admin/orders/%lld/refund",
                 (long long)client_number(n->answer, "order_id"));
        break;
    case DEED_CART:
        snprintf(target, sizeof target, "/api/store/cart/add");
        snprintf(body, sizeof body, "{\"product_id\":%lld,\"quantity\":%lld}", (long long)d->product,
                 (long long)d->quantity);
        break;
    case DEED_CHECKOUT:
        snprintf(target, sizeof target, "/api/store/cart/checkout");
        snprintf(body, sizeof body, "{\"pay_with\":\"%s\"}", d->flag ? "card_gateway_a" : "wallet");
        break;
    case DEED_TOPUP:
        snprintf(target, sizeof target, "/api/customer/wallet/topup");
        snprintf(body, sizeof body, "{\"amount\":%lld.%02lld,\"gateway\":\"card_gateway_a\"}",
                 (long long)d->amount / 100, (long long)d->amount % 100);
        break;
    case DEED_PAY:
    case DEED_KINDS: abort();
    }
    return write_request(ret, bytes, token, "POST", target, key, body);
}

struct waiting {
    struct world *world;
    struct deed *deed;
    bool repeats; /* the answer must be the one that is known */
};

static uint64_t hash_of(const struct wire_answer *a)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < a->body_length; i++) h = (h ^ (uint8_t)a->body[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void heard(void *client, const struct wire_answer *a)
{
    struct waiting *wait = client;
    struct deed *d = wait->deed;
    struct world *w = wait->world;
    uint64_t hash = hash_of(a);
    if (wait->repeats && (a->status != d->status || hash != d->answer_hash))
        snprintf(w->trouble, sizeof w->trouble, "I7: a repeated key got %d %.60s instead of %d %.60s", a->status,
                 a->body, d->status, d->answer);
    d->is_open = false;
    static int talks = -1; /* for people: SIM_TALK=1 prints every answer, SIM_LOG=1 the server's log */
    if (talks < 0) talks = getenv("SIM_TALK") != NULL;
    if (talks)
        printf("%6zu %d:%d %d %.*s\n", w->disk->steps, (int)((d - w->deeds[0]) / DEEDS), (int)((d - w->deeds[0]) % DEEDS),
               a->status, (int)a->body_length, a->body);
    bool repeats = wait->repeats;
    free(wait);
    if (repeats || a->status == 503) return; /* asked for again */
    if (a->status >= 500 || a->status == 401 || a->status == 400)
        snprintf(w->trouble, sizeof w->trouble, "%d: %.*s", a->status, (int)a->body_length, a->body);
    d->status = a->status;
    d->answer_hash = hash;
    d->heard_at = w->disk->steps;
    snprintf(d->answer, sizeof d->answer, "%.*s", (int)a->body_length, a->body);
}

/* The customer pays, sometimes too little. */
static void pay(struct world *w, struct deed *d)
{
    char reference[REF_MAX];
    client_text(needed(w, d)->answer, "reference", reference, sizeof reference);
    struct session *s = provider_find(&w->provider, reference);
    provider_pay(&w->provider, s, d->flag && s->amount > 200 ? s->amount - 100 : s->amount);
    d->sent_at = d->heard_at = w->disk->steps;
    d->status = 200;
}

static void send_deed(struct world *w, int client, int i, bool repeats)
{
    struct deed *d = &w->deeds[client][i];
    if (d->kind == DEED_PAY) {
        pay(w, d);
        return;
    }
    struct waiting *wait = calloc(1, sizeof *wait);
    if (!wait) abort();
    *wait = (struct waiting){w, d, repeats};
    char request[2048];
    size_t n = write_deed(w, client, i, request, sizeof request);
    d->is_open = true;
    if (d->sent_at == NOT_YET) d->sent_at = w->disk->steps;
    wire_send(request, n, heard, wait);
}

/* The client's next deed, if there is one that can be done now. */
static struct deed *next_deed(struct world *w, int client, bool give_up)
{
    for (; w->next[client] < DEEDS; w->next[client]++) {
        struct deed *d = &w->deeds[client][w->next[client]];
        if (d->is_open) return NULL;
        if (d->heard_at != NOT_YET) continue;
        int possible = is_possible(w, d);
        if (possible > 0) return d;
        if (possible < 0 && !give_up) return NULL;
    }
    return NULL;
}

void world_run(struct world *w, struct disk *d, uint64_t seed)
{
    struct random r;
    random_seed(&r, seed);
    w->disk = d;
    sched_seed(seed ^ 0x5eed);
    for (int idle = 0; idle < 3 && store_is_healthy() && !*w->trouble;) {
        int sent = 0, first = (int)random_under(&r, CLIENTS), most = 1 + (int)random_under(&r, 4);
        for (int n = 0; n < CLIENTS && sent < most; n++) {
            int client = (first + n) % CLIENTS;
            struct deed *deed = next_deed(w, client, idle > 0);
            if (!deed) continue;
            send_deed(w, client, w->next[client], false);
            sent++;
        }
        for (uint32_t n = random_under(&r, 12); n > 0; n--)
            if (!wire_turn()) sched_step();
        if (random_under(&r, 3) == 0 || !sent) sent += provider_tell(&w->provider, random_next(&r));
        if (!sent) let_work();
        if (random_under(&r, 4) == 0) clock_add_ms(random_under(&r, 40));
        idle = sent || wire_open() ? 0 : idle + 1;
    }
    while (wire_open()) let_work();
}

void world_repeat(struct world *w)
{
    for (int c = 0; c < CLIENTS; c++) {
        for (int i = 0; i < DEEDS; i++) {
            struct deed *d = &w->deeds[c][i];
            if (!has_succeeded(d) || d->kind == DEED_VERIFY || d->kind == DEED_PAY) continue;
            send_deed(w, c, i, true);
            while (d->is_open) let_work();
        }
    }
}

void world_cut(struct world *w, size_t step)
{
    provider_cut(&w->provider, step);
    for (int c = 0; c < CLIENTS; c++) {
        w->next[c] = 0;
        for (int i = 0; i < DEEDS; i++) {
            struct deed *d = &w->deeds[c][i];
            d->is_open = false;
            if (d->heard_at != NOT_YET && d->heard_at > step) d->heard_at = NOT_YET;
            else if (d->heard_at != NOT_YET) d->heard_at = 0;
            if (d->sent_at != NOT_YET && d->sent_at > step) d->sent_at = NOT_YET;
            else if (d->sent_at != NOT_YET) d->sent_at = 0;
        }
    }
}

static bool write_fact(const struct world *w, int client, const struct deed *d, struct fact *ret)
{
    const struct deed *n = needed(w, d);
    bool sure = ret->is_sure;
    if (sure && (d->status < 200 || d->status >= 300)) return false; /* refused: nothing may be there */
    ret->account = client == STAFF ? w->store->customers[d->of_client].account : w->store->customers[client].account;
    switch (d->kind) {
    case DEED_ORDER:
        ret->kind = FACT_ORDER;
        ret->quantity = d->quantity;
        if (!sure) return true;
        ret->id = client_number(d->answer, "order_id");
        ret->amount = client_money(d->answer, "total");
        return true;
    case DEED_WITHDRAW:
        ret->kind = FACT_WITHDRAWAL;
        ret->amount = d->amount;
        if (sure) ret->id = client_number(d->answer, "withdrawal_id");
        return true;
    case DEED_VERIFY:
        if (!d->flag) return false;
        ret->kind = FACT_BOUND;
        snprintf(ret->text, sizeof ret->text, "pc-%d-%d", client, (int)(d - w->deeds[client]));
        return true;
    case DEED_DECIDE:
        ret->kind = d->flag ? FACT_APPROVED : FACT_REJECTED;
        ret->id = client_number(n->answer, "withdrawal_id");
        ret->amount = n->amount;
        return true;
    case DEED_REFUND:
        ret->kind = n->kind == DEED_CHECKOUT && n->flag ? FACT_GIVES_BACK : FACT_REFUNDED;
        ret->id = client_number(n->answer, "order_id");
        ret->amount = client_money(n->answer, "total");
        return true;
    case DEED_CART: ret->kind = FACT_CART; return true;
    case DEED_CHECKOUT:
        ret->kind = d->flag ? FACT_PENDING : FACT_ORDER;
        if (!sure) return true;
        ret->id = client_number(d->answer, "order_id");
        ret->amount = client_money(d->answer, "total");
        return true;
    case DEED_TOPUP:
        ret->kind = FACT_TOPUP;
        ret->amount = d->amount;
        return !sure || client_text(d->answer, "reference", ret->text, sizeof ret->text);
    case DEED_PAY:
    case DEED_KINDS: break;
    }
    return false;
}

static size_t provider_facts(const struct paying *p, size_t step, struct fact *list)
{
    size_t count = 0;
    for (int i = 0; i < SESSIONS; i++) {
        const struct session *s = &p->sessions[i];
        if (s->made_at == NOT_YET || s->paid_at == NOT_YET || s->paid_at > step) continue;
        bool sure = false;
        for (int h = 0; h < HOOKS; h++) {
            if (s->hooks[h].heard_at == NOT_YET || s->hooks[h].heard_at > step) continue;
            sure = sure || h == HOOK_INTENT || h == HOOK_SESSION;
            list[count] = (struct fact){.kind = FACT_EVENT, .is_sure = true};
            provider_event(p, s, (enum hook)h, list[count++].text);
        }
        list[count] = (struct fact){
            .kind = FACT_CHARGED, .is_sure = sure, .amount = s->paid, .quantity = provider_refunded(s, step)};
        snprintf(list[count].text, sizeof list[count].text, "%s", s->key);
        count++;
    }
    return count;
}

struct facts world_facts(const struct world *w, size_t step, struct fact *list)
{
    size_t count = 0;
    for (int c = 0; c < CLIENTS; c++) {
        for (int i = 0; i < DEEDS; i++) {
            const struct deed *d = &w->deeds[c][i];
            if (d->sent_at == NOT_YET || d->sent_at > step) continue;
            list[count] = (struct fact){.is_sure = d->heard_at != NOT_YET && d->heard_at <= step};
            if (write_fact(w, c, d, &list[count])) count++;
        }
    }
    count += provider_facts(&w->provider, step, list + count);
    return (struct facts){list, count};
}
