/*
 * Whole turns: what is asked, what is journaled, what the user is told, however it ends.
 */
#include "agent_world.h"
#include "full_disk.h"

#include "base/buf.h"

#include "os/seam.h"

#include <dlfcn.h>
#include <string.h>

/* The clocks, as the tests will have it: what os/seam.c says, or later. */
static _Atomic int late_ms;

int seam_clock(clockid_t id, struct timespec *out)
{
	int rc = clock_gettime(id, out);

	out->tv_sec += atomic_load(&late_ms) / 1000;
	return rc;
}

int seam_slice(int ms)
{
	return ms;
}

/* A system that gives no more threads. */
static _Atomic bool no_threads;

int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	static _Atomic(void *) cache;
	void *next = atomic_load(&cache);

	if (atomic_load(&no_threads))
		return EAGAIN;
	if (!next)
		atomic_store(&cache, next = dlsym(RTLD_NEXT, "pthread_create"));
	return ((int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))next)(
		id, attr, fn, arg);
}

static void assert_text(str got, const char *want)
{
	if (!str_eq(got, str_of(want)))
		fail_msg("got \"%.*s\", not \"%s\"", STRF(got), want);
}

static int64_t count(struct agent_world *k, const char *from)
{
	return world_i64(k->w, arena_fmt(&k->w->a, "SELECT count(*) FROM %s", from).p);
}

static str content(struct agent_world *k, const char *where)
{
	return world_text(k->w, arena_fmt(&k->w->a,
					  "SELECT content FROM turn_messages WHERE %s "
					  "ORDER BY seq DESC",
					  where)
					.p);
}

static void script(struct agent_world *k, const char *const *says)
{
	for (; *says; says++)
		aw_says(k, *says);
}

/* --- answers -------------------------------------------------------------------------- */

static const struct answer {
	const char *says[8];
	const char *state, *told, *stored; /* stored: the answer's row */
	int requests;
	const char *last_has; /* the last request */
	bool nudged;
} answers[] = {
	{ { "t:Hello" }, "done", "Hello", "Hello", 1, "", false },
	{ { "c:echo {\"n\":1}", "t:Done" },
	  "done",
	  "Done",
	  "Done",
	  2,
	  "echo says {\\\"n\\\":1}",
	  false },
	{ { "c:bad {}", "t:It failed" },
	  "done",
	  "It failed",
	  "It failed",
	  2,
	  "bad says {}",
	  false },
	{ { "c:no_such_thing {}", "t:So" }, "done", "So", "So", 2, "error: ", false },
	{ { "c:echo [1]", "t:So" }, "done", "So", "So", 2, "must be one JSON object", false },
	{ { "t:NO_REPLY" }, "done", "", "NO_REPLY", 1, "", false },
	{ { "t:[silent]\nwatched" }, "done", "", "[silent]\nwatched", 1, "", false },
	{ { "l:Half" },
	  "done",
	  "Half\n\n[the answer was cut off by the model's length limit]",
	  "Half",
	  1,
	  "",
	  false },
	{ { "f:Half" },
	  "done",
	  "Half\n\n[response withheld or cut short by the provider's content filter]",
	  "Half",
	  1,
	  "",
	  false },
	{ { "f:" },
	  "done",
	  "(no answer)\n\n[response withheld or cut short by the provider's content filter]",
	  "(no answer)",
	  1,
	  "",
	  false },
	{ { "e:", "t:Now" }, "done", "Now", "Now", 2, "your last reply was empty", true },
	{ { "r:hmm", "t:Now" },
	  "done",
	  "Now",
	  "Now",
	  2,
	  "your last reply held only reasoning",
	  true },
	{ { "e:", "e:" },
	  "done",
	  "The model gave an empty answer. Please ask again.",
	  "The model gave an empty answer. Please ask again.",
	  2,
	  "your last reply",
	  true },
	{ { "r:hmm", "r:hmm" },
	  "done",
	  "The model only reasoned and gave no answer. Please ask again, perhaps in other "
	  "words.",
	  "The model only reasoned and gave no answer. Please ask again, perhaps in other "
	  "words.",
	  2,
	  "your last reply",
	  true },
	/* What it said beside its calls is better than nothing. */
	{ { "c:echo {}", "e:", "e:" }, "done", "on it", "on it", 3, "your last reply", true },
	{ { "t:{\"name\":\"echo\",\"arguments\":{\"n\":2}}", "t:Done" },
	  "done",
	  "Done",
	  "Done",
	  2,
	  "echo says {\\\"n\\\":2}",
	  false },
	{ { "t:Call {\"name\":\"echo\"} yourself" },
	  "done",
	  "Call {\"name\":\"echo\"} yourself",
	  "Call {\"name\":\"echo\"} yourself",
	  1,
	  "",
	  false },
	{ { "4:no such model" },
	  "failed",
	  "The model refused the request: ",
	  NULL,
	  1,
	  "",
	  false },
};

static void a_reply_becomes_what_the_user_is_told(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(answers); i++) {
		const struct answer *c = &answers[i];
		struct agent_world *k;
		(void)agent_world_setup((void **)&k);
		print_message("  %s\n", c->says[0]);
		script(k, c->says);
		aw_hear(k, "hi");
		ok(k->w, aw_run(k));
		assert_text(aw_state(k), c->state);
		if (c->stored) {
			assert_text(aw_told(k), c->told);
			assert_text(content(k, "role = 'assistant'"), c->stored);
		} else {
			aw_has(aw_told(k).p, c->told);
		}
		assert_int_equal(count(k, "outbox"), c->told[0] != '\0');
		assert_int_equal(count(k, "inbox WHERE state = 'done'"), 1);
		assert_int_equal(count(k, "model_calls"), c->requests);
		aw_has(aw_request(k, -1), c->last_has);
		aw_has(aw_request(k, -1), "hi\\n\\n[context]");
		if (!c->nudged)
			aw_lacks(aw_request(k, -1), "[note");
		assert_int_equal(k->lb.requests, c->requests);
		world_check(k->w);
		(void)agent_world_teardown((void **)&k);
	}
}

static void the_next_turn_sends_what_was_sent_before_byte_for_byte(void **state)
{
	struct agent_world *k = *state;

	aw_says(k, "c:echo {\"n\":1}");
	aw_says(k, "t:Done");
	aw_says(k, "t:Again");
	aw_hear(k, "one");
	ok(k->w, aw_run(k));
	aw_hear(k, "two");
	ok(k->w, aw_run(k));
	str last = str_of(aw_request(k, 2)), before = str_of(aw_request(k, 1));
	/* All of it up to the end of the messages. */
	size_t end = str_find(before, S("],\"tools\""));
	if (end == SIZE_MAX)
		end = str_find(before, S("]}"));
	assert_true(end != SIZE_MAX && end > 100);
	assert_true(str_starts(last, str_sub(before, 0, end)));
}

/* --- tools ---------------------------------------------------------------------------- */

static void calls_of_a_round_run_side_by_side_and_results_keep_their_order(void **state)
{
	struct agent_world *k = *state;

	/* "first" ends only after "second" has run. */
	aw_says(k, "c:first {}|echo {\"n\":1}|second {}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_text(aw_told(k), "Done");
	const char *p = aw_request(k, 1);
	const char *one = strstr(p, "first says"), *two = strstr(p, "echo says"),
		   *three = strstr(p, "second says");
	assert_true(one && two && three && one < two && two < three);
	assert_int_equal(count(k, "tool_calls WHERE state = 'done'"), 3);
	assert_int_equal(world_i64(k->w, "SELECT group_concat(idx, '') FROM (SELECT idx FROM "
					 "turn_messages WHERE role = 'tool' ORDER BY seq)"),
			 123);
}

static void more_calls_than_threads_all_run(void **state)
{
	struct agent_world *k = *state;
	struct buf b = buf_in(&k->w->a, 4096);

	buf_add(&b, S("c:"));
	for (int i = 0; i < 19; i++)
		buf_fmt(&b, "%slook {\"n\":%d}", i ? "|" : "", i);
	aw_says(k, buf_str(&b).p);
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_int_equal(k->ran, 19);
	assert_int_equal(count(k, "turn_messages WHERE role = 'tool'"), 19);
	world_check(k->w);
}

static void without_threads_calls_run_one_after_the_other(void **state)
{
	struct agent_world *k = *state;

	aw_says(k, "c:echo {\"n\":1}|look {}|bad {}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	atomic_store(&no_threads, true);
	int rc = aw_run(k);
	atomic_store(&no_threads, false);
	ok(k->w, rc);
	assert_text(aw_told(k), "Done");
	assert_int_equal(k->ran, 3);
	assert_int_equal(count(k, "tool_calls WHERE state = 'done'"), 2);
	assert_int_equal(count(k, "turn_messages WHERE role = 'tool'"), 3);
}

static const struct asked {
	enum policy_verdict rule;
	const char *answers, *call_state, *decision, *decider, *result;
	int asked, ran;
} asks[] = {
	{ VERDICT_ALLOW, "", "done", "allow", "policy", "echo says {}", 0, 1 },
	{ VERDICT_ASK, "y", "done", "approved", "tester", "echo says {}", 1, 1 },
	{ VERDICT_ASK, "n", "denied", "denied", "tester", "refused by the user", 1, 0 },
	{ VERDICT_ASK, "t", "denied", "expired", "tester", "nobody answered", 1, 0 },
	{ VERDICT_DENY, "", "denied", "deny", "policy", "refused permanently", 0, 0 },
};

static void a_call_runs_only_when_rules_and_people_allow_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(asks); i++) {
		const struct asked *c = &asks[i];
		struct agent_world *k;
		(void)agent_world_setup((void **)&k);
		k->rules[0] = (struct policy_rule){ .tool = S("echo"), .verdict = c->rule };
		k->cfg.policy.n = 1;
		k->answers = c->answers;
		aw_says(k, "c:echo {}");
		aw_says(k, "t:Done");
		aw_hear(k, "hi");
		ok(k->w, aw_run(k));
		assert_text(world_text(k->w, "SELECT state FROM tool_calls"), c->call_state);
		assert_text(world_text(k->w, "SELECT decision FROM tool_calls"), c->decision);
		assert_text(world_text(k->w, "SELECT decider FROM tool_calls"), c->decider);
		assert_int_equal(k->asked, c->asked);
		assert_int_equal(k->ran, c->ran);
		aw_has(aw_request(k, 1), c->result);
		(void)agent_world_teardown((void **)&k);
	}
}

static void without_an_approver_nothing_that_asks_runs(void **state)
{
	struct agent_world *k = *state;

	k->rules[0] = (struct policy_rule){ .tool = S("*"), .verdict = VERDICT_ASK };
	k->cfg.policy.n = 1;
	k->io.approver = NULL;
	aw_says(k, "c:echo {}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_int_equal(k->ran, 0);
	aw_has(aw_request(k, 1), "nobody is here to approve");
}

/* --- caps ----------------------------------------------------------------------------- */

static const struct cap {
	const char *says[8];
	int64_t rounds, calls, tokens;
	const char *notice; /* NULL: no landing */
	int requests;
} caps[] = {
	{ { "c:echo {\"n\":1}", "c:echo {\"n\":2}", "t:Landed" }, 2, 0, 0, "tool rounds", 3 },
	{ { "c:echo {\"n\":1}|echo {\"n\":2}", "t:Landed" }, 9, 2, 0, "tool calls", 2 },
	{ { "c:echo {\"n\":1}", "c:echo {\"n\":2}", "t:Landed" }, 9, 0, 200, "of tokens", 3 },
	{ { "c:look {}", "c:look {}", "c:look {}", "t:Landed" },
	  9,
	  0,
	  0,
	  "kept giving the same result",
	  4 },
	/* It is seen beside others, too. */
	{ { "c:look {}|echo {\"n\":1}", "c:look {}|echo {\"n\":2}", "c:look {}|echo {\"n\":3}",
	    "t:Landed" },
	  9,
	  0,
	  0,
	  "kept giving the same result",
	  4 },
	{ { "c:look {}", "c:look {}", "c:look {\"n\":1}", "t:Landed" }, 9, 0, 0, NULL, 4 },
	/* Twins of one round are no repetition: none of them knew a result. */
	{ { "c:look {}|look {}|look {}", "c:look {}|look {}", "t:Landed" }, 9, 0, 0, NULL, 3 },
	{ { "c:look {}|look {}", "c:look {}|look {}", "c:look {}|look {}", "t:Landed" },
	  9,
	  0,
	  0,
	  "kept giving the same result",
	  4 },
	/* A model that calls all the same gets no tool, and the user its words. */
	{ { "c:echo {\"n\":1}", "c:echo {\"n\":2}" }, 1, 0, 0, "tool rounds", 2 },
};

static void a_cap_ends_tool_use_and_a_reply_comes(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(caps); i++) {
		const struct cap *c = &caps[i];
		struct agent_world *k;
		(void)agent_world_setup((void **)&k);
		k->cfg.limits.tool_max_iterations = c->rounds;
		k->cfg.limits.turn_max_calls = c->calls;
		k->cfg.limits.turn_max_tokens = c->tokens;
		script(k, c->says);
		aw_hear(k, "hi");
		ok(k->w, aw_run(k));
		assert_text(aw_state(k), "done");
		if (c->notice)
			aw_has(aw_told(k).p, c->notice);
		else
			assert_text(aw_told(k), "Landed");
		for (int n = 0; n < c->requests; n++) {
			bool landing = c->notice && n == c->requests - 1;
			(landing ? aw_has : aw_lacks)(aw_request(k, n), "no more tool calls");
			(landing ? aw_lacks : aw_has)(aw_request(k, n), "\"tools\":[");
		}
		assert_int_equal(k->lb.requests, c->requests);
		assert_int_equal(count(k, "turn_messages WHERE wire LIKE '%no more tool%'"), 0);
		(void)agent_world_teardown((void **)&k);
	}
}

static void the_budget_is_told_once_on_the_last_result_of_the_round(void **state)
{
	struct agent_world *k = *state;

	k->cfg.limits.tool_max_iterations = 3; /* 70 %: the second round */
	aw_says(k, "c:echo {\"n\":1}|echo {\"n\":2}");
	aw_says(k, "c:echo {\"n\":3}|echo {\"n\":4}");
	aw_says(k, "c:echo {\"n\":5}");
	aw_says(k, "t:Landed");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_int_equal(count(k, "turn_messages WHERE wire LIKE '%2 of 3 tool rounds%'"), 1);
	assert_int_equal(count(k, "turn_messages WHERE wire LIKE '%2 of 3 tool rounds%' "
				  "AND round = 2 AND idx = 2"),
			 1);
	/* It is for the model; what the tool said is kept as it is. */
	assert_int_equal(count(k, "turn_messages WHERE content LIKE '%tool rounds%'"), 0);
	aw_has(aw_request(k, 2), "2 of 3 tool rounds are used, 1 remain");
	aw_has(aw_request(k, 3), "2 of 3 tool rounds are used, 1 remain");
}

static void get_late(void)
{
	atomic_store(&late_ms, 61000);
}

static void the_time_limit_lands_the_turn_between_rounds(void **state)
{
	struct agent_world *k = *state;

	k->on_odd = get_late; /* the limit is 60 s, the hard end 6 s later */
	aw_says(k, "c:odd {}");
	aw_says(k, "t:Landed");
	aw_hear(k, "hi");
	int rc = aw_run(k);
	atomic_store(&late_ms, 0);
	ok(k->w, rc);
	assert_text(aw_told(k), "Landed\n\n[tool use ended early: the time limit was reached]");
}

/* --- how it ends ---------------------------------------------------------------------- */

static const struct end {
	const char *says[4]; /* "*": fires the token instead of answering */
	enum cancel_reason why;
	const char *state, *history, *told, *note; /* note "": none */
} ends[] = {
	{ { "*" }, CANCEL_USER, "canceled", "none", "", "" },
	{ { "c:stop {}" }, CANCEL_USER, "canceled", "note", "", "stop {}: done" },
	{ { "c:stop {}|wait {}" },
	  CANCEL_USER,
	  "canceled",
	  "note",
	  "",
	  "- wait {}: cancelled, may have happened in part" },
	{ { "c:echo {\"n\":1}", "*" },
	  CANCEL_USER,
	  "canceled",
	  "note",
	  "",
	  "- echo {\\\"n\\\":1}: done" },
	{ { "c:stop {}" },
	  CANCEL_DEADLINE,
	  "failed",
	  "note",
	  "I ran out of time",
	  "time limit" },
	{ { "c:echo {\"n\":1}", "4:no" },
	  CANCEL_USER,
	  "failed",
	  "note",
	  "The model refused the request",
	  "This turn failed" },
	/* What the gate kept has not run. */
	{ { "c:missing {}|echo [1]|grow {}", "4:no" },
	  CANCEL_USER,
	  "failed",
	  "none",
	  "The model refused the request",
	  "" },
};

static void an_end_without_an_answer_leaves_a_note_when_a_tool_ran(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(ends); i++) {
		const struct end *c = &ends[i];
		struct agent_world *k;
		(void)agent_world_setup((void **)&k);
		print_message("  %s\n", c->says[0]);
		k->why = c->why;
		k->rules[0] =
			(struct policy_rule){ .tool = S("grow"), .verdict = VERDICT_DENY };
		k->cfg.policy.n = 1;
		for (int n = 0; c->says[n]; n++)
			if (c->says[n][0] == '*')
				aw_fires(k);
			else
				aw_says(k, c->says[n]);
		aw_hear(k, "hi");
		ok(k->w, aw_run(k));
		assert_text(aw_state(k), c->state);
		assert_text(world_text(k->w, "SELECT history FROM turns"), c->history);
		assert_int_equal(count(k, "outbox"), c->told[0] != '\0');
		aw_has(aw_told(k).p, c->told);
		assert_int_equal(count(k, "turn_messages WHERE note = 1"), c->note[0] != '\0');
		if (c->note[0])
			aw_has(world_text(k->w, "SELECT wire FROM turn_messages WHERE note = 1")
				       .p,
			       c->note);
		assert_int_equal(count(k, "inbox WHERE state = 'done'"), 1);
		world_check(k->w);
		(void)agent_world_teardown((void **)&k);
	}
}

static void an_error_of_the_model_says_its_kind_once(void **state)
{
	struct agent_world *k = *state;

	aw_says(k, "4:no");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	str error = world_text(k->w, "SELECT error FROM turns");
	assert_true(str_starts(error, S("bad_request (400): ")));
	assert_false(str_has(str_sub(error, 1, error.n), S("bad_request")));
}

static void a_turn_canceled_before_it_began_asks_nobody(void **state)
{
	struct agent_world *k = *state;

	aw_hear(k, "hi");
	cancel_fire(&k->token, CANCEL_USER);
	ok(k->w, aw_run(k));
	assert_text(aw_state(k), "canceled");
	assert_int_equal(k->lb.requests, 0);
	assert_int_equal(count(k, "outbox"), 0);
}

static void new_discards_the_answer_of_the_turn_that_runs(void **state)
{
	struct agent_world *k = *state;
	struct control_effect ef;

	aw_says(k, "c:echo {}");
	aw_hear(k, "hi");
	struct tx tx = world_begin(k->w);
	ok(k->w,
	   store_control(&tx, CONTROL_NEW, S("test"), S("1"), S(""), &k->w->a, &ef, &k->w->e));
	world_commit(k->w, &tx);
	ok(k->w, aw_run(k));
	assert_text(aw_state(k), "canceled");
	assert_int_equal(k->ran, 0);
	assert_int_equal(count(k, "outbox"), 0);
	assert_int_equal(count(k, "tool_calls"), 0);
}

static void the_deadline_ends_a_turn_with_a_word(void **state)
{
	struct agent_world *k = *state;

	k->cfg.limits.turn_max_ms = 1500;
	aw_says(k, "c:echo {}");
	aw_says(k, "h:");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_text(aw_state(k), "failed");
	aw_has(aw_told(k).p, "I ran out of time");
	assert_int_equal(count(k, "turn_messages WHERE note = 1"), 1);
}

static void shutdown_gives_the_turn_back_and_it_goes_on_where_it_was(void **state)
{
	struct agent_world *k = *state;

	k->why = CANCEL_SHUTDOWN;
	aw_says(k, "c:stop {}|wait {}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	assert_int_equal(aw_run(k), E_CANCELED);
	assert_text(aw_state(k), "ready");
	assert_int_equal(count(k, "outbox"), 0);
	assert_int_equal(count(k, "tool_calls WHERE state = 'done'"), 1);
	/* Nobody knows what became of the other. */
	assert_int_equal(count(k, "tool_calls WHERE state = 'in_doubt'"), 1);
	cancel_done(&k->token);
	ok(k->w, cancel_init(&k->token, NULL, 0, &k->w->e));
	aw_claim(k);
	assert_true(k->t.resumed);
	assert_int_equal(k->t.attempts, 1);
	ok(k->w, aw_run(k));
	assert_text(aw_told(k), "Done");
	assert_int_equal(k->ran, 2);
	aw_has(aw_request(k, 1), "may or may not");
	world_check(k->w);
}

/* --- going on after a crash ----------------------------------------------------------- */

static const struct resume {
	const char *tool;
	enum call_state was;
	bool safe; /* as journaled */
	const char *without;
	bool unsafe; /* now */
	const char *call_state, *result;
	int ran;
} resumes[] = {
	{ "look", CALL_RUNNING, true, NULL, false, "done", "look says", 1 },
	{ "echo", CALL_RUNNING, false, NULL, false, "in_doubt", "may or may not", 0 },
	{ "look", CALL_RUNNING, true, NULL, true, "in_doubt", "no longer known as safe", 0 },
	{ "look", CALL_RUNNING, true, "look", false, "failed", "error: ", 0 },
	{ "echo", CALL_PLANNED, false, NULL, false, "done", "echo says", 1 },
	{ "echo", CALL_PLANNED, false, "echo", false, "failed", "error: ", 0 },
	{ "echo", CALL_DONE, false, NULL, false, "done", "kept", 0 },
};

static void journal_call(struct agent_world *k, const struct resume *c)
{
	struct tx tx = world_begin(k->w);
	struct model_call made = { S("p1"), str_of(c->tool), S("{}") };
	struct call row = world_call(1, 1, c->was, c->safe);
	struct turn_step step = { .round = 1,
				  .wire = model_calls_wire(&k->w->a, S(""), &made, 1),
				  .calls = &row,
				  .calls_n = 1 };

	row.provider_id = S("p1");
	row.requested = row.name = str_of(c->tool);
	row.args = S("{}");
	row.result = c->was == CALL_DONE ? S("kept") : S("");
	ok(k->w, store_turn_step(&tx, k->t.id, &step, &k->w->e));
	world_commit(k->w, &tx);
}

static void a_resumed_turn_repeats_only_what_is_safe(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(resumes); i++) {
		const struct resume *c = &resumes[i];
		struct agent_world *k;
		(void)agent_world_setup((void **)&k);
		print_message("  %zu %s\n", i, c->tool);
		k->without = c->without;
		k->unsafe = c->unsafe;
		aw_says(k, "t:Done");
		aw_hear(k, "hi");
		journal_call(k, c);
		ok(k->w, store_turn_release(k->w->s, k->t.id, NULL, &k->w->e));
		aw_claim(k);
		assert_true(k->t.resumed);
		ok(k->w, aw_run(k));
		assert_text(aw_told(k), "Done");
		assert_text(world_text(k->w, "SELECT state FROM tool_calls"), c->call_state);
		assert_int_equal(k->ran, c->ran);
		aw_has(aw_request(k, 0), c->result);
		assert_int_equal(k->lb.requests, 1);
		world_check(k->w);
		(void)agent_world_teardown((void **)&k);
	}
}

static void a_message_that_breaks_the_program_is_given_up(void **state)
{
	struct agent_world *k = *state;

	aw_hear(k, "hi");
	for (int i = 0; i < 3; i++) {
		/* As a crash leaves it. */
		world_sql(k->w, "UPDATE turns SET state = 'ready', owner = ''");
		aw_claim(k);
	}
	ok(k->w, aw_run(k));
	assert_text(aw_state(k), "given_up");
	aw_has(aw_told(k).p, "I gave up on this message");
	assert_int_equal(k->lb.requests, 0);
}

/* --- too long ------------------------------------------------------------------------- */

static void a_refused_length_shrinks_results_first_then_history(void **state)
{
	struct agent_world *k = *state;

	aw_says(k, arena_fmt(&k->w->a, "t:An old answer%2000s", "!").p);
	aw_says(k, "c:grow {}");
	aw_says(k, "c:grow {}|look {}");
	aw_says(k, "x:too long"); /* then what was read already is collapsed */
	aw_says(k, "x:too long"); /* then the rest of the results: there is more of them */
	aw_says(k, "x:too long"); /* then old turns go */
	aw_says(k, "t:Fits");
	aw_hear(k, "an old question");
	ok(k->w, aw_run(k));
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_text(aw_told(k), "Fits");
	/* Rows first: later prompts begin where this one could. */
	assert_true(world_i64(k->w, "SELECT history_from_seq FROM sessions") > 0);
	assert_true(count(k, "turn_messages WHERE collapsed = 1") > 0);
	for (int i = 3; i < 7; i++) {
		int whole = 0;
		for (const char *p = aw_request(k, i); (p = strstr(p, "gggg\"")); p++)
			whole++;
		assert_int_equal(whole, i == 3 ? 2 : i == 4 ? 1 : 0);
		(i < 6 ? aw_has : aw_lacks)(aw_request(k, i), "an old question");
		aw_has(aw_request(k, i), "hi\\n\\n[context]");
	}
}

static void a_length_that_cannot_be_shrunk_is_said_plainly(void **state)
{
	struct agent_world *k = *state;

	aw_says(k, "x:too long");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_text(aw_state(k), "failed");
	aw_has(aw_told(k).p, "too long for the model");
	aw_has(aw_told(k).p, "/new");
}

/* --- a disk without room -------------------------------------------------------------- */

static void fill(void)
{
	atomic_store(&full_writes, 3);
}

static _Atomic int full_told;

static void on_full(void *arg)
{
	(void)arg;
	full_told++;
}

static void results_and_answers_wait_for_room_on_the_disk(void **state)
{
	struct agent_world *k = *state;

	k->on_odd = fill;
	k->io.on_full = on_full;
	full_told = 0;
	aw_says(k, "c:odd {}");
	aw_says(k, "t:Done");
	aw_hear(k, "hi");
	ok(k->w, aw_run(k));
	assert_text(aw_told(k), "Done");
	assert_int_equal(k->ran, 1);
	assert_int_equal(atomic_load(&full_writes), 0);
	aw_has(aw_request(k, 1), "odd says {}");
	assert_int_equal(full_told, 3);
	world_check(k->w);
}

static void fill_for_good(void)
{
	atomic_store(&full_writes, -1);
}

static void a_turn_that_can_be_written_no_more_is_left_to_be_given_back(void **state)
{
	struct agent_world *k = *state;

	k->on_odd = fill_for_good;
	aw_says(k, "c:odd {}|stop {}");
	aw_hear(k, "hi");
	int rc = aw_run(k);
	atomic_store(&full_writes, 0);
	assert_int_equal(rc, E_FULL);
	assert_text(aw_state(k), "running");
	assert_text(world_text(k->w, "SELECT state FROM tool_calls WHERE name = 'odd'"),
		    "running");
	ok(k->w, store_turn_release(k->w->s, k->t.id, NULL, &k->w->e));
	world_check(k->w);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, agent_world_setup, agent_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_becomes_what_the_user_is_told),
		TEST(the_next_turn_sends_what_was_sent_before_byte_for_byte),
		TEST(calls_of_a_round_run_side_by_side_and_results_keep_their_order),
		TEST(more_calls_than_threads_all_run),
		TEST(without_threads_calls_run_one_after_the_other),
		cmocka_unit_test(a_call_runs_only_when_rules_and_people_allow_it),
		TEST(without_an_approver_nothing_that_asks_runs),
		cmocka_unit_test(a_cap_ends_tool_use_and_a_reply_comes),
		TEST(the_budget_is_told_once_on_the_last_result_of_the_round),
		TEST(the_time_limit_lands_the_turn_between_rounds),
		cmocka_unit_test(an_end_without_an_answer_leaves_a_note_when_a_tool_ran),
		TEST(an_error_of_the_model_says_its_kind_once),
		TEST(a_turn_canceled_before_it_began_asks_nobody),
		TEST(new_discards_the_answer_of_the_turn_that_runs),
		TEST(the_deadline_ends_a_turn_with_a_word),
		TEST(shutdown_gives_the_turn_back_and_it_goes_on_where_it_was),
		cmocka_unit_test(a_resumed_turn_repeats_only_what_is_safe),
		TEST(a_message_that_breaks_the_program_is_given_up),
		TEST(a_refused_length_shrinks_results_first_then_history),
		TEST(a_length_that_cannot_be_shrunk_is_said_plainly),
		TEST(results_and_answers_wait_for_room_on_the_disk),
		TEST(a_turn_that_can_be_written_no_more_is_left_to_be_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
