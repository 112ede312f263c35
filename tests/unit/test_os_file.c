/*
 * Files, directories, descriptors and locks.
 */
#include "base/buf.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/path.h"
#include "os/thread.h"
#include "os/wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[] = "/tmp/gantry-file-XXXXXX";

static const char *in_dir(struct arena *a, const char *name)
{
	return arena_fmt(a, "%s/%s", dir, name).p;
}

/* Stands in place of libc's. */
static bool stuck; /* nothing can be removed */

int unlink(const char *path)
{
	if (stuck) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

static int64_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)(st.st_mode & 07777) : -1;
}

static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static void what_is_written_is_read_back_up_to_the_limit(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 65535, 65536, 65537, 300000 };

	for (size_t i = 0; i < COUNT(sizes); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		const char *path = in_dir(&a, "sizes");
		struct err e = { 0 };
		str text, back = { 0 };
		char *p = arena_alloc(&a, 1, sizes[i] + 1);
		for (size_t k = 0; k < sizes[i]; k++)
			p[k] = (char)(k * 31 >> 3);
		text = (str){ p, sizes[i] };
		assert_int_equal(file_write_atomic(path, text, 0640, &e), OK);
		assert_int_equal(mode_of(path), 0640);
		assert_int_equal(file_read(&back, &a, path, sizes[i], &e), OK);
		assert_true(str_eq(back, text));
		assert_int_equal(back.p[back.n], '\0');
		assert_int_equal(file_read(&back, &a, path, sizes[i] + 1000, &e), OK);
		assert_true(str_eq(back, text));
		if (sizes[i] == 0)
			continue;
		assert_int_equal(file_read(&back, &a, path, sizes[i] - 1, &e), E_LIMIT);
		assert_non_null(strstr(e.msg, path));
	}
}

static void what_has_no_size_is_read_too(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str text;
	int p[2];

	assert_int_equal(file_read(&text, &a, "/proc/self/status", 65536, NULL), OK);
	assert_true(str_starts(text, S("Name:\t")));
	assert_true(str_has(text, S("\nnonvoluntary_ctxt_switches:")));
	assert_int_equal(file_read(&text, &a, "/proc/self/status", 100, NULL), E_LIMIT);
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_int_equal(write(p[1], "abc", 3), 3);
	(void)close(p[1]);
	assert_int_equal(file_read_fd(&text, &a, p[0], 3, NULL), OK);
	assert_string_equal(text.p, "abc");
	(void)close(p[0]);
	assert_int_equal(file_read_fd(&text, &a, p[0], 3, NULL), E_IO);
}

static void what_is_no_file_is_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *fifo = in_dir(&a, "fifo");
	const struct {
		const char *path;
		int code;
	} rows[] = {
		{ in_dir(&a, "missing"), E_NOENT },
		{ "/etc/passwd/x", E_NOENT },
		{ dir, E_INVAL },
		{ fifo, E_INVAL },
		{ "/dev/null", E_INVAL },
	};

	assert_int_equal(mkfifo(fifo, 0600), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };
		str text = S("unchanged");
		assert_int_equal(file_read(&text, &a, rows[i].path, 100, &e), rows[i].code);
		assert_string_equal(text.p, "unchanged");
		assert_non_null(strstr(e.msg, rows[i].path));
	}
	assert_int_equal(unlink(fifo), 0);
}

static void replacing_keeps_links_and_leaves_nothing_else(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *sub = in_dir(&a, "sub"), *link = in_dir(&a, "sub/link");
	const char *target = in_dir(&a, "sub/target");
	size_t n = 0;
	str *names, text;

	assert_int_equal(dir_make(sub, 0700, NULL), OK);
	assert_int_equal(file_write_atomic(target, S("old"), 0600, NULL), OK);
	assert_int_equal(symlink("target", link), 0);
	assert_int_equal(file_write_atomic(link, S("new"), 0600, NULL), OK);
	assert_true(is_link(link));
	assert_int_equal(file_read(&text, &a, target, 100, NULL), OK);
	assert_string_equal(text.p, "new");
	/* A directory is in the way: an error, and no temporary file left. */
	assert_true(file_write_atomic(sub, S("x"), 0600, NULL) < 0);
	const char *fifo = in_dir(&a, "fifo");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(file_write_atomic(fifo, S("x"), 0600, NULL), E_INVAL);
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(file_write_atomic(in_dir(&a, "no/such"), S("x"), 0600, NULL), E_NOENT);
	assert_int_equal(dir_list(&names, &n, &a, sub, 10, NULL), OK);
	assert_int_equal(n, 2);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(unlink(target), 0);
	assert_int_equal(dir_list(&names, &n, &a, dir, 100, NULL), OK);
	for (size_t i = 0; i < n; i++)
		assert_false(str_ends(names[i], S(".tmp")));
	assert_int_equal(rmdir(sub), 0);
}

static void a_file_is_created_once(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *path = in_dir(&a, "once");
	struct err e = { 0 };
	mode_t old = umask(077);
	str text;

	assert_int_equal(file_create(path, S("first"), 0644, &e), OK);
	(void)umask(old);
	assert_int_equal(mode_of(path), 0644);
	assert_int_equal(file_create(path, S("second"), 0644, &e), E_BUSY);
	assert_int_equal(file_read(&text, &a, path, 100, NULL), OK);
	assert_string_equal(text.p, "first");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/nowhere", path), 0);
	assert_int_equal(file_create(path, S("second"), 0644, &e), E_BUSY);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(file_create(in_dir(&a, "no/such"), S("x"), 0644, &e), E_NOENT);
}

static void a_placed_file_replaces_nothing_and_leaves_nothing_beside_it(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *place = in_dir(&a, "place"), *path = in_dir(&a, "place/file");
	struct err e = { 0 };
	str text, *names;
	size_t n;

	assert_int_equal(dir_make(place, 0700, &e), OK);
	assert_int_equal(file_place(path, S("first"), 0600, &e), OK);
	assert_int_equal(mode_of(path), 0600);
	assert_int_equal(file_place(path, S("second"), 0644, &e), E_BUSY);
	assert_int_equal(file_read(&text, &a, path, 100, NULL), OK);
	assert_string_equal(text.p, "first");
	assert_int_equal(mode_of(path), 0600);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/nowhere", path), 0);
	assert_int_equal(file_place(path, S("third"), 0600, &e), E_BUSY);
	assert_int_equal(dir_list(&names, &n, &a, place, 10, &e), OK);
	assert_int_equal(n, 1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(place), 0);
	assert_int_equal(file_place(path, S("x"), 0600, &e), E_NOENT);
}

static void a_finished_file_has_one_name_also_where_nothing_can_be_removed(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *part = in_dir(&a, "copy.part"), *path = in_dir(&a, "copy");
	struct err e = { 0 };

	assert_int_equal(file_create(part, S("all"), 0600, &e), OK);
	stuck = true;
	int rc = file_settle(part, path, &e);
	stuck = false;
	assert_int_equal(rc, OK);
	assert_false(path_taken(part));
	assert_true(path_taken(path));
	assert_int_equal(file_create(part, S("more"), 0600, &e), OK);
	assert_int_equal(file_settle(part, path, &e), E_BUSY);
	assert_int_equal(file_bytes(path), 3);
	assert_int_equal(unlink(part), 0);
	assert_int_equal(unlink(path), 0);
}

static void a_file_is_added_to_up_to_a_limit(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *path = in_dir(&a, "notes"), *link = in_dir(&a, "link");
	struct err e = { 0 };
	str text;

	assert_int_equal(file_append(path, S("one\n"), 8, 0600, &e), OK);
	assert_int_equal(mode_of(path), 0600);
	assert_int_equal(file_append(path, S("two\n"), 8, 0600, &e), OK);
	assert_int_equal(file_append(path, S("3"), 8, 0600, &e), E_LIMIT);
	assert_int_equal(file_append(path, S("too long!"), 8, 0600, &e), E_LIMIT);
	assert_int_equal(file_read(&text, &a, path, 100, NULL), OK);
	assert_string_equal(text.p, "one\ntwo\n");
	assert_int_equal(symlink("notes", link), 0);
	assert_true(file_append(link, S("x"), 100, 0600, &e) < 0);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_true(file_append(link, S("x"), 100, 0600, &e) < 0);
	assert_int_equal(file_append(in_dir(&a, "no/such"), S("x"), 9, 0600, &e), E_NOENT);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(unlink(path), 0);
}

static void directories_are_made_with_their_parents(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct err e = { 0 };

	assert_int_equal(dir_make(in_dir(&a, "x/y//z/"), 0700, &e), OK);
	assert_int_equal(mode_of(in_dir(&a, "x/y/z")), 0700);
	assert_int_equal(dir_make(in_dir(&a, "x/y/z"), 0755, &e), OK);
	assert_int_equal(mode_of(in_dir(&a, "x/y/z")), 0700);
	assert_true(dir_writable(in_dir(&a, "x")));
	assert_int_equal(file_create(in_dir(&a, "x/file"), S(""), 0600, &e), OK);
	assert_int_equal(dir_make(in_dir(&a, "x/file"), 0700, &e), E_INVAL);
	assert_int_equal(dir_make(in_dir(&a, "x/file/y"), 0700, &e), E_INVAL);
	assert_non_null(strstr(e.msg, "x/file: not a directory"));
	assert_int_equal(dir_make("", 0700, &e), E_INVAL);
	assert_true(path_exists(in_dir(&a, "x/file")));
	assert_false(path_exists(in_dir(&a, "x/none")));
	assert_false(dir_writable(in_dir(&a, "x/file")));
	assert_false(dir_writable(in_dir(&a, "x/none")));
	assert_int_equal(unlink(in_dir(&a, "x/file")), 0);
	assert_int_equal(rmdir(in_dir(&a, "x/y/z")), 0);
	assert_int_equal(rmdir(in_dir(&a, "x/y")), 0);
	assert_int_equal(rmdir(in_dir(&a, "x")), 0);
}

static void names_are_listed_in_the_order_of_their_bytes(void **state)
{
	static const char *const sorted[] = { ".hidden", "A", "a", "a.b", "aa", "\xC3\xA4" };
	SCOPED(arena_free) struct arena a = { 0 };
	const char *sub = in_dir(&a, "list");
	struct err e = { 0 };
	size_t n = 99;
	str *names;

	assert_int_equal(dir_make(sub, 0700, NULL), OK);
	assert_int_equal(dir_list(&names, &n, &a, sub, 0, &e), OK);
	assert_int_equal(n, 0);
	for (size_t i = COUNT(sorted); i-- > 0;)
		assert_int_equal(
			file_create(arena_fmt(&a, "%s/%s", sub, sorted[i]).p, S(""), 0600, &e),
			OK);
	assert_int_equal(dir_list(&names, &n, &a, sub, COUNT(sorted), &e), OK);
	assert_int_equal(n, COUNT(sorted));
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(names[i].p, sorted[i]);
		assert_int_equal(unlink(arena_fmt(&a, "%s/%s", sub, sorted[i]).p), 0);
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(
			file_create(arena_fmt(&a, "%s/%03d", sub, i).p, S(""), 0600, &e), OK);
	assert_int_equal(dir_list(&names, &n, &a, sub, 99, &e), E_LIMIT);
	assert_int_equal(dir_list(&names, &n, &a, sub, 100, &e), OK);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(unlink(arena_fmt(&a, "%s/%s", sub, names[i].p).p), 0);
	assert_int_equal(rmdir(sub), 0);
	assert_int_equal(dir_list(&names, &n, &a, sub, 100, &e), E_NOENT);
}

struct writing {
	int fd;
	str text;
	struct cancel *c;
	int rc;
};

static void *write_it(void *arg)
{
	struct writing *w = arg;

	w->rc = fd_write_all(w->fd, w->text, w->c, NULL);
	(void)close(w->fd);
	return NULL;
}

static void all_is_written_to_a_slow_reader(void **state)
{
	for (int nonblock = 0; nonblock <= 1; nonblock++) {
		SCOPED(arena_free) struct arena a = { 0 };
		char *text = arena_alloc(&a, 1, 1000000);
		struct writing w = { .text = { text, 1000000 }, .rc = -99 };
		struct thread t = { 0 };
		str back;
		int p[2];
		for (size_t i = 0; i < w.text.n; i++)
			text[i] = (char)(i * 7 >> 2);
		assert_int_equal(pipe2(p, O_CLOEXEC), 0);
		if (nonblock)
			assert_int_equal(fcntl(p[1], F_SETFL, O_NONBLOCK), 0);
		w.fd = p[1];
		assert_int_equal(thread_start(&t, "write", write_it, &w, NULL), OK);
		assert_int_equal(file_read_fd(&back, &a, p[0], 1000000, NULL), OK);
		thread_join(&t);
		assert_int_equal(w.rc, OK);
		assert_true(str_eq(back, w.text));
		(void)close(p[0]);
	}
}

static void a_write_that_nobody_reads_can_be_cancelled(void **state)
{
	static char big[1000000];

	for (int nonblock = 0; nonblock <= 1; nonblock++) {
		struct cancel c;
		int p[2];
		assert_int_equal(pipe2(p, O_CLOEXEC), 0);
		if (nonblock)
			assert_int_equal(fcntl(p[1], F_SETFL, O_NONBLOCK), 0);
		assert_int_equal(cancel_init(&c, NULL, 20, NULL), OK);
		assert_int_equal(fd_write_all(p[1], (str){ big, sizeof big }, &c, NULL),
				 E_TIMEOUT);
		cancel_done(&c);
		(void)close(p[0]);
		(void)close(p[1]);
		assert_int_equal(fd_write_all(p[1], S("x"), NULL, NULL), E_IO);
	}
}

static void a_lock_is_held_by_one(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *path = in_dir(&a, "lock");
	const char *holder = arena_fmt(&a, "held by process %d", (int)getpid()).p;
	int64_t pid = 77;
	struct err e = { 0 };
	int fd = -1, other = 42;

	assert_false(lock_probe(path, &pid));
	assert_int_equal(lock_take(&fd, path, &e), OK);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(lock_probe(path, &pid));
	assert_int_equal(pid, getpid());
	assert_true(lock_probe(path, NULL));
	assert_int_equal(lock_take(&other, path, &e), E_BUSY);
	assert_int_equal(other, 42);
	assert_non_null(strstr(e.msg, holder));
	fd_drop(&fd);
	assert_int_equal(fd, -1);
	fd_drop(&fd);
	assert_false(lock_probe(path, &pid));
	assert_int_equal(lock_take(&fd, path, &e), OK);
	fd_drop(&fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(lock_take(&fd, in_dir(&a, "no/such"), &e), E_NOENT);
}

static void a_lock_that_is_borrowed_stays_as_it_was_left(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *path = in_dir(&a, "lent");
	const struct timespec long_ago[] = { { 1000, 0 }, { 1000, 0 } };
	int64_t pid = 0;
	struct stat st;
	int fd = -1, other = -1;

	assert_int_equal(file_create(path, S("77\n"), 0600, NULL), OK);
	assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
	assert_int_equal(lock_borrow(&fd, path, NULL), OK);
	assert_int_equal(lock_take(&other, path, NULL), E_BUSY);
	assert_true(lock_probe(path, &pid));
	assert_int_equal(pid, 77);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mtime, 1000);
	fd_drop(&fd);
	assert_int_equal(lock_take(&fd, path, NULL), OK);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_mtime > 1000);
	fd_drop(&fd);
	assert_int_equal(unlink(path), 0);
}

struct probing {
	const char *path;
	struct bell stop;
	_Atomic int64_t probes;
};

static void *probe_all_the_time(void *arg)
{
	struct probing *p = arg;

	while (wait_fd(p->stop.fd, POLLIN, 1, NULL, NULL) == E_TIMEOUT) {
		/* As lock_probe() does, but for a longer instant. */
		int fd = open(p->path, O_RDONLY | O_CLOEXEC);
		if (flock(fd, LOCK_SH | LOCK_NB) == 0)
			p->probes++;
		(void)sched_yield();
		(void)close(fd);
		(void)sched_yield();
	}
	return NULL;
}

static void looking_at_a_lock_does_not_hold_it(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct probing p = { .path = in_dir(&a, "probed") };
	struct thread t = { 0 };

	assert_int_equal(file_create(p.path, S(""), 0644, NULL), OK);
	assert_int_equal(bell_init(&p.stop, NULL), OK);
	assert_int_equal(thread_start(&t, "probe", probe_all_the_time, &p, NULL), OK);
	for (int i = 0; i < 500 || (p.probes < 100 && i < 1000000); i++) {
		int fd = -1;
		assert_int_equal(lock_take(&fd, p.path, NULL), OK);
		fd_drop(&fd);
	}
	bell_ring(&p.stop);
	thread_join(&t);
	assert_true(p.probes > 0);
	bell_done(&p.stop);
	assert_int_equal(unlink(p.path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_back_up_to_the_limit),
		cmocka_unit_test(what_has_no_size_is_read_too),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(replacing_keeps_links_and_leaves_nothing_else),
		cmocka_unit_test(a_file_is_created_once),
		cmocka_unit_test(a_placed_file_replaces_nothing_and_leaves_nothing_beside_it),
		cmocka_unit_test(
			a_finished_file_has_one_name_also_where_nothing_can_be_removed),
		cmocka_unit_test(a_file_is_added_to_up_to_a_limit),
		cmocka_unit_test(directories_are_made_with_their_parents),
		cmocka_unit_test(names_are_listed_in_the_order_of_their_bytes),
		cmocka_unit_test(all_is_written_to_a_slow_reader),
		cmocka_unit_test(a_write_that_nobody_reads_can_be_cancelled),
		cmocka_unit_test(a_lock_is_held_by_one),
		cmocka_unit_test(a_lock_that_is_borrowed_stays_as_it_was_left),
		cmocka_unit_test(looking_at_a_lock_does_not_hold_it),
	};

	if (!mkdtemp(dir))
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	SCOPED(arena_free) struct arena a = { 0 };
	(void)unlink(in_dir(&a, "sizes"));
	(void)rmdir(dir);
	return failed;
}
