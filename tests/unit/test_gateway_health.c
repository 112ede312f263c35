/*
 * What the rows say about the daemon: healthy, degraded or dead, and why.  And the times of the
 * threads that become rows.
 */
#include "store_world.h"

#include "gateway/beats.h"
#include "gateway/health.h"
#include "os/clock.h"
#include "store/model_call.h"

#define NOW INT64_C(1900000000000)
#define STEP_MS 600000
#define assert_text(a, b) assert_true(str_eq((a), str_of(b)))

static struct health judged(struct arena *a, const struct heartbeat *beats, size_t n,
			    int64_t step_at_ms, const char *model_error)
{
	const struct store_health rows = { .beats = beats,
					   .n = n,
					   .turn_step_at_ms = step_at_ms,
					   .model_error = str_of(model_error) };
	struct health h;

	health_judge(&rows, NOW, STEP_MS, a, &h);
	return h;
}

static void each_part_is_dead_past_its_own_limit_and_not_before(void **state)
{
	static const struct {
		const char *part;
		int64_t limit_ms;
	} parts[] = { { "daemon", 60000 },
		      { "poller", 180000 },
		      { "deliver", 180000 },
		      { "worker", 180000 } };
	SCOPED(arena_free) struct arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(parts); i++)
		for (int late = 0; late < 2; late++) {
			struct heartbeat v[] = { { S("daemon"), NOW, S("") },
						 { str_of(parts[i].part),
						   NOW - parts[i].limit_ms - late, S("") } };
			struct health h = judged(&a, i ? v : v + 1, i ? 2 : 1, 0, "");
			assert_int_equal(h.state, late ? DEAD : HEALTHY);
			assert_text(str_of(h.part), late ? parts[i].part : "");
			assert_int_equal(h.reason.n > 0, late);
		}
}

static void a_turn_may_take_as_long_as_its_longest_step(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct heartbeat clock = { S("daemon"), NOW, S("") };

	(void)state;
	assert_int_equal(judged(&a, &clock, 1, NOW - STEP_MS, "").state, HEALTHY);
	struct health h = judged(&a, &clock, 1, NOW - STEP_MS - 1, "");
	assert_int_equal(h.state, DEAD);
	assert_text(h.reason, "a turn made no step for 600 s, the limit is 600 s");
}

static void trouble_degrades_and_death_outranks_it(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct heartbeat v[] = { { S("daemon"), NOW, S("") }, { S("poll"), 0, S("refused") } };

	(void)state;
	struct health h = judged(&a, v, 2, 0, "auth");
	assert_int_equal(h.state, DEGRADED);
	assert_text(h.reason, "the channel: refused");
	h = judged(&a, v, 1, 0, "auth");
	assert_int_equal(h.state, DEGRADED);
	assert_text(str_of(h.part), "model");
	v[0].at_ms = NOW - 61000;
	assert_int_equal(judged(&a, v, 2, 0, "auth").state, DEAD);
}

static void what_never_was_and_a_clock_set_back_are_no_fault(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct heartbeat v[] = { { S("daemon"), NOW + 3600000, S("") },
				       { S("consolidation"), 1, S("") } };

	(void)state;
	assert_int_equal(judged(&a, v, 2, 0, "").state, HEALTHY);
	struct health h = judged(&a, v, 0, 0, "");
	assert_int_equal(h.state, HEALTHY);
	assert_int_equal(h.parts[0].age_ms, -1);
}

static void the_longest_step_follows_the_configuration(void **state)
{
	struct config cfg = { .model = { .total_ms = 100000, .max_retries = 2 },
			      .exec = { .timeout_ms = 50000 } };

	(void)state;
	assert_int_equal(health_step_max(&cfg, 0), 3 * 160000 + 60000);
	cfg.exec.timeout_ms = 7200000;
	assert_int_equal(health_step_max(&cfg, 0), 7200000 + 60000);
	assert_int_equal(health_step_max(&cfg, 9000000), 9000000 + 60000);
}

/* --- rows ------------------------------------------------------------------------------- */

static int64_t age_of(struct world *w, const char *part)
{
	int64_t at = 0;

	ok(w, store_heartbeat_get(w->s, str_of(part), &at, &w->e));
	return clock_now_ms() - at;
}

static void the_slowest_thread_of_a_kind_is_written_and_a_busy_worker_is_none(void **state)
{
	struct world *w = *state;
	struct beats b = { 0 };

	beats_move(&b.deliver[0]);
	atomic_store(&b.deliver[2], clock_mono_ms() - 500000);
	beats_move(&b.worker[0]);
	atomic_store(&b.worker[1], clock_mono_ms() - 400000);
	atomic_store(&b.poll, clock_mono_ms() - 300000);
	ok(w, beats_write(&b, w->s, NULL, &w->e));
	assert_in_range(age_of(w, "daemon"), 0, 60000);
	assert_in_range(age_of(w, "poller"), 300000, 360000);
	assert_in_range(age_of(w, "deliver"), 500000, 560000);
	assert_in_range(age_of(w, "worker"), 400000, 460000);
	beats_busy(&b.worker[1]);
	ok(w, beats_write(&b, w->s, NULL, &w->e));
	assert_in_range(age_of(w, "worker"), 0, 60000);
}

static void the_first_heartbeat_of_a_file_is_written_and_no_later_start_writes_another(
	void **state)
{
	struct world *w = *state;
	struct beats b = { 0 };
	int64_t at, again;

	bool wrote = false;

	ok(w, beats_first(&b, w->s, &wrote, NULL, &w->e));
	assert_true(wrote);
	ok(w, store_heartbeat_get(w->s, S(PART_CLOCK), &at, &w->e));
	int64_t commits = store_commits(w->s);
	ok(w, beats_first(&b, w->s, &wrote, NULL, &w->e));
	assert_false(wrote);
	ok(w, store_heartbeat_get(w->s, S(PART_CLOCK), &again, &w->e));
	assert_int_equal(store_commits(w->s), commits);
	assert_int_equal(again, at);
	ok(w, beats_write(&b, w->s, NULL, &w->e));
	assert_int_equal(store_commits(w->s), commits + 1);
}

static void what_is_older_than_the_daemon_counts_as_of_its_begin(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct heartbeat v[] = { { S("daemon"), NOW - 3600000, S("") },
				       { S("worker"), NOW - 1000, S("") } };
	struct store_health rows = { .beats = v, .n = 2, .model_error = S("") };
	struct health h;

	(void)state;
	rows.since_ms = NOW - 5000;
	health_judge(&rows, NOW, STEP_MS, &a, &h);
	assert_int_equal(h.state, HEALTHY);
	assert_int_equal(h.parts[0].age_ms, 5000);
	assert_int_equal(h.parts[3].age_ms, 1000);
	rows.since_ms = NOW + 5000; /* the clock was set back */
	health_judge(&rows, NOW, STEP_MS, &a, &h);
	assert_int_equal(h.state, DEAD);
}

static void only_the_newest_request_counts_and_a_canceled_one_does_not(void **state)
{
	static const struct {
		const char *error, *seen;
	} rows[] = { { "", "" },
		     { "auth", "auth" },
		     { "canceled", "auth" },
		     { "", "" },
		     { "transient", "transient" } };
	struct world *w = *state;
	struct store_health h;

	(void)world_add(w, "1", "hi");
	struct turn t = world_claim(w);

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct model_row row = { .round = 1,
					 .attempt = (int64_t)i,
					 .issuer = S("i"),
					 .params = S("{}"),
					 .error = str_of(rows[i].error) };
		struct tx tx = world_begin(w);
		ok(w, store_model_call(&tx, t.id, &row, &w->e));
		world_commit(w, &tx);
		ok(w, store_health_get(w->s, &w->a, &h, &w->e));
		assert_text(h.model_error, rows[i].seen);
	}
	assert_true(h.turn_step_at_ms > 0);
	world_sql(w, "UPDATE turns SET only_owner = 'x'");
	ok(w, store_health_get(w->s, &w->a, &h, &w->e));
	assert_int_equal(h.turn_step_at_ms, 0); /* it is a command's */
}

#define T(f) cmocka_unit_test(f)
#define W(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(each_part_is_dead_past_its_own_limit_and_not_before),
		T(a_turn_may_take_as_long_as_its_longest_step),
		T(trouble_degrades_and_death_outranks_it),
		T(what_never_was_and_a_clock_set_back_are_no_fault),
		T(the_longest_step_follows_the_configuration),
		T(what_is_older_than_the_daemon_counts_as_of_its_begin),
		W(the_first_heartbeat_of_a_file_is_written_and_no_later_start_writes_another),
		W(the_slowest_thread_of_a_kind_is_written_and_a_busy_worker_is_none),
		W(only_the_newest_request_counts_and_a_canceled_one_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
