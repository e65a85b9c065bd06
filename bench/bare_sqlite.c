/* bench/bare_sqlite.c - orders straight into SQLite, see bare.h.
 *
 *     bare_sqlite FILE ORDERS BATCH
 *
 * BATCH orders share a transaction, as souk's writer gathers them; the settings of the file are those of souk's writer.
 * FILE is a store without a server on it, with a product and wallets that can pay 1 per order. */
#include <sqlite3.h>

#include "bare.h"

#define CHECKPOINT_PAGES 1000

enum { COVER, TAKE, ORDER, ITEM, TRANSFER, EVENTS, LICENSE, CREATED, DELIVERY, STATEMENTS };

static const char *const texts[STATEMENTS] = {
    [COVER] = "SELECT balance - frozen, credit_limit FROM ledger_account WHERE owner_id = ?1",
    [TAKE] = "UPDATE ledger_account SET balance = balance - ?2, last_transfer_at = CASE WHEN last_transfer_at > ?3"
             " THEN last_transfer_at ELSE ?3 END WHERE owner_id = ?1 AND balance - frozen >= ?2 - credit_limit"
             " RETURNING id, last_transfer_at",
    [ORDER] =
        "INSERT INTO orders (id, account_id, status, channel, paid_with, subtotal, discount, total, coupon_id,"
        " coupon_code, created_at, confirmed_at) VALUES (NULL, ?1, 'confirmed', 'api', 'wallet', 1, 0, 1, NULL, '',"
        " ?2, ?2)",
    [ITEM] =
        "INSERT INTO order_item (id, order_id, product_id, variant_id, name, variant_name, delivery_type, quantity,"
        " unit_price, subtotal) VALUES (NULL, ?1, ?2, 0, 'Product', '', 'license_key', 1, 1, 1)",
    [TRANSFER] = "INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)"
                 " VALUES (?1, 1, 1, 'order', ?2, ?4, ?3)",
    [EVENTS] = "INSERT INTO event (type, resource_id, created_at) VALUES ('order.created', ?1, ?2),"
               " ('order.confirmed', ?1, ?2)",
    [LICENSE] = "INSERT INTO license (sealed_key, key_hash, product_id, variant_id, account_id, order_item_id,"
                " expires_at, created_at) VALUES (?1, ?2, ?3, 0, ?4, ?5, NULL, ?6)",
    [CREATED] = "INSERT INTO event (type, resource_id, created_at)"
                " VALUES ('license.created', ?1, ?2)",
    [DELIVERY] = "INSERT INTO delivery (order_item_id, unit, type, license_id, created_at)"
                 " VALUES (?1, 1, 'license_key', ?2, ?3)",
};

static sqlite3 *db;
static sqlite3_stmt *statements[STATEMENTS];

static int log_pages;

static int count_pages(void *ctx, sqlite3 *handle, const char *name, int pages)
{
    (void)ctx, (void)handle, (void)name;
    log_pages = pages;
    return SQLITE_OK;
}

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "bare_sqlite: %s: %s\n", what, sqlite3_errmsg(db));
    exit(1);
}

static void run(const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) die(sql);
}

static sqlite3_stmt *begin(int which)
{
    return statements[which];
}

/* The first column of its row, 0 without one. */
static int64_t end(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    int64_t v = rc == SQLITE_ROW ? sqlite3_column_int64(st, 0) : 0;
    if (rc == SQLITE_ROW) rc = sqlite3_step(st);
    if (rc != SQLITE_DONE) die(sqlite3_sql(st));
    sqlite3_reset(st);
    return v;
}

/* The row that it added. */
static int64_t end_insert(sqlite3_stmt *st)
{
    end(st);
    return sqlite3_last_insert_rowid(db);
}

static void place(int64_t account, int64_t product, int64_t now)
{
    uint8_t sealed[BARE_SEALED_BYTES], hash[BARE_HASH_BYTES];
    char text[32];
    bare_bytes(sealed, sizeof sealed);
    bare_bytes(hash, sizeof hash);

    sqlite3_stmt *st = begin(COVER);
    sqlite3_bind_int64(st, 1, account);
    end(st);
    st = begin(TAKE);
    sqlite3_bind_int64(st, 1, account);
    sqlite3_bind_int64(st, 2, 1);
    sqlite3_bind_int64(st, 3, now);
    int64_t wallet = end(st);
    if (!wallet) die("a wallet is empty");
    st = begin(ORDER);
    sqlite3_bind_int64(st, 1, account);
    sqlite3_bind_int64(st, 2, now);
    int64_t order = end_insert(st);
    st = begin(ITEM);
    sqlite3_bind_int64(st, 1, order);
    sqlite3_bind_int64(st, 2, product);
    int64_t item = end_insert(st);
    st = begin(TRANSFER);
    sqlite3_bind_int64(st, 1, wallet);
    sqlite3_bind_int64(st, 2, order);
    sqlite3_bind_int64(st, 3, now);
    sqlite3_bind_text(st, 4, text, snprintf(text, sizeof text, "Order #%lld", (long long)order), SQLITE_STATIC);
    end(st);
    st = begin(EVENTS);
    sqlite3_bind_int64(st, 1, order);
    sqlite3_bind_int64(st, 2, now);
    end(st);
    st = begin(LICENSE);
    sqlite3_bind_blob(st, 1, sealed, sizeof sealed, SQLITE_STATIC);
    sqlite3_bind_blob(st, 2, hash, sizeof hash, SQLITE_STATIC);
    sqlite3_bind_int64(st, 3, product);
    sqlite3_bind_int64(st, 4, account);
    sqlite3_bind_int64(st, 5, item);
    sqlite3_bind_int64(st, 6, now);
    int64_t license = end_insert(st);
    st = begin(CREATED);
    sqlite3_bind_int64(st, 1, license);
    sqlite3_bind_int64(st, 2, now);
    end(st);
    st = begin(DELIVERY);
    sqlite3_bind_int64(st, 1, item);
    sqlite3_bind_int64(st, 2, license);
    sqlite3_bind_int64(st, 3, now);
    end(st);
}

static int64_t ask(const char *sql, int64_t *ret, int max)
{
    sqlite3_stmt *st;
    int n = 0;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK) die(sql);
    while (n < max && sqlite3_step(st) == SQLITE_ROW) ret[n++] = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fputs("usage: bare_sqlite FILE ORDERS BATCH\n", stderr);
        return 2;
    }
    long orders = bare_number(argv[2]), batch = bare_number(argv[3]);
    if (sqlite3_open(argv[1], &db) != SQLITE_OK) die(argv[1]);
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;"
        "PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0");
    sqlite3_wal_hook(db, count_pages, NULL);
    int64_t accounts[64], product;
    int64_t count = ask("SELECT owner_id FROM ledger_account WHERE balance > 1000000 ORDER BY id", accounts, 64);
    if (!count || !ask("SELECT id FROM product ORDER BY id LIMIT 1", &product, 1)) die("nobody to sell to");
    for (int i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &statements[i], NULL) != SQLITE_OK)
            die(texts[i]);

    double start = bare_now(), cpu = bare_cpu();
    for (long done = 0; done < orders;) {
        run("BEGIN IMMEDIATE");
        for (long i = 0; i < batch && done < orders; i++, done++)
            place(accounts[done % count], product, (int64_t)time(NULL) * 1000);
        run("COMMIT");
        if (log_pages >= CHECKPOINT_PAGES) sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    bare_report(orders, bare_now() - start, bare_cpu() - cpu, 0);
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(statements[i]);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
