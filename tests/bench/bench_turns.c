/*
 * Whole turns through the engine with a channel that costs nothing: turns per second over
 * many sessions, commits per turn.
 *
 *	bench_turns SESSIONS TURNS_PER_SESSION
 *
 * Configured by the environment like the program itself; the model is tests/bench/fake_model.
 * Prints "name value unit" lines.
 */
#include "gateway/gateway.h"
#include "os/clock.h"
#include "os/proc.h"
#include "os/signals.h"
#include "store/inbox.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct bench {
	struct channel channel; /* must be first */
	struct engine *g;
	struct chan_up up;
	int64_t sessions, turns, began_us, ended_us, commits_before;
	_Atomic int64_t answered;
};

static int add_messages(struct bench *b, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	int64_t id;
	int rc = store_begin(&tx, b->g->store, NULL, e);

	for (int64_t t = 0; t < b->turns && rc == OK; t++)
		for (int64_t s = 0; s < b->sessions && rc == OK; s++) {
			struct inbox_new row = {
				.channel = S("bench"),
				.address = arena_fmt(&a, "%lld", (long long)s),
				.kind = S("message"),
				.text = S("a question of a few words"),
			};
			rc = store_inbox_add(&tx, &row, &id, e);
		}
	return rc < 0 ? rc : store_commit(&tx, e);
}

static int start(struct channel *self, struct store *s, const struct chan_up *up,
		 const struct cancel *c, struct err *e)
{
	struct bench *b = (struct bench *)self;

	(void)c;
	b->up = *up;
	int rc = add_messages(b, e);
	b->commits_before = store_commits(s);
	b->began_us = clock_mono_us();
	up->on_inbox(up->arg);
	return rc;
}

static void stop(struct channel *self)
{
	(void)self;
}

static void send_piece(struct channel *self, const struct outbox_row *row,
		       const struct piece *piece, struct arena *a, struct send_result *out,
		       const struct cancel *c)
{
	struct bench *b = (struct bench *)self;

	(void)row;
	(void)piece;
	(void)a;
	(void)c;
	*out = (struct send_result){ .end = SEND_OK };
	if (atomic_fetch_add(&b->answered, 1) + 1 == b->sessions * b->turns) {
		b->ended_us = clock_mono_us();
		b->up.on_end(b->up.arg);
	}
}

static void live(struct channel *self, str turn_id, str address, enum live_kind kind, str text)
{
	(void)self;
	(void)turn_id;
	(void)address;
	(void)kind;
	(void)text;
}

static int measure(struct engine *g, struct bench *b, struct err *e)
{
	struct gateway_opt opt = { .channel = &b->channel };
	int signo;
	int rc = signals_open(&opt.signals, e);

	if (rc == OK)
		rc = gateway_run(g, &opt, &signo, e);
	if (rc < 0)
		return rc;
	double n = (double)(b->sessions * b->turns);
	double s = (double)(b->ended_us - b->began_us) / 1e6;
	(void)printf("turns_per_second_%lld_sessions %.0f turns/s\n", (long long)b->sessions,
		     n / s);
	(void)printf("commits_per_turn %.2f commits\n",
		     (double)(store_commits(g->store) - b->commits_before) / n);
	return OK;
}

int main(int argc, char **argv)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct bench b = { .channel = { .name = "bench",
					.start = start,
					.stop = stop,
					.render = chan_render_whole,
					.send = send_piece,
					.live = live } };
	struct config_opt copt = { .need = CONFIG_STORE | CONFIG_MODEL | CONFIG_TOOLS };
	struct engine_opt opt = { .mode = STORE_DAEMON, .model = true };
	struct config_problems problems = { 0 };
	struct config *cfg;
	struct engine g;
	struct err e = { 0 };

	if (argc < 3 || spawner_start(&e) < 0)
		return 2;
	struct env env = env_copy(&a, environ);
	b.sessions = atoll(argv[1]);
	b.turns = atoll(argv[2]);
	if (config_load(&cfg, &copt, &env, &a, &problems, &e) < 0) {
		(void)fprintf(stderr, "bench_turns: %s %.*s\n", e.msg, STRF(problems.text));
		return 1;
	}
	b.g = &g;
	int rc = engine_open(&g, cfg, &env, &opt, &e);
	if (rc == OK) {
		rc = measure(&g, &b, &e);
		engine_close(&g);
	}
	if (rc < 0)
		(void)fprintf(stderr, "bench_turns: %s\n", e.msg);
	config_free(cfg);
	spawner_stop();
	return rc < 0;
}
