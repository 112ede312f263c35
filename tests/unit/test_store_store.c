/*
 * Transactions: who waits for whom, how long, and what ends the wait; many threads and
 * other processes at one file.
 */
#include "store_world.h"

#include "os/clock.h"
#include "os/thread.h"
#include "os/wait.h"
#include "store/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- another process ------------------------------------------------------------------------- */

/* Hold the write lock in a process of its own for ms, then insert the cursor "other" and
 * commit.  Returns once the lock is held. */
static pid_t hold(struct world *w, int ms)
{
	int ends[2];
	char c = 0;

	assert_int_equal(0, pipe2(ends, O_CLOEXEC));
	pid_t pid = fork();
	if (pid == 0) {
		sqlite3 *h;
		int rc = sqlite3_open(w->cfg.dsn.p, &h);
		if (rc == SQLITE_OK)
			rc = sqlite3_exec(h, "BEGIN IMMEDIATE", NULL, NULL, NULL);
		if (rc != SQLITE_OK || write(ends[1], "x", 1) != 1)
			_exit(1);
		if (ms < 0)
			for (;;)
				(void)pause();
		(void)!wait_ms(ms, NULL, NULL);
		rc = sqlite3_exec(h, "INSERT INTO cursors VALUES ('other', 1, 1); COMMIT", NULL,
				  NULL, NULL);
		_exit(rc == SQLITE_OK ? 0 : 2);
	}
	assert_int_equal(1, read(ends[0], &c, 1));
	(void)close(ends[0]);
	(void)close(ends[1]);
	return pid;
}

static void reap(pid_t pid, int want)
{
	int status;

	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_int_equal(want, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static void a_foreign_write_lock_is_waited_out(void **state)
{
	struct world *w = *state;
	pid_t pid = hold(w, 2000);
	int64_t n;

	/* Reading is not held up meanwhile. */
	ok(w, store_cursor_get(w->s, S("other"), &n, &w->e));
	assert_int_equal(0, n);
	(void)world_add(w, "1", "kept");
	reap(pid, 0);
	ok(w, store_cursor_get(w->s, S("other"), &n, &w->e));
	assert_int_equal(1, n);
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM inbox"));
}

static void a_commit_of_another_between_reading_and_writing_is_no_loss(void **state)
{
	struct world *w = *state;
	struct inbox_new row = { .channel = S("test"),
				 .address = S("1"),
				 .dedupe = S("e"),
				 .kind = S("message"),
				 .text = S("hi") };
	int64_t n, id = 0;

	for (int i = 0; i < 3; i++) {
		ok(w, store_inbox_ready(w->s, S(""), &n, &w->e));
		world_sql(w, "INSERT INTO cursors VALUES (hex(randomblob(8)), 1, 1)");
		struct tx tx = world_begin(w);
		ok(w, store_inbox_add(&tx, &row, &id, &w->e));
		world_commit(w, &tx);
		assert_true((id != 0) == (i == 0));
	}
	assert_int_equal(3, world_i64(w, "SELECT count(*) FROM cursors"));
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM inbox"));
}

static void the_wait_for_a_foreign_lock_ends_with_the_token(void **state)
{
	struct world *w = *state;
	pid_t pid = hold(w, -1);
	struct cancel c;
	struct tx tx = { 0 };

	ok(w, cancel_init(&c, NULL, 30, &w->e));
	assert_int_equal(E_TIMEOUT, store_begin(&tx, w->s, &c, &w->e));
	assert_false(tx.open);
	cancel_done(&c);
	ok(w, cancel_init(&c, NULL, 0, &w->e));
	cancel_fire(&c, CANCEL_USER);
	assert_int_equal(E_CANCELED, store_begin(&tx, w->s, &c, &w->e));
	cancel_done(&c);
	(void)kill(pid, SIGKILL);
	reap(pid, -SIGKILL);
	(void)world_add(w, "1", "a");
}

static void the_wait_for_a_foreign_lock_ends_after_ten_seconds(void **state)
{
	struct world *w = *state;
	pid_t pid = hold(w, -1);
	struct tx tx = { 0 };
	int64_t begun = clock_mono_ms();

	assert_int_equal(E_BUSY, store_begin(&tx, w->s, NULL, &w->e));
	assert_true(clock_mono_ms() - begun >= 10000);
	(void)kill(pid, SIGKILL);
	reap(pid, -SIGKILL);
	(void)world_add(w, "1", "a");
}

/* --- threads of our own ------------------------------------------------------------------------ */

struct waiter {
	struct store *s;
	struct cancel *c;
	int rc;
};

static void *wait_for_turn(void *arg)
{
	struct waiter *me = arg;
	struct tx tx = { 0 };

	me->rc = store_begin(&tx, me->s, me->c, NULL);
	store_rollback(&tx);
	return NULL;
}

static void waiting_for_another_thread_can_be_cancelled(void **state)
{
	struct world *w = *state;
	struct tx tx = world_begin(w);
	struct cancel c;
	struct waiter me = { .s = w->s, .c = &c, .rc = 99 };
	struct thread t = { 0 };

	ok(w, cancel_init(&c, NULL, 0, &w->e));
	ok(w, thread_start(&t, "waiter", wait_for_turn, &me, &w->e));
	cancel_fire(&c, CANCEL_SHUTDOWN);
	thread_join(&t);
	assert_int_equal(E_CANCELED, me.rc);
	cancel_done(&c);
	/* A deadline likewise, and the queue is whole afterwards. */
	ok(w, cancel_init(&c, NULL, 20, &w->e));
	ok(w, thread_start(&t, "waiter", wait_for_turn, &me, &w->e));
	thread_join(&t);
	assert_int_equal(E_TIMEOUT, me.rc);
	cancel_done(&c);
	store_rollback(&tx);
	me.c = NULL;
	ok(w, thread_start(&t, "waiter", wait_for_turn, &me, &w->e));
	thread_join(&t);
	assert_int_equal(OK, me.rc);
}

#define WORKERS 8
#define SESSIONS 16
#define PER_SESSION 6

struct worker {
	struct world *w;
	struct thread t;
	int turns, failures;
};

/* Claim, step and finish until nothing is ready and nobody has a turn. */
static void *claim_all(void *arg)
{
	struct worker *me = arg;
	struct store *s = me->w->s;
	struct err e;

	for (;;) {
		SCOPED(arena_free) struct arena a = { 0 };
		SCOPED(store_rollback) struct tx tx = { 0 };
		struct turn_finish f = { .end = TURN_DONE,
					 .history = HISTORY_FULL,
					 .final_wire = S("{}"),
					 .round = 1 };
		struct message *m;
		struct call *c;
		struct turn t;
		size_t n, calls_n;
		int64_t ready;
		if (store_begin(&tx, s, NULL, &e) < 0)
			break;
		int rc = store_turn_claim(&tx, S(""), &a, &t, &e);
		if (rc == E_NOENT) {
			store_rollback(&tx);
			if (store_inbox_ready(s, S(""), &ready, &e) < 0)
				break;
			if (ready == 0)
				return NULL;
			continue;
		}
		if (rc < 0 || store_message_user(&tx, t.id, S("{}"), S("x"), S(""), &e) < 0 ||
		    store_commit(&tx, &e) < 0)
			break;
		if (store_turn_load(s, t.id, &a, &m, &n, &c, &calls_n, &e) < 0 || n != 1)
			break;
		if (store_begin(&tx, s, NULL, &e) < 0 ||
		    store_turn_finish(&tx, &t, &f, &e) < 0 || store_commit(&tx, &e) < 0)
			break;
		me->turns++;
	}
	me->failures++;
	print_error("%s\n", e.msg);
	return NULL;
}

static void many_workers_never_claim_the_same(void **state)
{
	struct world *w = *state;
	struct worker workers[WORKERS] = { 0 };
	int turns = 0;

	for (int i = 0; i < SESSIONS * PER_SESSION; i++) {
		char address[8];
		(void)snprintf(address, sizeof address, "%d", i % SESSIONS);
		(void)world_add(w, address, "x");
	}
	for (size_t i = 0; i < WORKERS; i++) {
		workers[i].w = w;
		ok(w, thread_start(&workers[i].t, "worker", claim_all, &workers[i], &w->e));
	}
	for (size_t i = 0; i < WORKERS; i++) {
		thread_join(&workers[i].t);
		assert_int_equal(0, workers[i].failures);
		turns += workers[i].turns;
	}
	assert_int_equal(SESSIONS * PER_SESSION, turns);
	assert_int_equal(turns, world_i64(w, "SELECT count(DISTINCT turn_id) FROM inbox"));
	assert_int_equal(turns, world_i64(w, "SELECT count(*) FROM turns"));
	/* Each session's messages were answered in the order they came. */
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM inbox a JOIN inbox b "
					 "ON a.session_id = b.session_id AND a.id < b.id "
					 "JOIN turns ta ON ta.id = a.turn_id "
					 "JOIN turns tb ON tb.id = b.turn_id "
					 "WHERE ta.first_seq > tb.first_seq"));
	world_check(w);
}

#define QUEUE 20
#define ROUNDS 10

struct runner {
	struct store *s;
	struct thread t;
	int rc;
};

static void *run_rounds(void *arg)
{
	struct runner *me = arg;

	for (int i = 0; i < ROUNDS && me->rc == OK; i++) {
		struct tx tx = { 0 };
		me->rc = store_begin(&tx, me->s, NULL, NULL);
		if (me->rc < 0)
			break;
		me->rc = store_cursor_set(&tx, S("k"), i, NULL);
		if (me->rc == OK)
			me->rc = store_commit(&tx, NULL);
	}
	return NULL;
}

static void twenty_threads_take_turns(void **state)
{
	struct world *w = *state;
	struct runner runners[QUEUE] = { 0 };
	struct tx tx = world_begin(w);
	int64_t before = store_commits(w->s);

	for (size_t i = 0; i < QUEUE; i++) {
		runners[i].s = w->s;
		ok(w, thread_start(&runners[i].t, "runner", run_rounds, &runners[i], &w->e));
	}
	store_rollback(&tx);
	for (size_t i = 0; i < QUEUE; i++) {
		thread_join(&runners[i].t);
		assert_int_equal(OK, runners[i].rc);
	}
	assert_int_equal(QUEUE * ROUNDS, store_commits(w->s) - before);
}

/* --- the transaction itself -------------------------------------------------------------------- */

static void what_is_rolled_back_never_was(void **state)
{
	struct world *w = *state;
	struct tx tx = world_begin(w);
	int64_t before = store_commits(w->s), n;

	ok(w, store_cursor_set(&tx, S("k"), 1, &w->e));
	store_rollback(&tx);
	store_rollback(&tx);
	ok(w, store_cursor_get(w->s, S("k"), &n, &w->e));
	assert_int_equal(0, n);
	assert_int_equal(before, store_commits(w->s));
}

static void a_row_has_a_limit(void **state)
{
	struct world *w = *state;
	size_t n = (64u << 20) + 1;
	char *text = arena_alloc(&w->a, 1, n);
	struct tx tx = world_begin(w);

	memset(text, 'x', n);
	assert_int_equal(E_LIMIT, store_tools_set(&tx, S("s"), (str){ text, n }, &w->e));
	assert_int_equal(E_LIMIT, store_commit(&tx, &w->e));
	tx = world_begin(w);
	ok(w, store_tools_set(&tx, S("s"), (str){ text, n / 2 }, &w->e));
	world_commit(w, &tx);
}

static void readers_see_the_last_commit_only(void **state)
{
	struct world *w = *state;
	struct tx tx = world_begin(w);
	int64_t n;

	ok(w, store_cursor_set(&tx, S("k"), 1, &w->e));
	ok(w, store_cursor_get(w->s, S("k"), &n, &w->e));
	assert_int_equal(0, n);
	world_commit(w, &tx);
	ok(w, store_cursor_get(w->s, S("k"), &n, &w->e));
	assert_int_equal(1, n);
}

static void many_readers_read_at_once(void **state)
{
	struct world *w = *state;
	struct reader readers[12] = { 0 };
	int64_t n;

	for (size_t i = 0; i < COUNT(readers); i++) {
		ok(w, reader_begin(&readers[i], w->s, &w->e));
		/* The first read takes the snapshot. */
		ok(w, db_number(readers[i].db, "SELECT count(*) FROM inbox", DB_NO_ARGS, &n,
				&w->e));
		(void)world_add(w, "1", "x");
	}
	for (size_t i = 0; i < COUNT(readers); i++) {
		ok(w, db_number(readers[i].db, "SELECT count(*) FROM inbox", DB_NO_ARGS, &n,
				&w->e));
		assert_int_equal(i, n);
		reader_end(&readers[i]);
	}
}

static size_t logs_open(struct world *w)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str log = arena_fmt(&a, "%.*s-wal", STRF(w->cfg.dsn));
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		char path[512];
		ssize_t got = readlinkat(dirfd(d), e->d_name, path, sizeof path);
		n += got > 0 && str_ends(log, (str){ path, (size_t)got }) &&
		     (size_t)got == log.n;
	}
	(void)closedir(d);
	return n;
}

static void readers_that_nobody_uses_are_closed(void **state)
{
	struct world *w = *state;
	struct reader readers[3] = { 0 };
	size_t before, all;
	int64_t n;

	(void)world_add(w, "1", "x");
	store_tidy_readers(w->s, 0);
	before = logs_open(w);
	for (size_t i = 0; i < COUNT(readers); i++)
		ok(w, reader_begin(&readers[i], w->s, &w->e));
	all = logs_open(w);
	assert_int_equal(before + 3, all);
	reader_end(&readers[0]);
	reader_end(&readers[1]);
	store_tidy_readers(w->s, 60000);
	assert_int_equal(before + 2, logs_open(w)); /* one is in use, one idle is kept */
	store_tidy_readers(w->s, 0);
	assert_int_equal(before + 1, logs_open(w));
	ok(w, db_number(readers[2].db, "SELECT count(*) FROM inbox", DB_NO_ARGS, &n, &w->e));
	assert_int_equal(1, n);
	reader_end(&readers[2]);
	store_tidy_readers(w->s, 0);
	assert_int_equal(before, logs_open(w));
}

static void readers_that_are_often_used_are_kept(void **state)
{
	struct world *w = *state;
	struct reader two[2] = { 0 };
	size_t before;

	(void)world_add(w, "1", "x");
	store_tidy_readers(w->s, 0);
	before = logs_open(w);
	for (int i = 0; i < 40; i++) {
		ok(w, reader_begin(&two[0], w->s, &w->e));
		ok(w, reader_begin(&two[1], w->s, &w->e));
		reader_end(&two[0]);
		reader_end(&two[1]);
	}
	store_tidy_readers(w->s, 60000);
	assert_int_equal(before + 2, logs_open(w));
	store_tidy_readers(w->s, 60000); /* not since */
	assert_int_equal(before + 1, logs_open(w));
}

struct reading {
	struct world *w;
	struct thread thread;
	int rounds; /* that went well */
};

static void *read_and_end(void *arg)
{
	struct reading *me = arg;

	for (int i = 0; i < 200; i++) {
		struct reader r = { 0 };
		me->rounds += reader_begin(&r, me->w->s, NULL) == OK;
		reader_end(&r);
	}
	return NULL;
}

/* Whoever holds some may begin more: a moment is waited for one to come back, not for ever. */
static void more_readers_than_are_kept_are_opened_all_the_same(void **state)
{
	struct world *w = *state;
	struct reader held[6] = { 0 };
	struct reading threads[4] = { 0 };
	size_t before = logs_open(w);
	int64_t n = 0;

	(void)world_add(w, "1", "x");
	for (size_t i = 0; i < COUNT(held); i++)
		ok(w, reader_begin(&held[i], w->s, &w->e));
	assert_true(logs_open(w) >= before + COUNT(held) - 1);
	for (size_t i = 0; i < COUNT(held); i++) {
		ok(w,
		   db_number(held[i].db, "SELECT count(*) FROM inbox", DB_NO_ARGS, &n, &w->e));
		reader_end(&held[i]);
	}
	assert_int_equal(n, 1);
	for (size_t i = 0; i < COUNT(threads); i++) {
		threads[i].w = w;
		ok(w, thread_start(&threads[i].thread, "reader", read_and_end, &threads[i],
				   &w->e));
	}
	for (size_t i = 0; i < COUNT(threads); i++) {
		thread_join(&threads[i].thread);
		assert_int_equal(threads[i].rounds, 200);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(a_foreign_write_lock_is_waited_out),
		T(a_commit_of_another_between_reading_and_writing_is_no_loss),
		T(the_wait_for_a_foreign_lock_ends_with_the_token),
		T(the_wait_for_a_foreign_lock_ends_after_ten_seconds),
		T(waiting_for_another_thread_can_be_cancelled),
		T(many_workers_never_claim_the_same),
		T(twenty_threads_take_turns),
		T(what_is_rolled_back_never_was),
		T(a_row_has_a_limit),
		T(readers_see_the_last_commit_only),
		T(many_readers_read_at_once),
		T(readers_that_nobody_uses_are_closed),
		T(readers_that_are_often_used_are_kept),
		T(more_readers_than_are_kept_are_opened_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
