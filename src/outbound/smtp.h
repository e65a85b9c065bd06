/* outbound/smtp.h - an e-mail as bytes: RFC 5322 with MIME, plain text.
 *
 * Whatever is put in, the result is 7-bit, its lines are at most 76 characters and end in CRLF, none begins with a dot,
 * and no header can be started by a text that came from somebody else. */
#pragma once

#include "base/arena.h"
#include "base/timestamp.h"

struct mail {
    Str from_name, from_address;
    Str to_address;
    Str subject;
    Str text;       /* UTF-8, lines end in LF */
    Str message_id; /* without brackets: unique@host */
    Time date;
};

/* local@domain in ASCII, without anything that has a meaning in a header or in SMTP. */
bool mail_address_is_fine(Str address);

/* False when an address or the message id is not fine. */
bool mail_message(struct arena *a, const struct mail *m, Str *ret);
