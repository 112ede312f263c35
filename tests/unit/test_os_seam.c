/*
 * The seam of the test build, as it is linked there: it stands in this program in place of
 * os/seam.c, and its faults must reach our own calls and those of SQLite.  Each row runs
 * this program again with the environment that asks for the fault.
 */
#include "seam/faults.h"

#include "children.h"

#include "os/clock.h"
#include "os/file.h"
#include "os/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <stdint.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <cmocka.h>

#define REPORT_FD 9

static char dir[] = "/tmp/gantry-seam-XXXXXX";

static void say(const char *fmt, ...) PRINTF(1, 2);

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vdprintf(REPORT_FD, fmt, ap);
	va_end(ap);
}

static const char *path_in(struct arena *a, const char *name)
{
	return arena_fmt(a, "%s/%s", dir, name).p;
}

/* Three whole files, as the program writes them. */
static void mode_files(void)
{
	for (int i = 1; i <= 3; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		const char *path = path_in(&a, arena_fmt(&a, "file%d", i).p);
		str back = S("nothing");
		int rc = file_write_atomic(path, S("new"), 0600, NULL);
		if (rc == OK)
			rc = file_read(&back, &a, path, 100, NULL);
		say("%s ", err_word(rc));
	}
}

static void mode_sqlite(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	sqlite3 *db = NULL;

	int rc = sqlite3_open(path_in(&a, "db"), &db);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db,
				  "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
				  "CREATE TABLE IF NOT EXISTS t (x)",
				  NULL, NULL, NULL);
	say("%d ", rc);
	for (int i = 0; i < 3; i++)
		say("%d ", sqlite3_exec(db, "INSERT INTO t VALUES (1)", NULL, NULL, NULL));
	(void)sqlite3_close(db);
}

/* The rows that are there after all. */
static int count_row(void *count, int n, char **values, char **names)
{
	int64_t v = 0;

	(void)names;
	if (n == 1 && str_i64(str_of(values[0]), &v))
		*(int64_t *)count = v;
	return 0;
}

static void mode_rows(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t rows = -1;
	sqlite3 *db = NULL;

	(void)sqlite3_open(path_in(&a, "db"), &db);
	(void)sqlite3_exec(db, "SELECT count(*) FROM t", count_row, &rows, NULL);
	(void)sqlite3_close(db);
	say("%lld", (long long)rows);
}

/* Writes that are not counted: to an eventfd, to a socket, in another process. */
static void mode_uncounted(void)
{
	struct bell b;

	if (bell_init(&b, NULL) < 0)
		return;
	for (int i = 0; i < 3; i++) {
		bell_ring(&b);
		say("%s ", err_word(wait_fd(b.fd, POLLIN, soon(), NULL, NULL)));
		bell_hear(&b);
	}
	bell_done(&b);
	pid_t pid = fork();
	if (pid == 0)
		_exit(write(STDERR_FILENO, "", 0) == 0 ? 0 : 1);
	int status = -1;
	(void)waitpid(pid, &status, 0);
	say("%d %s", status, write(STDERR_FILENO, "", 0) < 0 ? "failed" : "ok");
}

static void mode_clock(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(fd_drop) int fd = open(path_in(&a, "clock"), O_RDWR | O_CLOEXEC);
	int64_t step = 3600500, wall = clock_now_ms(), mono = clock_mono_ms();

	(void)!pwrite(fd, &step, sizeof step, 0);
	int64_t wall_ms = clock_now_ms() - wall, mono_ms = clock_mono_ms() - mono;
	say("%d %d ", wall_ms >= step && wall_ms < step + 60000,
	    mono_ms >= step && mono_ms < step + 60000);
	step = -5500;
	(void)!pwrite(fd, &step, sizeof step, 0);
	wall_ms = clock_now_ms() - wall;
	say("%d ", wall_ms >= step && wall_ms < step + 60000);
	/* A wait of a day is over when the clock has been stepped by one, here again and again
	 * by another process until we are gone. */
	int alive[2];
	if (pipe2(alive, O_CLOEXEC) != 0)
		return;
	pid_t pid = fork();
	if (pid == 0) {
		struct pollfd p = { .fd = alive[0] };
		(void)close(alive[1]);
		for (int i = 0; i < 20000 && poll(&p, 1, 1) == 0; i++) {
			step += 86400000;
			(void)!pwrite(fd, &step, sizeof step, 0);
		}
		_exit(0);
	}
	say("%s", err_word(wait_ms(86400000, NULL, NULL)));
	(void)close(alive[1]);
	(void)waitpid(pid, NULL, 0);
	(void)close(alive[0]);
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{ "files", mode_files }, { "sqlite", mode_sqlite },       { "rows", mode_rows },
	{ "clock", mode_clock }, { "uncounted", mode_uncounted },
};

/* Run a mode under a fault; what it said, and its wait status in words. */
static str run_mode(struct arena *a, const char *mode, const char *fault)
{
	const char *env_fault = arena_fmt(a, "GANTRY_FAULT=%s", fault).p;
	const char *env_clock = arena_fmt(a, "GANTRY_CLOCK=%s", path_in(a, "clock")).p;
	bool stepped = strcmp(mode, "clock") == 0;
	int out[2], status = -1;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
		(void)dup2(out[1], REPORT_FD);
		(void)dup2(null, STDERR_FILENO);
		(void)execve("/proc/self/exe", (char *[]){ "mode", (char *)mode, dir, NULL },
			     (char *[]){ (char *)(stepped ? env_clock : env_fault), NULL });
		_exit(127);
	}
	(void)close(out[1]);
	str said = read_until(a, out[0], NULL);
	(void)close(out[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return arena_fmt(a, "%.*s| %s", STRF(said), proc_status_text(a, status).p);
}

static void remove_files(void)
{
	SCOPED(arena_free) struct arena a = { 0 };
	size_t n = 0;
	str *names;

	assert_int_equal(dir_list(&names, &n, &a, dir, 100, NULL), OK);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(unlink(path_in(&a, names[i].p)), 0);
}

static void our_own_calls_fail_when_asked(void **state)
{
	static const struct {
		const char *fault, *want;
	} rows[] = {
		{ "", "ok ok ok | exit 0" },
		{ "write:2", "ok io ok | exit 0" },
		{ "write:2:ENOSPC", "ok full ok | exit 0" },
		{ "write:2+:28", "ok full full | exit 0" },
		{ "write:2-3:28", "ok full full | exit 0" },
		{ "write:1-2", "io io ok | exit 0" },
		{ "write:3-2", "| exit 2" },
		{ "fsync:1", "io ok ok | exit 0" },
		{ "rename:3:EACCES", "ok ok denied | exit 0" },
		{ "rename:1,write:3:ENOSPC", "io ok full | exit 0" },
		{ "write:1:EINTR", "ok ok ok | exit 0" },
		{ "kill:write:2", "ok | killed by signal 9" },
		{ "kill:rename:1", "| killed by signal 9" },
		{ "fdatasync:1", "ok ok ok | exit 0" },
		{ "write:1-3:SHORT", "ok ok ok | exit 0" },
		{ "child:write:1-3", "ok ok ok | exit 0" },
		{ "write@12ab", "ok ok ok | exit 0" },
		{ "write@xyz", "| exit 2" },
		{ "write@0", "| exit 2" },
		{ "nonsense:1", "| exit 2" },
		{ "write:0", "| exit 2" },
		{ "write", "| exit 2" },
		{ "write:1:EWHAT", "| exit 2" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		assert_string_equal(run_mode(&a, "files", rows[i].fault).p, rows[i].want);
		remove_files();
	}
}

static void calls_of_sqlite_fail_when_asked(void **state)
{
	static const struct {
		const char *fault;
		int code; /* SQLite's, seen somewhere */
	} rows[] = {
		{ "pwrite:5", SQLITE_IOERR },          { "fdatasync:3", SQLITE_IOERR },
		{ "fdatasync:3+", SQLITE_IOERR },      { "pwrite:1+:ENOSPC", SQLITE_FULL },
		{ "open:1+:EACCES", SQLITE_CANTOPEN },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		assert_string_equal(run_mode(&a, "sqlite", "").p, "0 0 0 0 | exit 0");
		remove_files();
		str got = run_mode(&a, "sqlite", rows[i].fault);
		if (!str_has(arena_cat(&a, S(" "), got), arena_fmt(&a, " %d ", rows[i].code)))
			fail_msg("%s: %s", rows[i].fault, got.p);
		remove_files();
	}
}

/* Every instant of the three commits: what was reported as done is there afterwards. */
static void sqlite_is_killed_at_each_write_and_keeps_what_it_confirmed(void **state)
{
	int killed = 0;

	for (int nth = 1; nth < 100; nth++) {
		SCOPED(arena_free) struct arena a = { 0 };
		str got = run_mode(&a, "sqlite", arena_fmt(&a, "kill:pwrite:%d", nth).p);
		str said = str_cut(&got, '|');
		if (str_has(got, S("exit 0")))
			break;
		assert_true(str_has(got, S("killed by signal 9")));
		killed++;
		/* "0 " for the table and "0 " for each row. */
		int64_t confirmed = said.n >= 2 ? (int64_t)said.n / 2 - 1 : -1, rows = -1;
		str found = run_mode(&a, "rows", "");
		assert_true(str_i64(str_cut(&found, '|'), &rows));
		if (said.n >= 2)
			assert_in_range(rows, confirmed, confirmed + 1);
		remove_files();
	}
	assert_true(killed >= 6);
}

static void eventfds_and_other_processes_do_not_count(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	assert_string_equal(run_mode(&a, "uncounted", "write:1").p,
			    "ok ok ok 0 failed| exit 0");
}

static void time_steps_when_the_file_says_so(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };

	assert_int_equal(
		file_create(path_in(&a, "clock"), (str){ "\0\0\0\0\0\0\0\0", 8 }, 0600, NULL),
		OK);
	assert_string_equal(run_mode(&a, "clock", "").p, "1 1 1 ok| exit 0");
	remove_files();
	assert_string_equal(run_mode(&a, "clock", "").p, "| exit 2");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_calls_fail_when_asked),
		cmocka_unit_test(calls_of_sqlite_fail_when_asked),
		cmocka_unit_test(sqlite_is_killed_at_each_write_and_keeps_what_it_confirmed),
		cmocka_unit_test(eventfds_and_other_processes_do_not_count),
		cmocka_unit_test(time_steps_when_the_file_says_so),
	};

	if (argc == 3) {
		(void)snprintf(dir, sizeof dir, "%s", argv[2]);
		for (size_t i = 0; i < COUNT(modes); i++)
			if (strcmp(argv[1], modes[i].name) == 0)
				modes[i].run();
		_exit(0);
	}
	if (!mkdtemp(dir))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)rmdir(dir);
	return failed;
}
