/* domain/mail.h - messages to customers, in the transaction of what they tell. They leave through the outbox.
 *
 * Off until a mail server is configured: then nothing is queued at all, and nothing piles up. */
#pragma once

#include "db/db.h"

/* Once, before any thread starts. */
void mail_enable(bool on);
/* What stands in front of paths in messages; it must live for ever. Set again once the port is known. */
void mail_set_base_url(const char *base_url);
bool mail_is_enabled(void);
const char *mail_base_url(void);

struct queued_mail {
    Str to, subject, text;
};

/* Queues a message to an account's address; does nothing while mail is off. TX_WRITE. */
enum err mail_queue(struct db *db, Id account, Str subject, Str text, Time now);
/* The same for a notification of one of the kinds that are mailed; other kinds are not. */
enum err mail_notification(struct db *db, Id account, Str kind, Str message, Time now);

/* How a message travels through the outbox. */
Str queued_mail_pack(struct arena *a, const struct queued_mail *m);
bool queued_mail_unpack(Str payload, struct queued_mail *ret);
