/* api/shop/shop_catalogue.c - what is for sale: the catalogue, and a page per product. */
#include "api/shop/shop.h"
#include "api/tables.h"
#include "domain/cart.h"
#include "domain/catalog.h"
#include "domain/image.h"
#include "domain/settings.h"
#include "page/markdown.h"
#include "page/words.h"
#include "serve/form.h"
#include "serve/ready.h"

#define CARDS_PER_PAGE 24
#define SUMMARY_BYTES 160

static bool contains(Str text, Str word)
{
    for (size_t i = 0; i + word.len <= text.len; i++)
        if (str_eq_nocase((Str){text.ptr + i, word.len}, word)) return true;
    return false;
}

/* Every word occurs in the name or the description. */
static bool is_found(const struct product *p, Str words)
{
    while ((words = str_trim(words)).len) {
        Str word = words, rest = {0};
        str_cut(words, ' ', &word, &rest);
        if (!contains(p->name, word) && !contains(p->description, word)) return false;
        words = rest;
    }
    return true;
}

/* The first character of a name replaces a missing picture. */
static Str initial_of(Str name)
{
    size_t n = name.len ? utf8_step(name.ptr, name.len) : 0;
    return (Str){name.ptr, n};
}

static bool has_other_prices(const struct product *p)
{
    for (size_t i = 1; i < p->variant_count; i++)
        if (p->variants[i].price.minor != p->variants[0].price.minor) return true;
    return false;
}

static Money lowest_price(const struct product *p)
{
    Money lowest = p->price;
    for (size_t i = 0; i < p->variant_count; i++)
        if (money_cmp(p->variants[i].price, lowest) < 0) lowest = p->variants[i].price;
    return lowest;
}

struct catalogue_query {
    Str q;
    int64_t page;
};
static const struct field catalogue_fields[] = {
    {"q", FIELD_LINE, OPTIONAL, offsetof(struct catalogue_query, q), .max = 100},
    {"page", FIELD_INT, OPTIONAL, offsetof(struct catalogue_query, page), .min = 1, .max = 100000},
    {0},
};
static const struct shape catalogue_query = {catalogue_fields, sizeof(struct catalogue_query)};

/* People type and link addresses: a query that cannot be read is ignored. */
static struct catalogue_query read_query(struct request *req)
{
    const void *read;
    enum err e = shape_read_query(&catalogue_query, req->exchange->head.query, UNKNOWN_IGNORED, 0, req->arena, &read,
                                  &req->errors);
    struct catalogue_query q = e ? (struct catalogue_query){0} : *(const struct catalogue_query *)read;
    if (!q.page) q.page = 1;
    return q;
}

static enum err show_off(struct request *req)
{
    struct sheet s;
    sheet_begin(req, &s, (Str){0});
    page_write_closed(&s.page, &(const struct page_closed){.store = s.frame.store});
    sheet_send(req, &s);
    request_add_header(req, "Cache-Control", STR("no-store"));
    return OK;
}

static enum err get_catalogue(struct request *req)
{
    if (!req->settings->storefront) return show_off(req);
    bool found;
    enum err e = ready_answer(req, &found);
    if (e || found) return e;
    struct catalogue_query q = read_query(req);
    struct product *products;
    size_t count, fitting = 0, n = 0;
    e = catalog_list(req->db, &products, &count);
    if (e) return e;
    struct image *images;
    size_t image_count;
    e = image_list_first(req->db, &images, &image_count);
    if (e) return e;
    struct page_card *cards = arena_array(req->arena, struct page_card, CARDS_PER_PAGE);
    size_t from = (size_t)(q.page - 1) * CARDS_PER_PAGE;
    for (size_t i = 0; i < count; i++) {
        const struct product *p = &products[i];
        if (!is_found(p, q.q)) continue;
        if (fitting++ < from || n == CARDS_PER_PAGE) continue;
        cards[n++] = (struct page_card){.slug = p->slug,
                                        .name = p->name,
                                        .summary = markdown_summary(req->arena, p->description, SUMMARY_BYTES),
                                        .price = lowest_price(p),
                                        .is_from = has_other_prices(p),
                                        .in_stock = p->in_stock,
                                        .initial = initial_of(p->name)};
        for (size_t k = 0; k < image_count; k++)
            if (id_eq(images[k].product_id, p->id))
                cards[n - 1].picture = images[k].url, cards[n - 1].alt = images[k].alt;
    }
    int64_t pages = (int64_t)((fitting + CARDS_PER_PAGE - 1) / CARDS_PER_PAGE);
    if (!pages) pages = 1;
    if (q.page > pages) return ERR_NOT_FOUND;

    struct sheet s;
    Str welcome = {0};
    e = settings_get(req->db, "welcome", &welcome);
    if (e) return e;
    sheet_begin(req, &s, (Str){0});
    s.frame.is_hidden = q.q.len > 0;
    s.frame.search = q.q;
    s.frame.description = s.frame.tagline;
    if (!q.q.len)
        s.frame.canonical =
            sheet_address(req, q.page > 1 ? str_printf(req->arena, "/?page=%lld", (long long)q.page) : STR("/"));
    page_write_catalogue(&s.page, &(const struct page_catalogue){.frame = s.frame,
                                                                 .cards = {cards, n},
                                                                 .words = q.q,
                                                                 .welcome = markdown_render(req->arena, welcome),
                                                                 .page = q.page,
                                                                 .page_count = pages,
                                                                 .previous = q.page - 1,
                                                                 .next = q.page < pages ? q.page + 1 : 0});
    return ready_send(req, &s);
}

static enum word kind_word(enum delivery_type type)
{
    switch (type) {
    case DELIVERY_LICENSE_KEY: return WORD_kind_license_key;
    case DELIVERY_SERIAL_CODE: return WORD_kind_serial_code;
    case DELIVERY_DOWNLOAD_URL: return WORD_kind_download_url;
    }
    return WORD_NONE;
}

static struct page_option_list options_of(struct request *req, const struct product *p, Str chosen)
{
    struct page_option *options = arena_array(req->arena, struct page_option, p->variant_count);
    for (size_t i = 0; i < p->variant_count; i++) {
        const struct variant *v = &p->variants[i];
        int64_t id = 0;
        bool is_chosen = chosen.len ? str_to_int64(chosen, &id) && id == v->id.v : v->is_default && v->in_stock;
        options[i] = (struct page_option){.id = v->id.v,
                                          .name = v->name,
                                          .price = v->price,
                                          .is_chosen = is_chosen,
                                          .in_stock = v->in_stock,
                                          .is_last = i + 1 == p->variant_count};
    }
    return (struct page_option_list){options, p->variant_count};
}

enum err shop_show_product(struct request *req, Str slug, const struct trouble *t)
{
    struct product p;
    struct sheet s;
    struct image *images;
    size_t image_count;
    enum err e = catalog_find_slug(req->db, slug, &p);
    if (!e) e = image_list(req->db, p.id, &images, &image_count);
    if (e) return e;
    struct page_picture *pictures = arena_array(req->arena, struct page_picture, image_count);
    for (size_t i = 0; i < image_count; i++)
        pictures[i] = (struct page_picture){.url = images[i].url, .alt = images[i].alt};
    sheet_begin(req, &s, p.name);
    Str path = str_printf(req->arena, "/p/%.*s", STR_FMT(p.slug)),
        quantity = t->e ? form_field(req, "quantity") : STR("1");
    s.frame.is_hidden = false;
    s.frame.description = markdown_summary(req->arena, p.description, SUMMARY_BYTES);
    s.frame.canonical = sheet_address(req, path);
    if (image_count) s.frame.picture = sheet_address(req, images[0].url);
    page_write_product(&s.page, &(const struct page_product){
                                    .frame = s.frame,
                                    .id = p.id.v,
                                    .slug = p.slug,
                                    .name = p.name,
                                    .summary = s.frame.description,
                                    .body = markdown_render(req->arena, p.description),
                                    .kind = kind_word(p.delivery_type),
                                    .price = p.price,
                                    .currency = s.page.currency,
                                    .initial = initial_of(p.name),
                                    .pictures = {pictures, image_count},
                                    .in_stock = p.in_stock,
                                    .options = options_of(req, &p, t->e ? form_field(req, "variant_id") : (Str){0}),
                                    .quantity = quantity,
                                    .variant_problem = trouble_field(&s, t, "variant_id"),
                                    .quantity_problem = trouble_field(&s, t, "quantity"),
                                    .problem = trouble_text(&s, t),
                                });
    if (!t->e) return ready_send(req, &s);
    sheet_send(req, &s);
    return OK;
}

static enum err get_product(struct request *req)
{
    bool found;
    enum err e = ready_answer(req, &found);
    if (e || found) return e;
    return shop_show_product(req, req->params[0], &(struct trouble){0});
}

#define READY_PAGE (PUBLIC_CACHE | READY | GROUPED)

const struct route shop_catalogue_routes[] = {
    {"GET", "/", SCOPE_NONE, TX_READ, NULL, get_catalogue, SHOP_PAGE | STAYS | READY_PAGE, .limit = LIMIT_NONE},
    {"GET", "/p/{slug}", SCOPE_NONE, TX_READ, NULL, get_product, SHOP_PAGE | READY_PAGE, .limit = LIMIT_NONE},
    {0},
};
