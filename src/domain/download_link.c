/* domain/download_link.c - see download_link.h. */
#include "domain/download_link.h"

#include "base/base64.h"
#include "domain/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ITEM_BYTES 7
#define UNIT_BYTES 2
#define MAC_BYTES 18
#define TOKEN_BYTES (ITEM_BYTES + UNIT_BYTES + MAC_BYTES)
#define FILE_KEY_MAX 128

static void put_number(uint8_t *at, int bytes, uint64_t v)
{
    for (int i = bytes - 1; i >= 0; i--, v >>= 8) at[i] = (uint8_t)v;
}

static uint64_t get_number(const uint8_t *at, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v = v << 8 | at[i];
    return v;
}

static void sign(const uint8_t claim[ITEM_BYTES + UNIT_BYTES], uint8_t ret[MAC_BYTES])
{
    uint8_t hash[VAULT_HASH_BYTES];
    vault_hash(VAULT_DOWNLOAD, (Str){(const char *)claim, ITEM_BYTES + UNIT_BYTES}, hash);
    memcpy(ret, hash, MAC_BYTES);
}

Str download_path(struct arena *a, Id order_item, int64_t unit)
{
    uint8_t token[TOKEN_BYTES];
    put_number(token, ITEM_BYTES, (uint64_t)order_item.v);
    put_number(token + ITEM_BYTES, UNIT_BYTES, (uint64_t)unit);
    sign(token, token + ITEM_BYTES + UNIT_BYTES);

    const size_t start = sizeof DOWNLOAD_PATH - 1;
    char *path = arena_alloc(a, start + DOWNLOAD_TOKEN_CHARS + 1);
    memcpy(path, DOWNLOAD_PATH, start);
    base64_put(BASE64_URL, token, sizeof token, path + start, DOWNLOAD_TOKEN_CHARS + 1);
    return (Str){path, start + DOWNLOAD_TOKEN_CHARS};
}

bool download_token_read(Str token, Id *ret_order_item, int64_t *ret_unit)
{
    if (token.len != DOWNLOAD_TOKEN_CHARS) return false;
    uint8_t bytes[TOKEN_BYTES];
    if (!base64_get(BASE64_URL, token, bytes, sizeof bytes)) return false;
    uint8_t mac[MAC_BYTES];
    sign(bytes, mac);
    if (!vault_equal(mac, bytes + ITEM_BYTES + UNIT_BYTES, MAC_BYTES)) return false;
    *ret_order_item = (Id){(int64_t)get_number(bytes, ITEM_BYTES)};
    *ret_unit = (int64_t)get_number(bytes + ITEM_BYTES, UNIT_BYTES);
    return true;
}

enum err download_find(struct db *db, Id order_item, int64_t unit, Time now, struct download *ret)
{
    static const char find[] =
        "SELECT p.download_url, p.file_key, p.file_name, d.expires_at,"
        " CASE WHEN d.fetch_max IS NOT NULL AND d.fetch_count >= d.fetch_max THEN 1 ELSE 0 END, d.fetched_at"
        " FROM delivery d JOIN order_item i ON i.id = d.order_item_id JOIN orders o ON o.id = i.order_id"
        " JOIN product p ON p.id = i.product_id"
        " WHERE d.order_item_id = $1 AND d.unit = $2 AND d.type = 'download_url' AND d.is_revoked = 0 AND o.on_hold = "
        "0";

    struct stmt *st = db_prepare(db, find);
    bind_id(st, order_item);
    bind_int(st, unit);
    struct download d = {0};
    Time expires_at = {0};
    bool found = db_step(st);
    if (found) {
        d.url = col_text(st);
        d.file_key = col_text(st);
        d.file_name = col_text(st);
        expires_at = col_time(st);
        d.is_used_up = col_bool(st);
        Time fetched_at = col_time(st);
        d.may_resume = time_is(fetched_at) && time_since(fetched_at, now) < DOWNLOAD_RESUME_MS;
    }
    enum err e = db_done(st);
    if (e) return e;
    if (!found || (!d.url.len && !d.file_key.len)) return ERR_NOT_FOUND;
    if (time_is(expires_at) && expires_at.ms <= now.ms) return ERR_DOWNLOAD_EXPIRED;
    *ret = d;
    return OK;
}

enum err download_count(struct db *db, Id order_item, int64_t unit, Time now)
{
    static const char count[] =
        "UPDATE delivery SET fetch_count = fetch_count + 1, fetched_at = $3"
        " WHERE order_item_id = $1 AND unit = $2 AND (fetch_max IS NULL OR fetch_count < fetch_max) RETURNING unit";

    struct stmt *st = db_prepare(db, count);
    bind_id(st, order_item);
    bind_int(st, unit);
    bind_time(st, now);
    bool counted = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    return counted ? OK : ERR_DOWNLOAD_USED_UP;
}

/* Keys are names of our own choice, which cannot lead out of the folder. */
bool download_key_is_plain(Str key)
{
    if (key.len == 0 || key.len > FILE_KEY_MAX || key.ptr[0] == '.') return false;
    for (size_t i = 0; i < key.len; i++) {
        char c = key.ptr[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' ||
                     c == '_' || c == '-';
        if (!plain) return false;
    }
    return true;
}

/* Beneath `folder`, without following any link on the way. */
static int open_beneath(int folder, const char *path, int flags)
{
    const struct open_how how = {
        .flags = (unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    int fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
    /* Older kernels and some sandboxes lack openat2; for a name without a slash the flags alone do the same. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) fd = openat(folder, path, (int)how.flags);
    return fd;
}

static int open_regular(int folder, const char *name)
{
    int fd = open_beneath(folder, name, O_RDONLY | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) return -1;
    struct stat s;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) return fd;
    close(fd);
    return -1;
}

int download_open(const char *data_dir, Str file_key)
{
    if (!download_key_is_plain(file_key)) return -1;
    char name[FILE_KEY_MAX + 1];
    memcpy(name, file_key.ptr, file_key.len);
    name[file_key.len] = 0;

    int fd = -1, folder = -1;
    int data = open(data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (data >= 0) folder = open_beneath(data, DOWNLOAD_FOLDER, O_PATH | O_DIRECTORY);
    if (folder >= 0) fd = open_regular(folder, name);
    if (folder >= 0) close(folder);
    if (data >= 0) close(data);
    return fd;
}
