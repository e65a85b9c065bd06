/* base/thread.c - see thread.h. */
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg)
{
    int failure = pthread_create(ret, NULL, run, arg);
    if (!failure) return;
    fprintf(stderr, "souk: a thread cannot be started: %s\n", strerror(failure));
    abort();
}
