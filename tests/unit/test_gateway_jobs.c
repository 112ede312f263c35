/*
 * The clock's look at jobs: what is due becomes a row, and what waits is looked at anew when the
 * clock is set back.
 */
#include "ringing.h"
#include "store_world.h"

#include "base/date.h"
#include "config/zones.h"
#include "gateway/jobs.h"
#include "os/clock.h"
#include "store/job.h"

#define DAY_MS (INT64_C(24) * 3600000)

struct clocked {
	struct config cfg;
	struct engine g;
	struct jobs j;
};

static void begin(struct clocked *k, struct world *w)
{
	*k = (struct clocked){ .cfg.cron = { .enabled = true, .tick_s = 15 } };
	k->g = (struct engine){
		.cfg = &k->cfg, .store = w->s, .inbox.fd = -1, .outbox.fd = -1
	};
}

static int64_t tick(struct clocked *k, struct world *w)
{
	int64_t next = 0;

	ok(w, jobs_tick(&k->g, &k->j, NULL, &next, &w->e));
	return next;
}

static int64_t add(struct world *w, const char *kind, str expr, int64_t next)
{
	const struct job job = { .channel = S("test"),
				 .address = S("1"),
				 .sender = S("7"),
				 .prompt = S("water the plants"),
				 .kind = str_of(kind),
				 .expr = expr,
				 .zone = S("UTC"),
				 .catch_up = true,
				 .next_at_ms = next };
	struct tx tx = world_begin(w);
	int64_t id = 0;

	ok(w, store_job_add(&tx, &job, 5000, &id, &w->e));
	world_commit(w, &tx);
	return id;
}

static struct job get(struct world *w, int64_t id)
{
	struct job j = { 0 };

	ok(w, store_job_get(w->s, id, &w->a, &j, &w->e));
	return j;
}

/* A time of day in so many days. */
static int64_t at_nine(int64_t days)
{
	int64_t now = clock_now_ms();

	return now - now % DAY_MS + days * DAY_MS + 9 * 3600000;
}

static void a_first_date_stays_the_first_when_the_clock_is_set_back(void **state)
{
	static const struct {
		const char *kind, *expr;
	} kinds[] = { { "daily", "09:00" }, { "every", "1d" }, { "cron", "0 9 * * *" } };
	struct world *w = *state;
	struct clocked k;
	int64_t id[COUNT(kinds)];

	begin(&k, w);
	for (size_t i = 0; i < COUNT(kinds); i++)
		id[i] = add(w, kinds[i].kind, str_of(kinds[i].expr), at_nine(30));
	(void)tick(&k, w);
	k.j.seen_ms = clock_now_ms() + 3600000;
	(void)tick(&k, w);
	for (size_t i = 0; i < COUNT(kinds); i++)
		assert_true(get(w, id[i]).next_at_ms == at_nine(30));
	/* Its first time over, it is due as soon as it can be. */
	world_sql(w, "UPDATE jobs SET first_at_ms = 1000");
	k.j.seen_ms = clock_now_ms() + 3600000;
	(void)tick(&k, w);
	for (size_t i = 0; i < COUNT(kinds); i++) {
		int64_t next = get(w, id[i]).next_at_ms;
		assert_true(next > clock_now_ms() - 60000 && next < at_nine(2));
		assert_int_equal(next % DAY_MS, 9 * 3600000);
	}
}

static void in_zone(struct world *w, int64_t id, const char *zone)
{
	SCOPED(arena_free) struct arena a = { 0 };

	world_sql(w, arena_fmt(&a, "UPDATE jobs SET zone = '%s' WHERE id = %lld", zone,
			       (long long)id)
			     .p);
}

static void a_zone_that_cannot_be_read_holds_up_only_what_needs_it(void **state)
{
	struct world *w = *state;
	struct clocked k;
	int64_t due = clock_now_ms() - 1000;
	int64_t once = add(w, "once", date_rfc3339(&w->a, due), due);
	int64_t every = add(w, "every", S("1h"), due);
	int64_t cron = add(w, "cron", S("* * * * *"), due);

	begin(&k, w);
	in_zone(w, once, "No/Where");
	in_zone(w, every, "No/Where");
	in_zone(w, cron, "No/Where");
	int64_t next = tick(&k, w);
	assert_true(get(w, once).running && get(w, every).running);
	assert_false(get(w, cron).running);
	assert_true(get(w, cron).next_at_ms == due); /* nothing of it is lost */
	assert_true(next > clock_now_ms() + 5000); /* no hurry */
	assert_true(k.j.zoneless);
	in_zone(w, cron, "UTC");
	(void)tick(&k, w);
	assert_true(get(w, cron).running);
	assert_false(k.j.zoneless);
}

static void a_schedule_that_cannot_be_read_is_switched_off_and_told(void **state)
{
	struct world *w = *state;
	struct clocked k;
	int64_t id = add(w, "cron", S("* * *"), clock_now_ms() - 1000);

	begin(&k, w);
	(void)tick(&k, w);
	assert_false(get(w, id).enabled);
	assert_true(get(w, id).last_error.n > 0);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM job_runs WHERE state = 'skipped' "
				      "AND reason = 'broken' AND error <> '' AND settled = 1"),
			 1);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM outbox WHERE kind = 'notice' "
				      "AND text LIKE '%#1 is switched off%plants'"),
			 1);
	(void)tick(&k, w);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM job_runs"), 1);
}

static void what_is_due_calls_a_worker_and_what_is_told_a_deliverer(void **state)
{
	struct world *w = *state;
	struct clocked k;

	begin(&k, w);
	bells_init(&k.g);
	(void)tick(&k, w);
	assert_false(rung(&k.g.inbox) || rung(&k.g.outbox));
	(void)add(w, "cron", S("* * *"), clock_now_ms() - 1000); /* no schedule: switched off */
	(void)tick(&k, w);
	assert_true(rung(&k.g.outbox));
	assert_false(rung(&k.g.inbox));
	(void)add(w, "every", S("1h"), clock_now_ms() - 1000);
	(void)tick(&k, w);
	assert_true(rung(&k.g.inbox));
	assert_false(rung(&k.g.outbox));
	/* As long as nobody took it, for a row of a command's rang no bell here. */
	(void)tick(&k, w);
	assert_true(rung(&k.g.inbox));
	world_sql(w, "UPDATE inbox SET state = 'done'; UPDATE job_runs SET state = 'error', "
		     "reason = 'failed', error = 'no luck' WHERE state = 'started'");
	(void)tick(&k, w);
	assert_false(rung(&k.g.inbox));
	assert_true(rung(&k.g.outbox)); /* it failed */
	bells_done(&k.g);
}

static int64_t begun(struct world *w)
{
	return world_i64(w, "SELECT count(*) FROM job_runs WHERE state <> 'skipped'");
}

static int64_t add_in(struct world *w, const char *chat, const char *kind, str expr,
		      int64_t next)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t id = add(w, kind, expr, next);

	world_sql(w, arena_fmt(&a, "UPDATE jobs SET address = '%s' WHERE id = %lld", chat,
			       (long long)id)
			     .p);
	return id;
}

/* Rows that wait are taken, and their runs over, as by workers. */
static void work_off(struct world *w)
{
	world_sql(w, "UPDATE inbox SET state = 'done' WHERE state = 'ready'");
	world_sql(w, "UPDATE job_runs SET state = 'ok', settled = 1 WHERE state = 'started'");
}

static void late_jobs_are_not_in_the_way_of_those_on_time(void **state)
{
	struct world *w = *state;
	struct clocked k;
	int64_t now = clock_now_ms(), strict = 0;

	begin(&k, w);
	for (int i = 0; i < 300; i++) {
		int64_t id = add(w, "every", S("30d"), now - 3600000 - i);
		strict = i == 0 ? id : strict; /* the last of them */
	}
	int64_t punctual = add(w, "every", S("1h"), now - 1000);
	world_sql(w, "UPDATE jobs SET catch_up = 0 WHERE id = 1");
	(void)tick(&k, w);
	assert_true(get(w, punctual).running);
	assert_true(get(w, strict).next_at_ms > now); /* too late for it, but it goes on */
	/* One of the chat's late ones waits for a worker, and it is the oldest. */
	assert_int_equal(begun(w), 1 + 1);
	assert_true(get(w, 300).running);
	assert_false(k.j.zoneless);
}

static void late_jobs_follow_as_fast_as_they_are_worked_off_the_oldest_first(void **state)
{
	struct world *w = *state;
	struct clocked k;
	int64_t now = clock_now_ms();

	begin(&k, w);
	for (int i = 0; i < 20; i++)
		(void)add(w, "every", S("30d"), now - 3600000 - i * 1000);
	for (int n = 1; n <= 20; n++) {
		(void)tick(&k, w);
		(void)tick(&k, w); /* nothing more while that one waits */
		assert_int_equal(begun(w), n);
		assert_true(get(w, 21 - n).next_at_ms > now);
		work_off(w);
	}
}

static void few_late_rows_wait_at_a_time_whatever_the_number_of_chats(void **state)
{
	struct world *w = *state;
	struct clocked k;
	int64_t now = clock_now_ms();

	begin(&k, w);
	for (int i = 0; i < 30; i++)
		(void)add_in(w, arena_fmt(&w->a, "%d", 100 + i).p, "every", S("30d"),
			     now - 3600000 - i * 1000);
	int64_t next = tick(&k, w);
	assert_int_equal(begun(w), 8);
	assert_true(next > now + 5000); /* the end of a turn wakes the clock, not time */
	(void)tick(&k, w);
	assert_int_equal(begun(w), 8);
	for (int n = 16; n <= 30 + 2; n += 8) {
		work_off(w);
		(void)tick(&k, w);
		assert_int_equal(begun(w), n < 30 ? n : 30);
	}
}

static void no_chat_waits_for_the_late_jobs_of_another(void **state)
{
	struct world *w = *state;
	struct clocked k;
	int64_t now = clock_now_ms();

	begin(&k, w);
	for (int i = 0; i < 600; i++)
		(void)add(w, "every", S("30d"), now - 7200000 - i);
	int64_t late = add_in(w, "other", "every", S("30d"), now - 3600000);
	(void)tick(&k, w);
	assert_int_equal(begun(w), 2);
	assert_true(get(w, late).running);
}

static void what_is_only_recorded_is_done_with_at_once(void **state)
{
	struct world *w = *state;
	struct clocked k;
	int64_t now = clock_now_ms(), next = 0;
	int looks = 0;

	begin(&k, w);
	for (int i = 0; i < 1000; i++)
		(void)add(w, "every", S("30d"), now - 3600000 - i);
	world_sql(w, "UPDATE jobs SET catch_up = 0");
	int64_t frequent = add(w, "every", S("1m"), now - 3600000);
	do
		next = tick(&k, w);
	while (++looks < 20 && next <= clock_now_ms());
	assert_int_equal(world_i64(w, "SELECT count(*) FROM job_runs WHERE state = 'skipped' "
				      "AND reason = 'down'"),
			 1000 + 1);
	assert_true(get(w, frequent).running);
	assert_true(looks <= 6);
}

static void who_waits_for_a_worker_does_not_make_others_late(void **state)
{
	struct world *w = *state;
	struct clocked k;
	int64_t now = clock_now_ms();

	begin(&k, w);
	(void)add(w, "every", S("30d"), now - 3600000);
	(void)add(w, "every", S("30d"), now - 3600001);
	(void)add_in(w, "other", "every", S("30d"), now + 4000);
	assert_true(tick(&k, w) == now + 4000);
	assert_int_equal(begun(w), 1);
}

static void very_many_jobs_of_a_zone_that_cannot_be_read_are_not_in_the_way(void **state)
{
	struct world *w = *state;
	struct clocked k;
	int64_t now = clock_now_ms(), next = 0;
	int looks = 0;

	begin(&k, w);
	for (int i = 0; i < 300; i++)
		(void)add(w, "cron", S("* * * * *"), now - 2000 - i);
	world_sql(w, "UPDATE jobs SET zone = 'No/Where'");
	int64_t good = add(w, "every", S("1h"), now - 1000);
	do
		next = tick(&k, w);
	while (++looks < 5 && next <= clock_now_ms());
	assert_int_equal(looks, 2);
	assert_true(k.j.zoneless && get(w, good).running);
	assert_int_equal(begun(w), 1);
	/* They are there when it can be read. */
	world_sql(w, "UPDATE jobs SET zone = 'UTC'");
	do
		next = tick(&k, w);
	while (++looks < 9 && next <= clock_now_ms());
	assert_int_equal(begun(w), 301);
	assert_false(k.j.zoneless);
}

/* The next time the clock of Berlin shows nine, from so many days on. */
static int64_t nine_in_berlin(struct world *w, int64_t days)
{
	const struct zone *z;
	struct sched s;
	int64_t at = 0;

	ok(w, zone_load(&z, &w->a, S("Europe/Berlin"), NULL, &w->e));
	ok(w, sched_load(&s, &w->a, S("cron"), S("0 9 * * *"), &w->e));
	ok(w, sched_next(&s, z, 0, clock_now_ms() + days * DAY_MS, &at, &w->e));
	return at;
}

#define HOUR_MS 3600000

static int64_t add_in_berlin(struct world *w, const char *kind, const char *expr, int64_t next,
			     int64_t first)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t id = add(w, kind, str_of(expr), next);

	in_zone(w, id, "Europe/Berlin");
	world_sql(w, arena_fmt(&a, "UPDATE jobs SET first_at_ms = %lld WHERE id = %lld",
			       (long long)first, (long long)id)
			     .p);
	return id;
}

/* The jobs are as an older file made them, by which summer began an hour too late or too early. */
static void changed_zone_files_move_what_goes_by_the_wall_clock_and_nothing_else(void **state)
{
	struct world *w = *state;

	for (int shift = -1; shift <= 1; shift += 2) {
		struct clocked k;
		int64_t off = shift * HOUR_MS, soon = nine_in_berlin(w, 1);
		int64_t later = nine_in_berlin(w, 20), now = clock_now_ms();

		begin(&k, w);
		world_sql(w, "DELETE FROM jobs");
		int64_t cron = add_in_berlin(w, "cron", "0 9 * * *", soon + off, 0);
		int64_t daily = add_in_berlin(w, "daily", "09:00", soon + off, 0);
		int64_t hourly = add_in_berlin(w, "cron", "0 * * * *", later, later);
		int64_t first = add_in_berlin(w, "cron", "0 9 * * *", later + off, later + off);
		int64_t first_daily =
			add_in_berlin(w, "daily", "09:00", later + off, later + off);
		int64_t every = add_in_berlin(w, "every", "7h", now + 5 * HOUR_MS, 0);
		int64_t first_every = add_in_berlin(w, "every", "7h", later + off, later + off);
		int64_t once = add_in_berlin(w, "once", date_rfc3339(&w->a, soon + off).p,
					     soon + off, 0);
		int64_t again = add_in_berlin(w, "cron", "0 9 * * *", soon + off, 0);
		int64_t other = add(w, "cron", S("0 9 * * *"), soon + off);
		in_zone(w, other, "UTC");
		world_sql(w, arena_fmt(&w->a, "UPDATE jobs SET attempt = 1 WHERE id = %lld",
				       (long long)again)
				     .p);

		(void)tick(&k, w); /* the first look at this file: nothing to compare with */
		assert_true(get(w, cron).next_at_ms == soon + off);
		world_sql(w, "UPDATE cursors SET value = value + 1 WHERE key LIKE 'zone:%'");
		(void)tick(&k, w); /* not before its time */
		assert_true(get(w, cron).next_at_ms == soon + off);
		k.j.zones_at_ms = 0;
		(void)tick(&k, w);
		assert_true(get(w, cron).next_at_ms == nine_in_berlin(w, 0));
		assert_true(get(w, daily).next_at_ms == nine_in_berlin(w, 0));
		assert_true(get(w, hourly).next_at_ms == later);
		assert_true(get(w, first).next_at_ms == later);
		assert_true(get(w, first_daily).next_at_ms == later);
		assert_true(get(w, every).next_at_ms == now + 5 * HOUR_MS);
		assert_true(get(w, first_every).next_at_ms == later + off);
		assert_true(get(w, once).next_at_ms == soon + off); /* an instant is one */
		assert_true(get(w, again).next_at_ms == soon + off); /* a further try */
		world_sql(w, "DELETE FROM cursors WHERE key LIKE 'zone:%'");
	}
}

/* What is said in one zone stays there; the configuration's own jobs go by the new one. */
static void another_zone_in_the_configuration_moves_its_jobs_and_no_others(void **state)
{
	static const struct cron_job_cfg jobs[] = { { .name = S("morning"),
						      .schedule = S("0 9 * * *"),
						      .prompt = S("x"),
						      .enabled = true } };
	struct world *w = *state;
	struct cron_cfg cfg = { .zone = S("UTC"), .jobs = { .v = jobs, .n = 1 } };
	int64_t soon = nine_in_berlin(w, 1);
	int64_t mine = add(w, "daily", S("09:00"), soon);
	int64_t beat = add(w, "every", S("1h"), soon);
	struct job job;

	ok(w, jobs_sync(w->s, &cfg, NULL, &w->e));
	ok(w, store_job_find(w->s, S("morning"), &w->a, &job, &w->e));
	assert_int_equal(job.next_at_ms % DAY_MS, 9 * HOUR_MS);
	cfg.zone = S("Europe/Berlin");
	ok(w, jobs_sync(w->s, &cfg, NULL, &w->e));
	ok(w, store_job_find(w->s, S("morning"), &w->a, &job, &w->e));
	assert_true(job.next_at_ms == nine_in_berlin(w, 0) ||
		    job.next_at_ms + 60000 > clock_now_ms()); /* in this very minute */
	assert_string_equal(job.zone.p, "Europe/Berlin");
	assert_true(get(w, mine).next_at_ms == soon && get(w, beat).next_at_ms == soon);
	/* What did not change stays due when it was, also when that is past. */
	world_sql(w, "UPDATE jobs SET next_at_ms = 1000 WHERE name = 'morning'");
	ok(w, jobs_sync(w->s, &cfg, NULL, &w->e));
	ok(w, store_job_find(w->s, S("morning"), &w->a, &job, &w->e));
	assert_int_equal(job.next_at_ms, 1000);
}

static void a_one_shot_waits_for_a_run_begun_by_hand(void **state)
{
	struct world *w = *state;
	struct clocked k;
	int64_t due = clock_now_ms() - 1000;
	int64_t id = add(w, "once", date_rfc3339(&w->a, due), due);

	begin(&k, w);
	world_sql(w, "INSERT INTO job_runs (job_id, scheduled_at_ms, last_at_ms, state, "
		     "started_at_ms) VALUES (1, 5, 5, 'started', 5)");
	(void)tick(&k, w); /* skipped */
	(void)tick(&k, w); /* settled */
	struct job j = get(w, id);
	assert_true(j.enabled && j.attempt == 0);
	assert_true(j.next_at_ms > clock_now_ms() + 30000 &&
		    j.next_at_ms < clock_now_ms() + 90000);
	world_sql(w, "UPDATE job_runs SET state = 'ok', settled = 1 WHERE state = 'started'");
	world_sql(w, "UPDATE jobs SET next_at_ms = 1 + scheduled_at_ms");
	(void)tick(&k, w);
	assert_int_equal(world_i64(w, "SELECT count(*) FROM job_runs WHERE state = 'started' "
				      "AND attempt = 0"),
			 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_first_date_stays_the_first_when_the_clock_is_set_back),
		TEST(a_zone_that_cannot_be_read_holds_up_only_what_needs_it),
		TEST(what_is_due_calls_a_worker_and_what_is_told_a_deliverer),
		TEST(a_schedule_that_cannot_be_read_is_switched_off_and_told),
		TEST(late_jobs_are_not_in_the_way_of_those_on_time),
		TEST(late_jobs_follow_as_fast_as_they_are_worked_off_the_oldest_first),
		TEST(few_late_rows_wait_at_a_time_whatever_the_number_of_chats),
		TEST(no_chat_waits_for_the_late_jobs_of_another),
		TEST(what_is_only_recorded_is_done_with_at_once),
		TEST(who_waits_for_a_worker_does_not_make_others_late),
		TEST(very_many_jobs_of_a_zone_that_cannot_be_read_are_not_in_the_way),
		TEST(changed_zone_files_move_what_goes_by_the_wall_clock_and_nothing_else),
		TEST(another_zone_in_the_configuration_moves_its_jobs_and_no_others),
		TEST(a_one_shot_waits_for_a_run_begun_by_hand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
