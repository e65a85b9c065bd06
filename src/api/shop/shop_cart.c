/* api/shop/shop_cart.c - the cart of a browser, or of the customer who is logged in. Each form leads back to the cart.
 */
#include "api/cart_body.h"
#include "api/shop/shop.h"
#include "api/tables.h"
#include "domain/product.h"
#include "page/words.h"
#include "serve/form.h"
#include "serve/visit.h"

struct add_form {
    struct cart_line_body line; /* first */
    int then;
};
static const char *const then_words[] = {"cart", "checkout", NULL};

static const struct field add_fields[] = {
    CART_LINE_FIELDS(1),
    {"then", FIELD_CHOICE, OPTIONAL, offsetof(struct add_form, then), .choices = then_words},
    {0},
};
static const struct shape add_form = {add_fields, sizeof(struct add_form)};

enum err shop_show_cart(struct request *req, const struct trouble *t)
{
    struct cart cart = {0};
    struct sheet s;
    enum err e = req->session ? cart_read(req->db, req->token_id, req->account, req->now, &cart) : OK;
    if (e) return e;
    sheet_begin(req, &s, (Str){0});
    s.frame.title = words_text(s.page.lang, WORD_your_cart);
    bool is_coupon = str_eq(req->exchange->head.path, STR("/cart/coupon"));
    page_write_cart(&s.page, &(const struct page_cart){
                                 .frame = s.frame,
                                 .lines = shop_lines(req, &cart),
                                 .subtotal = cart.subtotal,
                                 .discount = cart.discount,
                                 .total = cart.total,
                                 .coupon = cart.has_coupon ? cart.coupon.code : (Str){0},
                                 .code = t->e && is_coupon ? form_field(req, "code") : (Str){0},
                                 .code_problem = is_coupon ? trouble_text(&s, t) : (Str){0},
                                 .problem = is_coupon ? (Str){0} : trouble_text(&s, t),
                             });
    sheet_send(req, &s);
    return OK;
}

static enum err show_step(struct request *req, struct trouble *t)
{
    enum err e = shop_show_cart(req, t);
    req->status = err_info(t->e)->status;
    return e;
}
REQUEST_STEP(show_step);

static enum err show_again(struct request *req, enum err e)
{
    if (!shop_can_show(e)) return e;
    struct trouble t = trouble_of(req, e);
    return request_step(req, TX_READ, show_step, &t);
}

static enum err get_cart(struct request *req)
{
    return shop_show_cart(req, &(struct trouble){0});
}

static enum err add_write(struct request *req, const struct add_form *in)
{
    const struct cart_line_body *l = &in->line;
    struct cart cart;
    enum err e = req->session ? OK : visit_begin(req, (Id){0});
    if (!e)
        e = cart_add(req->db, req->token_id, req->account, l->product_id, l->variant_id, l->quantity, req->now, &cart);
    return e ? cart_line_error(req, e) : shop_go(req, in->then == 1 ? STR("/checkout") : STR("/cart"));
}
REQUEST_STEP(add_write);

/* Shows the product's page again; a product that is no longer for sale has none. */
static enum err product_step(struct request *req, struct trouble *t)
{
    struct product p;
    int64_t id = 0;
    str_to_int64(form_field(req, "product_id"), &id);
    enum err e = product_find(req->db, (Id){id}, &p);
    if (!e) e = shop_show_product(req, p.slug, t);
    req->status = err_info(t->e)->status;
    return e;
}
REQUEST_STEP(product_step);

static enum err post_add(struct request *req)
{
    void *in;
    Id token = req->token_id, account = req->account;
    enum err e = form_read(req, &add_form, &in);
    if (!e) e = request_step(req, TX_WRITE, add_write, in);
    if (!e || !shop_can_show(e)) return e;
    req->token_id = token; /* a session that was just begun is rolled back too */
    req->account = account;
    struct trouble t = trouble_of(req, e);
    return request_step(req, TX_READ, product_step, &t);
}

static enum err update_write(struct request *req, const struct cart_line_body *in)
{
    struct cart cart;
    if (!req->session) return shop_go(req, STR("/cart"));
    enum err e =
        cart_set(req->db, req->token_id, req->account, in->product_id, in->variant_id, in->quantity, req->now, &cart);
    return e ? cart_line_error(req, e) : shop_go(req, STR("/cart"));
}
REQUEST_STEP(update_write);

static enum err post_update(struct request *req)
{
    void *in;
    enum err e = form_read(req, &cart_set_body, &in);
    if (!e) e = request_step(req, TX_WRITE, update_write, in);
    return e ? show_again(req, e) : OK;
}

static enum err coupon_write(struct request *req, const struct cart_coupon_body *in)
{
    struct cart cart;
    if (!req->session) return shop_go(req, STR("/cart"));
    enum err e = cart_apply_coupon(req->db, req->token_id, req->account, in->code, req->now, &cart);
    return e ? e : shop_go(req, STR("/cart"));
}
REQUEST_STEP(coupon_write);

static enum err post_coupon(struct request *req)
{
    void *in;
    enum err e = form_read(req, &cart_coupon_body, &in);
    if (!e) e = request_step(req, TX_WRITE, coupon_write, in);
    return e ? show_again(req, e) : OK;
}

static enum err post_coupon_remove(struct request *req)
{
    struct cart cart;
    enum err e = req->session ? cart_drop_coupon(req->db, req->token_id, req->account, req->now, &cart) : OK;
    return e ? e : shop_go(req, STR("/cart"));
}

const struct route shop_cart_routes[] = {
    {"GET", "/cart", SCOPE_NONE, TX_READ, NULL, get_cart, SHOP_PAGE},
    {"POST", "/cart/add", SCOPE_NONE, TX_SELF, NULL, post_add, SHOP_FORM, .accepts = FORM_TYPE},
    {"POST", "/cart/update", SCOPE_NONE, TX_SELF, NULL, post_update, SHOP_FORM, .accepts = FORM_TYPE},
    {"POST", "/cart/coupon", SCOPE_NONE, TX_SELF, NULL, post_coupon, SHOP_FORM, .accepts = FORM_TYPE},
    {"POST", "/cart/coupon/remove", SCOPE_NONE, TX_WRITE, NULL, post_coupon_remove, SHOP_FORM, .accepts = FORM_TYPE},
    {0},
};
