/* serve/store_metrics.h - the store's own figures (domain/vitals.h) for Prometheus, kept from the last reading: a
 * scrape asks no database. Every node of a store reports the same ones: take the highest, not the sum. */
#pragma once

#include "base/buf.h"
#include "db/db.h"

struct app;
struct store_metrics;

struct store_metrics *store_metrics_new(void);
void store_metrics_free(struct store_metrics *m);
/* Periodic jobs. */
enum err store_metrics_read(struct app *app, struct db *db);
enum err store_metrics_follow(struct app *app, struct db *db);
void store_metrics_write(struct store_metrics *m, struct buf *out);
