/* view/view_success.c - see view_success.h. */
#include "view/view_success.h"

#include "json/writer.h"

void view_success(struct buf *out, const char *message, Str data, Str members)
{
    struct json_writer w;
    json_writer_init(&w, out, 0);
    json_begin_object(&w);
    json_kv_cstr(&w, "status", "success");
    if (message) json_kv_cstr(&w, "message", message);
    if (data.len) {
        json_key(&w, "data");
        json_raw(&w, data);
    }
    buf_append(out, members);
    json_end_object(&w);
}
