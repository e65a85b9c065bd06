/* domain/own_page.h - the merchant's own pages in the shop: terms, privacy, imprint, about. Markdown.
 *
 * There are few, at most OWN_PAGES_MAX. settings_load also gives those in the footer, so every change bumps the
 * settings' revision. Changes need TX_WRITE. */
#pragma once

#include "db/db.h"

#define OWN_PAGES_MAX 30
#define OWN_PAGE_TITLE_MAX 60
#define OWN_PAGE_BODY_MAX 50000

struct own_page {
    Id id;
    Str slug, title, body;
    bool in_footer;
    Time updated_at;
};

/* By id, with their bodies. */
enum err own_page_list(struct db *db, struct own_page **ret, size_t *ret_count);
/* ERR_NOT_FOUND. */
enum err own_page_find(struct db *db, Id id, struct own_page *ret);
enum err own_page_find_slug(struct db *db, Str slug, struct own_page *ret);
/* ERR_SLUG_TAKEN; ERR_FIELD_TOO_MANY past OWN_PAGES_MAX. */
enum err own_page_create(struct db *db, const struct own_page *p, Time now, struct own_page *ret);
enum err own_page_update(struct db *db, const struct own_page *p, Time now, struct own_page *ret);
enum err own_page_delete(struct db *db, Id id);
