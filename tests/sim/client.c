/* tests/sim/client.c - see client.h. */
#include "deed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "seed.h"
#include "wire.h"

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

void let_work(void)
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
    if (s.status == wanted || (!wanted && s.status / 100 == 2)) return;
    fprintf(stderr, "sim: %s %s: %d %s\n", method, target, s.status, ret);
    abort();
}

#define REPEATS_MAX 100 /* a disk fails less often */

struct waiting {
    struct world *world;
    struct deed *deed;
    bool repeats; /* the answer must be the one that is known */
};
static bool is_refused; /* the last answer: 503, so that the client asks again */

static uint64_t hash_more(uint64_t h, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) h = (h ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t hash_of(const struct wire_answer *a)
{
    return hash_more(UINT64_C(0xcbf29ce484222325), a->body, a->body_length);
}

#define NO_PAGE "\"url\":null"

/* An order whose page could not be made at once is answered without the page's address, and with it once there is one:
 * the answer's hash as if there were none. */
static uint64_t hash_without_page(const struct wire_answer *a)
{
    static const char name[] = "\"url\":\"";
    const char *end = a->body + a->body_length, *at = memmem(a->body, a->body_length, name, sizeof name - 1);
    const char *close = at ? memchr(at + sizeof name - 1, '"', (size_t)(end - at) - (sizeof name - 1)) : NULL;
    if (!close) return hash_of(a);
    uint64_t h = hash_more(UINT64_C(0xcbf29ce484222325), a->body, (size_t)(at - a->body));
    h = hash_more(h, NO_PAGE, sizeof NO_PAGE - 1);
    return hash_more(h, close + 1, (size_t)(end - close - 1));
}

static bool is_same(const struct deed *d, const struct wire_answer *a)
{
    if (a->status != d->status) return false;
    return hash_of(a) == d->answer_hash || (strstr(d->answer, NO_PAGE) && hash_without_page(a) == d->answer_hash);
}

static void heard(void *client, const struct wire_answer *a)
{
    struct waiting *wait = client;
    struct deed *d = wait->deed;
    struct world *w = wait->world;
    is_refused = a->status == 503;
    if (wait->repeats && !is_refused && !is_same(d, a))
        snprintf(w->trouble, sizeof w->trouble, "I7: a repeated key got %d %.60s instead of %d %.60s", a->status,
                 a->body, d->status, d->answer);
    d->is_open = false;
    static int talks = -1; /* for people: SIM_TALK=1 prints every answer, SIM_LOG=1 the server's log */
    if (talks < 0) talks = getenv("SIM_TALK") != NULL;
    if (talks)
        printf("%6zu %d:%d %d %.*s\n", w->disk->steps, (int)((d - w->deeds[0]) / DEEDS),
               (int)((d - w->deeds[0]) % DEEDS), a->status, (int)a->body_length, a->body);
    bool repeats = wait->repeats;
    free(wait);
    if (repeats || is_refused) return; /* asked for again */
    if (a->status >= 500 || a->status == 401 || a->status == 400)
        snprintf(w->trouble, sizeof w->trouble, "%d: %.*s", a->status, (int)a->body_length, a->body);
    d->status = a->status;
    d->answer_hash = hash_of(a);
    d->heard_at = w->disk->steps;
    snprintf(d->answer, sizeof d->answer, "%.*s", (int)a->body_length, a->body);
}

/* The customer pays, sometimes too little. */
static void pay(struct world *w, struct deed *d)
{
    char reference[REF_MAX];
    client_text(deed_needed(w, d)->answer, "reference", reference, sizeof reference);
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
    size_t n = deed_write(w, client, i, request, sizeof request);
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
        int possible = deed_is_possible(w, d);
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
            if (!deed_has_succeeded(d) || d->kind == DEED_VERIFY || d->kind == DEED_PAY) continue;
            int tries = 0;
            do {
                send_deed(w, c, i, true);
                while (d->is_open) let_work();
            } while (is_refused && store_is_healthy() && ++tries < REPEATS_MAX);
            if (tries == REPEATS_MAX) snprintf(w->trouble, sizeof w->trouble, "I7: a repeated key gets 503 for ever");
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
            if (d->heard_at != NOT_YET && d->heard_at > step)
                d->heard_at = NOT_YET;
            else if (d->heard_at != NOT_YET)
                d->heard_at = 0;
            if (d->sent_at != NOT_YET && d->sent_at > step)
                d->sent_at = NOT_YET;
            else if (d->sent_at != NOT_YET)
                d->sent_at = 0;
        }
    }
}
