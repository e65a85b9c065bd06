/* tests/fuzz/macro.h - bytes that stand for lines of a request which cannot be guessed. */
#pragma once

#include "db/tx.h"

#define MACRO_BYTES_MAX 65536

/* The byte, and what it becomes. All of them are refused by the codec and by the JSON reader as they are. */
enum macro {
    MACRO_OWNER = 0x01,     /* Authorization of a staff member */
    MACRO_CUSTOMER = 0x02,  /* Authorization of the first customer */
    MACRO_OTHER = 0x03,     /* and of the second */
    MACRO_BROWSER = 0x04,   /* Cookie of the first customer, and the type of a form */
    MACRO_LENGTH = 0x05,    /* Content-Length of whatever follows the head */
    MACRO_KEY = 0x06,       /* Idempotency-Key, a new one each time */
    MACRO_SIGNATURE = 0x07, /* Stripe-Signature of whatever follows the head */
    MACRO_LICENSE = 0x08,   /* a licence key */
    MACRO_CSRF = 0x0b,      /* what a form must send back */
    MACRO_START = 0x0c,     /* HTTP/1.1 and Host */
    MACRO_JSON = 0x0e,      /* Content-Type */
    MACRO_REFERENCE = 0x0f, /* of a payment */
    MACRO_NEXT = 0x1e,      /* the next request on the same connection */
};

struct macro_values {
    const char *owner, *customers[2], *secret;
    char session[64], csrf[80], license[80], reference[80];
    int64_t now_s, count;
};

/* Fills in what a browser has that this customer is logged in with. */
void macro_log_in(struct database *d, Id customer, struct macro_values *ret);
/* Into `ret`, of MACRO_BYTES_MAX; what does not fit is left out. */
Str macro_expand(Str text, const struct macro_values *v, char *ret);
