/*
 * Sizes and counts; and the index of memory held against its rows without writing: SQLite's own
 * check of an FTS5 table is a statement that writes, so its parts are read here.
 */
#include "store/facts.h"

#include "os/file.h"
#include "store/internal.h"

#define CHECK_STEPS 10000

int store_facts_get(struct store *s, struct store_facts *out, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(reader_end) struct reader r = { 0 };
	struct store_facts f = { .sqlite = sqlite3_libversion() };
	int64_t pages = 0, page = 0, unused = 0;
	const struct {
		const char *sql;
		int64_t *to;
	} numbers[] = {
		{ "PRAGMA page_count", &pages },
		{ "PRAGMA page_size", &page },
		{ "PRAGMA freelist_count", &unused },
		{ "PRAGMA user_version", &f.schema },
		{ "SELECT count(*) FROM sessions", &f.sessions },
		{ "SELECT count(*) FROM turns", &f.turns },
		{ "SELECT count(*) FROM memory", &f.memories },
		{ "SELECT count(*) FROM jobs WHERE enabled", &f.jobs },
	};
	int rc = reader_begin(&r, s, e);

	for (size_t i = 0; rc == OK && i < COUNT(numbers); i++)
		rc = db_number(r.db, numbers[i].sql, DB_NO_ARGS, numbers[i].to, e);
	if (rc < 0)
		return rc;
	f.bytes = pages * page;
	f.unused_bytes = unused * page;
	f.log_bytes = file_bytes(arena_fmt(&a, "%s-wal", s->path).p);
	*out = f;
	return OK;
}

static int look_at_token(void *arg)
{
	return cancel_check(arg, NULL) < 0;
}

/* The one number of a query; the code is SQLite's, since "corrupt" is an answer here. */
static int number(sqlite3 *h, const char *sql, int64_t *out)
{
	sqlite3_stmt *st;
	int rc = sqlite3_prepare_v2(h, sql, -1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*out = sqlite3_column_int64(st, 0);
	int end = sqlite3_finalize(st);
	return rc == SQLITE_ROW ? SQLITE_OK : end;
}

int store_memory_fits(struct store *s, struct arena *a, bool *fits, str *why,
		      const struct cancel *c, struct err *e)
{
	static const char missing[] = "SELECT count(*) FROM memory WHERE id NOT IN (SELECT id "
				      "FROM memory_fts_docsize)";
	static const char extra[] = "SELECT count(*) FROM memory_fts_docsize WHERE id NOT IN "
				    "(SELECT id FROM memory)";
	/* Every entry of the index; a word of a row that is gone shows itself by its row. */
	static const char read_all[] = "SELECT count(*) FROM temp.words WHERE doc NOT IN "
				       "(SELECT id FROM memory)";
	SCOPED(reader_end) struct reader r = { 0 };
	int64_t lost = 0, dead = 0, stray = 0;
	int rc = reader_begin(&r, s, e);

	if (rc < 0)
		return rc;
	sqlite3_progress_handler(r.db->h, CHECK_STEPS, look_at_token, (void *)c);
	int got = sqlite3_exec(r.db->h,
			       "CREATE VIRTUAL TABLE temp.words USING "
			       "fts5vocab(main, memory_fts, instance)",
			       NULL, NULL, NULL);
	got = got == SQLITE_OK ? number(r.db->h, missing, &lost) : got;
	got = got == SQLITE_OK ? number(r.db->h, extra, &dead) : got;
	got = got == SQLITE_OK ? number(r.db->h, read_all, &stray) : got;
	sqlite3_progress_handler(r.db->h, 0, NULL, NULL);
	(void)sqlite3_exec(r.db->h, "DROP TABLE IF EXISTS temp.words", NULL, NULL, NULL);
	if (cancel_reason(c) != CANCEL_NONE)
		return cancel_check(c, e);
	if (got != SQLITE_OK && (got & 0xff) != SQLITE_CORRUPT)
		return db_error(r.db, got, "memory_fts", e);
	*fits = got == SQLITE_OK && lost + dead + stray == 0;
	*why = *fits ? S("")
	       : got != SQLITE_OK
		       ? S("the full-text index of memory is damaged")
		       : arena_fmt(a,
				   "the full-text index of memory does not fit its rows (%lld "
				   "missing, %lld too many)",
				   (long long)lost, (long long)(dead ? dead : stray));
	return OK;
}
