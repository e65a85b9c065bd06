/* tests/fuzz/fuzz_csv.c - tables that staff bring along: what is read can be written, and reads back the same. */
#include "fuzz.h"

#include "base/buf.h"
#include "base/csv_reader.h"

static void write_field(struct buf *b, Str s)
{
    buf_char(b, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"') buf_char(b, '"');
        buf_char(b, s.ptr[i]);
    }
    buf_char(b, '"');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct csv_reader r, again;
    struct arena a = {0};
    const char *why = NULL;
    enum csv_result result;
    size_t line = 0;
    csv_reader_init(&r, (Str){(const char *)data, size});
    while ((result = csv_next(&r, &a, &why)) == CSV_RECORD) {
        MUST(r.count >= 1 && r.count <= CSV_FIELDS_MAX && r.line > line);
        line = r.line;
        struct buf b;
        buf_init(&b, &a, SIZE_MAX / 4);
        for (size_t i = 0; i < r.count; i++) {
            MUST(r.fields[i].len <= CSV_FIELD_BYTES_MAX);
            if (i) buf_char(&b, ',');
            write_field(&b, r.fields[i]);
        }
        csv_reader_init(&again, buf_str(&b));
        MUST(csv_next(&again, &a, &why) == CSV_RECORD && again.count == r.count);
        for (size_t i = 0; i < r.count; i++) MUST(str_eq(again.fields[i], r.fields[i]));
    }
    MUST(result != CSV_BAD || why);
    arena_done(&a);
    return 0;
}
