/*
 * After a crash: whose work is taken up, whose is not, and what a kill at any instant
 * leaves.  The dead are children that end with the work in their hands.
 */
#include "store_world.h"

#include "os/clock.h"
#include "os/file.h"
#include "store/internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

/* Let a process of its own do the work and die of it. */
static void die_after(struct world *w, void (*work)(struct world *, struct store *))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct store *s;
		if (store_open(&s, &w->cfg, STORE_CLI, NULL, &w->e) < 0)
			_exit(1);
		work(w, s);
		(void)kill(getpid(), SIGKILL);
	}
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static int64_t recover(struct world *w)
{
	int64_t n = -1;

	ok(w, store_recover(w->s, NULL, &n, &w->e));
	return n;
}

static size_t owner_files(struct world *w)
{
	str *names;
	size_t n;

	ok(w, dir_list(&names, &n, &w->a, world_path(w, "owners"), 100, &w->e));
	return n;
}

static void claim_with(struct store *s, struct world *w, str only)
{
	struct call calls[] = {
		world_call(1, 1, CALL_DONE, false),    world_call(1, 2, CALL_RUNNING, true),
		world_call(1, 3, CALL_RUNNING, false), world_call(1, 4, CALL_PLANNED, false),
		world_call(1, 5, CALL_PLANNED, true),
	};
	struct store *own = w->s;

	calls[1].pid = 4711;
	calls[1].start_time = 99;
	w->s = s;
	struct turn t = world_claim_in(w, s, only);
	world_step(w, &t, 1, calls, COUNT(calls));
	w->s = own;
}

static void die_in_a_turn(struct world *w, struct store *s)
{
	claim_with(s, w, S(""));
}

static void a_dead_owners_turn_is_taken_up_where_it_ended(void **state)
{
	static const struct {
		enum call_state state;
		bool interrupted;
	} want[] = { { CALL_DONE, false },
		     { CALL_PLANNED, true },
		     { CALL_IN_DOUBT, false },
		     { CALL_PLANNED, false },
		     { CALL_PLANNED, false } };
	struct world *w = *state;
	struct stale_child *children;
	struct message *m;
	struct call *c;
	size_t n, calls_n;

	(void)world_add(w, "1", "a");
	die_after(w, die_in_a_turn);
	assert_true(world_idle(w));
	assert_int_equal(2, owner_files(w));
	ok(w, store_stale_children(w->s, &w->a, &children, &n, &w->e));
	assert_int_equal(1, n);
	assert_int_equal(4711, children[0].pid);
	assert_int_equal(99, children[0].start_time);
	assert_int_equal(1, recover(w));
	ok(w, store_stale_children(w->s, &w->a, &children, &n, &w->e));
	assert_int_equal(0, n);
	assert_int_equal(1, owner_files(w));
	struct turn t = world_claim(w);
	assert_true(t.resumed);
	assert_int_equal(1, t.attempts);
	ok(w, store_turn_load(w->s, t.id, &w->a, &m, &n, &c, &calls_n, &w->e));
	assert_int_equal(COUNT(want), calls_n);
	for (size_t i = 0; i < calls_n; i++) {
		assert_int_equal(want[i].state, c[i].state);
		assert_int_equal(want[i].interrupted, c[i].interrupted);
	}
	assert_true(str_has(c[2].result_wire, S("may or may not")));
	assert_int_equal(4, n);
	assert_int_equal(0, recover(w));
	world_check(w);
}

static void die_at_the_claim(struct world *w, struct store *s)
{
	(void)world_claim_in(w, s, S(""));
}

static void a_message_that_kills_is_counted(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "1", "poison");
	for (int i = 0; i < 3; i++) {
		die_after(w, die_at_the_claim);
		assert_int_equal(1, recover(w));
	}
	struct turn t = world_claim(w);
	assert_int_equal(4, t.attempts);
	ok(w, world_finish_as(
		      w, &t,
		      (struct turn_finish){ .end = TURN_GIVEN_UP, .history = HISTORY_NONE }));
	assert_true(world_idle(w));
}

static void a_living_owners_work_is_left_to_it(void **state)
{
	struct world *w = *state;
	struct store *other = world_open(w, STORE_CLI);
	struct stale_child *children;
	size_t n;

	(void)world_add(w, "1", "a");
	(void)world_add_owned(w, "2", "b", store_owner(other));
	claim_with(other, w, S(""));
	assert_int_equal(0, recover(w));
	ok(w, store_stale_children(w->s, &w->a, &children, &n, &w->e));
	assert_int_equal(0, n);
	assert_int_equal(2, owner_files(w));
	assert_text(world_text(w, "SELECT state FROM turns"), "running");
	assert_int_equal(1, world_i64(w, "SELECT count(*) FROM inbox WHERE state = 'ready'"));
	store_close(other);
	assert_int_equal(1, owner_files(w));
	assert_int_equal(1, recover(w));
	assert_text(world_text(w, "SELECT state FROM turns"), "ready");
}

static void our_own_work_is_not_recovered(void **state)
{
	struct world *w = *state;

	(void)world_add(w, "1", "a");
	(void)world_claim(w);
	assert_int_equal(0, recover(w));
	assert_text(world_text(w, "SELECT state FROM turns"), "running");
}

static void add_own(struct world *w, struct store *s, const char *address, const char *text)
{
	struct store *own = w->s;

	w->s = s;
	(void)world_add_owned(w, address, text, store_owner(s));
	w->s = own;
}

static void die_as_a_command(struct world *w, struct store *s)
{
	struct outbox_new row = { .channel = S("test"),
				  .address = S("1"),
				  .kind = S("reply"),
				  .text = S("x"),
				  .owner = store_owner(s) };
	struct tx tx = { 0 };
	int64_t id;

	add_own(w, s, "1", "a");
	claim_with(s, w, store_owner(s));
	add_own(w, s, "1", "never claimed");
	if (store_begin(&tx, s, NULL, &w->e) < 0 ||
	    store_outbox_add(&tx, &row, &id, &w->e) < 0 || store_commit(&tx, &w->e) < 0)
		_exit(1);
}

static void a_dead_commands_turn_ends_with_a_note(void **state)
{
	struct world *w = *state;
	struct session session;
	struct message *m;
	size_t n;

	die_after(w, die_as_a_command);
	assert_int_equal(1, recover(w));
	assert_true(world_idle(w));
	assert_text(world_text(w, "SELECT state FROM turns"), "interrupted");
	assert_text(world_text(w, "SELECT group_concat(state) FROM (SELECT state FROM inbox "
				  "ORDER BY id)"),
		    "done,dropped");
	assert_text(world_text(w, "SELECT state FROM outbox"), "dropped");
	assert_text(world_text(w, "SELECT group_concat(state) FROM (SELECT state FROM "
				  "tool_calls ORDER BY idx)"),
		    "done,in_doubt,in_doubt,canceled,canceled");
	ok(w, store_session_find(w->s, S("test"), S("1"), &w->a, &session, &w->e));
	ok(w, store_history(w->s, &session, 10, &w->a, &m, &n, &w->e));
	assert_int_equal(2, n);
	assert_true(str_has(m[1].wire, S("[The program ended before this was answered. Tool "
					 "calls made before that:\\n- read_file ")));
	assert_true(str_has(m[1].wire, S(": done\\n- ")));
	assert_true(str_has(m[1].wire, S(": interrupted, may or may not have happened\\n- ")));
	assert_true(str_has(m[1].wire, S(": not run]")));
	world_check(w);
}

static void die_as_a_command_early(struct world *w, struct store *s)
{
	add_own(w, s, "1", "a");
	(void)world_claim_in(w, s, store_owner(s));
}

static void a_dead_commands_turn_without_tools_leaves_no_trace_in_prompts(void **state)
{
	struct world *w = *state;
	struct session session;
	struct message *m;
	size_t n;

	die_after(w, die_as_a_command_early);
	assert_int_equal(1, recover(w));
	ok(w, store_session_find(w->s, S("test"), S("1"), &w->a, &session, &w->e));
	ok(w, store_history(w->s, &session, 10, &w->a, &m, &n, &w->e));
	assert_int_equal(0, n);
}

static void die_sending(struct world *w, struct store *s)
{
	struct tx tx = { 0 };
	struct outbox_row row;
	struct piece piece;
	int64_t wake;

	if (store_begin(&tx, s, NULL, &w->e) < 0 ||
	    store_outbox_next(&tx, S("test"), S(""), &w->a, &row, &wake, &w->e) < 0)
		_exit(1);
	if (row.raw &&
	    store_outbox_split(&tx, row.id,
			       &(struct piece_new){ S("send"), S("b"), S("b"), S("") }, 1,
			       &w->e) < 0)
		_exit(2);
	if (store_piece_begin(&tx, row.id, &w->a, &piece, &w->e) < 0 ||
	    store_commit(&tx, &w->e) < 0)
		_exit(3);
}

static void a_piece_cut_off_by_a_crash_is_sent_again_but_not_for_ever(void **state)
{
	struct world *w = *state;
	struct outbox_new row = {
		.channel = S("test"), .address = S("1"), .kind = S("reply"), .text = S("x")
	};
	struct tx tx = world_begin(w);
	int64_t id;

	ok(w, store_outbox_add(&tx, &row, &id, &w->e));
	world_commit(w, &tx);
	for (int crashes = 1; crashes <= 5; crashes++) {
		die_after(w, die_sending);
		assert_text(world_text(w, "SELECT state FROM pieces"), "sending");
		(void)recover(w);
		assert_text(world_text(w, "SELECT state FROM pieces"), "ready");
	}
	die_after(w, die_sending);
	(void)recover(w);
	assert_text(world_text(w, "SELECT state FROM pieces"), "unknown");
	assert_text(world_text(w, "SELECT state || sender FROM outbox"), "done");
	assert_int_equal(6, world_i64(w, "SELECT attempts FROM pieces"));
}

static void a_command_recovers_only_where_no_daemon_runs(void **state)
{
	struct world *w = *state;
	struct store *s = world_open(w, STORE_CLI);
	int64_t n = -1;

	die_after(w, die_as_a_command);
	assert_int_equal(E_BUSY, store_recover(s, NULL, &n, &w->e));
	assert_text(world_text(w, "SELECT state FROM turns"), "running");
	store_close(w->s);
	w->s = NULL;
	const char *lock = world_path(w, "gantry.db.lock");
	struct stat before, after;
	assert_int_equal(0, stat(lock, &before));
	ok(w, store_recover(s, NULL, &n, &w->e));
	assert_int_equal(1, n);
	/* By which one sees when the daemon began. */
	assert_int_equal(0, stat(lock, &after));
	assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
	assert_text(world_text(w, "SELECT state FROM turns"), "interrupted");
	/* The lock was only borrowed. */
	w->s = world_open(w, STORE_DAEMON);
	store_close(s);
	s = world_open(w, STORE_READ);
	assert_int_equal(E_DENIED, store_recover(s, NULL, &n, &w->e));
	store_close(s);
}

static void events_are_forgotten_after_a_week(void **state)
{
	struct world *w = *state;
	char sql[400];
	int64_t now = clock_now_ms(), day = 24LL * 3600 * 1000, n;

	(void)snprintf(sql, sizeof sql,
		       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
		       "WHERE i < 1200) INSERT INTO inbox_events SELECT 'tg', 'old' || i, %lld "
		       "FROM n UNION ALL SELECT 'tg', 'new' || i, %lld FROM n WHERE i <= 3",
		       (long long)(now - 7 * day - 1000), (long long)(now - 7 * day + 60000));
	world_sql(w, sql);
	int64_t commits = store_commits(w->s);
	ok(w, store_recover(w->s, NULL, &n, &w->e));
	assert_int_equal(3, world_i64(w, "SELECT count(*) FROM inbox_events"));
	assert_int_equal(3, store_commits(w->s) - commits);
	ok(w, store_recover(w->s, NULL, &n, &w->e));
	assert_int_equal(3, store_commits(w->s) - commits);
}

/* --- kill at any instant --------------------------------------------------------------------- */

#define KILLS 30
#define ROWS_MAX 400

static void effect(int fd, const char *id)
{
	char line[64];
	int n = snprintf(line, sizeof line, "%s\n", id);

	if (write(fd, line, (size_t)n) != n)
		_exit(9);
}

static void must(struct world *w, int rc)
{
	if (rc == OK)
		return;
	(void)fprintf(stderr, "%s\n", w->e.msg);
	_exit(8);
}

/* One tool call: running is journaled, then it happens, then its result is journaled. */
static void run_call(struct world *w, struct turn *t, struct call *c, int effects)
{
	struct tx tx = { 0 };

	if (c->state == CALL_PLANNED) {
		must(w, store_begin(&tx, w->s, NULL, &w->e));
		must(w, store_call_start(&tx, t->id, c, &w->e));
		must(w, store_commit(&tx, &w->e));
	}
	effect(effects, c->id);
	c->state = CALL_DONE;
	c->result = S("result");
	must(w, store_begin(&tx, w->s, NULL, &w->e));
	must(w, store_call_finish(&tx, t->id, c, &w->e));
	must(w, store_commit(&tx, &w->e));
}

/* Take a turn up wherever its rows end, and bring it to its answer. */
static void run_turn(struct world *w, struct turn *t, int effects)
{
	struct turn_finish f = { .end = TURN_DONE,
				 .history = HISTORY_FULL,
				 .final_wire = S("{\"role\":\"assistant\",\"content\":\"a\"}"),
				 .round = 2 };
	struct outbox_new reply = { .session_id = t->session.id,
				    .turn_id = t->id,
				    .channel = t->channel,
				    .address = t->address,
				    .kind = S("reply"),
				    .text = S("a") };
	struct tx tx = { 0 };
	struct message *m;
	struct call *c, plan[2];
	size_t n, calls_n;
	int64_t id;

	must(w, store_turn_load(w->s, t->id, &w->a, &m, &n, &c, &calls_n, &w->e));
	if (calls_n == 0) {
		plan[0] = world_call(1, 1, CALL_RUNNING, false);
		plan[1] = world_call(1, 2, CALL_PLANNED, false);
		struct turn_step step = {
			.round = 1, .wire = S("{}"), .calls = plan, .calls_n = 2
		};
		must(w, store_begin(&tx, w->s, NULL, &w->e));
		must(w, store_turn_step(&tx, t->id, &step, &w->e));
		must(w, store_commit(&tx, &w->e));
		c = plan;
		calls_n = 2;
	}
	for (size_t i = 0; i < calls_n; i++)
		if (c[i].state == CALL_PLANNED || c[i].state == CALL_RUNNING)
			run_call(w, t, &c[i], effects);
	must(w, store_begin(&tx, w->s, NULL, &w->e));
	must(w, store_outbox_add(&tx, &reply, &id, &w->e));
	must(w, store_turn_finish(&tx, t, &f, &w->e));
	must(w, store_commit(&tx, &w->e));
}

/* What a daemon does, until it is killed or (rows 0) nothing is left to do. */
static void work(struct world *w, int effects, int alive, int rows)
{
	int64_t n, row;

	must(w, store_open(&w->s, &w->cfg, STORE_DAEMON, NULL, &w->e));
	must(w, store_recover(w->s, NULL, &n, &w->e));
	for (int i = 0;; i++) {
		struct tx tx = { 0 };
		struct turn t;
		char address[8];
		struct inbox_new in = { .channel = S("test"),
					.kind = S("message"),
					.text = S("go") };
		if (i < rows) {
			(void)snprintf(address, sizeof address, "%d", i % 3);
			in.address = str_of(address);
			must(w, store_begin(&tx, w->s, NULL, &w->e));
			must(w, store_inbox_add(&tx, &in, &row, &w->e));
			must(w, store_commit(&tx, &w->e));
		}
		must(w, store_begin(&tx, w->s, NULL, &w->e));
		int rc = store_turn_claim(&tx, S(""), &w->a, &t, &w->e);
		if (rc == E_NOENT) {
			store_rollback(&tx);
			break;
		}
		must(w, rc);
		if (!t.resumed)
			must(w, store_message_user(&tx, t.id, S("{}"), S("go"), S(""), &w->e));
		must(w, store_commit(&tx, &w->e));
		if (write(alive, ".", 1) != 1)
			_exit(7);
		run_turn(w, &t, effects);
	}
	store_close(w->s);
	w->s = NULL;
}

/* Kill the worker some time after its k-th turn began. */
static void kill_once(struct world *w, int effects, int k)
{
	int ends[2], status;
	char c;

	assert_int_equal(0, pipe2(ends, O_CLOEXEC));
	pid_t pid = fork();
	if (pid == 0) {
		(void)close(ends[0]);
		work(w, effects, ends[1], ROWS_MAX);
		_exit(0);
	}
	(void)close(ends[1]);
	while (k-- > 0 && read(ends[0], &c, 1) == 1)
		continue;
	int64_t until = clock_mono_us() + random() % 3000;
	while (clock_mono_us() < until)
		continue;
	(void)kill(pid, SIGKILL);
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFSIGNALED(status));
	(void)close(ends[0]);
}

static void a_kill_at_any_instant_loses_and_repeats_nothing(void **state)
{
	struct world *w = *state;
	int effects =
		open(world_path(w, "effects"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	str all;

	assert_true(effects >= 0);
	store_close(w->s);
	w->s = NULL;
	srandom(7);
	for (int i = 0; i < KILLS; i++) {
		kill_once(w, effects, 1 + (int)(random() % 4));
		w->s = world_open(w, STORE_DAEMON);
		world_check(w);
		store_close(w->s);
		w->s = NULL;
	}
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	work(w, effects, null, 0);
	(void)close(null);
	(void)close(effects);

	w->s = world_open(w, STORE_DAEMON);
	world_check(w);
	assert_true(world_i64(w, "SELECT count(*) FROM inbox") >= KILLS);
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM inbox WHERE state <> 'done'"));
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM turns WHERE state <> 'done'"));
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM inbox i WHERE (SELECT count(*) "
					 "FROM outbox o WHERE o.turn_id = i.turn_id) <> 1"));
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM turns t WHERE (SELECT count(*) "
					 "FROM inbox i WHERE i.turn_id = t.id) <> 1"));
	/* Each done call happened once, and no call happened twice. */
	ok(w, file_read(&all, &w->a, world_path(w, "effects"), 1 << 20, &w->e));
	world_sql(w, "CREATE TABLE effects (id TEXT PRIMARY KEY NOT NULL)");
	while (all.n > 0) {
		str id = str_cut(&all, '\n');
		world_sql(w,
			  arena_fmt(&w->a, "INSERT INTO effects VALUES ('%.*s')", STRF(id)).p);
	}
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM tool_calls WHERE state = 'done' "
					 "AND id NOT IN (SELECT id FROM effects)"));
	assert_int_equal(0, world_i64(w, "SELECT count(*) FROM effects WHERE id NOT IN "
					 "(SELECT id FROM tool_calls WHERE state IN ('done', "
					 "'in_doubt'))"));
	assert_true(world_i64(w, "SELECT count(*) FROM tool_calls WHERE state = 'in_doubt'") >
		    0);
}

static void call_alone(struct world *w, struct store *s)
{
	struct call first = world_call(0, 0, CALL_RUNNING, false);
	struct call second = world_call(0, 0, CALL_RUNNING, false);

	id_new(first.id);
	id_new(second.id);
	first.requester = second.requester = S("cli");
	ok(w, store_call_record(s, &first, false, NULL, &w->e));
	ok(w, store_call_record(s, &second, false, NULL, &w->e));
	second.state = CALL_DONE;
	ok(w, store_call_record(s, &second, true, NULL, &w->e));
}

static void a_call_of_no_turn_is_in_doubt_when_its_command_died_over_it(void **state)
{
	struct world *w = *state;

	call_alone(w, w->s);
	assert_int_equal(0, recover(w));
	assert_text(world_text(w, "SELECT group_concat(state) FROM tool_calls"),
		    "running,done");
	die_after(w, call_alone);
	assert_int_equal(0, recover(w));
	assert_text(world_text(w, "SELECT group_concat(idx || state) FROM tool_calls"),
		    "1running,2done,3in_doubt,4done");
	assert_int_equal(4, world_i64(w, "SELECT count(*) FROM tool_calls WHERE turn_id = '' "
					 "AND session_id = '' AND requester = 'cli'"));
	assert_int_equal(2, world_i64(w, "SELECT sum(tool_calls) FROM usage"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(a_dead_owners_turn_is_taken_up_where_it_ended),
		T(a_message_that_kills_is_counted),
		T(a_living_owners_work_is_left_to_it),
		T(our_own_work_is_not_recovered),
		T(a_dead_commands_turn_ends_with_a_note),
		T(a_dead_commands_turn_without_tools_leaves_no_trace_in_prompts),
		T(a_piece_cut_off_by_a_crash_is_sent_again_but_not_for_ever),
		T(a_command_recovers_only_where_no_daemon_runs),
		T(a_call_of_no_turn_is_in_doubt_when_its_command_died_over_it),
		T(events_are_forgotten_after_a_week),
		T(a_kill_at_any_instant_loses_and_repeats_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
