/* domain/settings.h - what the owner can change while the store runs.
 *
 * Kept as name-value rows; a change bumps the revision 'settings', which servers watch, so that all nodes follow. */
#pragma once

#include "db/db.h"

#define SETTINGS_CURRENCY "USD" /* until one is chosen */

struct settings {
    int64_t revision;
    char currency[4];
    int exponent;
    char store_name[256]; /* bytes; 1 to 60 code points */
    int64_t rate_v1;      /* requests per minute and caller; 0: no limit */
    int64_t rate_customer;
    bool require_verified_email; /* before money is spent or moved */
    bool storefront;             /* the shop's pages are served */
    char languages[64];          /* codes separated by commas: the first is the fallback */
    char accent[8];              /* "#rrggbb"; empty: the shop's own */
    char tagline[652];           /* bytes; up to 160 code points */
    int64_t order_units_max;     /* units of one order */
    bool mail_logo;              /* mails show the logo, from the shop's address */
    bool mail_new_order;         /* staff get a mail for every order */
    int64_t low_stock;           /* staff get a mail when so many codes or fewer are left; 0: never */
    char staff_mail[255];        /* where mail to staff goes; empty: to everybody who works here */
    int64_t reserve_minutes;     /* serial codes are kept while a payment is open; 0: not at all */
    int64_t reserve_codes_max;   /* of one customer at once */
    int64_t keep_audit_days;     /* how long things stay (domain/retention.h); 0: for ever */
    int64_t keep_notification_days, keep_webhook_body_days, keep_outbox_days;
    char logo[64];                    /* path of the picture; empty: there is none */
    char theme[17];                   /* hash of colour and style sheet; empty: there is neither */
    char footer[8192];                /* own pages linked everywhere: a line of slug, tab and title each */
    Money withdraw_min, withdraw_max; /* of one withdrawal; 0: no limit */
    Money second_person_above;        /* withdrawals and manual credits above this need two people; 0: off */
};

enum err settings_load(struct db *db, struct settings *ret);
enum err settings_revision(struct db *db, int64_t *ret);
/* Makes other changes wait until this transaction ends: for read, compare, write. */
enum err settings_lock(struct db *db);
/* Something else has changed that servers must know. */
enum err settings_touch(struct db *db);
/* One value, as text, already checked. Bumps the revision. */
enum err settings_set(struct db *db, const char *name, Str value);
/* Sets only what has no value yet; does not bump. For secrets and choices made once. */
enum err settings_keep(struct db *db, const char *name, Str value);
/* Empty when it has none. */
enum err settings_get(struct db *db, const char *name, Str *ret);
/* ERR_EMAIL_UNVERIFIED where the store asks for a proved address, by the setting as stored now, not as this server last
 * read it. */
enum err settings_check_unproven(struct db *db);
/* The currency can be chosen until the first money moves or a price is set. ERR_INVALID_STATE afterwards,
 * ERR_FIELD_VALUE for a code we do not know. */
enum err settings_set_currency(struct db *db, Str code);
/* The first time, stores the vault's fingerprint; ERR_CONFLICT when this database belongs to another master key. */
enum err settings_check_key(struct db *db);
/* What only holders of this store's master key can answer to `nonce`: 32 hex digits. */
Str settings_instance_proof(struct arena *a, Str nonce);
