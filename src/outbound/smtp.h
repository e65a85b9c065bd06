/* outbound/smtp.h - an e-mail as bytes: RFC 5322 with MIME: a text, and the same as HTML.
 *
 * Whatever is put in, the result is 7-bit, its lines are at most 76 characters and end in CRLF, none begins with a dot,
 * and no text from outside can start a header. */
#pragma once

#include "base/arena.h"
#include "base/timestamp.h"

struct mail {
    Str from_name, from_address;
    Str to_address;
    Str subject;
    Str text;       /* UTF-8, lines end in LF */
    Str html;       /* the same; empty: the text alone */
    Str message_id; /* without brackets: unique@host */
    Time date;
};

/* local@domain in ASCII, without any character that has a meaning in a header or in SMTP. */
bool mail_address_is_fine(Str address);

/* False when an address or the message id is not valid, or the message is too long. */
bool mail_message(struct arena *a, const struct mail *m, Str *ret);
