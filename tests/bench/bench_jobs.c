/*
 * The clock's look at schedules, with many jobs of which none is due.
 */
#include "gateway/jobs.h"
#include "os/clock.h"
#include "store/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS 10000
#define LOOKS 200

static void must(int rc, const struct err *e)
{
	if (rc < 0) {
		(void)fprintf(stderr, "bench_jobs: %s\n", e->msg);
		exit(1);
	}
}

static void fill(struct store *s)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct err e = { 0 };
	struct job job = { .channel = S("test"),
			   .address = S("1"),
			   .prompt = S("look at the mail and sum it up"),
			   .kind = S("daily"),
			   .expr = S("17:00"),
			   .zone = S("UTC"),
			   .catch_up = true };
	int64_t id;

	must(store_begin(&tx, s, NULL, &e), &e);
	for (int i = 0; i < JOBS; i++) {
		job.next_at_ms = clock_now_ms() + 3600000 + i * 1000;
		must(store_job_add(&tx, &job, JOBS + 1, &id, &e), &e);
	}
	must(store_commit(&tx, &e), &e);
}

int main(int argc, char **argv)
{
	struct arena a = { 0 };
	struct err e = { 0 };
	struct config *cfg = NEW(&a, struct config);
	struct engine g = { .cfg = cfg, .inbox.fd = -1, .outbox.fd = -1 };
	struct jobs look = { 0 };
	int64_t next, began;

	if (argc != 2)
		return 2;
	cfg->store = (struct store_cfg){ .dsn = str_of(argv[1]) };
	cfg->cron.tick_s = 15;
	must(store_open(&g.store, &cfg->store, STORE_DAEMON, NULL, &e), &e);
	fill(g.store);
	must(jobs_tick(&g, &look, NULL, &next, &e), &e); /* the first also looks at zones */
	began = clock_mono_us();
	for (int i = 0; i < LOOKS; i++)
		must(jobs_tick(&g, &look, NULL, &next, &e), &e);
	(void)printf("clock_look_with_%d_jobs %.4f ms\n", JOBS,
		     (double)(clock_mono_us() - began) / LOOKS / 1000);
	store_close(g.store);
	arena_free(&a);
	return 0;
}
