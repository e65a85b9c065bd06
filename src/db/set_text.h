/* db/set_text.h - a statement about one row, as a statement about many. For db/ only.
 *
 * Domain code writes each statement for one row. When several requests ask the same of PostgreSQL at once, their
 * parameters travel as arrays, one element for each request, and one statement does it for all of them:
 *
 *     SELECT … WHERE hash = $1                 SELECT q.n, r.* FROM unnest($1::bytea[]) … q, LATERAL (… hash = q._1) r
 *     INSERT INTO … VALUES ($1, $2)            INSERT INTO … SELECT q._1, q._2 FROM unnest(…) … q
 *     UPDATE … WHERE id = $1 AND … RETURNING … UPDATE … FROM unnest(…) … q WHERE id = q._1 AND … RETURNING q.n, …
 *
 * A look-up runs for each element exactly as it would run alone (OFFSET 0 keeps PostgreSQL from making a join of it,
 * and from choosing a plan that reads a whole table). Everything else is sent row by row. */
#pragma once

#include "db/engine.h"

enum set_kind {
    SET_NOT,    /* row by row */
    SET_SELECT, /* q.n is the first column: which element, from 1 */
    SET_INSERT, /* nothing is read: nobody could tell whose row it is. What it would return is left out */
    SET_UPDATE, /* q.n is the first column, if anything is read; $1 names the row and must differ within a set */
};

struct set_text {
    enum set_kind kind;
    char *text;      /* malloc'd; NULL: SET_NOT */
    bool may_share;  /* equal parameters give equal rows: one answer for all who ask the same; also with SET_NOT */
    bool has_result; /* rows come back */
};

/* `kinds`: of the parameters. */
struct set_text set_text_make(const char *sql, const unsigned char *kinds, int params);
/* Whether it changes anything that would have to be undone. */
bool set_text_writes(const char *sql);
