/*
 * The journal alone: commits a second, and what each step of a turn costs (its commit
 * included) with 10, 1 000 and 100 000 messages in the session.
 *
 *	bench_store EMPTY_DIRECTORY
 *
 * One `name value unit` line each.  On tmpfs the figures are the program's own time.
 */
#include "os/clock.h"
#include "store/inbox.h"
#include "store/outbox.h"
#include "store/turn.h"

#include <stdio.h>
#include <stdlib.h>

#define COMMITS 500
#define TURNS 200
#define HISTORY 200
#define ADDRESS S("1")

enum step {
	STEP_INBOX,
	STEP_CLAIM,
	STEP_HISTORY,
	STEP_CALLS,
	STEP_RESULT,
	STEP_FINISH,
	STEP_SEND,
	STEPS
};

static const char *const step_names[] = {
	[STEP_INBOX] = "inbox",  [STEP_CLAIM] = "claim",   [STEP_HISTORY] = "history",
	[STEP_CALLS] = "calls",  [STEP_RESULT] = "result", [STEP_FINISH] = "finish",
	[STEP_SEND] = "deliver",
};

struct bench {
	struct store *s;
	struct tx tx;
	struct turn t;
	struct call call;
	struct err e;
};

static void must(struct bench *b, int rc)
{
	if (rc >= 0)
		return;
	(void)fprintf(stderr, "bench_store: %s\n", b->e.msg);
	exit(1);
}

static void begin(struct bench *b)
{
	must(b, store_begin(&b->tx, b->s, NULL, &b->e));
}

static void commit(struct bench *b)
{
	must(b, store_commit(&b->tx, &b->e));
}

static void add(struct bench *b)
{
	struct inbox_new row = { .channel = S("bench"),
				 .address = ADDRESS,
				 .kind = S("message"),
				 .text = S("a question of a few words") };
	int64_t id;

	must(b, store_inbox_add(&b->tx, &row, &id, &b->e));
}

static void claim(struct bench *b, struct arena *a)
{
	must(b, store_turn_claim(&b->tx, S(""), a, &b->t, &b->e));
	must(b, store_message_user(&b->tx, b->t.id,
				   S("{\"role\":\"user\",\"content\":\"a question\"}"),
				   S("a question"), S(""), &b->e));
}

static void calls(struct bench *b)
{
	struct turn_step step = { .round = 1,
				  .wire = S("{\"role\":\"assistant\"}"),
				  .issuer = S("http://m|m1"),
				  .calls = &b->call,
				  .calls_n = 1 };

	b->call = (struct call){ .round = 1,
				 .index = 1,
				 .provider_id = S("c1"),
				 .requested = S("read_file"),
				 .name = S("read_file"),
				 .args = S("{\"path\":\"notes.md\"}"),
				 .state = CALL_RUNNING };
	id_new(b->call.id);
	must(b, store_turn_step(&b->tx, b->t.id, &step, &b->e));
}

static void result(struct bench *b)
{
	b->call.state = CALL_DONE;
	b->call.result = S("the text of the file, a line or two of it");
	must(b, store_call_finish(&b->tx, b->t.id, &b->call, &b->e));
}

static void finish(struct bench *b)
{
	struct turn_finish f = { .end = TURN_DONE,
				 .history = HISTORY_FULL,
				 .final_wire = S("{\"role\":\"assistant\",\"content\":\"an "
						 "answer\"}"),
				 .final_text = S("an answer"),
				 .round = 2 };
	struct outbox_new row = { .session_id = b->t.session.id,
				  .turn_id = b->t.id,
				  .channel = S("bench"),
				  .address = ADDRESS,
				  .kind = S("reply"),
				  .text = S("an answer") };
	int64_t id;

	must(b, store_turn_finish(&b->tx, &b->t, &f, &b->e));
	must(b, store_outbox_add(&b->tx, &row, &id, &b->e));
}

static void deliver(struct bench *b, struct arena *a)
{
	struct piece_new piece = { S("send"), S("an answer"), S("an answer") };
	struct outbox_row row;
	struct piece p;
	int64_t wake;

	must(b, store_outbox_next(&b->tx, S("bench"), S(""), a, &row, &wake, &b->e));
	must(b, store_outbox_split(&b->tx, row.id, &piece, 1, &b->e));
	must(b, store_piece_begin(&b->tx, row.id, a, &p, &b->e));
	must(b, store_piece_end(&b->tx, p.id, PIECE_SENT, S("1"), S(""), 0, &b->e));
}

/* One turn, each step a commit as in life; took[step] in microseconds. */
static void turn(struct bench *b, int64_t *took)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct message *m;
	size_t n;

	for (int i = 0; i < STEPS; i++) {
		int64_t began = clock_mono_us();
		if (i == STEP_HISTORY) {
			must(b, store_history(b->s, &b->t.session, HISTORY, &a, &m, &n, &b->e));
		} else {
			begin(b);
			if (i == STEP_INBOX)
				add(b);
			else if (i == STEP_CLAIM)
				claim(b, &a);
			else if (i == STEP_CALLS)
				calls(b);
			else if (i == STEP_RESULT)
				result(b);
			else if (i == STEP_FINISH)
				finish(b);
			else
				deliver(b, &a);
			commit(b);
		}
		took[i] = clock_mono_us() - began;
	}
}

/* Turns of four messages until there are so many, a thousand a commit. */
static void fill(struct bench *b, int64_t *have, int64_t want)
{
	while (*have < want) {
		begin(b);
		for (int i = 0; i < 1000 && *have < want; i++, *have += 4) {
			SCOPED(arena_free) struct arena a = { 0 };
			add(b);
			claim(b, &a);
			calls(b);
			result(b);
			finish(b);
			deliver(b, &a);
		}
		commit(b);
	}
}

static int by_value(const void *x, const void *y)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

	return a < b ? -1 : a > b;
}

static void measure_turns(struct bench *b, int64_t messages)
{
	static int64_t took[STEPS][TURNS], whole[TURNS];

	for (int i = 0; i < TURNS; i++) {
		int64_t one[STEPS];
		turn(b, one);
		whole[i] = 0;
		for (int k = 0; k < STEPS; k++) {
			took[k][i] = one[k];
			whole[i] += one[k];
		}
	}
	for (int k = 0; k < STEPS; k++) {
		qsort(took[k], TURNS, sizeof took[k][0], by_value);
		(void)printf("store_%s_p50_at_%lld %.3f ms\n", step_names[k],
			     (long long)messages, (double)took[k][TURNS / 2] / 1000);
	}
	qsort(whole, TURNS, sizeof whole[0], by_value);
	(void)printf("store_turn_p50_at_%lld %.3f ms\n", (long long)messages,
		     (double)whole[TURNS / 2] / 1000);
}

static void measure_commits(struct bench *b)
{
	int64_t began = clock_mono_us();

	for (int i = 0; i < COMMITS; i++) {
		begin(b);
		must(b, store_cursor_set(&b->tx, S("bench"), i, &b->e));
		commit(b);
	}
	double seconds = (double)(clock_mono_us() - began) / 1e6;
	(void)printf("store_commits_per_second %.0f 1/s\n", COMMITS / seconds);
}

int main(int argc, char **argv)
{
	SCOPED(arena_free) struct arena a = { 0 };
	static const int64_t messages[] = { 10, 1000, 100000 };
	struct bench b = { 0 };
	int64_t have = 0;

	if (argc != 2)
		return 2;
	struct store_cfg cfg = { .dsn = arena_fmt(&a, "%s/bench.db", argv[1]),
				 .data_dir = str_of(argv[1]) };
	must(&b, store_open(&b.s, &cfg, STORE_DAEMON, NULL, &b.e));
	measure_commits(&b);
	for (size_t i = 0; i < COUNT(messages); i++) {
		fill(&b, &have, messages[i]);
		measure_turns(&b, messages[i]);
		have += (int64_t)TURNS * 4;
	}
	store_close(b.s);
	return 0;
}
