/* tests/fuzz/fuzz.h - what the targets share. A broken promise aborts, which the fuzzer reports with its input. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) abort();                                                                                     \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
