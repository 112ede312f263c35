/*
 * The journal alone: what a commit costs, and what each step of a turn costs (its commit
 * included) with 10, 1 000 and 100 000 messages in the session and as many in others.
 *
 *	bench_store EMPTY_DIRECTORY
 *	bench_store EMPTY_DIRECTORY CHANNEL ADDRESS MESSAGES [OTHER_SESSIONS]
 *
 * One `name value unit` line each; on tmpfs the figures are the program's own time.  The
 * second form only fills DIRECTORY/gantry.db: every table that a turn with a tool call fills, with
 * as many messages again in so many other sessions (1000).
 */
#include "agent/fit.h"
#include "agent/prompt.h"
#include "model/request.h"
#include "os/clock.h"
#include "store/inbox.h"
#include "store/outbox.h"
#include "store/turn.h"

#include <stdio.h>
#include <stdlib.h>

#define COMMITS 500
#define TURNS 200
#define HISTORY 200

enum step {
	STEP_INBOX,
	STEP_CLAIM,
	STEP_HISTORY,
	STEP_PROMPT,
	STEP_CALLS,
	STEP_RESULT,
	STEP_FINISH,
	STEP_SEND,
	STEPS
};

static const char *const step_names[] = {
	[STEP_INBOX] = "inbox",   [STEP_CLAIM] = "claim",  [STEP_HISTORY] = "history",
	[STEP_PROMPT] = "prompt", [STEP_CALLS] = "calls",  [STEP_RESULT] = "result",
	[STEP_FINISH] = "finish", [STEP_SEND] = "deliver",
};

struct bench {
	str channel, address;
	int64_t others; /* sessions besides the one that is looked at */
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
	struct inbox_new row = { .channel = b->channel,
				 .address = b->address,
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

static void calls(struct bench *b, struct arena *a)
{
	struct model_call made = { S("c1"), S("read_file"), S("{\"path\":\"notes.md\"}") };
	struct turn_step step = { .round = 1,
				  .wire = model_calls_wire(a, (str){ 0 }, &made, 1),
				  .issuer = S("http://m|m1"),
				  .calls = &b->call,
				  .calls_n = 1 };

	b->call = (struct call){ .round = 1,
				 .index = 1,
				 .provider_id = made.id,
				 .requested = made.name,
				 .name = made.name,
				 .args = made.args,
				 .state = CALL_RUNNING };
	id_new(b->call.id);
	must(b, store_turn_step(&b->tx, b->t.id, &step, &b->e));
}

static void result(struct bench *b, struct arena *a)
{
	b->call.state = CALL_DONE;
	b->call.result = S("the text of the file, a line or two of it");
	b->call.result_wire = model_tool_wire(a, b->call.provider_id, b->call.result);
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
				  .channel = b->channel,
				  .address = b->address,
				  .kind = S("reply"),
				  .text = S("an answer") };
	int64_t id;

	must(b, store_turn_finish(&b->tx, &b->t, &f, &b->e));
	must(b, store_outbox_add(&b->tx, &row, &id, &b->e));
}

static void deliver(struct bench *b, struct arena *a)
{
	struct piece_new piece = { .method = S("send"),
				   .body = S("an answer"),
				   .plain = S("an answer") };
	struct outbox_row row;
	struct piece p;
	int64_t wake;

	must(b, store_outbox_next(&b->tx, b->channel, S(""), a, &row, &wake, &b->e));
	must(b, store_outbox_split(&b->tx, row.id, &piece, 1, &b->e));
	must(b, store_piece_begin(&b->tx, row.id, a, &p, &b->e));
	must(b, store_piece_end(&b->tx, p.id, PIECE_SENT, S("1"), S(""), 0, &b->e));
}

/* The whole request of the turn that was claimed: rows, what fits of them, messages, JSON. */
static void prompt(struct bench *b, struct arena *a)
{
	const struct fit_budget budget = { .max_tokens = 128000, .max_messages = HISTORY };
	const struct model_cfg cfg = { .name = S("m") };
	struct model_req req = { .system = S("You are Tim.") };
	struct message *past, *own, *all;
	struct model_msg *msgs;
	struct call *made;
	size_t past_n, own_n, made_n;
	struct fit_plan plan;
	struct request out;

	must(b, store_history(b->s, &b->t.session, HISTORY, a, &past, &past_n, &b->e));
	must(b, store_turn_load(b->s, b->t.id, a, &own, &own_n, &made, &made_n, &b->e));
	all = NEWN(a, struct message, past_n + own_n);
	for (size_t i = 0; i < past_n + own_n; i++)
		all[i] = i < past_n ? past[i] : own[i - past_n];
	prompt_read(a, all, past_n);
	must(b,
	     fit_plan(a, all, past_n + own_n, own[0].seq, own[0].seq, &budget, &plan, &b->e));
	must(b, prompt_messages(a, all, past_n + own_n, &msgs, &req.msgs_n, &b->e));
	req.msgs = msgs;
	must(b, request_write(&out, a, &cfg, S("http://m|m1"), false, &req,
			      &(struct model_quirks){ 0 }, &b->e));
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
		} else if (i == STEP_PROMPT) {
			prompt(b, &a);
		} else {
			begin(b);
			if (i == STEP_INBOX)
				add(b);
			else if (i == STEP_CLAIM)
				claim(b, &a);
			else if (i == STEP_CALLS)
				calls(b, &a);
			else if (i == STEP_RESULT)
				result(b, &a);
			else if (i == STEP_FINISH)
				finish(b);
			else
				deliver(b, &a);
			commit(b);
		}
		took[i] = clock_mono_us() - began;
	}
}

static void whole_turn(struct bench *b)
{
	SCOPED(arena_free) struct arena a = { 0 };

	add(b);
	claim(b, &a);
	calls(b, &a);
	result(b, &a);
	finish(b);
	deliver(b, &a);
}

/* Turns of four messages until the session has so many, each followed by one of another
 * session, some hundreds a commit. */
static void fill(struct bench *b, int64_t *have, int64_t want)
{
	str address = b->address;

	while (*have < want) {
		begin(b);
		for (int i = 0; i < 500 && *have < want; i++, *have += 4) {
			SCOPED(arena_free) struct arena a = { 0 };
			whole_turn(b);
			b->address =
				arena_fmt(&a, "other-%lld", (long long)(*have / 4 % b->others));
			whole_turn(b);
			b->address = address;
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

/* The smallest write there is, each time made durable. */
static void measure_commits(struct bench *b)
{
	static int64_t took[COMMITS];
	int64_t all = 0;

	for (int i = 0; i < COMMITS; i++) {
		int64_t began = clock_mono_us();
		begin(b);
		must(b, store_cursor_set(&b->tx, S("bench"), i, &b->e));
		commit(b);
		took[i] = clock_mono_us() - began;
		all += took[i];
	}
	qsort(took, COMMITS, sizeof *took, by_value);
	(void)printf("store_commit_p50 %.3f ms\n", (double)took[COMMITS / 2] / 1000);
	(void)printf("store_commit_p99 %.3f ms\n", (double)took[COMMITS * 99 / 100] / 1000);
	(void)printf("store_commits_per_second %.0f 1/s\n", COMMITS / ((double)all / 1e6));
}

static void measure(struct bench *b)
{
	static const int64_t messages[] = { 10, 1000, 100000 };
	int64_t have = 0;

	measure_commits(b);
	for (size_t i = 0; i < COUNT(messages); i++) {
		fill(b, &have, messages[i]);
		measure_turns(b, messages[i]);
		have += (int64_t)TURNS * 4;
	}
}

int main(int argc, char **argv)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct bench b = { .channel = S("bench"), .address = S("1"), .others = 1000 };
	int64_t have = 0;

	if (argc != 2 && argc != 5 && argc != 6)
		return 2;
	struct store_cfg cfg = { .dsn = arena_fmt(&a, "%s/gantry.db", argv[1]),
				 .data_dir = str_of(argv[1]) };
	must(&b, store_open(&b.s, &cfg, STORE_DAEMON, NULL, &b.e));
	if (argc == 6)
		b.others = atoll(argv[5]);
	if (argc >= 5) {
		b.channel = str_of(argv[2]);
		b.address = str_of(argv[3]);
		fill(&b, &have, atoll(argv[4]));
	} else {
		measure(&b);
	}
	store_close(b.s);
	return 0;
}
