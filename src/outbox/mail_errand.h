/* outbox/mail_errand.h - sends one message, for the outbox and for the test of the mail server. */
#pragma once

#include "domain/mail.h"
#include "domain/settings.h"
#include "outbox/dispatch.h"

#define MAIL_OFF_ERROR "no mail server is configured (--smtp-url)"

/* The frame around every mail of this store. */
struct mail_look mail_look_of(struct arena *a, const struct settings *s);

/* Blocks. `id` and `at` make the Message-ID: the same for every attempt, so that a receiver can recognise a second
 * copy. *ret_error is NULL when the server took the message. REPLY_REFUSED: it never will. */
enum reply mail_send(struct outbound *outbound, const struct mail_options *options, Str to,
                     const struct mail_parts *parts, Str store_name, Id id, Time at, struct arena *a,
                     const char **ret_error);
