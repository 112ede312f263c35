/*
 * store/memory_rows: what the files of memory need of each other.  Internal to store/.
 */
#ifndef STORE_MEMORY_ROWS_H
#define STORE_MEMORY_ROWS_H

#include "store/memory_forget.h"
#include "store/rows.h"

/* Of the table memory; ?1 is the time in seconds. */
#define MEMORY_COLUMNS                                                                         \
	"id, kind, subject, content, source, coalesce(confidence, 1.0), created_at, "          \
	"updated_at, coalesce(expires_at, ''), coalesce(superseded_by, 0), "                   \
	"superseded_by IS NULL AND coalesce(unixepoch(expires_at), ?1 + 1) > ?1, "             \
	"coalesce(unixepoch(updated_at), 0)"

/* *updated_s (NULL: not asked) is the row's last change. */
void memory_read(struct memory *out, int64_t *updated_s, const struct rows *r, struct arena *a);

int64_t memory_now_s(void);

/* --- memory_search.c --- */
int memory_search(struct db *db, str query, int64_t limit, struct arena *a, struct memory **out,
		  size_t *n, struct err *e) MUSTUSE;

/* --- memory_index.c: the second index of what memory_pending names. --- */
int memory_index(struct tx *tx, int64_t *n, struct err *e) MUSTUSE;

#endif
