/* bench/bare_postgres.c - orders and verifications straight into PostgreSQL through libpq, see bare.h.
 *
 *     bare_postgres URL orders COUNT BATCH
 *     bare_postgres URL verify COUNT BATCH
 *
 * BATCH orders are one transaction of set-based statements over arrays, BATCH verifications one statement: what can be
 * reached on one connection, with one process beside the server. */
#include <libpq-fe.h>

#include "bare.h"

#define BATCH_MAX 256
#define ARRAY_BYTES (BATCH_MAX * 200)

static PGconn *conn;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "bare_postgres: %s: %s\n", what, PQerrorMessage(conn));
    exit(1);
}

static PGresult *check(PGresult *r, const char *what)
{
    if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK) die(what);
    return r;
}

/* An array in PostgreSQL's text format. */
struct array {
    char text[ARRAY_BYTES];
    size_t len;
};

static void add(struct array *a, const char *text)
{
    a->len += (size_t)snprintf(a->text + a->len, sizeof a->text - a->len, "%c%s", a->len ? ',' : '{', text);
}

static void add_number(struct array *a, long long n)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", n);
    add(a, text);
}

static void add_bytes(struct array *a, size_t n)
{
    uint8_t bytes[BARE_SEALED_BYTES];
    char text[8 + 2 * BARE_SEALED_BYTES];
    bare_bytes(bytes, n);
    size_t len = (size_t)snprintf(text, sizeof text, "\"\\\\x");
    for (size_t i = 0; i < n; i++) len += (size_t)snprintf(text + len, sizeof text - len, "%02x", bytes[i]);
    snprintf(text + len, sizeof text - len, "\"");
    add(a, text);
}

static const char *close_array(struct array *a)
{
    a->text[a->len] = '}';
    a->text[a->len + 1] = 0;
    a->len = 0;
    return a->text;
}

/* The processor time of this connection's process at the server, which is on the same machine. */
static double server_cpu(void)
{
    char path[64];
    char text[64] = "";
    snprintf(path, sizeof path, "/proc/%d/schedstat", PQbackendPID(conn));
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    if (!fgets(text, sizeof text, f)) text[0] = 0;
    fclose(f);
    return (double)strtoull(text, NULL, 10) / 1e9;
}

static const char *const prepared[][2] = {
    {"ids", "SELECT nextval('orders_id_seq'), nextval('order_item_id_seq') FROM generate_series(1, $1::int)"},
    {"cover", "SELECT owner_id, balance - frozen, credit_limit FROM ledger_account WHERE owner_id = ANY($1::bigint[])"
              " ORDER BY owner_id FOR UPDATE"},
    {"take", "UPDATE ledger_account l SET balance = balance - t.n FROM (SELECT a, count(*) AS n FROM"
             " unnest($1::bigint[]) a GROUP BY a) t WHERE l.owner_id = t.a AND balance - frozen >= t.n - credit_limit"},
    {"order", "INSERT INTO orders (id, account_id, status, channel, paid_with, subtotal, discount, total, coupon_id,"
              " coupon_code, created_at, confirmed_at) SELECT i, a, 'confirmed', 'api', 'wallet', 1, 0, 1, NULL, '',"
              " $3::bigint, $3::bigint FROM unnest($1::bigint[], $2::bigint[]) u (i, a)"},
    {"item",
     "INSERT INTO order_item (id, order_id, product_id, variant_id, name, variant_name, delivery_type, quantity,"
     " unit_price, subtotal) SELECT i, o, $3::bigint, 0, 'Product', '', 'license_key', 1, 1, 1"
     " FROM unnest($1::bigint[], $2::bigint[]) u (i, o)"},
    {"transfer", "INSERT INTO transfer (debit_id, credit_id, amount, kind, reference_id, description, created_at)"
                 " SELECT l.id, 1, 1, 'order', o, 'Order #' || o, $3::bigint FROM unnest($1::bigint[], $2::bigint[])"
                 " u (o, a) JOIN ledger_account l ON l.owner_id = a"},
    {"created", "INSERT INTO event (type, resource_id, created_at) SELECT 'order.created', o, $2::bigint"
                " FROM unnest($1::bigint[]) o"},
    {"confirmed", "INSERT INTO event (type, resource_id, created_at) SELECT 'order.confirmed', o, $2::bigint"
                  " FROM unnest($1::bigint[]) o"},
    {"license", "INSERT INTO license (sealed_key, key_hash, product_id, variant_id, account_id, order_item_id,"
                " created_at) SELECT s, h, $5::bigint, 0, a, i, $6::bigint"
                " FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bigint[]) u (s, h, a, i)"},
    {"licensed", "INSERT INTO event (type, resource_id, created_at) SELECT 'license.created', l.id, $2::bigint"
                 " FROM unnest($1::bytea[]) h JOIN license l ON l.key_hash = h"},
    {"delivery", "INSERT INTO delivery (order_item_id, unit, type, license_id, created_at)"
                 " SELECT i, 1, 'license_key', l.id, $3::bigint FROM unnest($1::bigint[], $2::bytea[]) u (i, h)"
                 " JOIN license l ON l.key_hash = h"},
    {"verify", "SELECT id, product_id, account_id, CASE WHEN status = 'active' AND on_hold = 0 THEN 1 ELSE 0 END,"
               " expires_at, hardware_id FROM license WHERE key_hash = ANY($1::bytea[])"},
};

static void send_one(const char *name, int n, const char *const *values)
{
    if (!PQsendQueryPrepared(conn, name, n, values, NULL, NULL, 0)) die(name);
}

/* Everything that was sent so far, and what it gave. Returns the rows of the last statement with rows. */
static PGresult *receive(int statements)
{
    PGresult *rows = NULL;
    if (!PQpipelineSync(conn)) die("sync");
    for (int i = 0; i < statements; i++) {
        PGresult *r = check(PQgetResult(conn), "statement");
        if (PQresultStatus(r) == PGRES_TUPLES_OK) {
            PQclear(rows);
            rows = r;
        } else {
            PQclear(r);
        }
        PQclear(PQgetResult(conn));
    }
    PGresult *sync = PQgetResult(conn);
    if (PQresultStatus(sync) != PGRES_PIPELINE_SYNC) die("no end of the pipeline");
    PQclear(sync);
    return rows;
}

static void plain(const char *sql)
{
    if (!PQsendQueryParams(conn, sql, 0, NULL, NULL, NULL, NULL, 0)) die(sql);
}

static long long accounts[64];
static int account_count;
static char product[24];

static void place(int batch, long done)
{
    static struct array who, orders, items, hashes, sealed;
    char count[16], now[24];
    snprintf(count, sizeof count, "%d", batch);
    snprintf(now, sizeof now, "%lld", (long long)time(NULL) * 1000);
    for (int i = 0; i < batch; i++) {
        add_number(&who, accounts[(done + i) % account_count]);
        add_bytes(&hashes, BARE_HASH_BYTES);
        add_bytes(&sealed, BARE_SEALED_BYTES);
    }
    const char *a = close_array(&who), *h = close_array(&hashes), *s = close_array(&sealed);
    plain("BEGIN");
    send_one("cover", 1, (const char *[]){a});
    send_one("ids", 1, (const char *[]){count});
    PGresult *ids = receive(3);
    for (int i = 0; i < batch; i++) {
        add(&orders, PQgetvalue(ids, i, 0));
        add(&items, PQgetvalue(ids, i, 1));
    }
    PQclear(ids);
    const char *o = close_array(&orders), *it = close_array(&items);
    send_one("take", 1, (const char *[]){a});
    send_one("order", 3, (const char *[]){o, a, now});
    send_one("item", 3, (const char *[]){it, o, product});
    send_one("transfer", 3, (const char *[]){o, a, now});
    send_one("created", 2, (const char *[]){o, now});
    send_one("confirmed", 2, (const char *[]){o, now});
    send_one("license", 6, (const char *[]){s, h, a, it, product, now});
    send_one("licensed", 2, (const char *[]){h, now});
    send_one("delivery", 3, (const char *[]){it, h, now});
    plain("COMMIT");
    PQclear(receive(10));
}

static void verify(int batch, PGresult *keys, long done)
{
    static struct array hashes;
    char text[80];
    for (int i = 0; i < batch; i++) {
        snprintf(text, sizeof text, "\"\\%s\"", PQgetvalue(keys, (int)((done + i) % PQntuples(keys)), 0));
        add(&hashes, text);
    }
    send_one("verify", 1, (const char *[]){close_array(&hashes)});
    PGresult *r = receive(1);
    if (PQntuples(r) < 1) die("no licence");
    PQclear(r);
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fputs("usage: bare_postgres URL orders|verify COUNT BATCH\n", stderr);
        return 2;
    }
    long count = bare_number(argv[3]), batch = bare_number(argv[4]);
    if (batch > BATCH_MAX) return 2;
    conn = PQconnectdb(argv[1]);
    if (PQstatus(conn) != CONNECTION_OK) die("connect");
    for (size_t i = 0; i < sizeof prepared / sizeof *prepared; i++)
        PQclear(check(PQprepare(conn, prepared[i][0], prepared[i][1], 0, NULL), prepared[i][0]));
    PGresult *r = check(
        PQexec(conn, "SELECT owner_id FROM ledger_account WHERE balance > 1000000 ORDER BY id LIMIT 64"), "wallets");
    account_count = PQntuples(r);
    if (!account_count) die("no wallet can pay");
    for (int i = 0; i < account_count; i++) accounts[i] = strtoll(PQgetvalue(r, i, 0), NULL, 10);
    PQclear(r);
    r = check(PQexec(conn, "SELECT id FROM product ORDER BY id LIMIT 1"), "product");
    if (PQntuples(r) != 1) die("no product");
    snprintf(product, sizeof product, "%s", PQgetvalue(r, 0, 0));
    PQclear(r);
    PGresult *keys = check(PQexec(conn, "SELECT key_hash FROM license LIMIT 20000"), "licences");
    PQclear(
        check(PQexec(conn, "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"), "set"));
    if (PQenterPipelineMode(conn) != 1) die("pipeline");

    double start = bare_now(), cpu = bare_cpu(), server = server_cpu();
    for (long done = 0; done < count; done += batch) {
        if (strcmp(argv[2], "orders") == 0)
            place((int)batch, done);
        else
            verify((int)batch, keys, done);
    }
    bare_report(count, bare_now() - start, bare_cpu() - cpu, server_cpu() - server);
    PQclear(keys);
    PQfinish(conn);
    return 0;
}
