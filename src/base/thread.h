/* base/thread.h - threads that a server cannot do without. */
#pragma once

#include <pthread.h>

/* Starts the thread; when that fails, ends the process with a message: its supervisor starts it again. */
void thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg);
