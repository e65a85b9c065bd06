/* domain/totp.h - second factors: time-based one-time codes (RFC 6238: SHA-1, 6 digits, 30 s) and recovery codes.
 *
 * A secret is stored sealed and takes effect only after a first right code. A code is accepted once: its time step must
 * be newer than the last accepted one. One step of clock error is allowed both ways. */
#pragma once

#include "db/db.h"

#define TOTP_SECRET_BYTES 20
#define TOTP_RECOVERY_CODES 10

/* The code for one moment; pure. */
void totp_code(const uint8_t secret[TOTP_SECRET_BYTES], int64_t step, char ret[7]);

struct totp_setup {
    Str secret; /* base32, to be typed */
    Str uri;    /* otpauth://…, to be shown as a QR code */
};
/* A new secret, not yet in force. ERR_INVALID_STATE when one is in force already. */
enum err totp_begin(struct db *db, Id account, Str email, Str issuer, struct totp_setup *ret);
/* The secret that was begun and is not in force yet, to be shown again. ERR_NOT_FOUND: there is none. */
enum err totp_begun(struct db *db, Id account, Str email, Str issuer, struct totp_setup *ret);
/* The first right code puts it in force and gives the recovery codes, shown once. ERR_CREDENTIALS_INVALID. */
enum err totp_confirm(struct db *db, Id account, Str code, Time now, Str ret_codes[TOTP_RECOVERY_CODES]);
enum err totp_remove(struct db *db, Id account);
enum err totp_is_on(struct db *db, Id account, bool *ret);
/* Takes a code or a recovery code, once. ERR_CREDENTIALS_INVALID. Needs TX_WRITE. */
enum err totp_take(struct db *db, Id account, Str code, Time now);
