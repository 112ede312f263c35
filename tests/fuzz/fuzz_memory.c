/*
 * The words of any text as a query of the full-text engine: it never complains, and what is
 * indexed is found by its own words.
 */
#include "base/buf.h"
#include "base/utf.h"
#include "text/terms.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static sqlite3 *open_index(sqlite3_stmt **query)
{
	sqlite3 *h;

	if (sqlite3_open(":memory:", &h) ||
	    sqlite3_exec(h,
			 "CREATE VIRTUAL TABLE g USING fts5(x, detail=none, columnsize=0, "
			 "tokenize='ascii')",
			 NULL, NULL, NULL) ||
	    sqlite3_prepare_v2(h, "SELECT rowid FROM g WHERE g MATCH ?1", -1, query, NULL))
		abort();
	return h;
}

static int matches(sqlite3_stmt *st, str match)
{
	(void)sqlite3_bind_text64(st, 1, match.p, match.n, SQLITE_STATIC, SQLITE_UTF8);
	int rc = sqlite3_step(st);
	(void)sqlite3_reset(st);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		abort();
	return rc == SQLITE_ROW;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static sqlite3 *h;
	static sqlite3_stmt *query, *insert;
	SCOPED(arena_free) struct arena a = { 0 };
	str in = { (const char *)data, size };
	struct terms all = terms_all(&a, in), wanted = terms_wanted(&a, in, 48);
	str index = terms_index(&a, in);

	if (!h) {
		h = open_index(&query);
		if (sqlite3_prepare_v2(h, "INSERT OR REPLACE INTO g (rowid, x) VALUES (1, ?1)",
				       -1, &insert, NULL))
			abort();
	}
	if (!utf_valid(index) || wanted.n > 48 || (all.n && !wanted.n) ||
	    !terms_same(&a, in, in))
		abort();
	(void)sqlite3_bind_text64(insert, 1, index.p, index.n, SQLITE_STATIC, SQLITE_UTF8);
	if (sqlite3_step(insert) != SQLITE_DONE)
		abort();
	(void)sqlite3_reset(insert);
	for (size_t i = 0; i < wanted.n; i++) {
		const struct term *t = &wanted.v[i];
		double best = 0;
		for (size_t k = 0; k < all.n; k++) {
			double fit = term_fits(t, &all.v[k]);
			best = fit > best ? fit : best;
		}
		if (best < 1)
			abort();
		(void)matches(query, arena_fmt(&a, "\"%.*s\" *", STRF(terms_key(t))));
		(void)matches(query, arena_fmt(&a, "\"%.*s\" AND \"%.*s\"", STRF(terms_key(t)),
					       STRF(terms_key(&wanted.v[0]))));
	}
	return 0;
}
