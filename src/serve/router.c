/* serve/router.c - one request's life.
 *
 * begin     the head is complete: the row is found, its body limit set.
 * request   the body is complete: what needs no database is decided here (no such route, limits, no token). Open
 *           TX_SELF rows (login, webhook, download) go straight to the blocking pool.
 * run       inside the row's transaction, on whichever thread: authenticate, read body and query, look for a kept
 *           answer, call the handler. On SQLite a TX_WRITE row first runs as a read on the loop's own thread, where
 *           bad tokens and bad bodies end, and moves to the writer only to write.
 * finish    back on the loop's thread: the answer is rendered, unless it was kept for its key, and goes out.
 *
 * admit.c has the checks, send.c the way out. */
#include "serve/router.h"

#include <assert.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "serve/call.h"
#include "serve/metrics.h"
#include "serve/periodic.h"
#include "serve/ready.h"

/* Request ids: unique, not secret. A random start for the process and a counter, mixed. */
static _Atomic uint64_t request_counter;

static Str request_id_make(struct arena *a)
{
    static _Atomic uint64_t start;
    uint64_t base = atomic_load_explicit(&start, memory_order_relaxed);
    if (!base) {
        uint64_t fresh = random_u64() | 1;
        if (atomic_compare_exchange_strong(&start, &base, fresh)) base = fresh;
    }
    uint64_t z =
        base + atomic_fetch_add_explicit(&request_counter, 1, memory_order_relaxed) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    uint8_t bytes[8];
    memcpy(bytes, &z, sizeof bytes);
    return hex_encode(a, bytes, sizeof bytes);
}

static bool request_id_is_fine(Str id)
{
    if (id.len < 1 || id.len > 64) return false;
    for (size_t i = 0; i < id.len; i++) {
        char c = id.ptr[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                  c == '-';
        if (!ok) return false;
    }
    return true;
}

static struct call *call_new(struct loop *loop, struct exchange *x)
{
    struct call *c = arena_new(&x->arena, struct call);
    c->loop = loop;
    c->req.exchange = x;
    c->req.app = loop->app;
    c->req.settings = app_settings(loop->app);
    c->req.arena = &x->arena;
    c->req.now = exchange_now(x);
    c->req.target = x->head.target;
    c->req.answer = &c->answer;
    Str id = http_header_get(&x->head, "X-Request-Id");
    c->req.id = request_id_is_fine(id) ? id : request_id_make(&x->arena);
    answer_reset(&c->req);
    x->user = c;
    return c;
}

/* ---- running ---- */

/* One of the route's functions, inside a transaction. */
struct tx_work {
    struct call *call;
    enum err (*fn)(struct request *req); /* or */
    request_step_fn *step;
    void *arg;
    bool forget;     /* of request_step_finish */
    bool has_looked; /* in this transaction, and found no answer that was kept for its key */
};

static enum err work_do(const struct tx_work *w)
{
    struct request *req = &w->call->req;
    assert(w->fn || w->step);
    enum err e = w->fn ? w->fn(req) : w->step(req, w->arg);
    return e ? e : answer_check(req);
}

/* Renders now, because the answer is kept in this transaction: that of the claim, or a later one. */
static enum err keep_answer(struct call *c, struct db *db, bool is_later)
{
    answer_success(&c->req);
    struct kept_answer kept = {c->req.status, c->answer.location, c->answer.body};
    return is_later ? idempotency_store_later(db, &c->key, c->req.now, &kept)
                    : idempotency_store(db, &c->key, c->req.now, &kept);
}

/* The work; with a key, the key is claimed before it and the answer kept after it. */
static enum err run_work(const struct tx_work *w, struct db *db)
{
    struct call *c = w->call;
    struct request *req = &c->req;
    bool keeps = c->has_key && db_can_write(db);
    if (keeps) {
        struct kept_answer kept = {0};
        enum err e = w->has_looked && db_is_grouped(db) ? idempotency_join(db, &c->key)
                                                        : idempotency_claim(db, &c->key, req->now, &kept);
        if (e) return e;
        if (kept.status) {
            call_replay(c, &kept);
            return OK;
        }
    }
    req->db = db;
    req->key = keeps ? &c->key : NULL;
    enum err e = work_do(w);
    req->db = NULL;
    if (e) return e;
    if (req->route->scope == SCOPE_ADMIN && db_can_write(db) && !req->is_audited) {
        log_event(LOG_ERROR, "change_without_audit", LOGC("method", req->route->method),
                  LOGC("path", req->route->path));
        return ERR_INTERNAL;
    }
    return req->key ? keep_answer(c, db, false) : OK;
}

static bool has_money(const struct shape *shape)
{
    if (!shape) return false;
    for (const struct field *f = shape->fields; f->name; f++)
        if (f->type == FIELD_MONEY) return true;
    return false;
}

/* Amounts are read with the decimals of the currency in this transaction: the request before may have changed the
 * currency that the server last read. */
static enum err keep_currency(struct call *c, struct db *db)
{
    int64_t revision;
    enum err e = settings_revision(db, &revision);
    if (e || revision == c->req.settings->revision) return e;
    struct settings *s = arena_new(c->req.arena, struct settings);
    e = settings_load(db, s);
    if (e) return e;
    c->req.settings = s;
    c->is_checked = false;
    answer_reset(&c->req);
    return OK;
}

static enum err run(struct tx_job *job, struct db *db)
{
    struct call *c = call_of(job, job);
    const struct route *r = c->req.route;
    enum err wanted = call_is_wanted(c);
    if (wanted) return wanted;
    answer_reset(&c->req);
    c->is_replayed = false;
    if (has_money(r->body)) {
        enum err e = keep_currency(c, db);
        if (e) return e;
    }
    bool was_checked = c->is_checked;
    if (!was_checked) {
        enum err e = call_check(c, db);
        if (e || c->is_replayed) return e;
        c->is_checked = true;
    }
    if (r->tx == TX_SELF) return OK;
    if (r->tx == TX_WRITE && !db_can_write(db)) return ERR_NEEDS_WRITE;
    /* Orders on one locked wallet wait here, not in workers that others need. */
    struct turns *turns = db_is_grouped(db) ? NULL : c->req.app->writer_turns;
    if (turns && id_is(c->req.account) && !turn_try(turns, &c->turn, call_place(c))) return ERR_WAITS_FOR_TURN;
    return run_work(&(struct tx_work){.call = c, .fn = r->handler, .has_looked = !was_checked}, db);
}

static void run_on_pool(struct pool_job *job)
{
    struct call *c = call_of(job, pool_job);
    answer_reset(&c->req);
    c->pool_result = call_is_wanted(c);
    if (!c->pool_result) {
        call_intake_end(c);
        struct trace trace = {0};
        request_trace(&c->req, &trace);
        trace_enter(&trace);
        c->pool_result = c->req.route->handler(&c->req);
        trace_enter(NULL);
    }
    turn_give(&c->turn);
    mailbox_post(&c->loop->home, &c->home);
}

static void finish_from_pool(struct call *c)
{
    call_finish(c, c->pool_result);
}

static bool calls_out(const struct call *c)
{
    return c->req.route->flags & CALLS_OUT;
}

/* The call's turn has come. */
static void give_to_pool(struct call *c)
{
    const struct app *app = c->req.app;
    c->pool_job.run = run_on_pool;
    c->pool_job.is_first = c->req.route->flags & URGENT;
    c->came_home = finish_from_pool;
    if (pool_submit(calls_out(c) ? app->calls : app->pool, &c->pool_job)) return;
    turn_give(&c->turn);
    call_overloaded(c);
}

static void submit_to_database(struct call *c);
static void submit_report(struct call *c, struct pool *pool);

/* From any thread: back to the loop, and on from there. */
static void turn_has_come(struct turn *t)
{
    struct call *c = call_of(t, turn);
    c->came_home = c->req.route->tx == TX_SELF ? give_to_pool : submit_to_database;
    mailbox_post(&c->loop->home, &c->home);
}

static void wait_for_turn(struct call *c, struct turns *turns, void (*go)(struct call *c))
{
    switch (turn_wait(turns, &c->turn, call_place(c), turn_has_come)) {
    case TURN_TAKEN: go(c); return;
    case TURN_WAITS: return;
    case TURN_REFUSED: call_overloaded(c); return;
    }
}

static void submit_to_pool(struct call *c)
{
    const struct app *app = c->req.app;
    c->queued_ns = time_tick_ns();
    if (c->req.route->flags & URGENT) /* gateways have a few addresses for everybody's payments */
        give_to_pool(c);
    else
        wait_for_turn(c, calls_out(c) ? app->call_turns : app->pool_turns, give_to_pool);
}

static void done(struct tx_job *job, enum err e)
{
    struct call *c = call_of(job, job);
    if (e == ERR_WAITS_FOR_TURN) {
        c->is_checked = false; /* much may have changed by the time its turn comes */
        wait_for_turn(c, c->req.app->writer_turns, submit_to_database);
        return;
    }
    turn_give(&c->turn);
    if (e == ERR_RUN_ALONE) { /* too long for a loop's thread; not among reports, which may take much longer */
        c->pool_job.is_first = true;
        submit_report(c, c->req.app->pool);
        return;
    }
    if (e != ERR_OVERLOADED) refusals_earn(&c->loop->refusals);
    if (!e && !c->is_replayed && c->req.route->tx == TX_SELF)
        submit_to_pool(c);
    else if (e == ERR_OVERLOADED)
        call_overloaded(c);
    else
        call_finish(c, e);
}

/* ---- transactions of TX_SELF handlers ---- */

static enum err run_self(void *arg, struct db *db)
{
    const struct tx_work *w = arg;
    answer_reset(&w->call->req);
    w->call->is_replayed = false;
    return run_work(w, db);
}

static enum err call_database(struct request *req, enum tx_mode mode, struct tx_work *w)
{
    const struct app *app = req->app;
    if (mode == TX_READ) return tx_read_within(app->database, app->options.report_ms, run_self, w, req->arena);
    return tx_call(app->database, mode, run_self, w, req->arena);
}

enum err request_tx(struct request *req, enum tx_mode mode, enum err (*fn)(struct request *))
{
    struct tx_work w = {.call = call_of(req, req), .fn = fn};
    return call_database(req, mode, &w);
}

enum err request_step_untyped(struct request *req, enum tx_mode mode, request_step_fn *step, void *arg)
{
    struct tx_work w = {.call = call_of(req, req), .step = step, .arg = arg};
    return call_database(req, mode, &w);
}

static enum err run_finish(void *arg, struct db *db)
{
    const struct tx_work *w = arg;
    struct call *c = w->call;
    answer_reset(&c->req);
    c->req.db = db;
    enum err e = work_do(w);
    c->req.db = NULL;
    if (e || !c->has_key) return e;
    return w->forget ? idempotency_forget(db, &c->key) : keep_answer(c, db, true);
}

enum err request_step_finish_untyped(struct request *req, bool forget, request_step_fn *step, void *arg)
{
    struct tx_work w = {.call = call_of(req, req), .step = step, .arg = arg, .forget = forget};
    struct request first = *req;
    struct request_answer answer = *req->answer;
    enum err e = tx_call(req->app->database, TX_WRITE, run_finish, &w, req->arena);
    if (e) {
        *req = first;
        *req->answer = answer;
    }
    return e;
}

/* ---- hooks ---- */

static void on_begin(void *loop_user, struct exchange *x)
{
    struct loop *loop = loop_user;
    struct call *c = call_new(loop, x);
    matcher_find(loop->app->matcher, x->head.method, x->head.path, &c->match);
    const struct route *r = c->req.route = c->match.route;
    if (call_wants_intake(c))
        call_intake(c);
    else if (r && r->body_bytes_max)
        x->body_bytes_max = r->body_bytes_max;
}

/* Whether something has to be looked up before the handler is called: the token's owner, a kept answer, or the currency
 * in which amounts are read. */
static bool needs_transaction(const struct call *c)
{
    const struct route *r = c->req.route;
    if (r->tx == TX_READ || r->tx == TX_WRITE || r->scope != SCOPE_NONE || r->flags & SHOP || has_money(r->body))
        return true;
    return r->flags & IDEMPOTENT && request_header(&c->req, "Idempotency-Key").ptr;
}

static void run_directly(struct call *c)
{
    enum err e = call_read(c);
    if (e)
        call_finish(c, e);
    else if (c->req.route->tx == TX_SELF)
        submit_to_pool(c);
    else
        call_finish(c, c->req.route->handler(&c->req));
}

/* A staff read may search through everything: on SQLite it would hold up its loop. */
static bool is_report(const struct call *c)
{
    const struct route *r = c->req.route;
    return r->tx == TX_READ && r->scope == SCOPE_ADMIN && database_is_sqlite(c->req.app->database);
}

static enum err run_waiting(void *arg, struct db *db)
{
    struct call *c = arg;
    return run(&c->job, db);
}

static void run_report(struct pool_job *job)
{
    struct call *c = call_of(job, pool_job);
    const struct app *app = c->req.app;
    c->pool_result = tx_read_within(app->database, app->options.report_ms, run_waiting, c, c->req.arena);
    mailbox_post(&c->loop->home, &c->home);
}

static void submit_report(struct call *c, struct pool *pool)
{
    c->pool_job.run = run_report;
    c->came_home = finish_from_pool;
    c->queued_ns = time_tick_ns();
    if (!pool_submit(pool, &c->pool_job)) call_overloaded(c);
}

static void submit_to_database(struct call *c)
{
    const struct route *r = c->req.route;
    if (is_report(c)) {
        submit_report(c, c->req.app->reports);
        return;
    }
    bool reads_first = database_is_sqlite(c->req.app->database);
    c->job.mode = r->tx == TX_WRITE && !reads_first ? TX_WRITE : TX_READ;
    c->job.no_savepoint = r->flags & CHECKS_FIRST;
    c->job.may_group = r->flags & GROUPED;
    c->job.may_remember = r->flags & REMEMBERED;
    c->job.affinity = c->has_token ? c->token.name[0] : 0; /* one token, one wallet */
    c->job.is_first = r->flags & URGENT;
    c->job.run = run;
    c->job.done = done;
    c->job.arena = c->req.arena;
    /* Who has waited for a turn is not sent away; everybody else is, before token, key and body are looked at. */
    if (!c->turn.is_taken && !tx_has_room(c->loop->port, &c->job, r->tx == TX_WRITE ? TX_WRITE : TX_READ)) {
        call_overloaded(c);
        return;
    }
    if (!c->turn.is_taken) c->queued_ns = time_tick_ns();
    tx_submit(c->loop->port, &c->job);
}

static void on_request(void *loop_user, struct exchange *x)
{
    (void)loop_user;
    struct call *c = x->user;
    if (str_eq(x->head.method, STR("OPTIONS")) && (c->match.path_known || str_eq(x->head.target, STR("*")))) {
        request_add_header(&c->req, "Allow",
                           c->match.path_known ? str_from(c->match.allow)
                                               : STR("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
        call_finish(c, OK);
        return;
    }
    enum err e = c->is_admitted ? OK : call_admit(c);
    if (e)
        call_finish(c, e);
    else if (c->req.route->flags & READY && ready_answer_at_once(&c->req))
        call_finish(c, OK);
    else if (needs_transaction(c))
        submit_to_database(c);
    else
        run_directly(c);
}

static void on_refuse(void *loop_user, struct exchange *x, enum err e, struct http_answer *ret)
{
    struct loop *loop = loop_user;
    struct call *c = x->user ? x->user : call_new(loop, x);
    call_refuse(c, e, ret);
}

static void on_finished(void *loop_user, struct exchange *x, int status, int64_t bytes)
{
    struct loop *loop = loop_user;
    struct call *c = x->user;
    struct app *app = loop->app;
    assert(c); /* made when the head was read, or for a refusal */
    call_intake_drop(c);
    call_sent(c);
    int64_t ns = time_monotonic_ns() - x->started_ns;
    size_t route = c->req.route ? c->match.index : matcher_count(app->matcher);
    metrics_count(app->metrics, route, status, ns);
    if (!app->options.log_requests) return;
    struct trace trace = {0};
    request_trace(&c->req, &trace);
    log_event(LOG_INFO, "request", LOGS("request_id", c->req.id), LOGS("method", x->head.method),
              LOGS("path", call_path(c)), LOGI("status", status), LOGI("bytes", bytes), LOGI("us", ns / 1000),
              LOGS("peer", x->peer), LOGI("account", c->req.account.v), LOGT(trace));
}

static void wake_loop(void *ctx)
{
    http_loop_wake(((struct loop *)ctx)->http);
}

static void on_tick(void *loop_user)
{
    struct loop *loop = loop_user;
    if (atomic_load(&loop->app->is_draining)) periodic_drain(loop->periodic);
    periodic_tick(loop->periodic);
}

static void *on_loop_start(void *ctx, struct http_loop *http, int index)
{
    struct loop *loop = memory_zeroed(1, sizeof *loop);
    loop->app = ctx;
    loop->http = http;
    loop->port = tx_port_new(loop->app->database, wake_loop, loop);
    mailbox_init(&loop->home, wake_loop, loop);
    refusals_init(&loop->refusals);
    if (index == 0) {
        loop->periodic = periodic_new(loop->app, loop->app->options.jobs, loop->port);
        http_loop_every(http, 250, on_tick);
    }
    return loop;
}

static void on_loop_stop(void *loop_user)
{
    struct loop *loop = loop_user;
    periodic_free(loop->periodic);
    tx_port_free(loop->port);
    mailbox_done(&loop->home);
    free(loop);
}

static void on_pass(void *loop_user)
{
    struct loop *loop = loop_user;
    tx_port_pass(loop->port);
    refusals_pass(loop);
}

static void on_woken(void *loop_user)
{
    struct loop *loop = loop_user;
    tx_port_drain(loop->port);
    for (struct letter *l = mailbox_take(&loop->home), *next; l; l = next) {
        next = l->next;
        struct call *c = call_of(l, home);
        c->came_home(c);
    }
}

struct http_hooks router_hooks(struct app *app)
{
    return (struct http_hooks){
        .ctx = app,
        .loop_start = on_loop_start,
        .loop_stop = on_loop_stop,
        .begin = on_begin,
        .request = on_request,
        .refuse = on_refuse,
        .pass = on_pass,
        .woken = on_woken,
        .finished = on_finished,
    };
}
