/* bench/bare.h - what the bare storage programs share: the rows of an order without anything around them.
 *
 * They run on a store that `souk` has made, with its schema and its indexes, and send the statements that an order of
 * one licence key sends, with values made up: what is left of souk's cost is the rest of a store. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

#define BARE_SEALED_BYTES 80 /* a licence key, sealed */
#define BARE_HASH_BYTES 16

static inline double bare_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline double bare_cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static inline long bare_number(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (*end || n < 1) {
        fprintf(stderr, "not a number: %s\n", text);
        exit(2);
    }
    return n;
}

/* Not for secrets: bytes that spread over an index as hashes do. */
static inline void bare_bytes(uint8_t *ret, size_t n)
{
    static uint64_t state;
    while (!state) /* others for each program: they go into one table */
        if (getrandom(&state, sizeof state, 0) != (ssize_t)sizeof state) exit(2);
    for (size_t i = 0; i < n; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ret[i] = (uint8_t)(state >> 32);
    }
}

/* `server`: processor time of the database's own process, if it has one. */
static inline void bare_report(long count, double seconds, double cpu, double server)
{
    printf("{\"count\":%ld,\"seconds\":%.3f,\"per_second\":%.0f,\"cpu_us\":%.2f,\"db_us\":%.2f}\n", count, seconds,
           (double)count / seconds, cpu / (double)count * 1e6, server / (double)count * 1e6);
}
