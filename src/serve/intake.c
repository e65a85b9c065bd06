/* serve/intake.c - bodies that are longer than the default: the caller is looked up before the body is read.
 *
 * While a transaction on a worker, or the disk, is busy with a body its connection is held and the loop goes on with
 * others. Files (BODY_TO_FILE) pass through a buffer: when it is full the connection is held while a file thread writes
 * it out; the rest is written before the handler runs. */
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "domain/upload.h"
#include "serve/call.h"

#define BUFFER_BYTES ((size_t)512 * 1024)
#define PIECE_BYTES_MAX ((size_t)64 * 1024) /* what a connection reads in one go */

struct intake {
    struct call *call;
    struct pool_job job;
    struct upload upload;
    Str waiting; /* bytes in the buffer */
    char *buffer;
    enum err result;
};

bool call_wants_intake(const struct call *c)
{
    const struct route *r = c->req.route;
    if (!r || r->scope == SCOPE_NONE) return false;
    if (r->flags & BODY_TO_FILE) return true;
    int64_t length = c->req.exchange->head.content_length; /* -1: chunked */
    return r->body_bytes_max && (length < 0 || length > c->req.app->options.body_bytes_max);
}

static void came_home(struct call *c)
{
    enum err e = c->intake->result;
    if (e)
        call_finish(c, e);
    else
        exchange_go_on(c->req.exchange);
}

/* On a file thread; the connection is held. */
static void work(struct pool_job *job)
{
    struct intake *in = (struct intake *)((char *)job - offsetof(struct intake, job));
    if (!in->buffer) {
        in->result = upload_begin(in->call->req.app->options.data_dir, &in->upload);
        in->buffer = arena_take(in->call->req.arena, BUFFER_BYTES);
    } else if (!upload_write(&in->upload, in->waiting)) {
        in->result = ERR_UNAVAILABLE;
    }
    in->waiting = (Str){in->buffer, 0};
    mailbox_post(&in->call->loop->home, &in->call->home);
}

static bool submit(struct intake *in)
{
    in->job.run = work;
    in->call->came_home = came_home;
    return pool_submit(in->call->req.app->files, &in->job);
}

static bool take_piece(struct exchange *x, Str bytes)
{
    struct intake *in = ((struct call *)x->user)->intake;
    memcpy(in->buffer + in->waiting.len, bytes.ptr, bytes.len);
    in->waiting.len += bytes.len;
    if (BUFFER_BYTES - in->waiting.len >= PIECE_BYTES_MAX) return true;
    if (!submit(in)) return false;
    exchange_hold(x);
    return true;
}

static void file_begin(struct call *c)
{
    struct request *req = &c->req;
    struct intake *in = c->intake = arena_new(req->arena, struct intake);
    in->call = c;
    in->upload.fd = -1;
    req->upload = &in->upload;
    req->exchange->body_bytes_max = req->app->options.file_bytes_max;
    req->exchange->sink = take_piece;
    if (!submit(in)) call_finish(c, ERR_OVERLOADED);
}

static enum err authenticate(struct tx_job *job, struct db *db)
{
    return call_authenticate(call_of(job, job), db);
}

static void authenticated(struct tx_job *job, enum err e)
{
    struct call *c = call_of(job, job);
    const struct route *r = c->req.route;
    if (e) {
        call_finish(c, e);
        return;
    }
    c->is_admitted = true;
    if (r->flags & BODY_TO_FILE) {
        file_begin(c);
    } else {
        c->req.exchange->body_bytes_max = r->body_bytes_max;
        exchange_go_on(c->req.exchange);
    }
}

void call_intake(struct call *c)
{
    enum err e = call_admit(c);
    if (e) {
        call_finish(c, e);
        return;
    }
    exchange_hold(c->req.exchange);
    c->job = (struct tx_job){.mode = TX_READ, .run = authenticate, .done = authenticated, .arena = c->req.arena};
    tx_submit(c->loop->port, &c->job);
}

void call_intake_end(struct call *c)
{
    struct intake *in = c->intake;
    if (!in || c->req.exchange->body_failed) return;
    if (!upload_write(&in->upload, in->waiting)) c->req.exchange->body_failed = true;
    in->waiting.len = 0;
}

/* Deletes a file that was not kept. Deleting a long file may take a while, so not on the loop's thread. */
struct leftover {
    struct pool_job job;
    struct upload upload;
};

static void drop(struct pool_job *job)
{
    struct leftover *l = (struct leftover *)job;
    upload_drop(&l->upload);
    free(l);
}

void call_intake_drop(struct call *c)
{
    if (!c->intake || c->intake->upload.fd < 0) return;
    struct leftover *l = memory_take(sizeof *l);
    *l = (struct leftover){.job.run = drop, .upload = c->intake->upload};
    if (!pool_submit(c->req.app->files, &l->job)) drop(&l->job);
}
