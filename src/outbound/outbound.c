/* outbound/outbound.c - see outbound.h. The thread owns the multi handle and every easy handle; jobs come through a
 * mailbox whose wake-up interrupts curl's poll. */
#include "outbound/outbound.h"

#include <assert.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "base/thread.h"
#include "outbound/address.h"

struct outbound {
    CURLM *multi;
    struct mailbox box;
    pthread_t thread;
    atomic_bool is_cancelled, is_stopping;
    struct curl_slist *resolve;
    char *ca_file;
    struct outbound_job *running; /* the thread's own, chained through letter.next */
};

struct transfer_state {
    CURL *easy;
    struct curl_slist *headers, *receivers;
    struct buf reply;
    bool allows_private;
    bool is_refused; /* the address was private */
    bool cuts_reply;
    size_t sent;     /* bytes of the mail */
    struct buf said; /* the mail server's last reply */
    bool said_all;   /* its last line was there: what comes next is another one */
    char why[CURL_ERROR_SIZE];
};

static void must(bool ok)
{
    if (ok) return;
    fputs("souk: libcurl cannot be used\n", stderr);
    abort();
}

#define SET(easy, option, value) must(curl_easy_setopt((easy), (option), (value)) == CURLE_OK)

bool base_url_is_fine(Str url)
{
    struct base_address at;
    return base_address_parse(url, &at);
}

bool webhook_url_is_fine(Str url, bool allows_private)
{
    struct base_address at;
    return hook_address_parse(url, &at) && (allows_private || (at.is_https && !at.names_private));
}

/* The URL begins with the base address and goes on with a path. */
static bool is_below(Str url, Str base)
{
    return str_starts(url, base) && url.len > base.len && url.ptr[base.len] == '/';
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer_state *s = user;
    size_t n = size * count, room = s->reply.bytes_max - s->reply.len;
    if (s->cuts_reply && n > room) {
        buf_append(&s->reply, (Str){bytes, room});
        return n;
    }
    buf_append(&s->reply, (Str){bytes, n});
    return s->reply.full ? 0 : n;
}

static size_t on_drop(char *bytes, size_t size, size_t count, void *user)
{
    (void)bytes, (void)user;
    return size * count;
}

static size_t on_read(char *room, size_t size, size_t count, void *user)
{
    struct outbound_job *job = user;
    struct transfer_state *s = job->state;
    size_t left = job->mail->bytes.len - s->sent, n = left < size * count ? left : size * count;
    if (n) memcpy(room, job->mail->bytes.ptr + s->sent, n);
    s->sent += n;
    return n;
}

/* The final check of where a connection goes: after the name was resolved, before anything is sent. */
static curl_socket_t on_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer_state *s = user;
    (void)purpose;
    if (!s->allows_private && address_is_private(&address->addr, address->addrlen)) {
        s->is_refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* libcurl wants NUL-terminated texts; a NUL inside one would cut it short. */
static bool has_no_nul(Str s)
{
    return !s.len || !memchr(s.ptr, '\0', s.len);
}

static bool set_headers(struct transfer_state *s, const struct http_call *call, const char *traceparent,
                        struct arena *a)
{
    if (*traceparent) {
        s->headers = curl_slist_append(s->headers, str_cstr(a, str_printf(a, "traceparent: %s", traceparent)));
        must(s->headers != NULL);
    }
    for (size_t i = 0; i < call->header_count; i++) {
        Str line = str_printf(a, "%.*s: %.*s", STR_FMT(call->headers[i].name), STR_FMT(call->headers[i].value));
        for (size_t k = 0; k < line.len; k++)
            if ((unsigned char)line.ptr[k] < 0x20 || line.ptr[k] == 0x7f) return false;
        s->headers = curl_slist_append(s->headers, str_cstr(a, line));
        must(s->headers != NULL);
    }
    s->headers = curl_slist_append(s->headers, "Expect:");
    must(s->headers != NULL);
    SET(s->easy, CURLOPT_HTTPHEADER, s->headers);
    return true;
}

static const char *check_address(const struct outbound_job *job, struct base_address *at, bool *ret_allows_private)
{
    const struct http_call *call = job->call;
    if (!has_no_nul(call->url)) return "a NUL in the address";
    if (job->is_webhook) {
        if (!webhook_url_is_fine(call->url, job->allows_private) || !hook_address_parse(call->url, at))
            return "the address is private, or not one that events may be sent to";
        *ret_allows_private = job->allows_private;
        return NULL;
    }
    if (!base_address_parse(job->base_url, at)) return "the base address is not one";
    if (!is_below(call->url, job->base_url)) return "the address is not below the base address";
    *ret_allows_private = at->names_private;
    return NULL;
}

static const char *prepare_http(struct outbound_job *job)
{
    struct transfer_state *s = job->state;
    const struct http_call *call = job->call;
    struct base_address at;
    const char *wrong = check_address(job, &at, &s->allows_private);
    if (wrong) return wrong;
    s->cuts_reply = job->cuts_reply;
    SET(s->easy, CURLOPT_URL, str_cstr(job->arena, call->url));
    SET(s->easy, CURLOPT_PROTOCOLS_STR, at.is_https ? "https" : "http");
    if (!set_headers(s, call, job->traceparent, job->arena)) return "a header has a control character";
    if (strcmp(call->method, "GET") == 0) {
        SET(s->easy, CURLOPT_HTTPGET, 1L);
    } else {
        /* A fresh connection: on a kept one that turns out to be dead libcurl would send the request a second time.
         * A webhook may be sent twice. */
        if (!job->is_webhook) SET(s->easy, CURLOPT_FRESH_CONNECT, 1L);
        SET(s->easy, CURLOPT_POST, 1L);
        SET(s->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
        SET(s->easy, CURLOPT_POSTFIELDS, call->body.len ? call->body.ptr : "");
    }
    SET(s->easy, CURLOPT_WRITEFUNCTION, on_bytes);
    SET(s->easy, CURLOPT_WRITEDATA, s);
    return NULL;
}

#define SAID_BYTES_MAX 400

/* Lines of the mail server: "250-more", "250 last". Only the last reply is kept, as one line of printable text; after a
 * refusal the library says goodbye, and the answer to that (221) is not meant. */
static size_t on_said(char *bytes, size_t size, size_t count, void *user)
{
    struct transfer_state *s = user;
    Str line = str_trim((Str){bytes, size * count});
    if (str_starts(line, STR("221"))) return size * count;
    if (s->said_all) s->said.len = 0, s->said.full = false;
    s->said_all = line.len < 4 || line.ptr[3] != '-';
    if (s->said.len) line = line.len > 4 ? (Str){line.ptr + 4, line.len - 4} : (Str){0};
    if (s->said.len && line.len) buf_char(&s->said, ' ');
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];
        buf_char(&s->said, c < 0x20 || c > 0x7e ? '?' : line.ptr[i]);
    }
    return size * count;
}

static const char *prepare_mail(struct outbound_job *job)
{
    struct transfer_state *s = job->state;
    const struct outbound_mail *m = job->mail;
    struct base_address at;
    if (!mail_address_parse(m->url, &at)) return "the mail server's address is not one";
    if (m->is_plain && !at.names_private) return "unencrypted mail is only sent inside the private network";
    if (!has_no_nul(m->user) || !has_no_nul(m->password) || !has_no_nul(m->from) || !has_no_nul(m->to))
        return "a NUL in the mail's envelope";
    s->allows_private = true; /* the operator's own server, often on the same machine */
    SET(s->easy, CURLOPT_URL, str_cstr(job->arena, m->url));
    SET(s->easy, CURLOPT_PROTOCOLS_STR, at.is_https ? "smtps" : "smtp");
    SET(s->easy, CURLOPT_USE_SSL, m->is_plain ? (long)CURLUSESSL_NONE : (long)CURLUSESSL_ALL);
    if (m->user.len) {
        SET(s->easy, CURLOPT_USERNAME, str_cstr(job->arena, m->user));
        SET(s->easy, CURLOPT_PASSWORD, str_cstr(job->arena, m->password));
    }
    if (m->is_probe) {
        SET(s->easy, CURLOPT_CUSTOMREQUEST, "NOOP");
        SET(s->easy, CURLOPT_NOBODY, 1L);
    } else {
        SET(s->easy, CURLOPT_MAIL_FROM, str_cstr(job->arena, m->from));
        s->receivers = curl_slist_append(NULL, str_cstr(job->arena, m->to));
        must(s->receivers != NULL);
        SET(s->easy, CURLOPT_MAIL_RCPT, s->receivers);
        SET(s->easy, CURLOPT_UPLOAD, 1L);
        SET(s->easy, CURLOPT_READFUNCTION, on_read);
        SET(s->easy, CURLOPT_READDATA, job);
    }
    SET(s->easy, CURLOPT_WRITEFUNCTION, on_drop);
    SET(s->easy, CURLOPT_HEADERFUNCTION, on_said);
    SET(s->easy, CURLOPT_HEADERDATA, s);
    buf_init(&s->said, job->arena, SAID_BYTES_MAX);
    return NULL;
}

static void end(struct outbound_job *job, const char *failure)
{
    struct transfer_state *s = job->state;
    job->failure = failure;
    job->state = NULL;
    if (s) {
        curl_easy_cleanup(s->easy);
        curl_slist_free_all(s->headers);
        curl_slist_free_all(s->receivers);
        free(s);
    }
    job->done(job);
}

static void begin(struct outbound *o, struct outbound_job *job)
{
    struct transfer_state *s = memory_zeroed(1, sizeof *s);
    job->state = s;
    s->easy = curl_easy_init();
    must(s->easy != NULL);
    buf_init(&s->reply, job->arena, job->reply_bytes_max ? job->reply_bytes_max : OUTBOUND_REPLY_MAX);
    int64_t timeout = job->timeout_ms ? job->timeout_ms : OUTBOUND_TIMEOUT_MS;
    SET(s->easy, CURLOPT_PRIVATE, (void *)job);
    SET(s->easy, CURLOPT_ERRORBUFFER, s->why);
    SET(s->easy, CURLOPT_NOSIGNAL, 1L);
    SET(s->easy, CURLOPT_TIMEOUT_MS, (long)timeout);
    SET(s->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(timeout < 10000 ? timeout : 10000));
    SET(s->easy, CURLOPT_FOLLOWLOCATION, 0L);
    SET(s->easy, CURLOPT_PROXY, "");
    SET(s->easy, CURLOPT_SSL_VERIFYPEER, 1L);
    SET(s->easy, CURLOPT_SSL_VERIFYHOST, 2L);
    SET(s->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(s->easy, CURLOPT_USERAGENT, "souk/" SOUK_VERSION);
    SET(s->easy, CURLOPT_OPENSOCKETFUNCTION, on_socket);
    SET(s->easy, CURLOPT_OPENSOCKETDATA, s);
    if (o->ca_file) SET(s->easy, CURLOPT_CAINFO, o->ca_file);
    if (o->resolve) SET(s->easy, CURLOPT_RESOLVE, o->resolve);
    const char *failure = job->call ? prepare_http(job) : prepare_mail(job);
    if (failure) {
        end(job, failure);
        return;
    }
    must(curl_multi_add_handle(o->multi, s->easy) == CURLM_OK);
    job->letter.next = o->running ? &o->running->letter : NULL;
    o->running = job;
}

static void unlink_running(struct outbound *o, const struct outbound_job *job)
{
    struct outbound_job *before = NULL;
    for (struct outbound_job *j = o->running; j; before = j, j = (struct outbound_job *)j->letter.next) {
        if (j != job) continue;
        struct outbound_job *after = (struct outbound_job *)j->letter.next;
        if (before)
            before->letter.next = after ? &after->letter : NULL;
        else
            o->running = after;
        return;
    }
    assert(false && "a transfer ended that was not running");
}

/* Of a certificate: that it has expired, or is somebody else's. Everything else is named well enough by its code, and
 * without an address. */
static const char *failure_text(const struct transfer_state *s, struct arena *a, CURLcode code)
{
    bool is_certificate = code == CURLE_PEER_FAILED_VERIFICATION && s->why[0];
    return is_certificate ? str_cstr(a, str_from(s->why)) : curl_easy_strerror(code);
}

/* What a mail server refused with says more than what the library calls it. */
static const char *failure_of_mail(struct outbound_job *job, CURLcode code)
{
    struct transfer_state *s = job->state;
    Str said = buf_str(&s->said);
    bool is_refusal = said.len >= 3 && (said.ptr[0] == '4' || said.ptr[0] == '5');
    bool is_about_it = code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_LOGIN_DENIED ||
                       code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_REMOTE_ACCESS_DENIED ||
                       code == CURLE_USE_SSL_FAILED;
    return is_refusal && is_about_it ? str_cstr(job->arena, said) : failure_text(s, job->arena, code);
}

static const char *failure_of(struct outbound_job *job, CURLcode code)
{
    const struct transfer_state *s = job->state;
    if (s->is_refused) return "the address is private";
    if (s->reply.full) return "the answer is too long";
    if (code == CURLE_OK) return NULL;
    return job->mail ? failure_of_mail(job, code) : failure_text(s, job->arena, code);
}

static void finish(struct outbound *o, CURL *easy, CURLcode code)
{
    char *private = NULL;
    long status = 0;
    curl_off_t retry_after = 0;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after);
    struct outbound_job *job = (struct outbound_job *)(void *)private;
    struct transfer_state *s = job->state;
    curl_multi_remove_handle(o->multi, easy);
    unlink_running(o, job);
    const char *failure = failure_of(job, code);
    job->retry_after_s = (int64_t)retry_after;
    if (job->mail)
        job->reply.status = failure ? (int)status : 250; /* the reply to the last command, the refused one */
    else if (!failure)
        job->reply = (struct http_reply){(int)status, buf_str(&s->reply)};
    end(job, failure);
}

static void take_new(struct outbound *o)
{
    for (struct letter *l = mailbox_take(&o->box), *next; l; l = next) {
        next = l->next;
        struct outbound_job *job = (struct outbound_job *)l;
        if (atomic_load(&o->is_cancelled))
            end(job, "the server is stopping");
        else
            begin(o, job);
    }
}

static void end_running(struct outbound *o)
{
    while (o->running) {
        struct outbound_job *job = o->running;
        o->running = (struct outbound_job *)job->letter.next;
        curl_multi_remove_handle(o->multi, job->state->easy);
        end(job, "the server is stopping");
    }
}

static void *run(void *arg)
{
    struct outbound *o = arg;
    while (!atomic_load(&o->is_stopping)) {
        int running, left;
        take_new(o);
        if (atomic_load(&o->is_cancelled)) end_running(o);
        must(curl_multi_perform(o->multi, &running) == CURLM_OK);
        for (CURLMsg *m; (m = curl_multi_info_read(o->multi, &left));)
            if (m->msg == CURLMSG_DONE) finish(o, m->easy_handle, m->data.result);
        must(curl_multi_poll(o->multi, NULL, 0, 60000, NULL) == CURLM_OK);
    }
    end_running(o);
    take_new(o);
    return NULL;
}

static void wake(void *ctx)
{
    struct outbound *o = ctx;
    curl_multi_wakeup(o->multi);
}

struct outbound *outbound_start(const struct outbound_options *options)
{
    must(curl_global_init_mem(CURL_GLOBAL_DEFAULT, memory_try, free, memory_try_grow, memory_copy, memory_try_zeroed) ==
         CURLE_OK);
    struct outbound *o = memory_zeroed(1, sizeof *o);
    o->multi = curl_multi_init();
    must(o->multi != NULL);
    curl_multi_setopt(o->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                      (long)(options->connections_max ? options->connections_max : 64));
    if (options->ca_file && *options->ca_file) o->ca_file = memory_copy(options->ca_file);
    if (options->resolve) o->resolve = curl_slist_append(NULL, options->resolve);
    mailbox_init(&o->box, wake, o);
    thread_start(&o->thread, run, o);
    return o;
}

void outbound_cancel(struct outbound *o)
{
    if (!o) return;
    atomic_store(&o->is_cancelled, true);
    wake(o);
}

void outbound_stop(struct outbound *o)
{
    if (!o) return;
    atomic_store(&o->is_cancelled, true);
    atomic_store(&o->is_stopping, true);
    wake(o);
    pthread_join(o->thread, NULL);
    take_new(o); /* jobs that came between the thread's last look and its end */
    curl_multi_cleanup(o->multi);
    curl_slist_free_all(o->resolve);
    mailbox_done(&o->box);
    free(o->ca_file);
    free(o);
    curl_global_cleanup();
}

void outbound_submit(struct outbound *o, struct outbound_job *job)
{
    assert((job->call != NULL) != (job->mail != NULL));
    trace_header(job->traceparent);
    mailbox_post(&o->box, &job->letter);
}

struct waiting {
    struct outbound_job job; /* first */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_done;
};

static void stop_waiting(struct outbound_job *job)
{
    struct waiting *w = (struct waiting *)job;
    pthread_mutex_lock(&w->lock);
    w->is_done = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

void outbound_call(struct outbound *o, struct outbound_job *job)
{
    struct waiting w = {.job = *job, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    w.job.done = stop_waiting;
    outbound_submit(o, &w.job);
    pthread_mutex_lock(&w.lock);
    while (!w.is_done) pthread_cond_wait(&w.changed, &w.lock);
    pthread_mutex_unlock(&w.lock);
    pthread_mutex_destroy(&w.lock);
    pthread_cond_destroy(&w.changed);
    *job = w.job;
}
