/*
 * Opening: what is created, what is refused and left alone, who is kept out, what a file
 * system may not be able to do.
 */
#include "store_world.h"

#include "os/clock.h"
#include "os/file.h"
#include "os/thread.h"
#include "store/internal.h"
#include "store/schema.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static str bytes_of(struct world *w, const char *path)
{
	str s;

	ok(w, file_read(&s, &w->a, path, 64u << 20, &w->e));
	return s;
}

static void put(struct world *w, const char *path, str content)
{
	ok(w, file_write_atomic(path, content, 0600, &w->e));
}

static int try_open(struct world *w, enum store_mode mode)
{
	struct store *s = NULL;
	int rc = store_open(&s, &w->cfg, mode, NULL, &w->e);

	if (rc == OK)
		store_close(s);
	else
		assert_null(s);
	return rc;
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(0, stat(path, &st));
	return st.st_mode & 0777;
}

static void what_it_creates_is_private_and_marked(void **state)
{
	struct world *w = *state;

	w->cfg.data_dir = str_of(world_path(w, "deep/data"));
	w->cfg.dsn = str_of(world_path(w, "deep/data/x%3f?#.db"));
	mode_t old = umask(0);
	w->s = world_open(w, STORE_DAEMON);
	(void)world_add(w, "1", "a");
	(void)umask(old);
	assert_int_equal(0700, mode_of(w->cfg.data_dir.p));
	assert_int_equal(0700, mode_of(world_path(w, "deep/data/owners")));
	assert_int_equal(0600, mode_of(w->cfg.dsn.p));
	assert_int_equal(0600, mode_of(world_path(w, "deep/data/x%3f?#.db-wal")));
	assert_int_equal(0600, mode_of(world_path(w, "deep/data/x%3f?#.db-shm")));
	assert_int_equal(SCHEMA_APPLICATION_ID, world_i64(w, "PRAGMA application_id"));
	assert_int_equal(schema_version(), world_i64(w, "PRAGMA user_version"));
	assert_int_equal(schema_version(),
			 world_i64(w, "SELECT max(version) FROM schema_migrations"));
	assert_true(world_i64(w, "SELECT applied_at FROM schema_migrations") > 1000000000000);
	assert_true(str_eq(world_text(w, "PRAGMA journal_mode"), S("wal")));
}

static void opening_again_keeps_everything(void **state)
{
	struct world *w = *state;

	w->s = world_open(w, STORE_DAEMON);
	(void)world_add(w, "1", "a");
	world_reopen(w, STORE_CLI);
	world_reopen(w, STORE_DAEMON);
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM inbox"));
	assert_int_equal(schema_version(),
			 world_i64(w, "SELECT count(*) FROM schema_migrations"));
}

static void the_writer_is_set_up_for_safety(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *sql;
		int64_t value;
	} cases[] = {
		{ "PRAGMA synchronous", 2 },
		{ "PRAGMA foreign_keys", 1 },
		/* The triggers of memory write to FTS5 tables. */
		{ "PRAGMA recursive_triggers", 1 },
		{ "PRAGMA trusted_schema", 1 },
		{ "PRAGMA busy_timeout", 0 },
		{ "PRAGMA wal_autocheckpoint", 0 },
	};
	int defensive = 0;

	w->s = world_open(w, STORE_CLI);
	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t n = -1;
		ok(w, db_number(w->s->writer, cases[i].sql, DB_NO_ARGS, &n, &w->e));
		assert_int_equal(cases[i].value, n);
	}
	(void)sqlite3_db_config(w->s->writer->h, SQLITE_DBCONFIG_DEFENSIVE, -1, &defensive);
	assert_int_equal(1, defensive);
	SCOPED(reader_end) struct reader r = { 0 };
	int64_t trusted = -1;
	ok(w, reader_begin(&r, w->s, &w->e));
	ok(w, db_number(r.db, "PRAGMA trusted_schema", DB_NO_ARGS, &trusted, &w->e));
	assert_int_equal(0, trusted);
}

static void reading_creates_nothing(void **state)
{
	struct world *w = *state;
	str *names;
	size_t n;

	w->cfg.data_dir = str_of(world_path(w, "none"));
	assert_int_equal(E_NOENT, try_open(w, STORE_READ));
	assert_true(str_has(str_of(w->e.msg), w->cfg.dsn));
	ok(w, dir_list(&names, &n, &w->a, w->dir, 100, &w->e));
	assert_int_equal(0, n);
	put(w, w->cfg.dsn.p, S(""));
	assert_int_equal(E_NOENT, try_open(w, STORE_READ));
}

static void a_reader_reads_beside_a_daemon_and_cannot_write(void **state)
{
	struct world *w = *state;
	struct tx tx = { 0 };
	struct session *list;
	size_t n;

	w->s = world_open(w, STORE_DAEMON);
	(void)world_add(w, "1", "a");
	struct store *r = world_open(w, STORE_READ);
	ok(w, store_session_list(r, 0, &w->a, &list, &n, &w->e));
	assert_int_equal(1, n);
	assert_int_equal(E_DENIED, store_begin(&tx, r, NULL, &w->e));
	assert_int_equal(0, store_owner(r).n);
	store_close(r);
}

struct foreign {
	const char *name, *sql;
	int code;
	const char *says;
};

static void a_foreign_database_is_refused_and_left_alone(void **state)
{
	static const struct foreign cases[] = {
		{ "another program's", "PRAGMA application_id = 77; CREATE TABLE t (x)",
		  E_INVAL, "another program" },
		{ "unmarked", "CREATE TABLE session (id TEXT PRIMARY KEY)", E_INVAL,
		  "another program" },
		{ "unmarked, WAL", "PRAGMA journal_mode = WAL; CREATE TABLE t (x)", E_INVAL,
		  "another program" },
	};
	struct world *w = *state;
	static const enum store_mode modes[] = { STORE_DAEMON, STORE_CLI, STORE_READ };

	for (size_t i = 0; i < COUNT(cases); i++) {
		(void)unlink(w->cfg.dsn.p);
		(void)unlink(arena_cat(&w->a, w->cfg.dsn, S("-wal")).p);
		(void)unlink(arena_cat(&w->a, w->cfg.dsn, S("-shm")).p);
		world_sql(w, cases[i].sql);
		str before = bytes_of(w, w->cfg.dsn.p);
		for (size_t k = 0; k < COUNT(modes); k++) {
			assert_int_equal(cases[i].code, try_open(w, modes[k]));
			assert_true(str_has(str_of(w->e.msg), w->cfg.dsn));
			assert_true(str_has(str_of(w->e.msg), str_of(cases[i].says)));
			assert_true(str_has(str_of(w->e.msg), S("left alone")));
			assert_false(str_has(str_of(w->e.msg), S("\n")));
			assert_true(str_eq(before, bytes_of(w, w->cfg.dsn.p)));
		}
	}
}

static void a_newer_database_is_refused_and_left_alone(void **state)
{
	struct world *w = *state;

	w->s = world_open(w, STORE_DAEMON);
	store_close(w->s);
	w->s = NULL;
	world_sql(w, "PRAGMA user_version = 999");
	str before = bytes_of(w, w->cfg.dsn.p);
	assert_int_equal(E_INVAL, try_open(w, STORE_DAEMON));
	assert_true(str_has(str_of(w->e.msg), S("newer gantry (schema 999")));
	assert_int_equal(E_INVAL, try_open(w, STORE_READ));
	assert_true(str_eq(before, bytes_of(w, w->cfg.dsn.p)));
}

static void a_damaged_file_is_refused_and_left_alone(void **state)
{
	struct world *w = *state;
	static char zeros[100];

	w->s = world_open(w, STORE_DAEMON);
	for (int i = 0; i < 50; i++)
		(void)world_add(w, "1", "some text so that there are a few pages");
	store_close(w->s);
	w->s = NULL;
	str sound = bytes_of(w, w->cfg.dsn.p);
	char *p = arena_alloc(&w->a, 1, sound.n);

	/* The header gone. */
	memcpy(p, sound.p, sound.n);
	memcpy(p, zeros, sizeof zeros);
	put(w, w->cfg.dsn.p, (str){ p, sound.n });
	for (int mode = STORE_DAEMON; mode <= STORE_READ; mode++) {
		assert_int_equal(E_CORRUPT, try_open(w, (enum store_mode)mode));
		assert_true(str_has(str_of(w->e.msg), S("left alone")));
		assert_true(str_has(str_of(w->e.msg), w->cfg.dsn));
	}
	assert_true(str_eq((str){ p, sound.n }, bytes_of(w, w->cfg.dsn.p)));

	/* The first page sound, the rest rubbish: quick_check finds it. */
	memcpy(p, sound.p, sound.n);
	memset(p + 4096, 0x5a, sound.n - 4096);
	put(w, w->cfg.dsn.p, (str){ p, sound.n });
	int rc = try_open(w, STORE_DAEMON);
	if (rc == OK) {
		w->s = world_open(w, STORE_DAEMON);
		rc = store_check(w->s, NULL, NULL, NULL, &w->e);
		assert_int_equal(E_CORRUPT, store_failed(w->s, NULL));
		store_close(w->s);
		w->s = NULL;
	}
	assert_int_equal(E_CORRUPT, rc);
	assert_true(str_has(str_of(w->e.msg), w->cfg.dsn));
	assert_true(str_eq((str){ p, sound.n }, bytes_of(w, w->cfg.dsn.p)));

	/* No database at all. */
	put(w, w->cfg.dsn.p, S("a long letter to somebody, and not a database in any way\n"));
	assert_int_equal(E_CORRUPT, try_open(w, STORE_CLI));
}

static void damage_met_later_is_latched(void **state)
{
	struct world *w = *state;
	struct tx tx = { 0 };
	int64_t n;

	w->s = world_open(w, STORE_DAEMON);
	for (int i = 0; i < 50; i++)
		(void)world_add(w, "1", "some text so that there are a few pages");
	world_reopen(w, STORE_CLI);
	FILE *f = fopen(w->cfg.dsn.p, "r+");
	for (long at = 4096; fseek(f, at, SEEK_SET) == 0 && at < 4096 * 40; at += 4096)
		(void)fwrite("ZZZZZZZZZZZZZZZZ", 1, 16, f);
	(void)fclose(f);
	assert_int_equal(OK, store_failed(w->s, &w->e));
	int rc = store_inbox_ready(w->s, S(""), &n, &w->e);
	assert_int_equal(E_CORRUPT, rc);
	assert_int_equal(E_CORRUPT, store_failed(w->s, &w->e));
	assert_int_equal(E_CORRUPT, store_begin(&tx, w->s, NULL, &w->e));
	assert_int_equal(E_CORRUPT, store_cursor_get(w->s, S("k"), &n, &w->e));
}

static void paths_that_are_none_are_refused(void **state)
{
	struct world *w = *state;
	static const char *const dsns[] = { "", ":memory:", "file:x.db?mode=memory" };

	for (size_t i = 0; i < COUNT(dsns); i++) {
		w->cfg.dsn = str_of(dsns[i]);
		assert_int_equal(E_INVAL, try_open(w, STORE_CLI));
	}
	put(w, world_path(w, "file"), S("x"));
	w->cfg.dsn = str_of(world_path(w, "file/x.db"));
	assert_int_equal(E_INVAL, try_open(w, STORE_CLI));
	assert_true(str_has(str_of(w->e.msg), S("/file")));
}

/* Run body in a child and give its exit status back. */
static int in_child(void (*body)(struct world *), struct world *w)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		body(w);
		_exit(0);
	}
	assert_int_equal(pid, waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void open_read_only_dir(struct world *w)
{
	struct store *s;

	if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
		_exit(77);
	if (store_open(&s, &w->cfg, STORE_DAEMON, NULL, &w->e) != E_DENIED)
		_exit(1);
	_exit(strstr(w->e.msg, w->dir) ? 0 : 2);
}

static void a_read_only_directory_is_named(void **state)
{
	struct world *w = *state;

	assert_int_equal(0, chmod(w->dir, 0555));
	assert_int_equal(0, in_child(open_read_only_dir, w));
	assert_int_equal(0, chmod(w->dir, 0700));
}

static void a_second_daemon_is_kept_out(void **state)
{
	struct world *w = *state;
	struct store *s;
	char pid[32];
	int64_t begun = clock_mono_ms();

	w->s = world_open(w, STORE_DAEMON);
	assert_int_equal(E_BUSY, store_open(&s, &w->cfg, STORE_DAEMON, NULL, &w->e));
	assert_true(clock_mono_ms() - begun >= 5000);
	(void)snprintf(pid, sizeof pid, "already running (pid %d)", (int)getpid());
	assert_true(str_has(str_of(w->e.msg), str_of(pid)));
}

static void waiting_for_the_daemon_lock_can_be_cancelled(void **state)
{
	struct world *w = *state;
	struct cancel c;
	struct store *s;

	w->s = world_open(w, STORE_DAEMON);
	ok(w, cancel_init(&c, NULL, 0, &w->e));
	cancel_fire(&c, CANCEL_SHUTDOWN);
	assert_int_equal(E_CANCELED, store_open(&s, &w->cfg, STORE_DAEMON, &c, &w->e));
	cancel_done(&c);
}

static void commands_work_beside_the_daemon(void **state)
{
	struct world *w = *state;
	struct store *daemon = world_open(w, STORE_DAEMON);

	w->s = world_open(w, STORE_CLI);
	(void)world_add(w, "1", "from a command");
	assert_false(str_eq(store_owner(daemon), store_owner(w->s)));
	struct turn t = world_claim_in(w, daemon, S(""));
	assert_true(str_eq(t.rows[0].text, S("from a command")));
	store_close(w->s);
	w->s = NULL;
	store_close(daemon);
}

/* --- checkpoints ------------------------------------------------------------------------- */

static int64_t wal_size(struct world *w)
{
	struct stat st;

	return stat(world_path(w, "gantry.db-wal"), &st) == 0 ? st.st_size : 0;
}

static void fill(struct world *w, int n)
{
	char *text = arena_alloc(&w->a, 1, 20001);

	memset(text, 'x', 20000);
	for (int i = 0; i < n; i++)
		(void)world_add(w, "1", text);
}

static void a_daemon_keeps_its_log_short(void **state)
{
	struct world *w = *state;

	w->s = world_open(w, STORE_DAEMON);
	fill(w, 1000);
	assert_true(wal_size(w) > 0);
	assert_true(wal_size(w) < 6 << 20);
	store_close(w->s);
	w->s = NULL;
	assert_int_equal(0, wal_size(w));
}

static void a_command_beside_a_daemon_leaves_the_log_alone(void **state)
{
	struct world *w = *state;
	struct store *daemon = world_open(w, STORE_DAEMON);

	w->s = world_open(w, STORE_CLI);
	fill(w, 400);
	int64_t size = wal_size(w);
	assert_true(size > 6 << 20);
	store_close(w->s);
	w->s = NULL;
	assert_int_equal(size, wal_size(w));
	store_close(daemon);
	assert_int_equal(0, wal_size(w));
}

static void a_command_alone_checkpoints_at_its_end(void **state)
{
	struct world *w = *state;

	w->s = world_open(w, STORE_CLI);
	fill(w, 10);
	assert_true(wal_size(w) > 0);
	store_close(w->s);
	w->s = NULL;
	assert_int_equal(0, wal_size(w));
}

/* --- file systems that cannot do what we like ---------------------------------------------- */

/* The real file system with a fault: no shared memory, or an fsync that fails. */
static sqlite3_vfs faulty;
static sqlite3_vfs *real;
static sqlite3_io_methods main_methods, wal_methods;
static int (*real_sync)(sqlite3_file *f, int flags);
static bool without_shm, without_sync;

static int sync_or_fail(sqlite3_file *f, int flags)
{
	return without_sync ? SQLITE_IOERR_FSYNC : real_sync(f, flags);
}

static int open_faulty(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
	int rc = real->xOpen(real, name, f, flags, out);

	if (rc != SQLITE_OK || !f->pMethods)
		return rc;
	if (without_shm && (flags & SQLITE_OPEN_MAIN_DB)) {
		main_methods = *f->pMethods;
		main_methods.iVersion = 1;
		f->pMethods = &main_methods;
	}
	if (!without_shm && (flags & SQLITE_OPEN_WAL)) {
		wal_methods = *f->pMethods;
		real_sync = wal_methods.xSync;
		wal_methods.xSync = sync_or_fail;
		f->pMethods = &wal_methods;
	}
	return rc;
}

static int setup_faulty(void **state)
{
	real = sqlite3_vfs_find("unix");
	faulty = *real;
	faulty.zName = "faulty";
	faulty.xOpen = open_faulty;
	without_shm = without_sync = false;
	(void)sqlite3_vfs_register(&faulty, 1);
	return world_setup_closed(state);
}

static int teardown_faulty(void **state)
{
	int rc = world_teardown(state);

	(void)sqlite3_vfs_register(real, 1);
	(void)sqlite3_vfs_unregister(&faulty);
	return rc;
}

static void without_wal_the_old_journal_serves(void **state)
{
	struct world *w = *state;

	without_shm = true;
	w->s = world_open(w, STORE_DAEMON);
	world_turn(w, "1", "a", 2);
	str mode = world_text(w, "PRAGMA journal_mode");
	world_check(w);
	assert_true(str_eq(mode, S("delete")));
}

static void a_wal_file_that_moved_to_such_a_place_is_turned(void **state)
{
	struct world *w = *state;

	w->s = world_open(w, STORE_DAEMON);
	world_turn(w, "1", "a", 2);
	store_close(w->s);
	w->s = NULL;
	without_shm = true;
	w->s = world_open(w, STORE_DAEMON);
	world_turn(w, "1", "b", 0);
	str mode = world_text(w, "PRAGMA journal_mode");
	int64_t turns = world_i64(w, "SELECT count(*) FROM turns");
	assert_true(str_eq(mode, S("delete")));
	assert_int_equal(2, turns);
}

struct committer {
	struct world *w;
	_Atomic bool begun;
	int rc;
};

static void *commit_once(void *arg)
{
	struct committer *me = arg;
	struct tx tx = { 0 };
	struct err e;

	me->rc = store_begin(&tx, me->w->s, NULL, &e);
	if (me->rc == OK)
		me->rc = store_cursor_set(&tx, S("k"), 5, &e);
	me->begun = true;
	if (me->rc == OK)
		me->rc = store_commit(&tx, &e);
	store_rollback(&tx);
	return NULL;
}

static void without_wal_a_commit_waits_for_readers(void **state)
{
	struct world *w = *state;
	struct committer me = { .w = w };
	struct thread t = { 0 };
	struct reader r = { 0 };
	int64_t n = -1;

	without_shm = true;
	w->s = world_open(w, STORE_DAEMON);
	ok(w, reader_begin(&r, w->s, &w->e));
	assert_int_equal(E_NOENT,
			 db_number(r.db, "SELECT value FROM cursors", DB_NO_ARGS, &n, &w->e));
	ok(w, thread_start(&t, "committer", commit_once, &me, &w->e));
	while (!me.begun)
		continue;
	assert_int_equal(E_NOENT,
			 db_number(r.db, "SELECT value FROM cursors", DB_NO_ARGS, &n, &w->e));
	reader_end(&r);
	thread_join(&t);
	assert_int_equal(OK, me.rc);
	ok(w, store_cursor_get(w->s, S("k"), &n, &w->e));
	assert_int_equal(5, n);
}

static void a_failed_fsync_is_the_end_of_writing(void **state)
{
	struct world *w = *state;
	struct tx tx;
	int64_t n;

	w->s = world_open(w, STORE_DAEMON);
	(void)world_add(w, "1", "safe");
	tx = world_begin(w);
	ok(w, store_cursor_set(&tx, S("k"), 5, &w->e));
	without_sync = true;
	assert_int_equal(E_IO, store_commit(&tx, &w->e));
	without_sync = false;
	assert_int_equal(E_IO, store_failed(w->s, &w->e));
	assert_int_equal(E_IO, store_begin(&tx, w->s, NULL, &w->e));
	assert_int_equal(E_IO, store_cursor_get(w->s, S("k"), &n, &w->e));
	world_reopen(w, STORE_DAEMON);
	ok(w, store_inbox_ready(w->s, S(""), &n, &w->e));
	assert_int_equal(1, n);
	(void)world_add(w, "1", "more");
	world_check(w);
}

static void a_full_database_says_so_and_works_again(void **state)
{
	struct world *w = *state;
	struct inbox_new row = {
		.channel = S("test"), .address = S("1"), .dedupe = S("e"), .kind = S("message")
	};
	char *text = arena_alloc(&w->a, 1, 400001);
	struct tx tx;
	int64_t id;

	w->s = world_open(w, STORE_DAEMON);
	(void)world_add(w, "1", "a");
	ok(w, db_script(w->s->writer, "PRAGMA max_page_count = 1", &w->e));
	memset(text, 'x', 400000);
	row.text = str_of(text);
	tx = world_begin(w);
	ok(w, store_cursor_set(&tx, S("k"), 7, &w->e));
	assert_int_equal(E_FULL, store_inbox_add(&tx, &row, &id, &w->e));
	assert_int_equal(E_FULL, store_commit(&tx, &w->e));
	assert_int_equal(OK, store_failed(w->s, &w->e));
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM cursors"));
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM inbox"));
	ok(w, db_script(w->s->writer, "PRAGMA max_page_count = 1000000", &w->e));
	tx = world_begin(w);
	ok(w, store_inbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	assert_true(id > 0);
	world_check(w);
}

/* In a child with a mount of its own: 1 MiB, filled up, freed. */
static void fill_a_small_disk(struct world *w)
{
	struct inbox_new row = { .channel = S("test"),
				 .address = S("1"),
				 .kind = S("message") };
	char *text = arena_alloc(&w->a, 1, 50001);
	struct store *s;
	struct tx tx = { 0 };
	int64_t id;
	int rc = OK, n = 0;

	if (unshare(CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", w->dir, "tmpfs", 0, "size=1m") != 0)
		_exit(77);
	memset(text, 'x', 50000);
	row.text = str_of(text);
	if (store_open(&s, &w->cfg, STORE_DAEMON, NULL, &w->e) < 0 ||
	    file_create(world_path(w, "ballast"), (str){ text, 50000 }, 0600, &w->e) < 0)
		_exit(1);
	for (; rc == OK && n < 100; n++) {
		if ((rc = store_begin(&tx, s, NULL, &w->e)) == OK &&
		    (rc = store_inbox_add(&tx, &row, &id, &w->e)) == OK)
			rc = store_commit(&tx, &w->e);
		store_rollback(&tx);
	}
	if (rc != E_FULL || n < 2 || store_failed(s, NULL) != OK)
		_exit(2);
	(void)unlink(world_path(w, "ballast"));
	row.text = S("small");
	if (store_begin(&tx, s, NULL, &w->e) < 0 ||
	    store_inbox_add(&tx, &row, &id, &w->e) < 0 || store_commit(&tx, &w->e) < 0)
		_exit(3);
	/* The failed one left nothing. */
	if (store_inbox_ready(s, S(""), &id, &w->e) < 0 || id != n)
		_exit(4);
	store_close(s);
}

static void a_full_disk_says_so_and_works_again(void **state)
{
	int rc = in_child(fill_a_small_disk, *state);

	if (rc == 77)
		skip();
	assert_int_equal(0, rc);
}

static void our_own_files_are_known_by_inode(void **state)
{
	struct world *w = *state;
	static const char *const names[] = { "gantry.db", "gantry.db-wal", "gantry.db-shm" };
	struct stat st;

	w->s = world_open(w, STORE_DAEMON);
	(void)world_add(w, "1", "a");
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_int_equal(0, stat(world_path(w, names[i]), &st));
		assert_true(store_is_own_file(w->s, st.st_dev, st.st_ino));
		assert_false(store_is_own_file(w->s, st.st_dev + 1, st.st_ino));
	}
	put(w, world_path(w, "note"), S("x"));
	assert_int_equal(0, stat(world_path(w, "note"), &st));
	assert_false(store_is_own_file(w->s, st.st_dev, st.st_ino));
	assert_int_equal(0, link(w->cfg.dsn.p, world_path(w, "alias")));
	assert_int_equal(0, stat(world_path(w, "alias"), &st));
	assert_true(store_is_own_file(w->s, st.st_dev, st.st_ino));
}

static void write_beat(void *arg)
{
	struct world *w = arg;
	struct tx tx = world_begin(w);

	ok(w, store_heartbeat(&tx, S("daemon"), S("1"), &w->e));
	world_commit(w, &tx);
}

static void a_long_check_lets_its_caller_write_meanwhile(void **state)
{
	struct world *w = *state;

	w->s = world_open(w, STORE_DAEMON);
	for (int i = 0; i < 40; i++)
		world_turn(w, "1", "hi", 3);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM heartbeats"), 0);
	ok(w, store_check(w->s, write_beat, w, NULL, &w->e));
	assert_int_equal(world_i64(w, "SELECT count(*) FROM heartbeats"), 1);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup_closed, world_teardown)
#define F(f) cmocka_unit_test_setup_teardown(f, setup_faulty, teardown_faulty)
	const struct CMUnitTest tests[] = {
		T(what_it_creates_is_private_and_marked),
		T(opening_again_keeps_everything),
		T(the_writer_is_set_up_for_safety),
		T(reading_creates_nothing),
		T(a_reader_reads_beside_a_daemon_and_cannot_write),
		T(a_foreign_database_is_refused_and_left_alone),
		T(a_newer_database_is_refused_and_left_alone),
		T(a_damaged_file_is_refused_and_left_alone),
		T(damage_met_later_is_latched),
		T(a_long_check_lets_its_caller_write_meanwhile),
		T(paths_that_are_none_are_refused),
		T(a_read_only_directory_is_named),
		T(a_second_daemon_is_kept_out),
		T(waiting_for_the_daemon_lock_can_be_cancelled),
		T(commands_work_beside_the_daemon),
		T(a_daemon_keeps_its_log_short),
		T(a_command_beside_a_daemon_leaves_the_log_alone),
		T(a_command_alone_checkpoints_at_its_end),
		F(without_wal_the_old_journal_serves),
		F(a_wal_file_that_moved_to_such_a_place_is_turned),
		F(without_wal_a_commit_waits_for_readers),
		F(a_failed_fsync_is_the_end_of_writing),
		T(a_full_database_says_so_and_works_again),
		T(a_full_disk_says_so_and_works_again),
		T(our_own_files_are_known_by_inode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
