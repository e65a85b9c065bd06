/* outbox/book_errand.c - fetches a gateway's books for the last few days, page by page, and compares them with ours. */
#include "domain/reconciliation.h"
#include "outbox/errand.h"

#define PAGES_MAX 100           /* of one book: 10,000 lines in a week */
#define LATE_MS (4 * TIME_HOUR) /* some books are written hours late */

static enum err read_gateway(struct errand *x, struct db *db)
{
    Id id = {0};
    if (!str_to_int64(x->item->payload, &id.v)) return ERR_INTERNAL;
    enum err e = gateway_config_find_id(db, id, &x->gateway);
    return e ? e : settings_load(db, &x->settings);
}

/* False: the book could not be read to its end. A gateway that keeps no such book counts as one with an empty book. */
static bool fetch_book(struct errand *x, enum book book)
{
    struct book_entry **at = &x->books.entries[book];
    Str next = {0};
    for (int page = 0; page < PAGES_MAX; page++) {
        x->op = (struct gateway_op){.kind = OP_BOOK, .in_background = true};
        x->op.book = (struct book_request){book, x->books.since, x->now, next};
        x->reply = link_run(x->options->link, &x->gateway, &x->op, x->arena);
        if (x->reply != REPLY_OK) return false;
        *at = x->op.lines.entries;
        while (*at) at = &(*at)->next;
        next = x->op.lines.next;
        if (!next.len) return true;
    }
    x->reply = REPLY_REFUSED;
    x->op.failure = "the gateway's books are too long";
    return false;
}

static void fetch(struct errand *x)
{
    x->books.since = time_add(x->now, -RECONCILED_DAYS * TIME_DAY);
    x->books.until = time_add(x->now, -LATE_MS);
    x->reply = REPLY_OK;
    const struct gateway *g = gateway_of(x->gateway.provider);
    x->books.names_refunds = g->names_refunds;
    x->books.has_disputes = g->has_book[BOOK_DISPUTES];
    for (enum book book = 0; book < BOOK_COUNT && x->reply == REPLY_OK; book++)
        if (g->has_book[book] && !fetch_book(x, book)) break;
    x->error = x->op.failure ? x->op.failure : "";
}

static enum err record(struct errand *x, struct db *db)
{
    enum err e = OK;
    if (x->reply == REPLY_OK) {
        e = reconciliation_compare(db, &x->gateway, &x->books, x->now);
        return e ? e : outbox_done(db, x->item->id, x->now);
    }
    if (x->reply != REPLY_REFUSED && x->item->attempts < 5 && errand_again(x, db, &e)) return e;
    e = reconciliation_failed(db, x->gateway.id, str_from(x->error), x->now);
    return e ? e : errand_fail(x, db);
}

const struct errand_kind errand_reconcile = {read_gateway, fetch, record};
