/*
 * Opening a database: is it ours, does the file system know WAL, which migrations are
 * missing, is it sound.  A file that is not ours is left as it is.
 */
#include "store/internal.h"

#include "os/file.h"
#include "os/log.h"
#include "os/path.h"
#include "os/wait.h"
#include "store/schema.h"

#include <errno.h>
#include <sys/stat.h>

#define BUSY_MS 10000
#define RETRY_MS 20
#define CHECK_STEPS 10000 /* virtual machine steps between two looks at the token */

struct identity {
	int64_t application, version, objects;
	bool foreign;
};

/* The objects first: they appear in one commit with our mark, so that whoever sees them sees
 * the mark too, also while another process makes the database. */
static int read_identity(struct identity *id, struct db *db, struct err *e)
{
	int rc = db_number(db, "SELECT count(*) FROM sqlite_schema", DB_NO_ARGS, &id->objects,
			   e);

	if (rc == OK)
		rc = db_number(db, "PRAGMA application_id", DB_NO_ARGS, &id->application, e);
	if (rc == OK)
		rc = db_number(db, "PRAGMA user_version", DB_NO_ARGS, &id->version, e);
	return rc;
}

/* OK ours or empty; E_INVAL when it must be left alone. */
static int judge(struct identity *id, struct db *db, struct err *e)
{
	if (id->application == SCHEMA_APPLICATION_ID) {
		if (id->version <= schema_version())
			return OK;
		return err_set(e, E_INVAL,
			       "made by a newer gantry (schema %lld, this one knows %lld); "
			       "it is left alone: use that version",
			       (long long)id->version, (long long)schema_version());
	}
	if (id->objects == 0)
		return OK;
	id->foreign = true;
	return adopt_refuse(db, e);
}

static int identify(struct identity *id, struct db *db, struct err *e)
{
	id->foreign = false;
	int rc = read_identity(id, db, e);

	if (rc == E_CORRUPT)
		return err_set(e, rc,
			       "damaged, or not a database; it is left alone: move it away or "
			       "restore a backup");
	return rc < 0 ? rc : judge(id, db, e);
}

static int pragma_text(str *out, struct db *db, const char *sql, struct arena *a, struct err *e)
{
	SCOPED(rows_end) struct rows r = { 0 };
	int rc = db_query(&r, db, sql, DB_NO_ARGS, e);

	if (rc == OK && (rc = rows_next(&r, e)) > 0) {
		*out = rows_text(&r, 0, a);
		return OK;
	}
	return rc;
}

static void warn_no_wal(const struct store *s, str mode)
{
	SCOPED(arena_free) struct arena a = { 0 };

	log_warn("store.no_wal", "path=%s journal=%.*s", log_q(&a, str_of(s->path)).p,
		 STRF(mode));
}

/* WAL, or on a file system that cannot map shared memory (no_wal) the old rollback journal. */
static int journal(struct store *s, struct db *db, bool no_wal, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str mode = S("");
	int rc = no_wal ? OK : pragma_text(&mode, db, "PRAGMA journal_mode = WAL", &a, e);

	if (rc == OK && str_eq(mode, S("wal")))
		return OK;
	if (rc < 0 && rc != E_IO)
		return rc;
	/* A file that was WAL elsewhere can be read by one process alone, which turns it. */
	db->doomed = OK;
	rc = db_script(db, "PRAGMA locking_mode = EXCLUSIVE", e);
	if (rc == OK)
		rc = pragma_text(&mode, db, "PRAGMA journal_mode = DELETE", &a, e);
	if (rc == OK)
		rc = db_script(db,
			       "PRAGMA locking_mode = NORMAL; "
			       "SELECT count(*) FROM sqlite_schema",
			       e);
	if (rc == OK)
		warn_no_wal(s, mode);
	return rc;
}

/* As identify(), also for a WAL file on a file system without shared memory. */
static int identify_writer(struct identity *id, struct db *db, bool *no_wal, struct err *e)
{
	int rc = identify(id, db, e);

	if (rc != E_IO)
		return rc;
	*no_wal = true;
	db->doomed = OK;
	rc = db_script(db, "PRAGMA locking_mode = EXCLUSIVE", e);
	return rc < 0 ? rc : identify(id, db, e);
}

static int apply(struct db *db, const struct migration *m, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int rc = db_script(db, m->sql, e);

	if (rc == OK)
		rc = db_run(db,
			    "INSERT INTO schema_migrations (version, name, applied_at) "
			    "VALUES (?1, ?2, ?3)",
			    DB_ARGS(db_i64(m->version), db_text(str_of(m->name)),
				    db_i64(clock_now_ms())),
			    NULL, e);
	if (rc == OK)
		rc = db_script(db,
			       arena_fmt(&a,
					 "PRAGMA user_version = %lld;"
					 "PRAGMA application_id = %d",
					 (long long)m->version, SCHEMA_APPLICATION_ID)
				       .p,
			       e);
	return rc < 0 ? err_wrap(e, rc, "migration %lld", (long long)m->version) : OK;
}

int open_migrate(struct db *db, struct err *e)
{
	size_t n;
	const struct migration *m = schema_migrations(&n);
	int64_t version;
	int rc = db_number(db, "PRAGMA user_version", DB_NO_ARGS, &version, e);

	for (size_t i = 0; rc == OK && i < n; i++)
		if (m[i].version > version)
			rc = apply(db, &m[i], e);
	return rc;
}

/* In one transaction, and the version is read again inside: another process may have been
 * faster. */
static int migrate(struct db *db, struct err *e)
{
	int rc = db_script(db, "BEGIN IMMEDIATE", e);

	if (rc < 0)
		return rc;
	rc = open_migrate(db, e);
	if (rc == OK)
		rc = db_script(db, "COMMIT", e);
	if (rc < 0)
		(void)sqlite3_exec(db->h, "ROLLBACK", NULL, NULL, NULL);
	/* All tables that were made, most of which nobody needs soon. */
	(void)sqlite3_db_release_memory(db->h);
	return rc;
}

static int try_writer(struct store *s, struct err *e)
{
	SCOPED(db_drop) struct db *db = NULL;
	bool no_wal = false;
	struct identity id;
	int rc = db_open(&db, s->path, true, &s->latch, e);

	if (rc == OK) {
		rc = identify_writer(&id, db, &no_wal, e);
		s->foreign = id.foreign;
	}
	if (rc == OK)
		rc = db_script(db, "PRAGMA synchronous = FULL; " DB_CACHE, e);
	if (rc == OK)
		rc = journal(s, db, no_wal, e);
	if (rc == OK && id.version < schema_version())
		rc = migrate(db, e);
	if (rc < 0)
		return rc;
	db->doomed = OK;
	s->writer = db;
	db = NULL;
	return OK;
}

/* Ours from birth, for nobody else to read; a mount without modes gets a warning. */
static int create(struct store *s, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct stat st;
	int rc = file_create(s->path, S(""), 0600, e);

	if (rc == E_BUSY)
		return OK;
	if (rc == OK && stat(s->path, &st) == 0 && (st.st_mode & 077))
		log_warn("store.mode", "path=%s mode=%03o", log_q(&a, str_of(s->path)).p,
			 (unsigned)(st.st_mode & 0777));
	return rc;
}

static int patient_writer(struct store *s, const struct cancel *c, struct err *e)
{
	int64_t until = clock_mono_ms() + BUSY_MS;
	int rc;

	while ((rc = try_writer(s, e)) == E_BUSY && clock_mono_ms() < until)
		if ((rc = wait_ms(RETRY_MS, c, e)) < 0)
			return rc;
	return rc;
}

int open_writer(struct store *s, const struct cancel *c, struct err *e)
{
	int rc = create(s, e);

	if (rc < 0)
		return rc;
	rc = patient_writer(s, c, e);
	if (rc == E_INVAL && s->foreign && (rc = adopt_in_place(s, c, e)) == OK)
		rc = patient_writer(s, c, e);
	return rc < 0 ? err_wrap(e, rc, "%s", s->path) : OK;
}

static int try_reader(struct store *s, bool writable, struct err *e)
{
	SCOPED(db_drop) struct db *db = NULL;
	struct identity id;
	int rc = db_open(&db, writable ? s->path : s->read_path, writable, &s->latch, e);

	if (rc == OK)
		rc = identify(&id, db, e);
	if (rc < 0)
		return rc;
	if (id.version == 0)
		return err_set(e, E_NOENT, "no database yet");
	if (id.version < schema_version())
		return err_set(e, E_INVAL,
			       "made by an older gantry (schema %lld, this one needs %lld); "
			       "start gantry once to bring it up to date",
			       (long long)id.version, (long long)schema_version());
	if (writable)
		return OK;
	readers_put(s->readers, db);
	db = NULL;
	return OK;
}

int open_reader(struct store *s, struct err *e)
{
	int rc;

	if (!path_exists(s->path))
		return err_set(e, E_NOENT, "%s: no database yet", s->path);
	rc = try_reader(s, false, e);
	/* After a crash the log may need a writer to be recovered. */
	if ((rc == E_DENIED || rc == E_IO) && s->mode == STORE_READ &&
	    try_reader(s, true, NULL) == OK)
		rc = try_reader(s, false, e);
	return rc < 0 ? err_wrap(e, rc, "%s", s->path) : OK;
}

struct check_run {
	void (*moves)(void *arg);
	void *arg;
	const struct cancel *c;
};

static int between_steps(void *arg)
{
	const struct check_run *run = arg;

	if (run->moves)
		run->moves(run->arg);
	return cancel_check(run->c, NULL) < 0;
}

int store_check(struct store *s, void (*moves)(void *arg), void *arg, const struct cancel *c,
		struct err *e)
{
	struct check_run run = { moves, arg, c };
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(reader_end) struct reader r = { 0 };
	str verdict = S("");
	int rc = reader_begin(&r, s, e);

	if (rc < 0)
		return rc;
	sqlite3_progress_handler(r.db->h, CHECK_STEPS, between_steps, &run);
	rc = pragma_text(&verdict, r.db, "PRAGMA quick_check(1)", &a, e);
	sqlite3_progress_handler(r.db->h, 0, NULL, NULL);
	r.db->doomed = OK;
	/* It holds pages of the whole file: better none than this one in the pool. */
	reader_drop(&r);
	if (cancel_reason(c) != CANCEL_NONE)
		return cancel_check(c, e);
	if (rc < 0)
		return err_wrap(e, rc, "%s", s->path);
	if (str_eq(verdict, S("ok")))
		return OK;
	atomic_store(&s->latch, E_CORRUPT);
	return err_set(e, E_CORRUPT, "%s is damaged: %.*s; it is left alone", s->path,
		       STRF(str_sub(verdict, 0, 120)));
}
