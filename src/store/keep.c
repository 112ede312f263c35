/*
 * Looking after the file as a whole.  Each works on a connection of its own, so that neither the
 * writer nor the readers of a daemon wait for it.
 */
#include "store/keep.h"

#include "os/file.h"
#include "store/internal.h"
#include "text/json.h"

#include <sys/stat.h>
#include <unistd.h>

#define FAULTS_MAX 20

static int open_own(struct db **db, struct store *s, bool writable, const struct cancel *c,
		    struct err *e)
{
	int rc = db_open(db, s->path, writable, NULL, e);

	if (rc == OK)
		db_heed(*db, c);
	return rc;
}

/* --- inspect --------------------------------------------------------------------------------- */

static int64_t size_of(struct arena *a, const char *path, const char *tail)
{
	struct stat st;

	return stat(arena_fmt(a, "%s%s", path, tail).p, &st) == 0 ? (int64_t)st.st_size : 0;
}

static int find_faults(struct db *db, struct arena *a, struct store_health *out, struct err *e)
{
	static const char *const checks[] = {
		"PRAGMA integrity_check(20)",
		"SELECT 'row ' || coalesce(rowid, '?') || ' of ' || \"table\" || ' belongs to "
		"no row of ' || parent FROM pragma_foreign_key_check",
	};

	out->faults = NEWN(a, str, FAULTS_MAX);
	for (size_t i = 0; i < COUNT(checks); i++) {
		SCOPED(rows_end) struct rows r = { 0 };
		int rc = db_query(&r, db, checks[i], DB_NO_ARGS, e);
		while (rc == OK && out->faults_n < FAULTS_MAX && (rc = rows_next(&r, e)) > 0) {
			if (!str_eq(rows_peek(&r, 0), S("ok")))
				out->faults[out->faults_n++] = rows_text(&r, 0, a);
			rc = OK;
		}
		if (rc < 0)
			return rc;
	}
	return OK;
}

int store_inspect(struct store *s, struct arena *a, struct store_health *out,
		  const struct cancel *c, struct err *e)
{
	SCOPED(db_drop) struct db *db = NULL;
	struct store_health h = { 0 };
	int rc = open_own(&db, s, false, c, e);

	if (rc == OK)
		rc = db_number(db, "PRAGMA user_version", DB_NO_ARGS, &h.schema, e);
	if (rc == OK)
		rc = db_number(db, "PRAGMA page_size", DB_NO_ARGS, &h.page_bytes, e);
	if (rc == OK)
		rc = db_number(db, "PRAGMA page_count", DB_NO_ARGS, &h.pages, e);
	if (rc == OK)
		rc = db_number(db, "PRAGMA freelist_count", DB_NO_ARGS, &h.free_pages, e);
	if (rc == OK)
		rc = find_faults(db, a, &h, e);
	if (rc < 0)
		return err_wrap(e, rc, "%s", s->path);
	h.file_bytes = size_of(a, s->path, "");
	h.log_bytes = size_of(a, s->path, "-wal");
	*out = h;
	return OK;
}

/* --- backup ---------------------------------------------------------------------------------- */

/* A copy that cannot be read is none. */
static int look_through(const char *part, struct err *e)
{
	SCOPED(db_drop) struct db *db = NULL;
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_open(&db, part, false, NULL, e);

	if (rc == OK)
		rc = db_query(&r, db, "PRAGMA quick_check(1)", DB_NO_ARGS, e);
	if (rc == OK && (rc = rows_next(&r, e)) > 0)
		rc = str_eq(rows_peek(&r, 0), S("ok"))
			     ? OK
			     : err_set(e, E_CORRUPT, "%s: %.*s", part, STRF(rows_peek(&r, 0)));
	return rc;
}

int store_backup(struct store *s, const char *to, const struct cancel *c, struct err *e)
{
	SCOPED(db_drop) struct db *db = NULL;
	SCOPED(arena_free) struct arena a = { 0 };
	const char *part = arena_fmt(&a, "%s.part", to).p;

	if (access(to, F_OK) == 0)
		return err_set(e, E_BUSY, "%s is there already; nothing is overwritten", to);
	/* On a read-only connection some SQLites (3.40) miscount generated columns. */
	int rc = open_own(&db, s, true, c, e);
	if (rc < 0 || (rc = backup_part(db, part, c, e)) < 0)
		return rc;
	if ((rc = look_through(part, e)) < 0 || (rc = file_settle(part, to, e)) < 0)
		(void)unlink(part);
	return rc;
}

int store_vacuum(struct store *s, const struct cancel *c, struct err *e)
{
	db_heed(s->writer, c);
	int rc = db_script(s->writer, "VACUUM", e);
	db_heed(s->writer, NULL);
	s->writer->doomed = OK;
	return rc < 0 ? err_wrap(e, rc, "%s", s->path) : OK;
}

/* --- export ---------------------------------------------------------------------------------- */

static void cell_json(struct buf *b, sqlite3_stmt *st, int i)
{
	const char *text = (const char *)sqlite3_column_text(st, i);
	str s = { text ? text : "", (size_t)sqlite3_column_bytes(st, i) };

	switch (sqlite3_column_type(st, i)) {
	case SQLITE_NULL:
		buf_add(b, S("null"));
		break;
	case SQLITE_INTEGER:
	case SQLITE_FLOAT:
		buf_add(b, s);
		break;
	default:
		buf_json(b, s);
	}
}

static int export_table(struct db *db, str table,
			int (*line)(void *arg, str text, struct err *e), void *arg,
			struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	sqlite3_stmt *st = NULL;
	int step = SQLITE_DONE, rc = OK;

	if (sqlite3_prepare_v2(db->h, arena_fmt(&a, "SELECT * FROM \"%.*s\"", STRF(table)).p,
			       -1, &st, NULL) != SQLITE_OK)
		return db_error(db, sqlite3_errcode(db->h), "export", e);
	while (rc == OK && (step = sqlite3_step(st)) == SQLITE_ROW) {
		SCOPED(arena_free) struct arena row = { 0 };
		struct buf b = buf_in(&row, (size_t)1 << 30);
		buf_addc(&b, '{');
		buf_json_member(&b, "table", table);
		buf_json_key(&b, "row");
		buf_addc(&b, '{');
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			buf_json_key(&b, sqlite3_column_name(st, i));
			cell_json(&b, st, i);
		}
		buf_add(&b, S("}}\n"));
		rc = line(arg, buf_str(&b), e);
	}
	if (rc == OK && step != SQLITE_DONE)
		rc = db_error(db, step, "export", e);
	(void)sqlite3_finalize(st);
	return rc;
}

/* Ours, without those that the full-text indexes are made of. */
static int list_tables(struct db *db, str only, struct arena *a, str **out, size_t *n,
		       struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(
		&r, db,
		"SELECT name FROM sqlite_schema WHERE type = 'table' "
		"AND (?1 = '' OR name = ?1) AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
		"AND name NOT LIKE 'memory\\_fts%' ESCAPE '\\' "
		"AND name NOT LIKE 'memory\\_grams%' ESCAPE '\\' "
		"AND instr(name, '\"') = 0 ORDER BY rowid",
		DB_ARGS(db_text(only)), e);

	while (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = arena_grow(a, *out, *n * sizeof **out, (*n + 1) * sizeof **out);
		(*out)[(*n)++] = rows_text(&r, 0, a);
		rc = OK;
	}
	if (rc == OK && *n == 0)
		return err_set(e, E_NOENT, "there is no table \"%.*s\"", STRF(only));
	return rc;
}

int store_export(struct store *s, str table, int (*line)(void *arg, str text, struct err *e),
		 void *arg, const struct cancel *c, struct err *e)
{
	SCOPED(db_drop) struct db *db = NULL;
	SCOPED(arena_free) struct arena a = { 0 };
	str *tables = NULL;
	size_t n = 0;
	int rc = open_own(&db, s, false, c, e);

	if (rc == OK)
		rc = db_script(db, "BEGIN", e);
	if (rc == OK)
		rc = list_tables(db, table, &a, &tables, &n, e);
	for (size_t i = 0; rc == OK && i < n; i++)
		rc = export_table(db, tables[i], line, arg, e);
	return rc;
}
