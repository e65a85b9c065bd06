/* domain/checklist.c - see checklist.h. */
#include "domain/checklist.h"

#include "domain/backup_record.h"
#include "domain/mail.h"
#include "domain/settings.h"

const char *const checklist_item_names[] = {"name", "currency", "product", "gateway",
                                            "mail", "address",  "backup",  NULL};

/* The setting that says "done in another way". */
static const char *setting_of(struct db *db, int item)
{
    return str_cstr(db_arena(db), str_printf(db_arena(db), "checklist_%s", checklist_item_names[item]));
}

static enum err any(struct db *db, const char *text, bool *ret)
{
    struct stmt *st = db_prepare(db, text);
    bool found = db_step(st);
    enum err e = db_done(st);
    if (!e) *ret = found;
    return e;
}

static enum err has_setting(struct db *db, const char *name, bool *ret)
{
    Str value;
    enum err e = settings_get(db, name, &value);
    if (!e) *ret = value.len > 0;
    return e;
}

enum err checklist_read(struct db *db, bool has_address, bool ret_is_done[CHECKLIST_COUNT])
{
    static const char products[] = "SELECT 1 FROM product WHERE is_active = 1 LIMIT 1";
    static const char gateways[] = "SELECT 1 FROM gateway WHERE is_enabled = 1 AND provider <> 'sandbox' LIMIT 1";
    bool *is = ret_is_done;
    enum err e = has_setting(db, "store_name", &is[CHECKLIST_NAME]);
    if (!e) e = has_setting(db, "currency", &is[CHECKLIST_CURRENCY]);
    if (!e) e = any(db, products, &is[CHECKLIST_PRODUCT]);
    if (!e) e = any(db, gateways, &is[CHECKLIST_GATEWAY]);
    is[CHECKLIST_MAIL] = mail_is_enabled();
    is[CHECKLIST_ADDRESS] = has_address;
    Time made, verified = {0};
    if (!e) e = backup_record_last(db, &made, &verified);
    is[CHECKLIST_BACKUP] = time_is(verified);
    is[CHECKLIST_CURRENCY] |= is[CHECKLIST_PRODUCT]; /* there are prices: it cannot be changed any more */
    for (int i = 0; !e && i < CHECKLIST_COUNT; i++) {
        bool otherwise;
        e = has_setting(db, setting_of(db, i), &otherwise);
        if (!e) is[i] |= otherwise;
    }
    return e;
}

enum err checklist_set(struct db *db, enum checklist_item item, bool is_done)
{
    return settings_set(db, setting_of(db, (int)item), is_done ? STR("1") : (Str){0});
}
