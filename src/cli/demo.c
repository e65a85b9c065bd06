/* cli/demo.c - `souk demo`: fills an empty database with a store to look around in: a catalogue, coupons, staff, and
 * two customers with a history of two months. Everything goes through the functions that the server uses, in one
 * transaction, so the result keeps every rule that `souk check` knows. Passwords and tokens are new each time and are
 * printed once. */
#include "cli/demo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/random.h"
#include "cli/demo_content.h"
#include "cli/demo_picture.h"
#include "domain/cart.h"
#include "domain/department.h"
#include "domain/download_link.h"
#include "domain/gateway_config.h"
#include "domain/image.h"
#include "domain/ledger.h"
#include "domain/license.h"
#include "domain/order.h"
#include "domain/own_page.h"
#include "domain/password.h"
#include "domain/product.h"
#include "domain/serial.h"
#include "domain/settings.h"
#include "domain/ticket.h"
#include "domain/token.h"
#include "domain/withdrawal.h"

#define PASSWORD_CHARS 16

struct person {
    const char *email, *name;
    enum role role;
    Str password, hash, token;
    Id id, token_id;
};

enum { OWNER, SUPPORT, ADA, THEO, PEOPLE };

/* Errors are sticky: after one, every step does nothing. */
struct demo {
    struct db *db;
    struct arena *arena;
    enum err err;
    Time now;
    struct person people[PEOPLE];
    Id departments[8];
};

static Time days_ago(const struct demo *d, int days, int hour)
{
    return time_add(d->now, -days * TIME_DAY + hour * TIME_HOUR);
}

/* ---- the catalogue ---- */

/* A made-up code, determined by its prefix and number. */
static Str code_text(struct arena *a, const char *prefix, unsigned number)
{
    static const char digits[] = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
    uint64_t z = number * UINT64_C(0x9e3779b97f4a7c15);
    for (const char *p = prefix; *p; p++) z = (z ^ (unsigned char)*p) * UINT64_C(0xbf58476d1ce4e5b9);
    z ^= z >> 29;
    char text[10];
    for (size_t i = 0; i < sizeof text; i++, z >>= 5) text[i] = digits[z & 31];
    return str_printf(a, "%s-%.5s-%.5s", prefix, text, text + 5);
}

static void add_codes(struct demo *d, Id product, Id variant, const char *prefix, unsigned first, int count)
{
    if (!count) return;
    Str *codes = arena_array(d->arena, Str, (size_t)count);
    for (int i = 0; i < count; i++) codes[i] = code_text(d->arena, prefix, first + (unsigned)i);
    int64_t added, duplicates;
    d->err = serial_import(d->db, product, variant, codes, (size_t)count, &added, &duplicates);
}

static void add_picture(struct demo *d, const struct product *p)
{
    Str alt = {0}, bytes = demo_picture_draw(d->arena, p->slug, &alt);
    struct image image;
    if (!d->err && bytes.len) d->err = image_add(d->db, p->id, bytes, alt, &image);
}

static void add_product(struct demo *d, const struct demo_product *in, int64_t position, Time at)
{
    if (d->err) return;
    struct product p = {
        .slug = str_from(in->slug),
        .name = str_from(in->name),
        .description = str_from(in->description),
        .own_price = {in->price},
        .delivery_type = in->type,
        .is_active = !in->is_draft,
        .position = position,
        .license_days = in->license_days,
        .key_prefix = str_from(in->key_prefix),
        .download_limit = in->download_limit,
        .download_days = in->download_days,
    };
    d->err = product_create(d->db, &p, at, &p);
    if (d->err) return;
    add_codes(d, p.id, (Id){0}, in->code_prefix, 1, in->codes);
    for (unsigned i = 0; i < 4 && in->variants[i].name && !d->err; i++) {
        const struct demo_variant *v = &in->variants[i];
        struct variant made = {.name = str_from(v->name),
                               .price = {v->price},
                               .is_default = i == 0,
                               .is_active = true,
                               .license_days = v->license_days};
        d->err = variant_create(d->db, p.id, &made, at, &made);
        if (!d->err) add_codes(d, p.id, made.id, in->code_prefix, 1000 * (i + 1), v->codes);
    }
    add_picture(d, &p);
    if (!d->err && in->file_name)
        d->err = product_set_file(d->db, p.id, str_from(in->file_name), str_from(in->file_name),
                                  (int64_t)strlen(in->file_text), at, &p);
}

static Time from_now(const struct demo *d, int64_t days)
{
    return days ? time_add(d->now, days * TIME_DAY) : (Time){0};
}

static void add_coupon(struct demo *d, const struct demo_coupon *in, Time at)
{
    if (d->err) return;
    Id products[3];
    size_t count = 0;
    for (size_t i = 0; i < 3 && in->products[i] && !d->err; i++) {
        struct product p;
        d->err = product_find_slug(d->db, str_from(in->products[i]), &p);
        if (!d->err) products[count++] = p.id;
    }
    if (d->err) return;
    struct coupon c = {
        .code = str_from(in->code),
        .kind = in->kind,
        .value = in->value,
        .min_total = {in->min_total},
        .starts_at = from_now(d, in->starts_days),
        .expires_at = from_now(d, in->expires_days),
        .max_uses = in->max_uses,
        .max_uses_per_customer = in->max_uses_per_customer,
        .is_active = true,
    };
    d->err = coupon_create(d->db, &c, products, count, at, &c);
}

static void add_catalogue(struct demo *d)
{
    Time at = days_ago(d, 60, 0);
    for (int64_t i = 0; demo_products[i].slug; i++) add_product(d, &demo_products[i], (i + 1) * 10, at);
    for (size_t i = 0; demo_coupons[i].code; i++) add_coupon(d, &demo_coupons[i], at);
    for (size_t i = 0; demo_departments[i] && !d->err; i++) {
        struct department made;
        d->err = department_create(d->db, str_from(demo_departments[i]), true, &made);
        if (!d->err) d->departments[i] = made.id;
    }
}

/* ---- the people and what they did ---- */

static void add_person(struct demo *d, int who, Time at)
{
    if (d->err) return;
    struct person *p = &d->people[who];
    struct account want = {
        .email = str_from(p->email), .name = str_from(p->name), .password_hash = p->hash, .role = p->role};
    struct account made;
    d->err = account_create(d->db, &want, at, &made);
    if (d->err) return;
    p->id = made.id;
    struct token token = {
        .account = made.id, .kind = TOKEN_API, .name = STR("demo"), .scopes = scopes_of_role(p->role)};
    d->err = token_create(d->db, &token, at, &token, &p->token);
    p->token_id = token.id;
}

static void credit(struct demo *d, int who, int64_t minor, const char *description, Time at)
{
    if (d->err) return;
    const struct transfer t = {
        .kind = LEDGER_ADJUSTMENT, .amount = {minor}, .description = str_from(description), .at = at};
    d->err = ledger_credit(d->db, d->people[who].id, LEDGER_ADJUSTMENTS, &t);
}

struct purchase {
    const char *slug, *variant; /* variant NULL: none, or the default */
    int64_t quantity;
};

/* Fills the draft's lines and coupon; products are named by slug. */
static void draft(struct demo *d, int who, const struct purchase *what, size_t count, const char *coupon,
                  enum order_channel channel, struct order_draft *ret)
{
    if (d->err) return;
    struct order_line *lines = arena_array(d->arena, struct order_line, count);
    for (size_t i = 0; i < count && !d->err; i++) {
        struct product p;
        d->err = product_find_slug(d->db, str_from(what[i].slug), &p);
        Id variant = {0};
        for (size_t v = 0; !d->err && what[i].variant && v < p.variant_count; v++)
            if (str_eq(p.variants[v].name, str_from(what[i].variant))) variant = p.variants[v].id;
        if (!d->err) d->err = catalog_offer(d->db, p.id, variant, VARIANT_DEFAULT, &lines[i].offer);
        lines[i].unit_price = lines[i].offer.price;
        lines[i].quantity = what[i].quantity;
    }
    struct coupon *found = coupon ? arena_new(d->arena, struct coupon) : NULL;
    if (found && !d->err) d->err = coupon_find_code(d->db, str_from(coupon), found);
    *ret = (struct order_draft){
        .account = d->people[who].id, .channel = channel, .lines = lines, .line_count = count, .coupon = found};
}

static Id buy(struct demo *d, int who, struct purchase what, const char *coupon, Time at)
{
    struct order_draft plan = {0};
    struct order order = {0};
    struct order_shortfall shortfall;
    draft(d, who, &what, 1, coupon, CHANNEL_API, &plan);
    if (!d->err) d->err = order_place(d->db, &plan, at, &order, &shortfall);
    return order.id;
}

/* From a cart, paid on a gateway's page, which the demo does not have: confirmed by hand, or left waiting. */
static void check_out(struct demo *d, int who, const struct purchase *what, size_t count, const char *coupon, Time at,
                      bool is_paid)
{
    struct order_draft plan = {0};
    struct order order = {0};
    bool changed;
    draft(d, who, what, count, coupon, CHANNEL_CART, &plan);
    if (!d->err) d->err = order_create(d->db, &plan, at, &order);
    if (!d->err && is_paid)
        d->err = order_confirm(d->db, order.id, STR(PAID_BY_HAND), time_add(at, 4 * TIME_MINUTE), &changed);
}

static Id open_ticket(struct demo *d, int who, int department, const char *subject, const char *message, Time at)
{
    struct ticket t = {0};
    struct ticket_unknown unknown;
    struct ticket want = {
        .account = d->people[who].id, .department_id = d->departments[department], .subject = str_from(subject)};
    if (!d->err) d->err = ticket_create(d->db, &want, str_from(message), at, &t, &unknown);
    return t.id;
}

static void answer_ticket(struct demo *d, Id ticket, const char *message, Time at)
{
    struct ticket_message m;
    if (!d->err) d->err = ticket_reply_staff(d->db, ticket, d->people[SUPPORT].id, str_from(message), at, &m);
}

static void reply_ticket(struct demo *d, int who, Id ticket, const char *message, Time at)
{
    struct ticket_message m;
    if (!d->err) d->err = ticket_reply(d->db, ticket, d->people[who].id, str_from(message), at, &m);
}

static Id withdraw(struct demo *d, int who, int64_t minor, Time at)
{
    struct withdrawal w = {0};
    if (!d->err)
        d->err =
            withdrawal_request(d->db, d->people[who].id, (Money){minor}, STR("DE02 1203 0000 0000 2020 51"), at, &w);
    return w.id;
}

/* The customer's newest licence of the product is used on a machine. */
static void bind_license(struct demo *d, int who, const char *hardware, Time at)
{
    struct license *list;
    size_t count;
    struct license_verdict verdict;
    if (!d->err) d->err = license_list(d->db, d->people[who].id, (Id){0}, 1, &list, &count);
    if (!d->err && count)
        d->err = license_verify(d->db, list[0].key, list[0].product_id, str_from(hardware), at, &verdict);
}

static void fill_cart(struct demo *d, int who, const char *slug, int64_t quantity, const char *coupon)
{
    struct product p;
    struct cart cart;
    const struct person *owner = &d->people[who];
    if (!d->err) d->err = product_find_slug(d->db, str_from(slug), &p);
    if (d->err) return;
    Id variant = p.variant_count ? p.variants[0].id : (Id){0};
    d->err = cart_add(d->db, owner->token_id, owner->id, p.id, variant, quantity, d->now, &cart);
    if (!d->err && coupon)
        d->err = cart_apply_coupon(d->db, owner->token_id, owner->id, str_from(coupon), d->now, &cart);
}

/* In order of time, so that ids grow with it as in a real store. */
static void live_through(struct demo *d)
{
    struct withdrawal decided;
    struct ticket closed;
    Money refunded;

    credit(d, ADA, 60000, "Bank transfer 2231", days_ago(d, 55, 1));
    buy(d, ADA, (struct purchase){"lumen-photo-editor", "Studio, 5 devices", 1}, "WELCOME10", days_ago(d, 55, 2));
    bind_license(d, ADA, "ADA-WORKSTATION-41C7", days_ago(d, 55, 3));
    credit(d, THEO, 15000, "Bank transfer 2258", days_ago(d, 48, 0));
    buy(d, THEO, (struct purchase){"cadence-notation", "Yearly", 1}, NULL, days_ago(d, 48, 1));
    Id looks = open_ticket(d, ADA, 1, "Film looks do not show up",
                           "I copied my presets to the new computer, but the film looks are missing there.\n\nLumen "
                           "3.2 on Debian.",
                           days_ago(d, 41, 2));
    answer_ticket(d, looks,
                  "They are in ~/.local/share/lumen/looks and do not travel with the presets.\n\nCopy that folder and "
                  "start Lumen once with --rescan. Does that bring them back?",
                  days_ago(d, 41, 5));
    reply_ticket(d, ADA, looks, "It does. Thank you!", days_ago(d, 40, 1));
    buy(d, ADA, (struct purchase){"orbitfall", NULL, 2}, NULL, days_ago(d, 36, 4));
    Id wrong = buy(d, THEO, (struct purchase){"hollow-pines", "Standard", 1}, NULL, days_ago(d, 30, 3));
    Id refund = open_ticket(d, THEO, 2, "Bought the wrong edition",
                            "I wanted Hollow Pines Deluxe and took Standard. I have not redeemed the code.",
                            days_ago(d, 30, 4));
    if (!d->err) d->err = order_refund(d->db, wrong, (Money){1999}, days_ago(d, 29, 1), &refunded);
    answer_ticket(d, refund, "No harm done: the money is back in your wallet, and the code is closed.",
                  days_ago(d, 29, 1));
    buy(d, THEO, (struct purchase){"hollow-pines", "Deluxe", 1}, "WELCOME10", days_ago(d, 29, 2));
    if (!d->err) d->err = ticket_close(d->db, refund, d->people[THEO].id, days_ago(d, 28, 1), &closed);
    const struct purchase basket[] = {{"the-quiet-inbox", NULL, 1}, {"outline-icons", NULL, 1}};
    check_out(d, ADA, basket, 2, "FRIENDS", days_ago(d, 22, 6), true);
    Id first = withdraw(d, ADA, 2000, days_ago(d, 20, 0));
    if (!d->err)
        d->err = withdrawal_approve(d->db, first, d->people[OWNER].id, (Money){0}, days_ago(d, 19, 2), &decided);
    Id second = withdraw(d, THEO, 1500, days_ago(d, 16, 0));
    if (!d->err)
        d->err = withdrawal_reject(d->db, second, d->people[OWNER].id, STR("The account's name does not match"),
                                   days_ago(d, 15, 3), &decided);
    if (!d->err) d->err = wallet_set_credit_limit(d->db, d->people[THEO].id, (Money){10000});
    buy(d, THEO, (struct purchase){"strongroom", "Family of six, a year", 1}, NULL, days_ago(d, 12, 2));
    bind_license(d, THEO, "THEO-LAPTOP-9F02", days_ago(d, 12, 3));
    buy(d, ADA, (struct purchase){"kinema-gift-card", "25", 1}, NULL, days_ago(d, 9, 5));
    open_ticket(d, THEO, 0, "Volume licence for a music school",
                "We would like Cadence Notation for 24 computers in two classrooms. Is there a school price?",
                days_ago(d, 3, 2));
    const struct purchase waiting[] = {{"harbor-backup", "10 machines, a year", 1}};
    check_out(d, THEO, waiting, 1, "STUDIO25", days_ago(d, 1, 0), false);
    withdraw(d, ADA, 1000, days_ago(d, 1, 2));
    fill_cart(d, ADA, "quill-writer", 1, NULL);
    fill_cart(d, ADA, "lumen-film-looks", 1, "LUMEN5");
}

static enum err check_empty(void *arg, struct db *db)
{
    (void)arg;
    static const char find[] = "SELECT 1 FROM account UNION ALL SELECT 1 FROM product UNION ALL SELECT 1 FROM coupon"
                               " UNION ALL SELECT 1 FROM department LIMIT 1";
    struct stmt *st = db_prepare(db, find);
    bool found = db_step(st);
    enum err e = db_done(st);
    return e ? e : found ? ERR_CONFLICT : OK;
}

/* A way to pay without an account anywhere. */
static void switch_sandbox_on(struct demo *d)
{
    struct gateway_config sandbox;
    if (!d->err) d->err = gateway_config_find(d->db, STR("sandbox"), &sandbox);
    if (d->err) return;
    sandbox.is_enabled = true;
    gateway_config_fill_sandbox(d->arena, &sandbox);
    d->err = gateway_config_save(d->db, &sandbox, d->now, &sandbox);
}

/* What the shop's pages say beside the products. */
static void dress_shop(struct demo *d)
{
    if (!d->err) d->err = settings_set(d->db, "languages", STR("en,de,fr,es"));
    if (!d->err) d->err = settings_set(d->db, "tagline", STR("Tools that keep out of your way"));
    for (size_t i = 0; demo_pages[i].slug && !d->err; i++) {
        struct own_page made, p = {.slug = str_from(demo_pages[i].slug),
                                   .title = str_from(demo_pages[i].title),
                                   .body = str_from(demo_pages[i].body),
                                   .in_footer = true};
        d->err = own_page_create(d->db, &p, d->now, &made);
    }
}

static enum err fill(void *arg, struct db *db)
{
    struct demo *d = arg;
    d->db = db;
    d->err = check_empty(NULL, db);
    if (d->err) return d->err;
    d->err = settings_set(db, "store_name", STR(DEMO_STORE_NAME));
    dress_shop(d);
    add_catalogue(d);
    for (int i = 0; i < PEOPLE; i++) add_person(d, i, days_ago(d, 60 - i, 0));
    live_through(d);
    switch_sandbox_on(d);
    return d->err;
}

/* ---- around the transaction ---- */

/* The files behind the downloads. False after saying why. */
static bool write_files(const char *data_dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" DOWNLOAD_FOLDER, data_dir);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        cli_fail("cannot make %s: %s", path, strerror(errno));
        return false;
    }
    for (const struct demo_product *p = demo_products; p->slug; p++) {
        if (!p->file_name) continue;
        snprintf(path, sizeof path, "%s/" DOWNLOAD_FOLDER "/%s", data_dir, p->file_name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        size_t bytes = strlen(p->file_text);
        bool written = fd >= 0 && write(fd, p->file_text, bytes) == (ssize_t)bytes;
        if (fd >= 0 && close(fd) != 0) written = false;
        if (!written) {
            cli_fail("cannot write %s: %s", path, strerror(errno));
            return false;
        }
    }
    return true;
}

static int not_empty(const struct config *config)
{
    if (strncmp(config->db, "postgres", 8) == 0)
        return cli_fail("this database is not empty: make a new one for the demo (DROP DATABASE, CREATE DATABASE)");
    return cli_fail("%s is not empty: choose another --db, or delete this one: rm -r '%s'*", config->db, config->db);
}

static void say_who(const struct demo *d)
{
    printf("store\t%s\n", DEMO_STORE_NAME);
    for (int i = 0; i < PEOPLE; i++) {
        const struct person *p = &d->people[i];
        printf("%s\t%s\tpassword %.*s\ttoken %.*s\n", role_names[p->role], p->email, STR_FMT(p->password),
               STR_FMT(p->token));
    }
}

int demo_command(const struct config *config, struct arena *a)
{
    struct demo d = {
        .arena = a,
        .now = time_now(),
        .people = {[OWNER] = {"owner@northlight.example", "Mira Okafor", ROLE_OWNER},
                   [SUPPORT] = {"support@northlight.example", "Jonas Weber", ROLE_STAFF},
                   [ADA] = {"ada.wren@example.com", "Ada Wren", ROLE_CUSTOMER},
                   [THEO] = {"theo.lindqvist@example.com", "Théo Lindqvist", ROLE_CUSTOMER}},
    };
    struct database *db = cli_open(config, OPEN_NEW);
    if (!db) return EXIT_FAILED;
    int result = EXIT_FAILED;
    enum err e = tx_call(db, TX_READ, check_empty, NULL, a);
    for (int i = 0; i < PEOPLE && !e; i++) {
        struct person *p = &d.people[i];
        char *password = arena_alloc(a, PASSWORD_CHARS);
        random_base62(password, PASSWORD_CHARS);
        p->password = (Str){password, PASSWORD_CHARS};
        p->hash = password_hash(a, p->password);
    }
    bool has_files = !e && write_files(cli_data_dir(config));
    if (has_files) e = tx_call(db, TX_WRITE, fill, &d, a);
    if (e == ERR_CONFLICT) {
        result = not_empty(config);
    } else if (e) {
        result = cli_fail("%s", err_info(e)->message);
    } else if (has_files) {
        say_who(&d);
        fprintf(stderr, "souk: the demo store is ready. Serve it with: souk serve --db '%s'\n", config->db);
        result = EXIT_OK;
    }
    database_close(db);
    return result;
}
