/* gateway/signature.h - message authentication codes of webhooks.
 *
 * A MAC is checked on the exact bytes that came, before anything is read from them. Every configured secret is tried
 * and every comparison runs to its end, so that timing does not reveal which secret or which byte was right. */
#pragma once

#include "base/timestamp.h"
#include "gateway/gateway.h"

enum mac_kind { MAC_SHA256, MAC_SHA512 };
#define MAC_BYTES_MAX 64

size_t mac_bytes(enum mac_kind kind);

/* HMAC under one key, for any number of messages. */
struct mac_key;
struct mac_key *mac_key_new(enum mac_kind kind, Str secret);
void mac_key_free(struct mac_key *key);
/* Over the parts, one after the other. ret has mac_bytes(). */
void mac_sum(const struct mac_key *key, const Str *parts, size_t count, uint8_t *ret);

/* Lower-case hex of exactly n bytes: only one text stands for the same bytes. */
bool mac_from_hex(Str text, uint8_t *ret, size_t n);

/* Whether `given` (mac_bytes() of it) is the MAC of the parts under any of the secrets. Empty secrets never match. */
bool mac_is_any(enum mac_kind kind, const struct gateway_config *config, const Str *parts, size_t count,
                const uint8_t *given);

/* "t=1700000000,v1=<hex>,v1=<hex>,v0=…": a time and the MACs of "t.body", one per secret that is live at the sender. */
#define STAMPED_MACS_MAX 8
struct stamped {
    Str t_text; /* as sent: it is part of what was signed */
    Time t;
    uint8_t macs[STAMPED_MACS_MAX][32];
    size_t mac_count;
};
/* Exactly one t of 1 to 12 digits, at least one v1, every v1 64 lower-case hex digits; other names are skipped. */
bool stamped_parse(Str header, struct stamped *ret);
/* Parses, checks and compares; the time may be off by STAMPED_TOLERANCE_S in either direction. */
#define STAMPED_TOLERANCE_S 300
enum verdict stamped_verify(const struct gateway_config *config, Str header, Str raw, Time now);
/* What a sender puts in the header. */
Str stamped_sign(struct arena *a, Str secret, Str raw, Time now);

/* For providers that send just the hex of HMAC-SHA256 or -SHA512 of the body. */
enum verdict plain_verify(enum mac_kind kind, const struct gateway_config *config, Str hex, Str raw);
