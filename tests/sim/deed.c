/* tests/sim/deed.c - what clients do: how it is chosen, written as a request, and told to the checker. */
#include "deed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"

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

size_t write_request(char *ret, size_t bytes, const char *token, const char *method, const char *target,
                     const char *key, const char *body)
{
    int n =
        snprintf(ret, bytes,
                 "%s %s HTTP/1.1\r\nHost: shop.example\r\nAuthorization: Bearer %s\r\n%s%s%s"
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                 method, target, token, *key ? "Idempotency-Key: " : "", key, *key ? "\r\n" : "", strlen(body), body);
    if (n < 0 || (size_t)n >= bytes) abort();
    return (size_t)n;
}

static struct deed make_deed(const struct world *w, struct random *r, int client, int n)
{
    struct deed d = {.of_client = -1, .of_deed = -1, .sent_at = NOT_YET, .heard_at = NOT_YET};
    enum deed_kind last = n ? w->deeds[client][n - 1].kind : DEED_VERIFY;
    if (last == DEED_CART)
        return (struct deed){.kind = DEED_CHECKOUT,
                             .of_deed = n - 1,
                             .flag = random_under(r, 3) > 0,
                             .sent_at = NOT_YET,
                             .heard_at = NOT_YET};
    if (last == DEED_CHECKOUT || last == DEED_TOPUP)
        return (struct deed){.kind = DEED_PAY,
                             .of_deed = n - 1,
                             .flag = random_under(r, 8) == 0,
                             .sent_at = NOT_YET,
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

const struct deed *deed_needed(const struct world *w, const struct deed *d)
{
    return d->of_deed < 0 ? NULL : &w->deeds[d->of_client][d->of_deed];
}

bool deed_has_succeeded(const struct deed *d)
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
int deed_is_possible(struct world *w, const struct deed *d)
{
    const struct deed *n = deed_needed(w, d);
    if (!n) return 1;
    if (!suits(w, d, n)) return 0;
    if (n->heard_at == NOT_YET) return -1;
    if (!deed_has_succeeded(n) || d->kind != DEED_PAY) return deed_has_succeeded(n);
    char reference[REF_MAX];
    if (!client_text(n->answer, "reference", reference, sizeof reference)) return 0; /* paid from the wallet */
    return provider_find(&w->provider, reference) ? 1 : -1;
}

size_t deed_write(const struct world *w, int client, int i, char *ret, size_t bytes)
{
    const struct deed *d = &w->deeds[client][i], *n = deed_needed(w, d);
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
        snprintf(target, sizeof target, "/api/admin/withdrawals/%lld/%s",
                 (long long)client_number(n->answer, "withdrawal_id"), d->flag ? "approve" : "reject");
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

static bool write_fact(const struct world *w, int client, const struct deed *d, struct fact *ret)
{
    const struct deed *n = deed_needed(w, d);
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
