/* domain/image.c - see image.h. */
#include "domain/image.h"

#include <sodium.h>
#include <stdlib.h>

#include "domain/settings.h"

#define HASH_BYTES 16

static const struct {
    const char *type, *content_type;
} types[] = {{"png", "image/png"}, {"jpg", "image/jpeg"}, {"webp", "image/webp"}, {"avif", "image/avif"}};

static bool has_at(Str bytes, size_t at, Str what)
{
    return bytes.len >= at + what.len && memcmp(bytes.ptr + at, what.ptr, what.len) == 0;
}

const char *image_type(Str bytes)
{
    if (has_at(bytes, 0, STR("\x89PNG\r\n\x1a\n"))) return "png";
    if (has_at(bytes, 0, STR("\xff\xd8\xff"))) return "jpg";
    if (has_at(bytes, 0, STR("RIFF")) && has_at(bytes, 8, STR("WEBP"))) return "webp";
    if (has_at(bytes, 4, STR("ftypavif"))) return "avif";
    return NULL;
}

#define COLUMNS                                                                                                        \
    "SELECT i.id, i.product_id, i.hash, m.type, i.alt, i.position FROM image i JOIN media m ON m.hash = i.hash"

#define MEDIA "/media/"

static Str media_path(struct db *db, Str hash, Str type)
{
    Str hex = hex_encode(db_arena(db), hash.ptr, hash.len);
    return str_printf(db_arena(db), MEDIA "%.*s.%.*s", STR_FMT(hex), STR_FMT(type));
}

static struct image read_row(struct db *db, struct stmt *st)
{
    struct image i;
    i.id = col_id(st);
    i.product_id = col_id(st);
    Str hash = col_blob(st), type = col_text(st);
    i.url = media_path(db, hash, type);
    i.alt = col_text(st);
    i.position = col_int(st);
    return i;
}

static Str hash_of(struct arena *a, Str bytes)
{
    uint8_t *digest = arena_alloc(a, HASH_BYTES);
    crypto_generichash(digest, HASH_BYTES, (const uint8_t *)bytes.ptr, bytes.len, NULL, 0);
    return (Str){(const char *)digest, HASH_BYTES};
}

static enum err keep_media(struct db *db, Str hash, const char *type, Str bytes)
{
    static const char insert[] =
        "INSERT INTO media (hash, type, data) VALUES ($1, $2, $3) ON CONFLICT (hash) DO NOTHING";
    struct stmt *st = db_prepare(db, insert);
    bind_blob(st, hash);
    bind_text(st, str_from(type));
    bind_blob(st, bytes);
    return db_run(st);
}

/* The position for the next image, with the product's row locked so that nobody else counts at the same time. */
static enum err next_position(struct db *db, Id product, int64_t *ret)
{
    static const char hold[] = "UPDATE product SET version = version WHERE id = $1 RETURNING id";
    static const char count[] =
        "SELECT COUNT(*), CAST(COALESCE(MAX(position), 0) AS BIGINT) FROM image WHERE product_id = $1";
    struct stmt *st = db_prepare(db, hold);
    bind_id(st, product);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    st = db_prepare(db, count);
    bind_id(st, product);
    db_step(st);
    int64_t n = col_int(st), last = col_int(st);
    e = db_done(st);
    if (e) return e;
    if (n >= IMAGES_MAX) return ERR_FIELD_TOO_MANY;
    *ret = last + 1;
    return OK;
}

enum err image_add(struct db *db, Id product, Str bytes, Str alt, struct image *ret)
{
    static const char insert[] =
        "INSERT INTO image (product_id, hash, alt, position) VALUES ($1, $2, $3, $4) RETURNING id";
    const char *type = image_type(bytes);
    if (!type) return ERR_FIELD_FORMAT;
    Str hash = hash_of(db_arena(db), bytes);
    int64_t position;
    enum err e = next_position(db, product, &position);
    if (!e) e = keep_media(db, hash, type, bytes);
    if (e) return e;
    struct stmt *st = db_prepare(db, insert);
    bind_id(st, product);
    bind_blob(st, hash);
    bind_text(st, alt);
    bind_int(st, position);
    Id id = db_step(st) ? col_id(st) : (Id){0};
    e = db_done(st);
    if (!e) e = catalog_touch(db);
    return e ? e : image_find(db, id, ret);
}

enum err image_find(struct db *db, Id id, struct image *ret)
{
    static const char find[] = COLUMNS " WHERE i.id = $1";
    struct image i = {0};
    struct stmt *st = db_prepare(db, find);
    bind_id(st, id);
    bool found = db_step(st);
    if (found) i = read_row(db, st);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    *ret = i;
    return OK;
}

enum err image_list(struct db *db, Id product, struct image **ret, size_t *ret_count)
{
    static const char list[] = COLUMNS " WHERE i.product_id = $1 ORDER BY i.position, i.id";
    struct image *images = arena_array(db_arena(db), struct image, IMAGES_MAX);
    size_t n = 0;
    struct stmt *st = db_prepare(db, list);
    bind_id(st, product);
    while (n < IMAGES_MAX && db_step(st)) images[n++] = read_row(db, st);
    enum err e = db_done(st);
    if (e) return e;
    *ret = images;
    *ret_count = n;
    return OK;
}

static int by_id(const void *a, const void *b)
{
    int64_t x = (*(struct product *const *)a)->id.v, y = (*(struct product *const *)b)->id.v;
    return (x > y) - (x < y);
}

/* Few products are asked for one by one, a whole catalogue at once. */
#define ATTACH_SINGLY_MAX 100

static enum err attach_singly(struct db *db, struct product *products, size_t count)
{
    enum err e = OK;
    for (size_t i = 0; !e && i < count; i++)
        e = image_list(db, products[i].id, &products[i].images, &products[i].image_count);
    return e;
}

enum err image_attach(struct db *db, struct product *products, size_t count)
{
    static const char list[] = COLUMNS " ORDER BY i.product_id, i.position, i.id";
    if (count <= ATTACH_SINGLY_MAX) return attach_singly(db, products, count);
    struct product **sorted = arena_array(db_arena(db), struct product *, count);
    for (size_t i = 0; i < count; i++) sorted[i] = &products[i];
    qsort(sorted, count, sizeof *sorted, by_id);
    size_t at = 0;
    struct stmt *st = db_prepare(db, list);
    while (db_step(st)) {
        struct image i = read_row(db, st);
        while (at < count && sorted[at]->id.v < i.product_id.v) at++;
        if (at == count || !id_eq(sorted[at]->id, i.product_id)) continue;
        struct product *p = sorted[at];
        if (!p->images) p->images = arena_array(db_arena(db), struct image, IMAGES_MAX);
        if (p->image_count < IMAGES_MAX) p->images[p->image_count++] = i;
    }
    return db_done(st);
}

enum err image_list_first(struct db *db, struct image **ret, size_t *ret_count)
{
    static const char list[] = COLUMNS " ORDER BY i.product_id, i.position, i.id";
    struct image *images = NULL;
    size_t n = 0, cap = 0;
    struct stmt *st = db_prepare(db, list);
    while (db_step(st)) {
        struct image i = read_row(db, st);
        if (n && id_eq(images[n - 1].product_id, i.product_id)) continue;
        if (n == cap) {
            images = arena_grow(db_arena(db), images, cap * sizeof *images, (cap + 64) * sizeof *images);
            cap += 64;
        }
        images[n++] = i;
    }
    enum err e = db_done(st);
    if (e) return e;
    *ret = images;
    *ret_count = n;
    return OK;
}

enum err image_update(struct db *db, const struct image *image)
{
    static const char update[] = "UPDATE image SET alt = $2, position = $3 WHERE id = $1 RETURNING id";
    struct stmt *st = db_prepare(db, update);
    bind_id(st, image->id);
    bind_text(st, image->alt);
    bind_int(st, image->position);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    return found ? catalog_touch(db) : ERR_NOT_FOUND;
}

/* Forgets bytes that nothing shows any more. */
static enum err sweep_media(struct db *db)
{
    static const char sweep[] = "DELETE FROM media WHERE hash NOT IN (SELECT hash FROM image) AND hash <> $1";
    uint8_t logo[HASH_BYTES] = {0};
    Str path, hex, rest;
    enum err e = settings_get(db, "logo", &path);
    if (e) return e;
    Str name = path.len > strlen(MEDIA) ? (Str){path.ptr + strlen(MEDIA), path.len - strlen(MEDIA)} : path;
    if (path.len && str_cut(name, '.', &hex, &rest)) hex_decode(hex, logo, sizeof logo);
    struct stmt *st = db_prepare(db, sweep);
    bind_blob(st, (Str){(const char *)logo, sizeof logo});
    return db_run(st);
}

enum err logo_set(struct db *db, Str bytes)
{
    Str path = {0};
    if (bytes.len) {
        const char *type = image_type(bytes);
        if (!type) return ERR_FIELD_FORMAT;
        Str hash = hash_of(db_arena(db), bytes);
        enum err e = keep_media(db, hash, type, bytes);
        if (e) return e;
        path = media_path(db, hash, str_from(type));
    }
    enum err e = settings_set(db, "logo", path);
    return e ? e : sweep_media(db);
}

enum err image_delete(struct db *db, Id id)
{
    static const char drop[] = "DELETE FROM image WHERE id = $1 RETURNING id";
    struct stmt *st = db_prepare(db, drop);
    bind_id(st, id);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (e) return e;
    if (!found) return ERR_NOT_FOUND;
    e = sweep_media(db);
    return e ? e : catalog_touch(db);
}

enum err media_find(struct db *db, Str name, const char **ret_content_type, Str *ret)
{
    static const char find[] = "SELECT data FROM media WHERE hash = $1 AND type = $2";
    uint8_t hash[HASH_BYTES];
    Str hex, type, data = {0};
    if (!str_cut(name, '.', &hex, &type) || !hex_decode(hex, hash, sizeof hash)) return ERR_NOT_FOUND;
    struct stmt *st = db_prepare(db, find);
    bind_blob(st, (Str){(const char *)hash, sizeof hash});
    bind_text(st, type);
    bool found = db_step(st);
    if (found) data = col_blob(st);
    enum err e = db_done(st);
    if (e) return e;
    for (size_t i = 0; found && i < sizeof types / sizeof *types; i++) {
        if (!str_eq(type, str_from(types[i].type))) continue;
        *ret_content_type = types[i].content_type;
        *ret = data;
        return OK;
    }
    return ERR_NOT_FOUND;
}
