/* view/view_order.c - see view_order.h. */
#include "view/view_order.h"

void view_delivery(struct json_writer *w, struct arena *a, const char *base_url, const struct delivery *d)
{
    json_begin_object(w);
    json_kv_cstr(w, "type", delivery_type_names[d->type]);
    json_kv_str(w, "value", delivery_text(a, base_url, d));
    json_end_object(w);
}

static void view_unit(struct json_writer *w, struct arena *a, const char *base_url, const struct delivery *d)
{
    json_begin_object(w);
    json_kv_int(w, "unit", d->unit);
    json_kv_cstr(w, "type", delivery_type_names[d->type]);
    json_kv_str(w, "value", delivery_text(a, base_url, d));
    json_kv_bool(w, "is_revoked", d->is_revoked);
    json_kv_time(w, "created_at", d->created_at);
    if (d->type == DELIVERY_DOWNLOAD_URL) {
        json_kv_int(w, "fetch_count", d->fetch_count);
        if (d->fetch_max)
            json_kv_int(w, "fetch_max", d->fetch_max);
        else
            json_kv_null(w, "fetch_max");
        json_kv_time(w, "expires_at", d->expires_at);
    }
    json_end_object(w);
}

static void view_item(struct json_writer *w, struct arena *a, const char *base_url, const struct order_item *i)
{
    json_begin_object(w);
    json_kv_id(w, "item_id", i->id);
    json_kv_id(w, "product_id", i->product_id);
    if (id_is(i->variant_id)) {
        json_kv_id(w, "variant_id", i->variant_id);
        json_kv_str(w, "variant_name", i->variant_name);
    }
    json_kv_str(w, "name", i->name);
    json_kv_cstr(w, "delivery_type", delivery_type_names[i->delivery_type]);
    json_kv_int(w, "quantity", i->quantity);
    json_kv_money(w, "unit_price", i->unit_price);
    json_kv_money(w, "subtotal", i->subtotal);
    if (i->deliveries) {
        json_key(w, "deliveries");
        json_begin_array(w);
        for (size_t n = 0; n < i->delivery_count; n++) view_unit(w, a, base_url, &i->deliveries[n]);
        json_end_array(w);
    }
    json_end_object(w);
}

void view_order_members(struct json_writer *w, struct arena *a, const char *base_url, const struct order *o)
{
    json_kv_id(w, "id", o->id);
    json_kv_cstr(w, "status", order_status_names[o->status]);
    json_kv_cstr(w, "channel", order_channel_names[o->channel]);
    json_kv_opt_str(w, "paid_with", o->paid_with);
    json_kv_money(w, "subtotal", o->subtotal);
    json_kv_money(w, "discount", o->discount);
    json_kv_money(w, "total", o->total);
    json_kv_money(w, "refunded_amount", o->refunded_amount);
    json_kv_opt_str(w, "coupon", o->coupon_code);
    json_kv_bool(w, "on_hold", o->on_hold);
    json_kv_time(w, "created_at", o->created_at);
    json_kv_time(w, "confirmed_at", o->confirmed_at);
    json_kv_time(w, "closed_at", o->closed_at);
    json_kv_time(w, "reserved_until", o->reserved_until);
    json_key(w, "items");
    json_begin_array(w);
    for (size_t i = 0; i < o->item_count; i++) view_item(w, a, base_url, &o->items[i]);
    json_end_array(w);
}

void view_order(struct json_writer *w, struct arena *a, const char *base_url, const struct order *o)
{
    json_begin_object(w);
    view_order_members(w, a, base_url, o);
    json_end_object(w);
}

void view_license(struct json_writer *w, const void *row)
{
    const struct license *l = row;
    json_begin_object(w);
    json_kv_id(w, "id", l->id);
    json_kv_str(w, "license_key", l->key);
    json_kv_id(w, "product_id", l->product_id);
    if (id_is(l->variant_id)) json_kv_id(w, "variant_id", l->variant_id);
    json_kv_str(w, "product_name", l->product_name);
    json_kv_opt_id(w, "order_id", l->order_id);
    /* A disputed order's licence behaves as revoked, and its owner is told so. */
    json_kv_cstr(w, "status",
                 license_status_names[l->on_hold && l->status == LICENSE_ACTIVE ? LICENSE_REVOKED : l->status]);
    json_kv_time(w, "expires_at", l->expires_at);
    json_kv_opt_str(w, "hardware_id", l->hardware_id);
    json_kv_time(w, "bound_at", l->bound_at);
    json_kv_time(w, "created_at", l->created_at);
    json_kv_time(w, "last_seen_at", l->last_seen_at);
    json_end_object(w);
}
