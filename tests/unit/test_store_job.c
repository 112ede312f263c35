/*
 * Jobs and their runs: one row for each time, ended with its turn, settled once.
 */
#include "store_world.h"

#include "os/clock.h"
#include "store/job.h"

#include <string.h>

static struct job chat_job(const char *kind, const char *expr, int64_t next)
{
	return (struct job){ .channel = S("test"),
			     .address = S("1"),
			     .sender = S("7"),
			     .prompt = S("water the plants"),
			     .kind = str_of(kind),
			     .expr = str_of(expr),
			     .zone = S("UTC"),
			     .catch_up = true,
			     .next_at_ms = next };
}

static int64_t add(struct world *w, struct job j)
{
	struct tx tx = world_begin(w);
	int64_t id = 0;

	ok(w, store_job_add(&tx, &j, 50, &id, &w->e));
	world_commit(w, &tx);
	return id;
}

static struct job get(struct world *w, int64_t id)
{
	struct job j = { 0 };

	ok(w, store_job_get(w->s, id, &w->a, &j, &w->e));
	return j;
}

static bool fire_plan(struct world *w, const struct job *j, const struct plan *p)
{
	const struct job_fire fire = { .text = S("[cron] now"),
				       .meta = S("{\"label\":\"x\"}") };
	struct tx tx = world_begin(w);
	struct job_fired fired;

	ok(w, store_job_fire(&tx, j, p, &fire, &fired, &w->e));
	world_commit(w, &tx);
	return fired.run_id != 0;
}

static bool fire(struct world *w, const struct job *j, int64_t at, int64_t next)
{
	return fire_plan(w, j, &(struct plan){ .run_at_ms = at, .next_at_ms = next });
}

static struct job_run last_run(struct world *w, int64_t id)
{
	struct job_run *v;
	size_t n;

	ok(w, store_job_runs(w->s, id, 1, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 1);
	return v[0];
}

static void a_due_job_becomes_one_row_and_moves_on_in_one_commit(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, chat_job("cron", "* * * * *", 1000)), at = 0;
	struct job *due;
	size_t n;

	ok(w, store_job_next_at(w->s, 0, &at, &w->e));
	assert_int_equal(at, 1000);
	ok(w, store_job_due(w->s, &(struct job_due){ .until_ms = 999, .limit = 10 }, &w->a,
			    &due, &n, &w->e));
	assert_int_equal(n, 0);
	ok(w, store_job_due(w->s, &(struct job_due){ .until_ms = 1000, .limit = 10 }, &w->a,
			    &due, &n, &w->e));
	assert_int_equal(n, 1);
	assert_true(fire(w, &due[0], 1000, 61000));
	assert_int_equal(world_i64(w, "SELECT count(*) FROM inbox WHERE kind = 'cron'"), 1);
	assert_int_equal(get(w, id).next_at_ms, 61000);
	assert_true(get(w, id).running);
	/* As it was read it is no more; and a time that was run is not run again. */
	assert_false(fire(w, &due[0], 1000, 61000));
	struct job now = get(w, id);
	assert_false(fire(w, &now, 1000, 121000));
	assert_int_equal(get(w, id).next_at_ms, 121000);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM inbox"), 1);
}

static void of_each_chat_the_job_that_is_due_the_longest_is_first(void **state)
{
	struct world *w = *state;
	struct job other = chat_job("cron", "* * * * *", 1500);
	int64_t late = add(w, chat_job("cron", "* * * * *", 2000)),
		early = add(w, chat_job("cron", "* * * * *", 1000)), elsewhere;
	struct job *due;
	size_t n;

	other.address = S("2");
	elsewhere = add(w, other);
	ok(w, store_job_due(w->s,
			    &(struct job_due){ .until_ms = 5000, .limit = 10, .firsts = true },
			    &w->a, &due, &n, &w->e));
	assert_int_equal(n, 2);
	assert_int_equal(due[0].id, early);
	assert_int_equal(due[1].id, elsewhere);
	assert_true(late != early);
}

static void a_run_ends_with_its_turn(void **state)
{
	static const struct {
		struct turn_finish f;
		const char *run, *reason;
	} ends[] = {
		{ { .end = TURN_FAILED, .history = HISTORY_NONE, .error = S("no model") },
		  "error",
		  "" },
		{ { .end = TURN_CANCELED, .history = HISTORY_NONE, .error = S("canceled") },
		  "interrupted",
		  "stopped" },
		{ { .end = TURN_GIVEN_UP, .history = HISTORY_NONE, .error = S("again") },
		  "interrupted",
		  "" },
	};
	struct world *w = *state;
	int64_t id = add(w, chat_job("cron", "* * * * *", 1000));

	for (size_t i = 0; i < COUNT(ends); i++) {
		struct job j = get(w, id);
		assert_true(fire(w, &j, j.next_at_ms, j.next_at_ms + 60000));
		assert_string_equal(last_run(w, id).state.p, "started");
		struct turn t = world_claim(w);
		assert_string_equal(t.kind.p, "cron");
		ok(w, world_finish_as(w, &t, ends[i].f));
		struct job_run r = last_run(w, id);
		assert_string_equal(r.state.p, ends[i].run);
		assert_string_equal(r.reason.p, ends[i].reason);
		assert_true(str_eq(r.error, ends[i].f.error));
		assert_true(str_eq(r.turn_id, t.id) && r.finished_at_ms > 0);
		assert_false(get(w, id).running);
	}
	struct job j = get(w, id);
	assert_true(fire(w, &j, j.next_at_ms, 0));
	struct turn t = world_claim(w);
	world_finish(w, &t);
	assert_string_equal(last_run(w, id).state.p, "ok");
}

static void a_run_whose_row_is_dropped_or_removed_is_interrupted(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, chat_job("cron", "* * * * *", 1000));
	struct job j = get(w, id);
	struct control_effect effect;

	assert_true(fire(w, &j, 1000, 2000));
	struct tx tx = world_begin(w);
	ok(w,
	   store_control(&tx, CONTROL_STOP, S("test"), S("1"), S(""), &w->a, &effect, &w->e));
	world_commit(w, &tx);
	assert_string_equal(last_run(w, id).state.p, "interrupted");
	j = get(w, id);
	assert_true(fire(w, &j, 2000, 3000));
	tx = world_begin(w);
	ok(w, store_session_remove(&tx, world_text(w, "SELECT id FROM sessions"), &w->e));
	world_commit(w, &tx);
	assert_string_equal(last_run(w, id).reason.p, "removed");
	assert_false(get(w, id).running);
}

static void what_is_skipped_is_recorded_with_its_reason(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, chat_job("cron", "* * * * *", 1000));
	struct job j = get(w, id);
	struct job_run *v;
	size_t n;

	assert_false(fire_plan(w, &j,
			       &(struct plan){ .skips = { { 1000, 9000, 5, "down" },
							  { 10000, 10000, 1, "overlap" } },
					       .skips_n = 2,
					       .next_at_ms = 11000 }));
	ok(w, store_job_runs(w->s, id, 0, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 2);
	assert_string_equal(v[0].reason.p, "overlap");
	assert_int_equal(v[1].n, 5);
	assert_int_equal(v[1].last_at_ms, 9000);
	assert_string_equal(v[1].state.p, "skipped");
	assert_int_equal(world_i64(w, "SELECT count(*) FROM inbox"), 0);
	ok(w, store_job_unsettled(w->s, 10, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 0); /* nothing follows */
}

static void settle(struct world *w, int64_t id, const struct job_settle *how, bool first)
{
	struct job j = get(w, id);
	struct job_run r = last_run(w, id);
	struct tx tx = world_begin(w);
	bool got;

	ok(w, store_job_settle(&tx, &j, &r, how, &got, &w->e));
	world_commit(w, &tx);
	assert_int_equal(got, first);
}

static void fail_run(struct world *w)
{
	struct turn t = world_claim(w);

	ok(w, world_finish_as(w, &t,
			      (struct turn_finish){ .end = TURN_FAILED, .error = S("no") }));
}

static void an_end_is_settled_once(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, chat_job("once", "1970-01-01T00:00:01.000Z", 1000));
	struct job j = get(w, id);
	struct job_run *v;
	size_t n;

	assert_true(fire(w, &j, 1000, 0));
	fail_run(w);
	ok(w, store_job_unsettled(w->s, 10, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 1);
	settle(w, id, &(struct job_settle){ .retry_at_ms = 5000, .failing = true }, true);
	settle(w, id, &(struct job_settle){ .retry_at_ms = 9000, .failing = true }, false);
	j = get(w, id);
	assert_int_equal(j.next_at_ms, 5000);
	assert_int_equal(j.scheduled_at_ms, 1000);
	assert_int_equal(j.attempt, 1);
	assert_true(j.failing);
	/* The second try stands for the same time. */
	assert_true(fire(w, &j, 5000, 0));
	assert_int_equal(last_run(w, id).scheduled_at_ms, 1000);
	assert_int_equal(last_run(w, id).attempt, 1);
	fail_run(w);
	settle(w, id, &(struct job_settle){ .over = true, .notice = S("it failed") }, true);
	assert_false(get(w, id).enabled);
	assert_string_equal(world_text(w, "SELECT kind || text || address FROM outbox").p,
			    "noticeit failed1");
}

static void what_was_cancelled_meanwhile_stays_cancelled(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, chat_job("once", "1970-01-01T00:00:01.000Z", 1000));
	struct job j = get(w, id);

	assert_true(fire(w, &j, 1000, 0));
	struct tx tx = world_begin(w);
	ok(w, store_job_cancel(&tx, id, S("test"), S("1"), &w->e));
	world_commit(w, &tx);
	fail_run(w);
	settle(w, id, &(struct job_settle){ .retry_at_ms = 5000 }, true);
	assert_false(get(w, id).enabled);
	assert_int_equal(get(w, id).next_at_ms, 0);
}

static void jobs_belong_to_their_chat_and_are_counted(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, chat_job("every", "1h", 1000)), more;
	struct job other = chat_job("every", "1h", 1000), *v;
	size_t n;

	other.address = S("2");
	(void)add(w, other);
	ok(w, store_job_list(w->s, S("test"), S("1"), false, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 1);
	assert_int_equal(v[0].id, id);
	ok(w, store_job_list(w->s, S(""), S(""), false, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 2);
	assert_true(v[0].id > v[1].id);
	struct tx tx = world_begin(w);
	assert_int_equal(store_job_cancel(&tx, id, S("test"), S("2"), &w->e), E_NOENT);
	assert_int_equal(store_job_add(&tx, &other, 2, &more, &w->e), E_LIMIT);
	ok(w, store_job_cancel(&tx, id, S("test"), S("1"), &w->e));
	assert_int_equal(store_job_cancel(&tx, id, S("test"), S("1"), &w->e), E_NOENT);
	ok(w, store_job_add(&tx, &other, 2, &more, &w->e));
	world_commit(w, &tx);
	ok(w, store_job_list(w->s, S("test"), S("1"), false, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 0);
	ok(w, store_job_list(w->s, S("test"), S("1"), true, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 1);
}

static struct job config_job(const char *name, const char *expr, int64_t next)
{
	return (struct job){ .config = true,
			     .name = str_of(name),
			     .channel = S("cron"),
			     .address = S("job:x"),
			     .to_channel = S("test"),
			     .to_address = S("9"),
			     .prompt = S("sum up"),
			     .kind = S("cron"),
			     .expr = str_of(expr),
			     .zone = S("UTC"),
			     .ephemeral = true,
			     .enabled = true,
			     .next_at_ms = next };
}

static void put(struct world *w, struct job j)
{
	struct tx tx = world_begin(w);

	ok(w, store_job_put(&tx, &j, &w->e));
	world_commit(w, &tx);
}

static void a_job_of_the_configuration_is_known_by_its_name(void **state)
{
	struct world *w = *state;
	struct job j;
	str names[] = { S("a") };

	put(w, config_job("a", "0 8 * * *", 1000));
	put(w, config_job("ab", "0 8 * * *", 1000));
	put(w, config_job("a", "0 8 * * *", 7000)); /* nothing changed: due when it was */
	ok(w, store_job_find(w->s, S("a"), &w->a, &j, &w->e));
	assert_int_equal(j.next_at_ms, 1000);
	put(w, config_job("a", "0 9 * * *", 7000));
	ok(w, store_job_find(w->s, S("a"), &w->a, &j, &w->e));
	assert_int_equal(j.next_at_ms, 7000);
	struct tx tx = world_begin(w);
	ok(w, store_job_keep_only(&tx, names, 1, &w->e));
	world_commit(w, &tx);
	ok(w, store_job_find(w->s, S("ab"), &w->a, &j, &w->e));
	assert_false(j.enabled);
	ok(w, store_job_find(w->s, S("a"), &w->a, &j, &w->e));
	assert_true(j.enabled);
	assert_int_equal(store_job_find(w->s, S("b"), &w->a, &j, &w->e), E_NOENT);
	put(w, config_job("ab", "0 8 * * *", 8000)); /* it is back */
	ok(w, store_job_find(w->s, S("ab"), &w->a, &j, &w->e));
	assert_true(j.enabled && j.next_at_ms == 8000);
}

static struct job_fired by_hand(struct world *w, const struct job *j, int64_t at)
{
	const struct job_fire fire = { .text = S("[cron] now"), .by_hand = true };
	struct tx tx = world_begin(w);
	struct job_fired fired;

	ok(w, store_job_fire(&tx, j, &(struct plan){ .run_at_ms = at }, &fire, &fired, &w->e));
	world_commit(w, &tx);
	return fired;
}

static void a_run_by_hand_is_known_by_its_row_and_never_a_second_one(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, chat_job("cron", "* * * * *", 1000));
	int64_t other = add(w, chat_job("cron", "* * * * *", 1000));
	struct job read = get(w, id), second = get(w, other);
	struct job_fired one = by_hand(w, &read, 500), none, two;

	/* Read before it began: what the database says now counts. */
	none = by_hand(w, &read, 501);
	assert_int_equal(none.run_id, 0);
	assert_int_equal(none.inbox_id, 0);
	two = by_hand(w, &second, 501);
	assert_int_equal(last_run(w, id).id, one.run_id);
	assert_int_equal(last_run(w, id).inbox_id, one.inbox_id);
	assert_int_equal(last_run(w, other).id, two.run_id);
	assert_int_equal(last_run(w, other).inbox_id, two.inbox_id);
	assert_int_equal(get(w, id).next_at_ms, 1000);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM inbox"), 2);
}

static void a_single_run_has_a_session_that_goes_once_its_answer_is_out(void **state)
{
	struct world *w = *state;
	struct job j;
	int64_t out;

	put(w, config_job("a", "0 8 * * *", 1000));
	ok(w, store_job_find(w->s, S("a"), &w->a, &j, &w->e));
	assert_true(fire(w, &j, 1000, 2000));
	struct turn t = world_claim(w);
	assert_string_equal(t.session.address.p, "job:x:run-1");
	assert_string_equal(t.address.p, "9"); /* where it answers */
	struct tx tx = world_begin(w);
	ok(w, store_outbox_add(&tx,
			       &(struct outbox_new){ .session_id = t.session.id,
						     .turn_id = t.id,
						     .channel = t.channel,
						     .address = t.address,
						     .kind = S("reply"),
						     .text = S("hi") },
			       &out, &w->e));
	ok(w, store_job_sweep(&tx, 0, &w->e));
	world_commit(w, &tx);
	world_finish(w, &t);
	tx = world_begin(w);
	ok(w, store_job_sweep(&tx, 0, &w->e));
	world_commit(w, &tx);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM sessions"), 1);
	world_sql(w, "UPDATE outbox SET state = 'done'");
	tx = world_begin(w);
	ok(w, store_job_sweep(&tx, 0, &w->e));
	world_commit(w, &tx);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM sessions"), 0);
	assert_string_equal(world_text(w, "SELECT job_name || status FROM cron_runs").p, "aok");
}

static void old_runs_are_forgotten_and_waiting_jobs_are_moved(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, chat_job("cron", "* * * * *", 1000));
	struct job j = get(w, id);
	struct job_run *v;
	size_t n;

	assert_true(fire(w, &j, 1000, 2000));
	struct turn t = world_claim(w);
	world_finish(w, &t);
	settle(w, id, &(struct job_settle){ .over = false }, true);
	j = get(w, id);
	struct tx tx = world_begin(w);
	ok(w, store_job_move(&tx, &j, 3000, &w->e));
	ok(w, store_job_move(&tx, &j, 4000, &w->e)); /* it is not as it was read */
	ok(w, store_job_sweep(&tx, clock_now_ms() + 1000, &w->e));
	world_commit(w, &tx);
	assert_int_equal(get(w, id).next_at_ms, 3000);
	ok(w, store_job_runs(w->s, 0, 0, &w->a, &v, &n, &w->e));
	assert_int_equal(n, 0);
}

static void a_run_that_is_young_or_not_settled_is_kept(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, chat_job("cron", "* * * * *", 1000));
	struct job j = get(w, id);

	/* Settled and young. */
	assert_true(fire(w, &j, 1000, 2000));
	struct turn t = world_claim(w);
	world_finish(w, &t);
	settle(w, id, &(struct job_settle){ .over = false }, true);
	struct tx tx = world_begin(w);
	ok(w, store_job_sweep(&tx, 1000, &w->e));
	world_commit(w, &tx);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM job_runs"), 1);
	/* Old enough, and over, but not settled; and one that runs. */
	world_sql(w, "UPDATE job_runs SET settled = 0");
	j = get(w, id);
	assert_true(fire(w, &j, 2000, 3000));
	tx = world_begin(w);
	ok(w, store_job_sweep(&tx, clock_now_ms() + 1000, &w->e));
	world_commit(w, &tx);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM job_runs"), 2);
}

static void a_job_that_is_over_goes_with_its_last_run(void **state)
{
	struct world *w = *state;
	int64_t on = add(w, chat_job("daily", "09:00", 1000));
	int64_t off = add(w, chat_job("once", "1970-01-01T00:00:01.000Z", 1000));
	struct job j = get(w, off);

	put(w, config_job("a", "0 8 * * *", 1000));
	assert_true(fire(w, &j, 1000, 0));
	struct turn t = world_claim(w);
	world_finish(w, &t);
	settle(w, off, &(struct job_settle){ .over = true }, true);
	world_sql(w, "UPDATE jobs SET enabled = 0 WHERE source = 'config'");
	const int64_t before[] = { 1000, clock_now_ms() + 1000 };
	for (int i = 0; i < 2; i++) {
		struct tx tx = world_begin(w);
		ok(w, store_job_sweep(&tx, before[i], &w->e));
		world_commit(w, &tx);
		assert_int_equal(world_i64(w, "SELECT count(*) FROM jobs"), i ? 2 : 3);
	}
	assert_true(get(w, on).enabled);
	assert_int_equal(store_job_get(w->s, off, &w->a, &j, &w->e), E_NOENT);
}

static void jobs_move_with_their_chat(void **state)
{
	struct world *w = *state;
	int64_t id = add(w, chat_job("every", "1h", 1000));

	put(w, config_job("a", "0 8 * * *", 1000));
	struct tx tx = world_begin(w);
	ok(w, store_address_move(&tx, S("test"), S("1"), S("-100"), &w->e));
	ok(w, store_address_move(&tx, S("test"), S("9"), S("-900"), &w->e));
	world_commit(w, &tx);
	assert_string_equal(get(w, id).address.p, "-100");
	struct job j;
	ok(w, store_job_find(w->s, S("a"), &w->a, &j, &w->e));
	assert_string_equal(j.to_address.p, "-900");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_due_job_becomes_one_row_and_moves_on_in_one_commit),
		TEST(of_each_chat_the_job_that_is_due_the_longest_is_first),
		TEST(a_run_ends_with_its_turn),
		TEST(a_run_whose_row_is_dropped_or_removed_is_interrupted),
		TEST(what_is_skipped_is_recorded_with_its_reason),
		TEST(an_end_is_settled_once),
		TEST(what_was_cancelled_meanwhile_stays_cancelled),
		TEST(jobs_belong_to_their_chat_and_are_counted),
		TEST(a_job_of_the_configuration_is_known_by_its_name),
		TEST(a_run_by_hand_is_known_by_its_row_and_never_a_second_one),
		TEST(a_single_run_has_a_session_that_goes_once_its_answer_is_out),
		TEST(old_runs_are_forgotten_and_waiting_jobs_are_moved),
		TEST(a_run_that_is_young_or_not_settled_is_kept),
		TEST(a_job_that_is_over_goes_with_its_last_run),
		TEST(jobs_move_with_their_chat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
