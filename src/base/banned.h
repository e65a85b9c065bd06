/* base/banned.h - functions that must not be called. The build includes this header before every source file of the
 * project.
 *
 * The headers that declare them come first: a poisoned word is an error wherever it appears afterwards. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <wchar.h>

/* No bound: use Str, buf_append, str_printf, snprintf. strncpy may leave no NUL, strncat counts what is left. */
#pragma GCC poison strcpy strcat strncpy strncat stpcpy stpncpy wcscpy wcscat
/* glibc makes a macro of sprintf for compilers without __builtin_va_arg_pack (clang). */
#undef sprintf
#undef vsprintf
#pragma GCC poison sprintf vsprintf gets
/* These keep state between calls: use str_cut. */
#pragma GCC poison strtok strtok_r strsep
/* These cannot report a text that is not a number, and overflow is undefined: use str_to_int64, money_parse. */
#pragma GCC poison atoi atol atoll atof scanf fscanf sscanf vscanf vfscanf vsscanf
/* Shared buffers, and the machine's time zone: use time_format, time_parse. */
#pragma GCC poison ctime ctime_r asctime asctime_r gmtime localtime localtime_r mktime
/* Predictable: use random_bytes. OpenSSL's headers have parameters called rand, so only a call is an error. */
#define rand(...) rand_is_banned
#pragma GCC poison srand rand_r drand48 lrand48 mrand48 srand48
/* A race, or a shell. */
#pragma GCC poison tmpnam tempnam mktemp system popen
