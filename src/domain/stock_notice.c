/* domain/stock_notice.c - see stock_notice.h. The table holds what was told and has not been filled up since. */
#include "domain/stock_notice.h"

#include "db/rows.h"
#include "domain/event.h"
#include "domain/mail.h"
#include "domain/serial.h"

struct told {
    Id product, variant;
    bool is_empty;
};

static void read_row(struct stmt *st, struct told *t)
{
    t->product = col_id(st);
    t->variant = col_id(st);
    t->is_empty = col_bool(st);
}
DB_READER(read_row);

static enum err read_told(struct db *db, struct told **ret, size_t *ret_count)
{
    static const char list[] = "SELECT product_id, variant_id, is_empty FROM stock_notice";
    return db_rows(db_prepare(db, list), read_row, ROWS_ALL, ret, ret_count);
}

static bool is_same(const struct told *t, const struct serial_shortage *s)
{
    return id_eq(t->product, s->product_id) && id_eq(t->variant, s->variant_id);
}

static enum err mail_staff(struct db *db, const struct serial_shortage *s, Time now)
{
    struct mail_draft m;
    if (!mail_is_enabled()) return OK;
    enum err e = mail_begin_staff(db, MAIL_staff_stock, &m);
    if (e) return e;
    m.values.of[PARAM_product] = s->variant_name.len ? str_printf(db_arena(db), "%.*s (%.*s)", STR_FMT(s->product_name),
                                                                  STR_FMT(s->variant_name))
                                                     : s->product_name;
    m.values.of[PARAM_left] = page_int(&m.page, s->free);
    m.values.of[PARAM_link] = mail_address(&m, "/admin/#/products/%lld", (long long)s->product_id.v);
    return mail_queue(db, &m, now);
}

static enum err add_event(struct db *db, const struct serial_shortage *s, Time now)
{
    return event_add_thing(db, s->free ? EVENT_STOCK_LOW : EVENT_STOCK_EMPTY, s->product_id, s, now);
}

/* Of any number of servers that see it at once, one tells. */
static enum err tell(struct db *db, const struct serial_shortage *s, bool with_mail, Time now)
{
    static const char add[] = "INSERT INTO stock_notice (product_id, variant_id, is_empty, told_at)"
                              " VALUES ($1, $2, $3, $4)"
                              " ON CONFLICT (product_id, variant_id) DO NOTHING RETURNING product_id";
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    struct stmt *st = db_prepare(db, add);
    bind_id(st, s->product_id);
    bind_id(st, s->variant_id);
    bind_bool(st, s->free == 0);
    bind_time(st, now);
    bool is_new = db_step(st);
    enum err e = db_done(st);
    if (e || !is_new) return e;
    e = add_event(db, s, now);
    return e || !with_mail ? e : mail_staff(db, s, now);
}

/* It was low when it was told; now the last one is gone, or there are some again. */
static enum err tell_again(struct db *db, const struct serial_shortage *s, Time now)
{
    static const char update[] = "UPDATE stock_notice SET is_empty = $3 WHERE product_id = $1 AND variant_id = $2"
                                 " AND is_empty <> $3 RETURNING product_id";
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    struct stmt *st = db_prepare(db, update);
    bind_id(st, s->product_id);
    bind_id(st, s->variant_id);
    bind_bool(st, s->free == 0);
    bool changed = db_step(st);
    enum err e = db_done(st);
    return e || !changed || s->free ? e : add_event(db, s, now);
}

static enum err forget(struct db *db, const struct told *t)
{
    static const char drop[] = "DELETE FROM stock_notice WHERE product_id = $1 AND variant_id = $2";
    if (!db_can_write(db)) return ERR_NEEDS_WRITE;
    struct stmt *st = db_prepare(db, drop);
    bind_id(st, t->product);
    bind_id(st, t->variant);
    return db_run(st);
}

#define TOLD_AT_ONCE_MAX 20 /* the others the next time */

enum err stock_notice_check(struct db *db, int64_t low_stock, Time now)
{
    struct serial_shortage *low = NULL;
    struct told *told;
    size_t low_count = 0, told_count, new_count = 0;
    enum err e = read_told(db, &told, &told_count);
    if (!e) e = serial_shortages(db, low_stock, &low, &low_count);
    for (size_t i = 0; !e && i < told_count; i++) {
        const struct serial_shortage *is_low = NULL;
        for (size_t k = 0; !is_low && k < low_count; k++)
            if (is_same(&told[i], &low[k])) is_low = &low[k];
        if (!is_low)
            e = forget(db, &told[i]);
        else if (told[i].is_empty != (is_low->free == 0))
            e = tell_again(db, is_low, now);
    }
    for (size_t i = 0; !e && i < low_count && new_count < TOLD_AT_ONCE_MAX; i++) {
        bool is_told = false;
        for (size_t k = 0; !is_told && k < told_count; k++) is_told = is_same(&told[k], &low[i]);
        if (is_told) continue;
        new_count++;
        e = tell(db, &low[i], low_stock > 0, now);
    }
    return e;
}
