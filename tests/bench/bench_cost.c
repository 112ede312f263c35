/*
 * Single-threaded pieces of the program, to have their instructions counted.
 *
 *	bench_cost                     the names of the cases, and how often each is done
 *	bench_cost CASE TIMES DIRECTORY
 *
 * DIRECTORY/gantry.db was filled by bench_store (channel "bench", address "1") and bench_memory.
 * What a case prepares is done once whatever TIMES is, so the difference of two counts is that of
 * the work.  A case ends the program when it does not do what it is to: nothing is cheaper than
 * an error.
 */
#include "agent/fit.h"
#include "agent/prompt.h"
#include "model/request.h"
#include "os/file.h"
#include "policy/policy.h"
#include "sched/cron.h"
#include "store/memory.h"
#include "text/sse.h"
#include "text/tghtml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY 200
#define ZONE "/usr/share/zoneinfo/Europe/Berlin"

struct bench {
	struct arena keep; /* what was prepared */
	str text;
	struct store *s;
	struct session session;
	struct message *rows;
	size_t rows_n;
	struct policy *policy;
	const struct zone *zone;
};

static NORETURN void die(const char *what)
{
	(void)fprintf(stderr, "bench_cost: %s\n", what);
	exit(1);
}

static void must(int rc, const struct err *e)
{
	if (rc < 0)
		die(e->msg);
}

static str repeated(struct arena *a, str piece, size_t times)
{
	struct buf b = buf_in(a, piece.n * times + 1);

	for (size_t i = 0; i < times; i++)
		buf_add(&b, piece);
	return buf_str(&b);
}

/* --- the policy, on a chain of commands in 4 KiB ------------------------------------------ */

static void policy_prepare(struct bench *b)
{
	static const str roots[] = { S("/workspace") }, allow[] = { S("^ls\\b") };
	const struct policy_opt opt = { .builtin = true,
					.allow = allow,
					.allow_n = 1,
					.roots = roots,
					.roots_n = 1,
					.cwd = roots[0] };
	struct err e = { 0 };

	b->text = repeated(&b->keep,
			   S("git status && grep -rn \"foo bar\" src | sort | wc -l; "), 75);
	must(policy_open(&b->policy, &opt, &e), &e);
}

static void policy_once(struct bench *b, struct arena *a)
{
	struct json text = { .type = JSON_STRING, .s = b->text, .key = S("command") };
	struct json args = { .type = JSON_OBJECT, .child = &text, .n = 1 };
	struct policy_call call = { .tool = S("exec"), .args = &args, .shell = true };
	struct policy_decision d;

	policy_judge(b->policy, &call, a, &d);
	if (d.verdict == VERDICT_DENY)
		die("the policy refuses the chain");
}

/* --- JSON, read and written ---------------------------------------------------------------- */

static void json_prepare(struct bench *b)
{
	str piece = S(
		"{\"role\":\"user\",\"content\":\"a few words, \\\"quoted\\\" and a \\u00e9\","
		"\"n\":[1,2.5,-3e10,true,null],\"deep\":{\"er\":{\"est\":\"x\"}}},");
	struct buf out = buf_in(&b->keep, 1 << 20);

	buf_add(&out, S("["));
	buf_add(&out, repeated(&b->keep, piece, 400));
	buf_add(&out, S("0]"));
	b->text = buf_str(&out);
}

static void json_once(struct bench *b, struct arena *a)
{
	struct buf out = buf_in(a, 1 << 20);
	struct err e = { 0 };
	struct json *v;

	must(json_read(&v, a, b->text, &e), &e);
	json_write(&out, v);
	if (v->n != 401 || out.full)
		die("the JSON is not what it was");
}

/* --- a stream of an answer ------------------------------------------------------------------ */

static int on_event(void *arg, str name, str data, struct err *e)
{
	(void)name;
	(void)e;
	*(size_t *)arg += data.n > 0;
	return OK;
}

static void sse_prepare(struct bench *b)
{
	b->text = repeated(&b->keep,
			   S("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":"
			     "{\"content\":\" word\"},\"finish_reason\":null}]}\n\n"),
			   1000);
}

/* In pieces as they come from a socket. */
static void sse_once(struct bench *b, struct arena *a)
{
	size_t events = 0;
	struct sse s = sse_in(a, 1 << 20, on_event, &events);
	struct err e = { 0 };

	for (size_t at = 0; at < b->text.n; at += 1400)
		must(sse_feed(&s, str_sub(b->text, at, at + 1400), &e), &e);
	must(sse_end(&s, &e), &e);
	if (events != 1000)
		die("events are missing");
}

/* --- the history, and the request that is made of it --------------------------------------- */

static void history_once(struct bench *b, struct arena *a)
{
	struct err e = { 0 };

	must(store_history(b->s, &b->session, HISTORY, a, &b->rows, &b->rows_n, &e), &e);
	if (b->rows_n < HISTORY / 2)
		die("the history is short");
}

static void prompt_prepare(struct bench *b)
{
	history_once(b, &b->keep);
}

static void prompt_once(struct bench *b, struct arena *a)
{
	const struct fit_budget budget = { .max_tokens = 128000, .max_messages = HISTORY };
	const struct model_cfg cfg = { .name = S("m") };
	struct model_req req = { .system = S("You are Tim.") };
	struct message *rows = NEWN(a, struct message, b->rows_n);
	int64_t last = b->rows[b->rows_n - 1].seq;
	struct err e = { 0 };
	struct model_msg *msgs;
	struct fit_plan plan;
	struct request out;

	for (size_t i = 0; i < b->rows_n; i++)
		rows[i] = b->rows[i];
	prompt_read(a, rows, b->rows_n);
	must(fit_plan(a, rows, b->rows_n, last, last, &budget, &plan, &e), &e);
	must(prompt_messages(a, rows, b->rows_n, &msgs, &req.msgs_n, &e), &e);
	req.msgs = msgs;
	must(request_write(&out, a, &cfg, S("http://m|m1"), false, &req,
			   &(struct model_quirks){ 0 }, &e),
	     &e);
}

/* --- when is it next due? ------------------------------------------------------------------- */

static void cron_prepare(struct bench *b)
{
	struct err e = { 0 };
	str file;

	must(file_read(&file, &b->keep, ZONE, ZONE_FILE_MAX, &e), &e);
	must(zone_parse(&b->zone, &b->keep, S("Europe/Berlin"), file, &e), &e);
}

static void cron_once(struct bench *b, struct arena *a)
{
	static const str exprs[] = { S("*/5 * * * *"), S("30 2 * * sun"), S("0 9 1,15 * *"),
				     S("0 0 29 2 *") };
	struct err e = { 0 };
	struct cron c;

	(void)a;
	for (size_t i = 0; i < COUNT(exprs); i++) {
		int64_t at = 1784678400;
		must(cron_parse(&c, exprs[i], &e), &e);
		for (int n = 0; n < 3; n++)
			must(cron_next(&c, b->zone, at, &at, &e), &e);
	}
}

/* --- what of memory is it about? ------------------------------------------------------------- */

static void recall_once(struct bench *b, struct arena *a)
{
	struct err e = { 0 };
	struct memory *found;
	size_t n;

	must(store_memory_search(b->s, S("what was it with bace and ceba dice koko?"), 30, a,
				 &found, &n, &e),
	     &e);
	if (!n)
		die("nothing is remembered");
}

/* --- Markdown as messages --------------------------------------------------------------------- */

static void tghtml_prepare(struct bench *b)
{
	str piece = S("## A heading\n\nSome *words* with **bold** ones, `code` and [a link]"
		      "(https://example.org/a?b=c&d).\n\n- one\n- two & <three>\n\n```c\nint "
		      "main(void) { return 0; }\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n");

	b->text = repeated(&b->keep, piece, 60);
}

static void tghtml_once(struct bench *b, struct arena *a)
{
	struct err e = { 0 };
	struct tg_piece *pieces;
	size_t n;

	must(tg_render(a, b->text, &pieces, &n, &e), &e);
	if (n < 3)
		die("pieces are missing");
}

static const struct {
	const char *name;
	int times;
	bool db;
	void (*prepare)(struct bench *b);
	void (*once)(struct bench *b, struct arena *a);
} cases[] = {
	{ "policy", 3, false, policy_prepare, policy_once },
	{ "json", 3, false, json_prepare, json_once },
	{ "sse", 3, false, sse_prepare, sse_once },
	{ "history", 3, true, NULL, history_once },
	{ "prompt", 3, true, prompt_prepare, prompt_once },
	{ "cron", 20, false, cron_prepare, cron_once },
	{ "recall", 5, true, NULL, recall_once },
	{ "tghtml", 2, false, tghtml_prepare, tghtml_once },
};

static void open_db(struct bench *b, const char *dir)
{
	struct store_cfg cfg = { .dsn = arena_fmt(&b->keep, "%s/gantry.db", dir),
				 .data_dir = str_of(dir) };
	struct err e = { 0 };

	must(store_open(&b->s, &cfg, STORE_READ, NULL, &e), &e);
	must(store_session_find(b->s, S("bench"), S("1"), &b->keep, &b->session, &e), &e);
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };

	if (argc == 1) {
		for (size_t i = 0; i < COUNT(cases); i++)
			(void)printf("%s %d\n", cases[i].name, cases[i].times);
		return 0;
	}
	if (argc != 4)
		die("usage: bench_cost [CASE TIMES DIRECTORY]");
	for (size_t i = 0; i < COUNT(cases); i++) {
		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		if (cases[i].db)
			open_db(&b, argv[3]);
		if (cases[i].prepare)
			cases[i].prepare(&b);
		for (int64_t n = atoll(argv[2]); n > 0; n--) {
			SCOPED(arena_free) struct arena a = { 0 };
			cases[i].once(&b, &a);
		}
		store_close(b.s);
		policy_close(b.policy);
		arena_free(&b.keep);
		return 0;
	}
	die("no such case");
}
