/* base/err.h - everything that can go wrong, as one enum made from one list (errors.def).
 *
 * Functions return enum err; outputs come last, are named ret…, and stay untouched unless OK is returned. asserts are
 * for our own mistakes, enum err is for the world. */
#pragma once

enum err {
    OK = 0,
#define E(name, status, code, message) name,
#include "base/errors.def"
#undef E
    ERR_COUNT
};

struct err_info {
    int status;       /* HTTP status of the answer; 0 for errors that never reach a client */
    const char *code; /* stable, snake_case */
    const char *message;
};

const struct err_info *err_info(enum err e);
