/* view/view_placed.c - see view_placed.h. */
#include "view/view_placed.h"

#include "domain/settings.h"
#include "view/view_order.h"
#include "view/view_success.h"

void view_placed(struct json_writer *w, struct arena *a, const char *base_url, const struct order *o)
{
    const struct order_item *item = &o->items[0];
    struct buf values;
    buf_init(&values, a, SIZE_MAX);
    for (size_t i = 0; i < item->delivery_count; i++) {
        if (i) buf_char(&values, '\n');
        buf_append(&values, delivery_text(a, base_url, &item->deliveries[i]));
    }

    json_begin_object(w);
    json_kv_id(w, "order_id", o->id);
    json_kv_cstr(w, "status", order_status_names[ORDER_CONFIRMED]);
    json_kv_money(w, "total", o->total);
    json_key(w, "delivery");
    json_begin_object(w);
    json_kv_cstr(w, "type", delivery_type_names[item->delivery_type]);
    json_kv_str(w, "value", buf_str(&values));
    json_end_object(w);
    json_key(w, "deliveries");
    json_begin_array(w);
    for (size_t i = 0; i < item->delivery_count; i++) view_delivery(w, a, base_url, &item->deliveries[i]);
    json_end_array(w);
    json_end_object(w);
}

bool view_placed_follows(const struct order_line *line)
{
    return line->offer.delivery_type != DELIVERY_DOWNLOAD_URL && line->quantity <= PLACED_UNITS_MAX;
}

enum err view_placed_again(struct db *db, Id order, Str *ret)
{
    struct order o;
    struct buf data, body;
    struct json_writer w;
    Str currency;
    enum err e = settings_get(db, "currency", &currency);
    if (!e) e = order_find(db, (Id){0}, order, &o);
    if (e) return e;
    int exponent = currency_exponent(currency.len ? currency : STR(SETTINGS_CURRENCY));
    if (exponent < 0 || o.item_count != 1) return ERR_INTERNAL;
    buf_init(&data, db_arena(db), SIZE_MAX);
    buf_init(&body, db_arena(db), SIZE_MAX);
    json_writer_init(&w, &data, exponent);
    view_placed(&w, db_arena(db), "", &o);
    view_success(&body, PLACED_MESSAGE, buf_str(&data), (Str){0});
    *ret = buf_str(&body);
    return OK;
}
