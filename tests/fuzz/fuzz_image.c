/* tests/fuzz/fuzz_image.c - pictures by their first bytes: what is taken for one begins as its format says, and its
 * type is one that we serve. */
#include "fuzz.h"

#include "domain/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        const char *type;
        size_t at, len;
        const char *bytes;
    } formats[] = {
        {"png", 0, 8, "\x89PNG\r\n\x1a\n"},
        {"jpg", 0, 3, "\xff\xd8\xff"},
        {"webp", 8, 4, "WEBP"},
        {"avif", 4, 8, "ftypavif"},
    };
    const char *type = image_type((Str){(const char *)data, size});
    bool is_known = type == NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        bool begins = size >= formats[i].at + formats[i].len &&
                      !memcmp(data + formats[i].at, formats[i].bytes, formats[i].len) &&
                      (formats[i].at != 8 || !memcmp(data, "RIFF", 4));
        if (type && !strcmp(type, formats[i].type)) {
            MUST(begins);
            is_known = true;
        }
        if (begins) MUST(type);
    }
    MUST(is_known);
    return 0;
}
