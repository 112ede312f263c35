/*
 * What is sent of a history: ten thousand random ones, odd ones among them, each held against
 * its budget and against a checker as strict as a provider's; and the steps in which history
 * leaves.
 */
#include "agent/fit.h"

#include "agent/prompt.h"
#include "model/request.h"
#include "text/json.h"
#include "text/text.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HISTORIES 10000
#define ROWS_MAX 1200

static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

static bool one_in(uint64_t n)
{
	return rnd(n) == 0;
}

/* Words of several scripts, with what JSON has to escape; sometimes long, never only blank. */
static str words(struct arena *a, size_t most)
{
	static const char *const pool[] = { "word ",        "\"quote\" ",   "line\nbreak ",
					    "\xe6\x97\xa5", "\xe6\x9c\xac", "\xf0\x9f\x99\x82",
					    "\\back ",      "\t",           "\xd0\xbf\xd1\x80 ",
					    "tool " };
	struct buf b = buf_in(a, 1 << 20);
	size_t n = 1 + rnd(one_in(20) ? most * 8 : most);

	buf_addc(&b, 'x');
	for (size_t i = 0; i < n; i++)
		buf_add(&b, str_of(pool[rnd(COUNT(pool))]));
	return arena_dup(a, buf_str(&b));
}

struct history {
	struct arena *a;
	struct message rows[ROWS_MAX];
	size_t n;
	int64_t seq, turn, round;
};

static struct message *add(struct history *h, const char *role, int64_t index)
{
	struct message *m = &h->rows[h->n++];

	*m = (struct message){
		.seq = ++h->seq,
		.round = h->round,
		.index = index,
		.turn_id = arena_fmt(h->a, "t%lld", (long long)h->turn),
		.role = str_of(role),
	};
	return m;
}

static void add_user(struct history *h)
{
	struct message *m = add(h, "user", 0);

	m->text = words(h->a, 40);
	m->wire = model_user_wire(h->a, m->text);
	if (!one_in(3))
		m->context = words(h->a, 30);
	m->collapsed = one_in(4);
}

static void add_calls(struct history *h, bool odd)
{
	struct model_call calls[4];
	size_t n = 1 + rnd(4);

	h->round++;
	for (size_t i = 0; i < n; i++)
		calls[i] = (struct model_call){
			.id = arena_fmt(h->a, "c%lld_%zu", (long long)h->seq, i),
			.name = S("look"),
			.args = S("{\"q\":1}"),
		};
	struct message *m = add(h, "assistant", 0);
	m->text = one_in(2) ? words(h->a, 5) : S("");
	m->wire = model_calls_wire(h->a, m->text, calls, n);
	for (size_t i = 0; i < n; i++) {
		if (odd && one_in(6))
			continue; /* it was lost */
		struct message *t = add(h, "tool", (int64_t)i + 1);
		t->text = words(h->a, 60);
		t->tool_name = S("look");
		t->wire = model_tool_wire(h->a, calls[i].id, t->text);
		t->collapsed = one_in(3);
	}
}

static void add_answer(struct history *h, bool odd)
{
	h->round++;
	struct message *m = add(h, "assistant", 0);
	m->text = odd && one_in(8) ? S("") : words(h->a, 60);
	m->wire = model_assistant_wire(h->a, m->text);
	if (odd && one_in(10))
		m->wire = S("no json");
}

static void add_turn(struct history *h, bool odd, bool ends)
{
	h->turn++;
	h->round = 0;
	if (!odd || !one_in(12))
		add_user(h);
	for (uint64_t i = rnd(4); i > 0; i--)
		add_calls(h, odd);
	if (ends && !(odd && one_in(8)))
		add_answer(h, odd);
}

/* --- the checker ------------------------------------------------------------------------ */

static const struct json *check_calls(const struct json *m, const struct json *calls)
{
	for (const struct json *c = calls->child; c; c = c->next) {
		m = m->next;
		if (!m || !str_eq(json_str(m, "role"), S("tool")) ||
		    !str_eq(json_str(m, "tool_call_id"), json_str(c, "id")))
			fail_msg("a call without its result");
		if (json_str(m, "content").n == 0)
			fail_msg("an empty result");
	}
	return m;
}

static void check_request(struct arena *a, str body, bool system)
{
	struct json *v;
	str before = S("system");

	assert_int_equal(json_read(&v, a, body, NULL), OK);
	const struct json *m = json_get(v, "messages")->child;
	if (system) {
		assert_true(str_eq(json_str(m, "role"), S("system")));
		m = m->next;
	}
	for (; m; m = m->next) {
		str role = json_str(m, "role"), content = str_trim(json_str(m, "content"));
		const struct json *calls = json_get(m, "tool_calls");
		if (str_eq(before, S("system")) && !str_eq(role, S("user")))
			fail_msg("it begins with %.*s", STRF(role));
		if (str_eq(role, S("user")) ? str_eq(before, role)
					    : !str_eq(role, S("assistant")))
			fail_msg("%.*s after %.*s", STRF(role), STRF(before));
		if (content.n == 0 && !calls)
			fail_msg("an empty message of %.*s", STRF(role));
		before = role;
		if (calls) {
			m = check_calls(m, calls);
			before = S("tool");
		}
	}
	if (str_eq(before, S("system")) || str_eq(before, S("assistant")))
		fail_msg("it ends with %.*s", STRF(before));
}

/* --- ten thousand ------------------------------------------------------------------------ */

/* As the plan says, and as agent/shrink.c does it. */
static size_t apply(struct message *rows, size_t n, int64_t current, const struct fit_plan *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].seq < p->cut_at)
			continue;
		rows[kept] = rows[i];
		if (rows[kept].seq <= p->collapse_upto &&
		    !str_eq(rows[kept].role, S("assistant")) && rows[kept].seq != current)
			rows[kept].collapsed = true;
		kept++;
	}
	return kept;
}

/* What is left when all that may go is gone. */
static int64_t least(struct arena *a, const struct message *rows, size_t n, int64_t current)
{
	struct message *own = NEWN(a, struct message, n);
	struct model_msg *msgs;
	size_t own_n = 0, msgs_n;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].seq < current)
			continue;
		own[own_n] = rows[i];
		own[own_n++].collapsed |= str_eq(rows[i].role, S("tool"));
	}
	assert_int_equal(prompt_messages(a, own, own_n, &msgs, &msgs_n, NULL), OK);
	return prompt_tokens(msgs, msgs_n);
}

static int64_t fresh_from(const struct message *rows, size_t n)
{
	for (size_t i = n; i-- > 0;)
		if (str_eq(rows[i].role, S("assistant")))
			return rows[i].seq;
	return rows[n - 1].seq;
}

static void one_history(uint64_t number, int64_t *cuts, int64_t *folds)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct history *h = NEW(&a, struct history);
	bool odd = one_in(2);
	str system = one_in(4) ? S("") : words(&a, 200);
	struct model_msg *msgs;
	struct fit_plan plan;
	struct request request;
	struct err e = { 0 };
	size_t msgs_n;

	h->a = &a;
	for (uint64_t turns = rnd(16); turns > 0; turns--)
		add_turn(h, odd, true);
	int64_t current = h->seq + 1;
	h->turn++;
	h->round = 0;
	add_user(h);
	h->rows[h->n - 1].collapsed = false;
	for (uint64_t rounds = rnd(4); rounds > 0; rounds--)
		add_calls(h, odd);
	struct fit_budget b = {
		.fixed = text_tokens(system),
		.max_tokens = text_tokens(system) + least(&a, h->rows, h->n, current) +
			      (int64_t)rnd(one_in(2) ? 400 : 15000),
		.max_messages = (int64_t)rnd(one_in(2) ? 20 : 400),
		.max_turns = one_in(2) ? 0 : 1 + (int64_t)rnd(30),
	};
	assert_int_equal(
		fit_plan(&a, h->rows, h->n, current, fresh_from(h->rows, h->n), &b, &plan, &e),
		OK);
	size_t n = apply(h->rows, h->n, current, &plan);
	assert_int_equal(prompt_messages(&a, h->rows, n, &msgs, &msgs_n, &e), OK);
	int64_t tokens = b.fixed + prompt_tokens(msgs, msgs_n);
	if (tokens > b.max_tokens || tokens != plan.tokens)
		fail_msg("history %llu: %lld of %lld tokens, planned %lld",
			 (unsigned long long)number, (long long)tokens, (long long)b.max_tokens,
			 (long long)plan.tokens);
	int64_t past = 0;
	for (size_t i = 0; i < n; i++)
		past += h->rows[i].seq < current;
	if (past > b.max_messages)
		fail_msg("history %llu: %lld messages", (unsigned long long)number,
			 (long long)past);
	struct model_cfg cfg = { .name = S("m") };
	struct model_req req = { .system = system, .msgs = msgs, .msgs_n = msgs_n };
	assert_int_equal(request_write(&request, &a, &cfg, S(""), false, &req,
				       &(struct model_quirks){ 0 }, &e),
			 OK);
	check_request(&a, request.body, system.n > 0);
	*cuts += plan.cut_at != 0;
	*folds += plan.fold_to != 0;
}

static void any_history_fits_its_budget_and_is_valid(void **state)
{
	int64_t cuts = 0, folds = 0;

	(void)state;
	for (uint64_t i = 0; i < HISTORIES; i++) {
		seed = 0x9e3779b97f4a7c15u + i * 7919;
		one_history(i, &cuts, &folds);
	}
	print_message("%d histories: %lld were cut, %lld asked for a fold\n", HISTORIES,
		      (long long)cuts, (long long)folds);
	assert_in_range(cuts, HISTORIES / 10, HISTORIES - HISTORIES / 10);
	assert_true(folds > HISTORIES / 200);
}

/* --- in which steps ---------------------------------------------------------------------- */

/* Turns of a question and an answer, 100 tokens each, and a running one. */
static size_t plain(struct history *h, size_t turns)
{
	char text[190];

	memset(text, 'a', sizeof text);
	for (size_t i = 0; i < turns; i++) {
		h->turn++;
		h->round = 0;
		struct message *m = add(h, "user", 0);
		m->wire = model_user_wire(h->a, (str){ text, sizeof text - 16 });
		m->text = S("q");
		h->round++;
		m = add(h, "assistant", 0);
		m->wire = model_assistant_wire(h->a, (str){ text, sizeof text - 20 });
		m->text = S("a");
	}
	h->turn++;
	h->round = 0;
	struct message *m = add(h, "user", 0);
	m->wire = model_user_wire(h->a, S("go"));
	m->text = S("go");
	return h->n;
}

static void steps(size_t turns, const struct fit_budget *b, int64_t cut_at, int64_t fold_to)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct history *h = NEW(&a, struct history);
	struct fit_plan plan;

	h->a = &a;
	size_t n = plain(h, turns);
	int64_t current = h->rows[n - 1].seq;
	assert_int_equal(fit_plan(&a, h->rows, n, current, current, b, &plan, NULL), OK);
	if (plan.cut_at != cut_at || plan.fold_to != fold_to)
		fail_msg("%zu turns: cut at %lld, fold to %lld", turns, (long long)plan.cut_at,
			 (long long)plan.fold_to);
}

static void it_is_folded_before_it_is_full_and_cut_to_half_when_it_is(void **state)
{
	static const struct fit_budget turns = { .max_tokens = 1000000,
						 .max_messages = INT64_MAX,
						 .max_turns = 40 };
	static const struct fit_budget messages = { .max_tokens = 1000000, .max_messages = 80 };
	static const struct fit_budget tokens = { .fixed = 2000,
						  .max_tokens = 6000,
						  .max_messages = 1000000 };
	static const struct fit_budget small = { .max_tokens = 350, .max_messages = 1000000 };
	static const struct fit_budget tiny = { .max_tokens = 50, .max_messages = 1000000 };

	(void)state;
	steps(35, &turns, 0, 0);
	steps(36, &turns, 0, 16 * 2 + 1);
	steps(40, &turns, 0, 20 * 2 + 1);
	steps(41, &turns, 21 * 2 + 1, 0);
	steps(35, &messages, 0, 0);
	steps(36, &messages, 0, 16 * 2 + 1);
	steps(41, &messages, 21 * 2 + 1, 0);
	steps(34, &tokens, 0, 0); /* a turn is about 100 tokens */
	steps(45, &tokens, 26 * 2 + 1, 0); /* half of what is beside the fixed part */
	steps(3, &small, 0, 0);
	steps(5, &small, 2 * 2 + 1, 0); /* the last ones stay where they fit */
	steps(2, &tiny, 2 * 2 + 1, 0); /* only what runs */
}

static void scripts_without_spaces_are_not_underestimated(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct history *h = NEW(&a, struct history);
	struct buf b = buf_in(&a, 1 << 16);
	struct model_msg *msgs;
	struct fit_plan plan;
	size_t msgs_n;

	(void)state;
	h->a = &a;
	while (b.n < 400 * 3) /* 400 characters */
		buf_add(&b, S("このメッセージは日本語で書かれています。"));
	str text = str_sub(buf_str(&b), 0, 400 * 3);
	assert_true(text_tokens(text) >= 300);
	for (int i = 0; i < 201; i++) {
		h->turn += i % 2 == 0;
		h->round = i % 2;
		struct message *m = add(h, i % 2 ? "assistant" : "user", 0);
		m->text = text;
		m->wire = i % 2 ? model_assistant_wire(&a, text) : model_user_wire(&a, text);
	}
	const struct fit_budget limit = { .max_tokens = 32000, .max_messages = 1000 };
	assert_int_equal(fit_plan(&a, h->rows, h->n, 201, 201, &limit, &plan, NULL), OK);
	size_t n = apply(h->rows, h->n, 201, &plan);
	assert_int_equal(prompt_messages(&a, h->rows, n, &msgs, &msgs_n, NULL), OK);
	assert_in_range(n, 30, 32000 / 300); /* at 0.75 tokens a character it fits, too */
	assert_in_range(prompt_tokens(msgs, msgs_n), 12000, 32000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_history_fits_its_budget_and_is_valid),
		cmocka_unit_test(scripts_without_spaces_are_not_underestimated),
		cmocka_unit_test(it_is_folded_before_it_is_full_and_cut_to_half_when_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
