/*
 * The clock's look at jobs: what is due becomes a row, and what waits is looked at anew when the
 * clock is set back.
 */
#include "store_world.h"

#include "base/date.h"
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_first_date_stays_the_first_when_the_clock_is_set_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
