/* domain/checklist.h - what a new store still needs before it can sell. An owner can say that something is done in
 * another way. */
#pragma once

#include "db/db.h"

enum checklist_item {
    CHECKLIST_NAME,
    CHECKLIST_CURRENCY,
    CHECKLIST_PRODUCT,
    CHECKLIST_GATEWAY,
    CHECKLIST_MAIL,
    CHECKLIST_ADDRESS,
    CHECKLIST_BACKUP,
    CHECKLIST_COUNT,
};
extern const char *const checklist_item_names[];

/* has_address: the program was told the store's address. TX_READ is enough. */
enum err checklist_read(struct db *db, bool has_address, bool ret_is_done[CHECKLIST_COUNT]);
/* Done in another way, or to do after all. TX_WRITE. */
enum err checklist_set(struct db *db, enum checklist_item item, bool is_done);
