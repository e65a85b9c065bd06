/* api/v1/v1_license.c - is this licence valid? Asked by programs on customers' machines, all the time. */

#include "api/tables.h"
#include "api/v1/verdict_signature.h"
#include "base/base64.h"
#include "domain/license.h"
#include "domain/signing_key.h"
#include "serve/app.h"
#include "serve/request.h"
#include "serve/seen.h"

struct verify_body {
    Str license_key;
    Id product_id;
    Str hardware_id;
};

static const struct field verify_fields[] = {
    {"license_key", FIELD_LINE, REQUIRED, offsetof(struct verify_body, license_key), .min = 1, .max = 255},
    {"product_id", FIELD_ID, REQUIRED, offsetof(struct verify_body, product_id)},
    {"hardware_id", FIELD_SECRET, /* compared as sent, never trimmed */ OPTIONAL,
     offsetof(struct verify_body, hardware_id), .min = 1, .max = 255},
    {0},
};
static const struct shape verify_shape = {verify_fields, sizeof(struct verify_body)};

static enum err post_verify(struct request *req)
{
    const struct verify_body *in = req->body;
    struct license_verdict v;
    signature_on_request(req);
    enum err e = license_verify(req->db, in->license_key, in->product_id, in->hardware_id, req->now, &v);
    if (e) return e;
    seen_note(req->app->seen, v.license_id, req->now);

    struct json_writer *w = &req->out;
    req->message = "License is valid";
    json_begin_object(w);
    json_kv_time(w, "expires_at", v.expires_at);
    json_kv_id(w, "user_id", v.account_id);
    json_kv_id(w, "product_id", in->product_id);
    if (in->hardware_id.len) json_kv_str(w, "hardware_id", v.hardware_id); /* tells the caller nothing new */
    json_kv_time(w, "checked_at", req->now);
    json_end_object(w);
    return OK;
}

/* The key in the forms that libraries accept: raw, PEM (SubjectPublicKeyInfo, RFC 8410) and JWK (RFC 8037). */
static enum err get_public_key(struct request *req)
{
    static const uint8_t spki_head[] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
    uint8_t spki[sizeof spki_head + SIGNING_KEY_BYTES];
    memcpy(spki, spki_head, sizeof spki_head);
    memcpy(spki + sizeof spki_head, signing_key_public(), SIGNING_KEY_BYTES);
    Str key = {(const char *)signing_key_public(), SIGNING_KEY_BYTES};
    Str der = base64_encode(req->arena, BASE64_PADDED, (Str){(const char *)spki, sizeof spki});

    struct json_writer *w = &req->out;
    json_begin_object(w);
    json_kv_cstr(w, "algorithm", "ed25519");
    json_kv_str(w, "keyid", signing_key_id());
    json_kv_str(w, "public_key", base64_encode(req->arena, BASE64_PADDED, key));
    json_kv_str(w, "pem",
                str_printf(req->arena, "-----BEGIN PUBLIC KEY-----\n%.*s\n-----END PUBLIC KEY-----\n", STR_FMT(der)));
    json_key(w, "jwk");
    json_begin_object(w);
    json_kv_cstr(w, "kty", "OKP");
    json_kv_cstr(w, "crv", "Ed25519");
    json_kv_str(w, "x", base64_encode(req->arena, BASE64_URL, key));
    json_kv_str(w, "kid", signing_key_id());
    json_kv_cstr(w, "alg", "EdDSA");
    json_kv_cstr(w, "use", "sig");
    json_end_object(w);
    json_end_object(w);
    request_add_header(req, "Cache-Control", STR("public, max-age=3600"));
    return OK;
}

const struct route v1_license_routes[] = {
    {"POST", "/api/v1/license/verify", SCOPE_VERIFY, TX_READ, &verify_shape, post_verify,
     URGENT | GROUPED | REMEMBERED},
    {"GET", "/api/v1/license/public-key", SCOPE_NONE, TX_NONE, NULL, get_public_key, PUBLIC_CACHE, .limit = LIMIT_V1},
    {0},
};
