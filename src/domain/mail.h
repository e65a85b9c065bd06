/* domain/mail.h - messages to customers and to those who work here, in the transaction of what they tell. They leave
 * through the outbox, as a kind (web/shop/mail/kinds), a language and values; the words are put around them when they
 * are sent.
 *
 * Off until a mail server is configured: then nothing is queued at all, and nothing piles up. */
#pragma once

#include "db/db.h"
#include "page/mail_text.h"

/* Once, before any thread starts. */
void mail_enable(bool on);
/* What stands in front of paths in messages; it must live for ever. Set again once the port is known. */
void mail_set_base_url(const char *base_url);
bool mail_is_enabled(void);
const char *mail_base_url(void);

/* A message that is being written. */
struct mail_draft {
    enum mail_kind kind;
    Str to;           /* empty: to those who work here */
    struct page page; /* the receiver's language and the store's currency, for amounts and dates */
    struct mail_values values;
};

/* To an account's address, in its language where the shop has it, else in the shop's first one. */
enum err mail_begin(struct db *db, Id account, enum mail_kind kind, struct mail_draft *ret);
/* To those who work here: the address in the settings (staff_mail), else everybody; in the shop's first language. */
enum err mail_begin_staff(struct db *db, enum mail_kind kind, struct mail_draft *ret);
/* Queues it; does nothing while mail is off. A value that the kind does not have is a mistake of ours. TX_WRITE. */
enum err mail_queue(struct db *db, const struct mail_draft *m, Time now);

/* Values as texts. */
Str mail_number(struct mail_draft *m, Id id);
Str mail_amount(struct mail_draft *m, Money amount, Str currency); /* currency empty: the store's */
/* An address below the shop's: mail_address(&m, "/order/%s", …). */
Str mail_address(struct mail_draft *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "order #12", "top-up #3", or "payment" when neither is known. */
Str mail_what(struct mail_draft *m, Id order, Id payment);

/* Somebody wants to use another address for an account: the link (a whole address) goes to the new one, a notice to the
 * present one. */
enum err mail_email_change(struct db *db, Id account, Str new_address, Str link, int64_t days, Time now);
/* It was changed: the account has the new address already, the old one is told. */
enum err mail_email_changed(struct db *db, Id account, Str old_address, Time now);

/* The account opens in another way now (MAIL_password_changed, MAIL_second_factor_off). Only to a proved address: who
 * registered somebody else's could write to them again and again. TX_WRITE. */
enum err mail_notice(struct db *db, Id account, enum mail_kind kind, Time now);

/* How a message travels through the outbox. */
struct queued_mail {
    Str to;
    enum mail_kind kind;
    enum lang lang;
    struct mail_values values;
};
Str queued_mail_pack(struct arena *a, const struct queued_mail *m);
bool queued_mail_unpack(Str payload, struct queued_mail *ret);
