/* outbox/mail_errand.h - sends one message, for the outbox and for the test of the mail server. */
#pragma once

#include "domain/mail.h"
#include "outbox/dispatch.h"

/* Blocks. `id` and `at` make the Message-ID: the same for every attempt, so that a receiver can recognise a second
 * copy. *ret_error is NULL when the server took the message. REPLY_REFUSED: it never will. */
enum reply mail_send(struct outbound *outbound, const struct mail_options *options, const struct queued_mail *m,
                     Str store_name, Id id, Time at, struct arena *a, const char **ret_error);
