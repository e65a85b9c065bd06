/* base/sanitized.h - whether this is compiled with AddressSanitizer or ThreadSanitizer: gcc defines words for it, clang
 * has to be asked. And how ThreadSanitizer is kept from following argon2 through its memory. */
#pragma once

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define WITH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif

/* Between the two, ThreadSanitizer takes no notice of what this thread reads and writes: argon2's copying of blocks
 * takes it six times as long as the rest. The caller tells it what goes in (`sanitized_reads`) and comes out
 * (`sanitized_writes`). */
#ifdef WITH_TSAN
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
void __tsan_read_range(void *at, long size);
void __tsan_write_range(void *at, long size);

static inline void sanitized_look_away(void)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

static inline void sanitized_look_again(void)
{
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

static inline void sanitized_reads(const void *at, size_t size)
{
    __tsan_read_range((void *)at, (long)size);
}

static inline void sanitized_writes(void *at, size_t size)
{
    __tsan_write_range(at, (long)size);
}
#else
static inline void sanitized_look_away(void) {}

static inline void sanitized_look_again(void) {}

static inline void sanitized_reads(const void *at, size_t size)
{
    (void)at, (void)size;
}

static inline void sanitized_writes(void *at, size_t size)
{
    (void)at, (void)size;
}
#endif
