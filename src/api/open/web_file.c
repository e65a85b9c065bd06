/* api/open/web_file.c - see web_file.h.
 *
 * Nearly every client takes gzip. For one that does not, a file that is kept as gzip only is unpacked once and stays
 * so: what such clients can make the server hold is the size of the files. */
#include "api/open/web_file.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

#define WINDOW_BITS_GZIP (15 + 16)

struct unpacked {
    const struct web_file *file;
    struct unpacked *next;
    char bytes[];
};

static pthread_mutex_t unpacked_lock = PTHREAD_MUTEX_INITIALIZER;
static struct unpacked *unpacked_first; /* never freed */

const struct web_file *web_file_find(const struct web_file *files, Str name)
{
    for (const struct web_file *f = files; f->name; f++)
        if (str_eq(str_from(f->name), name)) return f;
    return NULL;
}

static bool unpack(const struct web_file *f, char *ret)
{
    z_stream z = {
        .next_in = (z_const Bytef *)f->gzip,
        .avail_in = (uInt)f->gzip_len,
        .next_out = (Bytef *)ret,
        .avail_out = (uInt)f->plain_len,
    };
    if (inflateInit2(&z, WINDOW_BITS_GZIP) != Z_OK) return false;
    bool is_whole = inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_out == 0;
    inflateEnd(&z);
    return is_whole;
}

/* NULL when there is no memory for it. */
static const char *unpacked_of(const struct web_file *f)
{
    pthread_mutex_lock(&unpacked_lock);
    struct unpacked *u = unpacked_first;
    while (u && u->file != f) u = u->next;
    if (!u && (u = memory_try(sizeof *u + f->plain_len))) {
        if (unpack(f, u->bytes)) {
            u->file = f;
            u->next = unpacked_first;
            unpacked_first = u;
        } else {
            free(u);
            u = NULL;
        }
    }
    pthread_mutex_unlock(&unpacked_lock);
    return u ? u->bytes : NULL;
}

enum err web_file_coded(struct request *req, const struct web_file *f)
{
    const char *plain = f->plain;
    if (!plain && !request_takes_gzip(req) && !(plain = unpacked_of(f))) return ERR_UNAVAILABLE;
    request_coded(req, f->content_type, (Str){plain, plain ? f->plain_len : 0}, str_from(f->plain_etag),
                  (Str){f->gzip, f->gzip_len}, str_from(f->gzip_etag));
    return OK;
}

enum err web_file_answer(struct request *req, const struct web_file *file, const char *cache_control,
                         const char *policy)
{
    if (!file) return ERR_NOT_FOUND;
    enum err e = web_file_coded(req, file);
    if (e) return e;
    request_add_header(req, "Cache-Control", str_from(cache_control));
    request_add_header(req, "Content-Security-Policy", str_from(policy));
    request_add_header(req, "Referrer-Policy", STR("no-referrer"));
    request_add_header(req, "Cross-Origin-Opener-Policy", STR("same-origin"));
    return OK;
}
