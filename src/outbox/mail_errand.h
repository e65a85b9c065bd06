/* outbox/mail_errand.h - sending one message, for the outbox and for whoever tries the mail server. */
#pragma once

#include "domain/mail.h"
#include "outbox/dispatch.h"

/* Blocks. `id` and `at` make the Message-ID: the same for every attempt, so that a receiver that got it twice can tell.
 * *ret_error is NULL when the server took the message. REPLY_REFUSED: it never will. */
enum reply mail_send(struct outbound *outbound, const struct mail_options *options, const struct queued_mail *m,
                     Str store_name, Id id, Time at, struct arena *a, const char **ret_error);
