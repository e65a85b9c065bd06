/* view/view_store.c - see view_store.h. */
#include "view/view_store.h"

#include "domain/image.h"

void view_images(struct json_writer *w, const struct product *p)
{
    json_key(w, "images");
    json_begin_array(w);
    for (size_t i = 0; i < p->image_count; i++) {
        json_begin_object(w);
        json_kv_str(w, "url", p->images[i].url);
        json_kv_str(w, "alt", p->images[i].alt);
        json_end_object(w);
    }
    json_end_array(w);
}

void view_product(struct json_writer *w, const struct product *p, Str currency, bool with_product_id)
{
    json_begin_object(w);
    json_kv_id(w, "id", p->id);
    if (with_product_id) json_kv_id(w, "product_id", p->id);
    json_kv_str(w, "name", p->name);
    json_kv_str(w, "slug", p->slug);
    json_kv_money(w, "price", p->price);
    json_kv_bool(w, "is_active", p->is_active);
    json_kv_str(w, "description", p->description);
    json_kv_str(w, "currency", currency);
    json_kv_cstr(w, "delivery_type", delivery_type_names[p->delivery_type]);
    json_kv_bool(w, "in_stock", p->in_stock);
    json_key(w, "variants");
    json_begin_array(w);
    for (size_t i = 0; i < p->variant_count; i++) {
        const struct variant *v = &p->variants[i];
        json_begin_object(w);
        json_kv_id(w, "variant_id", v->id);
        json_kv_str(w, "name", v->name);
        json_kv_money(w, "price", v->price);
        json_kv_bool(w, "is_default", v->is_default);
        json_kv_bool(w, "in_stock", v->in_stock);
        json_end_object(w);
    }
    json_end_array(w);
    view_images(w, p);
    json_end_object(w);
}

static void view_cart_line(struct json_writer *w, const struct cart_line *l)
{
    json_begin_object(w);
    json_kv_id(w, "product_id", l->product_id);
    if (id_is(l->variant_id)) json_kv_id(w, "variant_id", l->variant_id);
    json_kv_str(w, "name", l->name);
    json_kv_int(w, "quantity", l->quantity);
    json_kv_money(w, "unit_price", l->unit_price);
    json_kv_money(w, "subtotal", l->subtotal);
    json_end_object(w);
}

void view_cart(struct json_writer *w, const struct cart *cart)
{
    json_begin_object(w);
    json_key(w, "items");
    json_begin_array(w);
    for (size_t i = 0; i < cart->count; i++) view_cart_line(w, &cart->lines[i]);
    json_end_array(w);
    json_kv_opt_str(w, "coupon", cart->has_coupon ? cart->coupon.code : (Str){0});
    json_kv_money(w, "discount", cart->discount);
    json_kv_money(w, "total", cart->total);
    json_end_object(w);
}
