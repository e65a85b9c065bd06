/* api/open/download.c - GET /download/{token}: the bytes that a buyer paid for.
 *
 * The token alone is enough; there is no other authentication, so that browsers and download programs can use the plain
 * link. A fetch is counted when it begins: a GET of the whole file or of a range that starts at its first byte. A range
 * that starts later resumes a counted fetch and is free for a day, up to many times the file; after that it counts as a
 * new one.
 *
 * Runs on the blocking pool, because opening a file may wait for a disk. */
#include <sys/stat.h>
#include <unistd.h>

#include "api/open/byte_range.h"
#include "api/tables.h"
#include "base/log.h"
#include "domain/download_link.h"
#include "serve/app.h"
#include "serve/limit.h"
#include "serve/request.h"

#define RESUMED_FILES_A_DAY 20
#define FILE_PARTS 1000 /* of which ranges are counted */

struct grant {
    Id order_item;
    int64_t unit;
    Time now;
    struct download download;
};

static enum err find_grant(void *arg, struct db *db)
{
    struct grant *g = arg;
    return download_find(db, g->order_item, g->unit, g->now, &g->download);
}

static enum err count_fetch(void *arg, struct db *db)
{
    const struct grant *g = arg;
    return download_count(db, g->order_item, g->unit, g->now);
}

static bool is_get(const struct request *req)
{
    return str_eq(req->exchange->head.method, STR("GET"));
}

static const char *content_type(Str file_name)
{
    static const struct {
        Str ending;
        const char *type;
    } types[] = {
        {S(".zip"), "application/zip"},
        {S(".gz"), "application/gzip"},
        {S(".tgz"), "application/gzip"},
        {S(".xz"), "application/x-xz"},
        {S(".zst"), "application/zstd"},
        {S(".7z"), "application/x-7z-compressed"},
        {S(".tar"), "application/x-tar"},
        {S(".pdf"), "application/pdf"},
        {S(".epub"), "application/epub+zip"},
        {S(".json"), "application/json"},
        {S(".txt"), "text/plain; charset=utf-8"},
        {S(".csv"), "text/csv; charset=utf-8"},
        {S(".png"), "image/png"},
        {S(".jpg"), "image/jpeg"},
        {S(".jpeg"), "image/jpeg"},
        {S(".webp"), "image/webp"},
        {S(".mp3"), "audio/mpeg"},
        {S(".flac"), "audio/flac"},
        {S(".ogg"), "audio/ogg"},
        {S(".mp4"), "video/mp4"},
        {S(".webm"), "video/webm"},
        {S(".deb"), "application/vnd.debian.binary-package"},
        {S(".apk"), "application/vnd.android.package-archive"},
        {S(".exe"), "application/vnd.microsoft.portable-executable"},
        {S(".msi"), "application/x-msi"},
        {S(".dmg"), "application/x-apple-diskimage"},
        {S(".iso"), "application/x-iso9660-image"},
        {S(".ttf"), "font/ttf"},
        {S(".otf"), "font/otf"},
        {S(".woff2"), "font/woff2"},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        Str e = types[i].ending;
        if (file_name.len > e.len && str_eq_nocase((Str){file_name.ptr + file_name.len - e.len, e.len}, e))
            return types[i].type;
    }
    return "application/octet-stream";
}

/* RFC 6266: a plain name for old clients, and the real one as RFC 8187 writes it. */
static Str disposition(struct arena *a, Str name)
{
    static const char hex[] = "0123456789ABCDEF";
    struct buf b;
    buf_init(&b, a, 64 + 4 * name.len);
    buf_lit(&b, "attachment; filename=\"");
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        bool plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '%' && c != '/';
        if ((c & 0xc0) != 0x80) buf_char(&b, plain ? (char)c : '_'); /* one for each character, not each byte */
    }
    buf_lit(&b, "\"; filename*=UTF-8''");
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.ptr[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     (c && strchr("!#$&+-.^_`|~", c));
        if (plain) {
            buf_char(&b, (char)c);
        } else {
            buf_char(&b, '%');
            buf_char(&b, hex[c >> 4]);
            buf_char(&b, hex[c & 15]);
        }
    }
    return buf_str(&b);
}

/* A file is never changed, only replaced: its key and size identify it. */
static Str etag_of(struct arena *a, Str file_key, const struct stat *s)
{
    return str_printf(a, "\"%.*s-%llx-%llx\"", STR_FMT(file_key), (unsigned long long)s->st_size,
                      (unsigned long long)s->st_mtim.tv_sec * 1000000000u + (unsigned long long)s->st_mtim.tv_nsec);
}

/* Without a bound all but the first byte would be free for everybody who has the link. */
static bool resumes(struct request *req, const struct grant *g, const struct byte_range *part, int64_t size)
{
    if (part->offset == 0 || !g->download.may_resume) return false;
    int64_t parts = (part->length * FILE_PARTS + size - 1) / size;
    return limiter_spend_day(req->app->limiter, 'D', req->params[0], parts, RESUMED_FILES_A_DAY * FILE_PARTS,
                             time_monotonic_ns())
        .allowed;
}

/* Refuses a fetch that may not begin; counts one that may. */
static enum err charge(struct request *req, struct grant *g)
{
    if (g->download.is_used_up) return ERR_DOWNLOAD_USED_UP;
    return is_get(req) ? tx_call(req->app->database, TX_WRITE, count_fetch, g, req->arena) : OK;
}

static enum err redirect(struct request *req, struct grant *g)
{
    enum err e = charge(req, g);
    if (e) return e;
    req->status = 302;
    request_add_header(req, "Location", g->download.url);
    request_ready(req, NULL, (Str){0});
    return OK;
}

/* The part of the file that the request asks for. */
static enum err find_range(struct request *req, Str etag, int64_t size, struct byte_range *ret)
{
    *ret = (struct byte_range){0, size};
    Str range = request_header(req, "Range"), if_range = request_header(req, "If-Range");
    if (!is_get(req) || !range.ptr || (if_range.ptr && !str_eq(if_range, etag))) return OK;
    switch (byte_range_read(range, size, ret)) {
    case RANGE_WHOLE: return OK;
    case RANGE_PART:
        req->status = 206;
        request_add_header(req, "Content-Range",
                           str_printf(req->arena, "bytes %lld-%lld/%lld", (long long)ret->offset,
                                      (long long)(ret->offset + ret->length - 1), (long long)size));
        return OK;
    case RANGE_OUTSIDE: break;
    }
    request_add_header(req, "Content-Range", str_printf(req->arena, "bytes */%lld", (long long)size));
    return ERR_RANGE_NOT_SATISFIABLE;
}

/* Takes over the open file: passes it to the answer, or closes it. */
static enum err send_file(struct request *req, struct grant *g, int fd)
{
    struct stat s;
    struct byte_range part;
    enum err e = fstat(fd, &s) == 0 ? OK : ERR_UNAVAILABLE;
    if (e) goto out;
    Str etag = etag_of(req->arena, g->download.file_key, &s);
    if (request_not_modified(req, etag)) goto out;
    e = find_range(req, etag, s.st_size, &part);
    if (e) goto out;
    if (!resumes(req, g, &part, s.st_size)) e = charge(req, g);
    if (e) goto out;

    request_add_header(req, "Accept-Ranges", STR("bytes"));
    /* Whatever the file holds, nothing in it runs as a page of the store. */
    request_add_header(req, "Content-Security-Policy", STR("sandbox; default-src 'none'"));
    request_add_header(req, "Content-Disposition", disposition(req->arena, g->download.file_name));
    request_file(req, content_type(g->download.file_name),
                 (struct http_file){.fd = fd, .offset = part.offset, .length = part.length});
    return OK;
out:
    close(fd);
    return e;
}

static enum err get_download(struct request *req)
{
    struct grant g = {.now = req->now};
    if (!download_token_read(req->params[0], &g.order_item, &g.unit)) return ERR_NOT_FOUND;
    enum err e = tx_call(req->app->database, TX_READ, find_grant, &g, req->arena);
    if (e) return e;
    if (g.download.url.len) return redirect(req, &g);

    int fd = download_open(req->app->options.data_dir, g.download.file_key);
    if (fd < 0) {
        log_event(LOG_ERROR, "product_file_missing", LOGS("file", g.download.file_key),
                  LOGI("order_item", g.order_item.v));
        return ERR_NOT_FOUND;
    }
    return send_file(req, &g, fd);
}

const struct route download_routes[] = {
    {"GET", DOWNLOAD_PATH "{token}", SCOPE_NONE, TX_SELF, NULL, get_download, ANY_ACCEPT | SECRET_PATH},
    {0},
};
