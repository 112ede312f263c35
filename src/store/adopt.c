/*
 * Adoption: whose database it is, the copy beside it, and the one transaction that makes ours of
 * it.  What becomes of the rows is in adopt_gantry.c and adopt_mtclaw.c.
 *
 * In place, nobody else has the file open from before the copy until the commit: locking_mode
 * EXCLUSIVE, set before the first read, gives a lock that any other connection is in the way of.
 */
#include "store/adopt_rows.h"

#include "os/file.h"
#include "os/log.h"
#include "os/path.h"
#include "os/wait.h"
#include "store/memory.h"
#include "store/schema.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS 10000
#define RETRY_MS 50
#define COPIES_MAX 1000

static const struct program {
	const char *name, *copy; /* copy: in the name of the copy */
	int (*schema)(str *schema, struct db *db, struct err *e);
	int (*adopt)(struct adopt *ad, struct err *e);
} programs[] = {
	{ "ai-gantry", "ai-gantry", adopt_gantry_schema, adopt_gantry },
	{ "MTClaw", "mtclaw", adopt_mtclaw_schema, adopt_mtclaw },
};

const char *adopt_what_name(enum adopt_what what)
{
	static const char *const names[] = {
		[ADOPT_SESSIONS] = "sessions",   [ADOPT_MESSAGES] = "messages",
		[ADOPT_MEMORIES] = "memories",   [ADOPT_JOBS] = "schedules",
		[ADOPT_RUNS] = "runs",           [ADOPT_WATCHES] = "watches",
		[ADOPT_APPROVALS] = "approvals", [ADOPT_AUDIT] = "audit",
	};

	return names[what];
}

/* --- whose it is ----------------------------------------------------------------------------- */

static int program_of(const struct program **out, str *schema, struct db *db, struct err *e)
{
	int64_t application = 0;
	int rc = db_number(db, "PRAGMA application_id", DB_NO_ARGS, &application, e);

	*out = NULL;
	for (size_t i = 0; rc == OK && application == 0 && i < COUNT(programs) && !*out; i++) {
		rc = programs[i].schema(schema, db, e);
		if (rc == OK && schema->n)
			*out = &programs[i];
	}
	return rc;
}

int adopt_refuse(struct db *db, struct err *e)
{
	const struct program *p;
	str schema;
	int rc = program_of(&p, &schema, db, e);

	if (rc < 0)
		return rc;
	if (!p)
		return err_set(
			e, E_INVAL,
			"a database of another program; it is left alone: move it away or "
			"configure another path");
	return err_set(e, E_INVAL,
		       "a database of %s; \"gantry run\" takes it over, \"gantry import "
		       "--dry-run\" shows what that does",
		       p->name);
}

/* --- what is done ---------------------------------------------------------------------------- */

static int adopt_rows(struct adopt *ad, const struct program *p, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };

	ad->now_ms = clock_now_ms();
	int rc = p->adopt(ad, e);
	if (rc == OK)
		rc = db_query(&r, ad->to, "PRAGMA foreign_key_check", DB_NO_ARGS, e);
	if (rc == OK && (rc = rows_next(&r, e)) > 0)
		rc = err_set(e, E_INVAL, "a row of %.*s belongs to none; nothing was changed",
			     STRF(rows_peek(&r, 0)));
	return rc;
}

static struct adopt_report *report_new(struct arena *a, const struct program *p, str schema)
{
	struct adopt_report *r = NEW(a, struct adopt_report);

	r->program = p->name;
	r->schema = schema;
	r->copy = S("");
	return r;
}

/* --- from a file ----------------------------------------------------------------------------- */

/* A URI for a file that nobody writes: then it can be read where nothing can be written, and
 * nothing is left beside it. */
static const char *immutable(struct arena *a, const char *path)
{
	struct buf b = buf_in(a, 4 * strlen(path) + 64);

	buf_add(&b, S("file:"));
	for (const char *p = path; *p; p++) {
		if (strchr("%?#", *p))
			buf_fmt(&b, "%%%02x", (unsigned)(unsigned char)*p);
		else
			buf_addc(&b, *p);
	}
	buf_add(&b, S("?immutable=1"));
	return buf_str(&b).p;
}

static int open_source(struct db **out, const char *path, struct arena *a,
		       const struct program **p, str *schema, struct err *e)
{
	int64_t application = 0;
	bool busy = path_exists(arena_fmt(a, "%s-wal", path).p) ||
		    path_exists(arena_fmt(a, "%s-journal", path).p);

	if (!path_exists(path))
		return err_set(e, E_NOENT, "%s: there is no such file", path);
	int rc = db_open(out, busy ? path : immutable(a, path), false, NULL, e);
	if (rc == OK)
		rc = program_of(p, schema, *out, e);
	if (rc == OK)
		rc = db_number(*out, "PRAGMA application_id", DB_NO_ARGS, &application, e);
	if (rc == E_CORRUPT)
		return err_set(e, rc, "%s: damaged, or not a database; it is left alone", path);
	if (rc < 0)
		return err_wrap(e, rc, "%s", path);
	if (!*p)
		return err_set(e, E_INVAL, "%s: %s", path,
			       application == SCHEMA_APPLICATION_ID
				       ? "gantry's own database already"
				       : "no database of ai-gantry or MTClaw");
	return OK;
}

static int adopt_from(struct adopt *ad, const struct program *p, const char *path,
		      struct adopt_report *out, struct err *e)
{
	int rc = adopt_rows(ad, p, e);

	if (rc < 0)
		return err_wrap(e, rc, "%s", path);
	*out = *ad->report;
	return OK;
}

int store_adopt_preview(const char *path, struct arena *a, struct adopt_report *out,
			const struct cancel *c, struct err *e)
{
	SCOPED(db_drop) struct db *from = NULL;
	SCOPED(db_drop) struct db *to = NULL;
	const struct program *p;
	str schema;
	int rc = open_source(&from, path, a, &p, &schema, e);

	if (rc == OK)
		rc = db_open(&to, ":memory:", true, NULL, e);
	if (rc == OK)
		rc = db_script(to, "BEGIN", e);
	if (rc == OK)
		rc = open_migrate(to, e);
	if (rc < 0)
		return rc;
	struct adopt ad = {
		.from = from, .to = to, .a = a, .c = c, .report = report_new(a, p, schema)
	};
	rc = adopt_from(&ad, p, path, out, e);
	/* Statements that are in the middle of rows would keep it open. */
	(void)sqlite3_exec(to->h, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

int store_adopt_merge(struct store *s, const char *path, bool dry, struct arena *a,
		      struct adopt_report *out, const struct cancel *c, struct err *e)
{
	SCOPED(db_drop) struct db *from = NULL;
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct memory_health health;
	const struct program *p;
	struct stat st;
	str schema;
	int rc = OK;

	if (stat(path, &st) == 0 && store_is_own_file(s, st.st_dev, st.st_ino))
		return err_set(e, E_INVAL, "%s is gantry's own database", path);
	rc = open_source(&from, path, a, &p, &schema, e);
	if (rc < 0 || (rc = store_begin(&tx, s, c, e)) < 0)
		return rc;
	struct adopt ad = { .from = from,
			    .to = tx_db(&tx),
			    .a = a,
			    .c = c,
			    .report = report_new(a, p, schema) };
	rc = adopt_from(&ad, p, path, out, e);
	if (rc < 0 || dry)
		return rc;
	rc = store_commit(&tx, e);
	return rc < 0 ? rc : store_memory_check(s, c, &health, e);
}

const struct adopt_report *store_adopted(const struct store *s)
{
	return s->adopted;
}

/* --- in place -------------------------------------------------------------------------------- */

/* Ours alone, until it is closed. */
static int take_alone(struct db *db, const char *path, const struct cancel *c, struct err *e)
{
	int64_t until = clock_mono_ms() + BUSY_MS;
	int rc = db_script(db, "PRAGMA locking_mode = EXCLUSIVE", e);

	while (rc == OK || rc == E_BUSY) {
		rc = db_script(db, "BEGIN EXCLUSIVE; COMMIT", e);
		if (rc != E_BUSY || clock_mono_ms() >= until)
			break;
		(void)sqlite3_exec(db->h, "ROLLBACK", NULL, NULL, NULL);
		if ((rc = wait_ms(RETRY_MS, c, e)) < 0)
			return rc;
	}
	if (rc == E_BUSY)
		return err_set(e, rc,
			       "another program has it open, perhaps the old one: stop that, "
			       "then start again (%s)",
			       path);
	return rc;
}

/* The copy under the first name that is free; the same bytes are not kept twice. */
static int keep_copy(struct db *db, const struct store *s, const struct program *p,
		     struct arena *a, str *copy, const struct cancel *c, struct err *e)
{
	const char *part = arena_fmt(a, "%s.%s.part", s->path, p->copy).p;
	int rc = backup_part(db, part, c, e);

	for (int i = 1; rc == OK && i <= COPIES_MAX; i++) {
		*copy = i == 1 ? arena_fmt(a, "%s.%s.bak", s->path, p->copy)
			       : arena_fmt(a, "%s.%s.%d.bak", s->path, p->copy, i);
		if (path_exists(copy->p)) {
			if (!file_same(part, copy->p))
				continue;
			(void)unlink(part);
			return OK;
		}
		rc = file_settle(part, copy->p, e);
		if (rc != E_BUSY)
			break;
		rc = OK;
	}
	return rc;
}

/* Everything that is there goes: it is in the copy.  Tables that other tables are made of (FTS5)
 * go with those. */
static int drop_all(struct db *db, struct arena *a, struct err *e)
{
	static const char *const lists[] = {
		"SELECT 'TRIGGER', name FROM sqlite_schema WHERE type = 'trigger'",
		"SELECT 'VIEW', name FROM sqlite_schema WHERE type = 'view'",
		"SELECT 'TABLE', name FROM sqlite_schema WHERE type = 'table' AND sql LIKE "
		"'CREATE VIRTUAL%'",
		"SELECT 'TABLE', name FROM sqlite_schema WHERE type = 'table' AND name NOT "
		"LIKE "
		"'sqlite\\_%' ESCAPE '\\'",
	};

	for (size_t i = 0; i < COUNT(lists); i++) {
		SCOPED(rows_end) struct rows r = { 0 };
		struct buf b = buf_in(a, 16u << 20);
		int rc = db_query(&r, db, lists[i], DB_NO_ARGS, e);
		while (rc == OK && (rc = rows_next(&r, e)) > 0) {
			str name = rows_peek(&r, 1);
			buf_fmt(&b, "DROP %.*s IF EXISTS \"", STRF(rows_peek(&r, 0)));
			for (size_t k = 0; k < name.n; k++)
				buf_add(&b,
					name.p[k] == '"' ? S("\"\"") : (str){ name.p + k, 1 });
			buf_add(&b, S("\";\n"));
			rc = OK;
		}
		if (rc == OK)
			rc = db_script(db, buf_str(&b).p, e);
		if (rc < 0)
			return rc;
	}
	return OK;
}

static int replace(struct db *db, struct adopt *ad, const struct program *p, struct err *e)
{
	int rc = db_script(db, "BEGIN IMMEDIATE", e);

	if (rc == OK)
		rc = drop_all(db, ad->a, e);
	/* Theirs counted something else; it is above it again when ours are applied. */
	if (rc == OK)
		rc = db_script(db, "PRAGMA user_version = 0", e);
	if (rc == OK)
		rc = open_migrate(db, e);
	if (rc == OK)
		rc = adopt_rows(ad, p, e);
	if (rc == OK)
		rc = db_script(db, "COMMIT", e);
	if (rc < 0)
		(void)sqlite3_exec(db->h, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

static void say(const struct adopt_report *r)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 4096);
	int64_t skipped = 0;

	for (int i = 0; i < ADOPT_WHATS; i++) {
		buf_fmt(&b, " %s=%lld", adopt_what_name((enum adopt_what)i),
			(long long)r->n[i].taken);
		skipped += r->n[i].skipped;
	}
	for (size_t i = 0; i < r->notes_n; i++)
		log_warn("store.skipped", "row=%.*s", STRF(log_q(&a, r->notes[i])));
	if (r->notes_more)
		log_warn("store.skipped", "more=%lld", (long long)r->notes_more);
	log_info("store.adopted",
		 "program=%s schema=%.*s%.*s skipped=%lld mended=%lld copy=%.*s", r->program,
		 STRF(log_q(&a, r->schema)), STRF(buf_str(&b)), (long long)skipped,
		 (long long)r->mended, STRF(log_q(&a, r->copy)));
}

static int take_over(struct store *s, struct db *db, const struct cancel *c, struct err *e)
{
	SCOPED(db_drop) struct db *from = NULL;
	const struct program *p;
	str schema;
	int rc = take_alone(db, s->path, c, e);

	if (rc == OK)
		rc = program_of(&p, &schema, db, e);
	if (rc < 0)
		return rc;
	/* Between two looks somebody else adopted it, or changed it. */
	if (!p)
		return adopt_refuse(db, e);
	struct adopt ad = {
		.to = db, .a = &s->arena, .c = c, .report = report_new(&s->arena, p, schema)
	};
	rc = db_script(db, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF", e);
	if (rc == OK)
		rc = keep_copy(db, s, p, &s->arena, &ad.report->copy, c, e);
	if (rc == OK)
		rc = db_open(&from, immutable(&s->arena, ad.report->copy.p), false, NULL, e);
	if (rc < 0)
		return rc;
	ad.from = from;
	rc = replace(db, &ad, p, e);
	if (rc < 0)
		return err_wrap(e, rc, "taking over what %s left", p->name);
	s->adopted = ad.report;
	say(ad.report);
	return OK;
}

/* A daemon holds the lock of both programs already; a command takes it for this. */
int adopt_in_place(struct store *s, const struct cancel *c, struct err *e)
{
	SCOPED(fd_drop) int lock = -1;
	SCOPED(db_drop) struct db *db = NULL;
	int rc = s->lock_fd < 0 ? lock_borrow(&lock, s->lock_path, e) : OK;

	if (rc == OK)
		rc = db_open(&db, s->path, true, &s->latch, e);
	return rc < 0 ? rc : take_over(s, db, c, e);
}
