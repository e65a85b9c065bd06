/* api/v1/verdict_signature.c - see verdict_signature.h. */
#include "api/v1/verdict_signature.h"

#include <sodium.h>

#include "api/v1/accept_signature.h"
#include "base/base64.h"
#include "domain/signing_key.h"
#include "serve/render.h"

#define COMPONENTS "(\"@status\" \"content-digest\" \"content-digest\";req)"
#define VALID_MS TIME_DAY /* for callers that want an `expires`: how long a verdict may be kept */

static Str base64(struct arena *a, const uint8_t *bytes, size_t n)
{
    return base64_encode(a, BASE64_PADDED, (Str){(const char *)bytes, n});
}

/* ;key="text" */
static void text_parameter(struct buf *b, const char *key, Str text)
{
    buf_printf(b, ";%s=\"", key);
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"' || text.ptr[i] == '\\') buf_char(b, '\\');
        buf_char(b, text.ptr[i]);
    }
    buf_char(b, '"');
}

/* What is covered and how: the value of Signature-Input, and the last line of the signed text. */
static Str parameters(struct request *req, const struct wanted_signature *w)
{
    struct buf b;
    buf_init(&b, req->arena, 8192);
    buf_lit(&b, COMPONENTS);
    buf_printf(&b, ";created=%lld", (long long)(req->now.ms / TIME_SECOND));
    if (w->expires) buf_printf(&b, ";expires=%lld", (long long)((req->now.ms + VALID_MS) / TIME_SECOND));
    text_parameter(&b, "keyid", signing_key_id());
    text_parameter(&b, "alg", STR("ed25519"));
    if (w->nonce.len) text_parameter(&b, "nonce", w->nonce);
    if (w->tag.len) text_parameter(&b, "tag", w->tag);
    return buf_str(&b);
}

static Str digest_of(struct arena *a, Str body)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)body.ptr, body.len);
    return str_printf(a, "sha-256=:%.*s:", STR_FMT(base64(a, hash, sizeof hash)));
}

/* The request's Content-Digest as sent, if it matches the body that arrived; else the right one. A relay that swaps a
 * request's body cannot get the digest of the original signed. */
static Str digest_asked(struct request *req)
{
    Str own = digest_of(req->arena, req->raw_body), sent = str_trim(request_header(req, "Content-Digest"));
    for (Str rest = sent, member; rest.len;) {
        member = rest;
        Str behind = {0};
        str_cut(rest, ',', &member, &behind);
        if (str_eq(str_trim(member), own)) return sent;
        rest = behind;
    }
    return own;
}

static void sign(struct request *req)
{
    struct wanted_signature w;
    struct arena *a = req->arena;
    if (!accept_signature_read(a, request_header(req, "Accept-Signature"), signing_key_id(), &w)) return;

    Str digest = digest_of(a, req->answer->body), asked = digest_asked(req);
    Str params = parameters(req, &w);
    Str text = str_printf(a,
                          "\"@status\": %d\n\"content-digest\": %.*s\n\"content-digest\";req: %.*s\n"
                          "\"@signature-params\": %.*s",
                          req->status, STR_FMT(digest), STR_FMT(asked), STR_FMT(params));
    uint8_t signature[SIGNATURE_BYTES];
    signing_key_sign(text, signature);

    request_add_header(req, "Content-Digest", digest);
    request_add_header(req, "Signature-Input", str_printf(a, "%.*s=%.*s", STR_FMT(w.label), STR_FMT(params)));
    request_add_header(req, "Signature",
                       str_printf(a, "%.*s=:%.*s:", STR_FMT(w.label), STR_FMT(base64(a, signature, sizeof signature))));
}

void signature_on_request(struct request *req)
{
    if (request_header(req, "Accept-Signature").len) req->on_rendered = sign;
}
