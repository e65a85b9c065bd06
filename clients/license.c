/* license.c - checks a licence with a souk store: online, and offline for a while after the last good answer.
 *
 *     struct license_store store = {base_url, token, public_key, state_file};
 *     const char *reason;
 *     if (license_check(&store, license_key, product_id, hardware_id, &reason) != LICENSE_VALID) …
 *
 * The token has the scope `verify` and nothing else; the public key is what GET /api/v1/license/public-key says, built into your
 * program. Needs libcurl and libsodium: cc license.c -lcurl -lsodium. How it works: docs/checking-a-licence.md. */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define GRACE_S (7 * 24 * 3600) /* how long the last good answer counts while the store cannot be reached */
#define SKEW_S 300              /* clocks differ by as much */
#define TIMEOUT_S 5L
#define BYTES_MAX (64 * 1024)
#define COMPONENTS "(\"@status\" \"content-digest\" \"content-digest\";req)"
#define DIGEST_BYTES 64 /* sha-256=:…: */
#define FIELD_BYTES 1024

enum license_state {
    LICENSE_VALID,
    LICENSE_REFUSED, /* the store says so */
    LICENSE_UNKNOWN, /* nobody says anything that can be trusted */
};

struct license_store {
    const char *base_url, *token, *public_key, *state_file;
};

struct answer {
    long status;
    char params[FIELD_BYTES], signature[128]; /* of the fields Signature-Input and Signature */
    size_t len;
    char body[BYTES_MAX + 1];
};

static void hex_of_sha256(const char *text, char ret[65])
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(sum, (const unsigned char *)text, strlen(text));
    sodium_bin2hex(ret, 65, sum, sizeof sum);
}

/* This machine, for this product: other vendors' programs see another id. */
void license_hardware_id(long long product_id, char ret[65])
{
    char machine[256] = "", text[300];
    FILE *f = fopen("/etc/machine-id", "re");
    if (!f || !fgets(machine, sizeof machine, f)) gethostname(machine, sizeof machine - 1);
    if (f) fclose(f);
    machine[strcspn(machine, "\n")] = 0;
    snprintf(text, sizeof text, "%s\n%lld", machine, product_id);
    hex_of_sha256(text, ret);
}

/* Adds `text` as a JSON string; false when it does not fit. */
static bool add_json_string(char *to, size_t size, const char *text)
{
    size_t n = strlen(to);
    if (n + 2 >= size) return false;
    to[n++] = '"';
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (n + 8 >= size) return false;
        if (*c < 0x20 || *c == '"' || *c == '\\')
            n += (size_t)sprintf(to + n, *c < 0x20 ? "\\u%04x" : "\\%c", *c);
        else
            to[n++] = (char)*c;
    }
    to[n++] = '"';
    to[n] = 0;
    return true;
}

static size_t on_body(char *bytes, size_t one, size_t n, void *arg)
{
    struct answer *a = arg;
    (void)one;
    if (n > BYTES_MAX - a->len) return 0;
    memcpy(a->body + a->len, bytes, n);
    a->body[a->len += n] = 0;
    return n;
}

/* Takes over the value behind `start`, if the line has it. */
static void take_field(const char *line, size_t n, const char *start, char *ret, size_t size)
{
    size_t skip = strlen(start);
    if (n <= skip || strncasecmp(line, start, skip) != 0) return;
    while (n > skip && strchr("\r\n ", line[n - 1])) n--;
    if (n - skip < size) snprintf(ret, size, "%.*s", (int)(n - skip), line + skip);
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
    struct answer *a = arg;
    (void)one;
    take_field(line, n, "Signature-Input: sig1=", a->params, sizeof a->params);
    take_field(line, n, "Signature: sig1=", a->signature, sizeof a->signature);
    return n;
}

/* Whether the store has answered, signed or not. */
static bool ask(const struct license_store *store, const char *request, const char *nonce, struct answer *ret)
{
    char url[2048], token[1024], accept[128];
    CURL *curl = curl_easy_init();
    if (!curl) return false;
    snprintf(url, sizeof url, "%s/api/v1/license/verify", store->base_url);
    snprintf(token, sizeof token, "Authorization: Bearer %s", store->token);
    snprintf(accept, sizeof accept, "Accept-Signature: sig1=();nonce=\"%s\"", nonce);
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, token);
    headers = curl_slist_append(headers, accept);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, ret);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, ret);
    bool ok = curl_easy_perform(curl) == CURLE_OK;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &ret->status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return ok;
}

static void digest_of(const char *bytes, size_t n, char ret[DIGEST_BYTES])
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    char text[sodium_base64_ENCODED_LEN(sizeof sum, sodium_base64_VARIANT_ORIGINAL)];
    crypto_hash_sha256(sum, (const unsigned char *)bytes, n);
    sodium_bin2base64(text, sizeof text, sum, sizeof sum, sodium_base64_VARIANT_ORIGINAL);
    snprintf(ret, DIGEST_BYTES, "sha-256=:%s:", text);
}

static bool from_base64(const char *text, size_t n, unsigned char *ret, size_t bytes)
{
    size_t got;
    return sodium_base642bin(ret, bytes, text, n, NULL, &got, NULL, sodium_base64_VARIANT_ORIGINAL) == 0 && got == bytes;
}

/* Whether the store has signed this answer to this question (RFC 9421). */
static bool is_signed(const struct license_store *store, const char *request, const struct answer *a)
{
    static const char start[] = COMPONENTS ";created=";
    unsigned char key[crypto_sign_PUBLICKEYBYTES], signature[crypto_sign_BYTES];
    char text[FIELD_BYTES + 512], answered[DIGEST_BYTES], asked[DIGEST_BYTES];
    size_t n = strlen(a->signature);
    if (strncmp(a->params, start, sizeof start - 1) != 0) return false;
    if (n < 2 || a->signature[0] != ':' || a->signature[n - 1] != ':') return false;
    if (!from_base64(store->public_key, strlen(store->public_key), key, sizeof key)) return false;
    if (!from_base64(a->signature + 1, n - 2, signature, sizeof signature)) return false;
    digest_of(a->body, a->len, answered);
    digest_of(request, strlen(request), asked);
    int len = snprintf(text, sizeof text,
                       "\"@status\": %ld\n\"content-digest\": %s\n\"content-digest\";req: %s\n\"@signature-params\": %s",
                       a->status, answered, asked, a->params);
    return crypto_sign_verify_detached(signature, (const unsigned char *)text, (unsigned long long)len, key) == 0;
}

static long long created_of(const struct answer *a)
{
    return atoll(a->params + strlen(COMPONENTS ";created="));
}

/* The text member of a body that the store has signed. Quotes inside JSON strings are escaped, so `"key":` can only be a key. */
static bool member(const char *body, const char *key, char *ret, size_t size)
{
    char start[64];
    snprintf(start, sizeof start, "\"%s\":\"", key);
    const char *at = strstr(body, start);
    if (!at) return false;
    at += strlen(start);
    snprintf(ret, size, "%.*s", (int)strcspn(at, "\""), at);
    return true;
}

/* Keeps the answer: the latest time seen, the question, status, signature parameters, signature, a line each; then the body.
 * Without it there is no grace; the verdict stands. */
static void save(const struct license_store *store, long long seen, const char *request, const struct answer *a)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.new", store->state_file);
    FILE *f = fopen(name, "we");
    if (!f) return;
    int n = (int)strlen(a->signature) - 2; /* without the colons */
    fprintf(f, "%lld\n%s\n%ld\n%s\n%.*s\n", seen, request, a->status, a->params, n, a->signature + 1);
    fwrite(a->body, 1, a->len, f);
    bool ok = !ferror(f);
    if (fclose(f) == 0 && ok) rename(name, store->state_file);
}

/* A line without its end; false when there is none, or it is too long. */
static bool read_line(FILE *f, char *ret, size_t size)
{
    if (!fgets(ret, (int)size, f)) return false;
    size_t n = strlen(ret);
    if (n == 0 || ret[n - 1] != '\n') return false;
    ret[n - 1] = 0;
    return true;
}

static const char *load(FILE *f, const char *request, long long *ret_seen, struct answer *ret)
{
    char seen[32], question[8192], status[16], signature[112];
    if (!read_line(f, seen, sizeof seen) || !read_line(f, question, sizeof question) ||
        !read_line(f, status, sizeof status) || !read_line(f, ret->params, sizeof ret->params) ||
        !read_line(f, signature, sizeof signature))
        return "bad_state";
    if (strcmp(question, request) != 0) return "other_licence";
    *ret_seen = atoll(seen);
    ret->status = atol(status);
    snprintf(ret->signature, sizeof ret->signature, ":%s:", signature);
    ret->len = fread(ret->body, 1, BYTES_MAX, f);
    ret->body[ret->len] = 0;
    return NULL;
}

/* The last good answer counts for a while, if it is about this question and the clock has not been turned back. */
static enum license_state check_offline(const struct license_store *store, const char *request, long long now,
                                        const char **ret_reason)
{
    static struct answer a;
    long long seen = 0;
    char expires[64];
    struct tm tm = {0};
    FILE *f = fopen(store->state_file, "re");
    *ret_reason = f ? load(f, request, &seen, &a) : "unreachable";
    if (f) fclose(f);
    if (*ret_reason) return LICENSE_UNKNOWN;
    *ret_reason = "bad_state";
    if (a.status != 200 || !is_signed(store, request, &a)) return LICENSE_UNKNOWN;
    *ret_reason = "clock";
    if (now + SKEW_S < seen || now + SKEW_S < created_of(&a)) return LICENSE_UNKNOWN;
    *ret_reason = "grace_over";
    if (now > created_of(&a) + GRACE_S) return LICENSE_UNKNOWN;
    *ret_reason = "license_expired";
    if (member(a.body, "expires_at", expires, sizeof expires) &&
        (!strptime(expires, "%Y-%m-%dT%H:%M:%S", &tm) || now >= timegm(&tm)))
        return LICENSE_REFUSED;
    save(store, now > seen ? now : seen, request, &a);
    *ret_reason = "offline";
    return LICENSE_VALID;
}

/* Waits for at most TIMEOUT_S. Not for several threads at once. */
enum license_state license_check(const struct license_store *store, const char *license_key, long long product_id,
                                 const char *hardware_id, const char **ret_reason)
{
    static struct answer a;
    static char code[64];
    char request[8192] = "{\"license_key\":", nonce[33], wanted[64];
    unsigned char random[16];
    long long now = time(NULL);
    *ret_reason = "bad_question";
    if (sodium_init() < 0 || !add_json_string(request, sizeof request - 64, license_key)) return LICENSE_UNKNOWN;
    sprintf(request + strlen(request), ",\"product_id\":%lld,\"hardware_id\":", product_id);
    if (!add_json_string(request, sizeof request - 2, hardware_id)) return LICENSE_UNKNOWN;
    strcat(request, "}");

    randombytes_buf(random, sizeof random);
    sodium_bin2hex(nonce, sizeof nonce, random, sizeof random);
    snprintf(wanted, sizeof wanted, ";nonce=\"%s\"", nonce);
    memset(&a, 0, sizeof a);
    if (!ask(store, request, nonce, &a) || !strstr(a.params, wanted) || !is_signed(store, request, &a))
        return check_offline(store, request, now, ret_reason);
    if (a.status == 200) {
        save(store, now > created_of(&a) ? now : created_of(&a), request, &a);
        *ret_reason = "online";
        return LICENSE_VALID;
    }
    remove(store->state_file);
    *ret_reason = member(a.body, "code", code, sizeof code) ? code : "";
    return LICENSE_REFUSED;
}

int main(int argc, char **argv)
{
    static const char *const states[] = {"valid", "refused", "unknown"};
    char id[65];
    const char *reason;
    enum license_state state = LICENSE_UNKNOWN;
    if (argc < 8 || argc % 7 != 1) {
        fputs("usage: license (URL TOKEN PUBLIC_KEY LICENSE_KEY PRODUCT_ID HARDWARE_ID|auto STATE_FILE)...\n", stderr);
        return 64;
    }
    for (char **arg = argv + 1; *arg; arg += 7) {
        struct license_store store = {arg[0], arg[1], arg[2], arg[6]};
        long long product = atoll(arg[4]);
        license_hardware_id(product, id);
        state = license_check(&store, arg[3], product, strcmp(arg[5], "auto") == 0 ? id : arg[5], &reason);
        printf("%s %s\n", states[state], reason);
    }
    return (int)state;
}
