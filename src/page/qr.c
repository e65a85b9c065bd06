/* page/qr.c - see qr.h. */
#include "page/qr.h"

#include <qrencode.h>

#include "base/buf.h"

#define MARGIN 4
#define TEXT_BYTES_MAX 600
#define PATH_BYTES_MAX ((size_t)64 * 1024)

/* The dark modules of one line, each run as a rectangle. */
static void draw_line(struct buf *b, const QRcode *code, int y)
{
    const unsigned char *line = code->data + (size_t)y * (size_t)code->width;
    for (int x = 0; x < code->width; x++) {
        int from = x;
        while (x < code->width && line[x] & 1) x++;
        if (x > from) buf_printf(b, "M%d %dh%dv1h-%dz", from + MARGIN, y + MARGIN, x - from, x - from);
    }
}

bool qr_draw(struct arena *a, Str text, struct qr *ret)
{
    if (!text.len || text.len > TEXT_BYTES_MAX) return false;
    QRcode *code = QRcode_encodeData((int)text.len, (const unsigned char *)text.ptr, 0, QR_ECLEVEL_M);
    if (!code) return false;
    struct buf path;
    buf_init(&path, a, PATH_BYTES_MAX);
    for (int y = 0; y < code->width; y++) draw_line(&path, code, y);
    int64_t size = code->width + 2 * MARGIN;
    QRcode_free(code);
    if (path.full) return false;
    *ret = (struct qr){size, buf_str(&path)};
    return true;
}
