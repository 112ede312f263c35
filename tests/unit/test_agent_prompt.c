/*
 * Prompts from rows: the literal block formats (golden files in tests/cases/prompt), the
 * repair of every odd history, collapsing and cutting.
 */
#include "agent/fit.h"
#include "agent/prompt.h"

#include "os/file.h"
#include "text/json.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A compact way to write rows: "u:text", "a:text", "c:id,id" (calls), "t:text". */
static size_t rows_of(struct arena *a, const char *const *spec, size_t n, struct message *rows)
{
	int64_t round = 0, index = 0, turn = 0;

	for (size_t i = 0; i < n; i++) {
		str s = str_of(spec[i]), text = str_sub(s, 2, s.n);
		struct message *m = &rows[i];
		*m = (struct message){ .seq = (int64_t)i + 1, .text = text };
		switch (s.p[0]) {
		case 'u':
			turn++;
			round = index = 0;
			m->role = S("user");
			m->wire = model_user_wire(a, text);
			break;
		case 'a':
			round++;
			m->role = S("assistant");
			m->wire = model_assistant_wire(a, text);
			break;
		case 'c': {
			struct model_call calls[8];
			size_t calls_n = 0;
			for (str rest = text; rest.n;)
				calls[calls_n++] = (struct model_call){ str_cut(&rest, ','),
									S("now"), S("{}") };
			round++;
			index = 0;
			m->role = S("assistant");
			m->text = (str){ 0 };
			m->wire = model_calls_wire(a, (str){ 0 }, calls, calls_n);
			break;
		}
		default:
			m->role = S("tool");
			m->index = ++index;
			m->tool_name = S("now");
			m->wire = model_tool_wire(a, str_cut(&text, '='), text);
			m->text = text;
		}
		m->round = round;
		m->turn_id = arena_fmt(a, "turn%lld", (long long)turn);
	}
	return n;
}

/* The sequence as roles and ids, for comparing: "u a c(x,y) t(x) t(y) a". */
static str shape(struct arena *a, const struct model_msg *msgs, size_t n)
{
	struct buf b = buf_in(a, 65536);

	for (size_t i = 0; i < n; i++) {
		struct json *v;
		assert_int_equal(json_read(&v, a, msgs[i].wire, NULL), OK);
		assert_true(str_eq(json_str(v, "role"), msgs[i].role));
		if (i)
			buf_addc(&b, ' ');
		if (str_eq(msgs[i].role, S("tool"))) {
			buf_fmt(&b, "t(%.*s)", STRF(json_str(v, "tool_call_id")));
			assert_true(json_str(v, "content").n > 0);
			continue;
		}
		const struct json *calls = json_get(v, "tool_calls");
		if (calls) {
			buf_add(&b, S("c("));
			for (const struct json *c = calls->child; c; c = c->next)
				buf_fmt(&b, "%s%.*s", c == calls->child ? "" : ",",
					STRF(json_str(c, "id")));
			buf_addc(&b, ')');
			continue;
		}
		assert_true(json_str(v, "content").n > 0);
		buf_addc(&b, msgs[i].role.p[0]);
	}
	return buf_str(&b);
}

static void any_history_becomes_a_valid_request(void **state)
{
	static const struct {
		const char *rows[12];
		const char *want;
	} table[] = {
		{ { "u:hi" }, "u" },
		{ { "u:hi", "a:hello", "u:more" }, "u a u" },
		{ { "u:hi", "c:x", "t:x=1", "a:done", "u:more" }, "u c(x) t(x) a u" },
		{ { "u:hi", "c:x,y", "t:x=1", "t:y=2", "a:done" }, "u c(x,y) t(x) t(y) a" },
		{ { "u:hi", "c:x,y", "t:x=1", "u:next" }, "u c(x,y) t(x) t(y) u" },
		{ { "u:hi", "c:x,y", "u:next" }, "u c(x,y) t(x) t(y) u" },
		{ { "t:x=stray", "u:hi" }, "u" },
		{ { "a:leading", "u:hi" }, "u" },
		{ { "c:x", "t:x=1", "u:hi" }, "u" },
		{ { "u:one", "u:two", "a:both" }, "u a" },
		{ { "u:hi", "a:one", "a:two", "u:next" }, "u a u" },
		{ { "u:hi", "a:", "u:next" }, "u" },
		{ { "u:hi", "c:x", "t:x=1", "c:x", "t:x=2", "a:end" },
		  "u c(x) t(x) c(x) t(x) a" },
		{ { "u:hi", "c:x", "t:wrong=1", "a:end" }, "u c(x) t(x) a" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct message rows[12];
		struct model_msg *msgs;
		size_t n = 0, out;
		while (n < 12 && table[i].rows[n])
			n++;
		n = rows_of(&a, table[i].rows, n, rows);
		assert_int_equal(prompt_messages(&a, rows, n, &msgs, &out, NULL), OK);
		assert_string_equal(shape(&a, msgs, out).p, table[i].want);
		prompt_read(&a, rows, n);
		assert_int_equal(prompt_messages(&a, rows, n, &msgs, &out, NULL), OK);
		assert_string_equal(shape(&a, msgs, out).p, table[i].want);
	}
}

static void calls_are_read_once(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *spec[] = { "u:hi", "c:x,y", "t:x=1", "t:y=2", "a:end" };
	struct message rows[5];

	(void)state;
	(void)rows_of(&a, spec, 5, rows);
	prompt_read(&a, rows, 5);
	const struct json *calls = rows[1].calls;
	assert_non_null(calls);
	assert_int_equal(calls->n, 2);
	prompt_read(&a, rows, 5);
	assert_ptr_equal(rows[1].calls, calls);
	assert_null(rows[0].calls);
	assert_null(rows[4].calls);
}

static void a_history_without_a_user_message_is_refused(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *spec[] = { "a:only" };
	struct message rows[1];
	struct model_msg *msgs;
	size_t out;

	(void)state;
	assert_int_equal(
		prompt_messages(&a, rows, rows_of(&a, spec, 1, rows), &msgs, &out, NULL),
		E_INVAL);
}

static void wire_that_is_not_ours_is_rebuilt_from_its_text(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *spec[] = { "u:hi", "a:answer", "u:more" };
	struct message rows[3];
	struct model_msg *msgs;
	size_t out;

	(void)state;
	rows_of(&a, spec, 3, rows);
	rows[0].wire = S("");
	rows[1].wire = S("{\"role\":\"assistant\",\"tool_calls\":[{]}");
	assert_int_equal(prompt_messages(&a, rows, 3, &msgs, &out, NULL), OK);
	assert_string_equal(shape(&a, msgs, out).p, "u a u");
	assert_non_null(strstr(msgs[0].wire.p, "hi"));
	assert_non_null(strstr(msgs[1].wire.p, "answer"));
}

static void a_note_has_its_words_in_the_wire_only_and_is_sent(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *spec[] = { "u:buy it", "a:[stopped. bought: done]", "u:did you?" };
	struct message rows[3];
	struct model_msg *msgs;
	size_t out;

	(void)state;
	rows_of(&a, spec, 3, rows);
	rows[1].text = (str){ 0 };
	assert_int_equal(prompt_messages(&a, rows, 3, &msgs, &out, NULL), OK);
	assert_int_equal(out, 3);
	assert_ptr_equal(msgs[1].wire.p, rows[1].wire.p);
}

static void sound_wire_is_sent_byte_for_byte(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *spec[] = { "u:hi", "c:x", "t:x=1", "a:end", "u:now" };
	struct message rows[5];
	struct model_msg *msgs;
	size_t out;

	(void)state;
	rows_of(&a, spec, 5, rows);
	assert_int_equal(prompt_messages(&a, rows, 5, &msgs, &out, NULL), OK);
	assert_int_equal(out, 5);
	for (size_t i = 0; i < 5; i++)
		assert_ptr_equal(msgs[i].wire.p, rows[i].wire.p);
}

static void context_rides_on_the_user_message_until_it_collapses(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *spec[] = { "u:hi" };
	struct message rows[1];
	struct model_msg *msgs;
	size_t out;

	(void)state;
	rows_of(&a, spec, 1, rows);
	rows[0].context = S("[context]\nnow: today");
	assert_int_equal(prompt_messages(&a, rows, 1, &msgs, &out, NULL), OK);
	assert_string_equal(msgs[0].wire.p,
			    model_user_wire(&a, S("hi\n\n[context]\nnow: today")).p);
	rows[0].collapsed = true;
	assert_int_equal(prompt_messages(&a, rows, 1, &msgs, &out, NULL), OK);
	assert_string_equal(msgs[0].wire.p, model_user_wire(&a, S("hi")).p);
}

static void collapsed_results_become_one_line(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const char *spec[] = { "u:hi", "c:x", "t:x=0123456789", "a:end" };
	struct message rows[4];
	struct model_msg *msgs;
	size_t out;

	(void)state;
	rows_of(&a, spec, 4, rows);
	rows[2].collapsed = true;
	assert_int_equal(prompt_messages(&a, rows, 4, &msgs, &out, NULL), OK);
	assert_string_equal(
		msgs[2].wire.p,
		model_tool_wire(&a, S("x"), S("[tool now: 10 chars, truncated]")).p);
}

static void tool_results_collapse_in_batches_and_never_unread(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct message rows[12];
	const char *spec[12] = { "u:hi" };

	(void)state;
	for (size_t i = 1; i < 11; i++)
		spec[i] = "t:x=1";
	spec[11] = "a:end";
	rows_of(&a, spec, 12, rows);
	assert_int_equal(fit_collapse_at(rows, 5, INT64_MAX, 4, 1), 0); /* four are whole */
	assert_int_equal(fit_collapse_at(rows, 10, INT64_MAX, 4, 1), rows[5].seq);
	assert_int_equal(fit_collapse_at(rows, 10, rows[3].seq, 4, 1), rows[2].seq);
	assert_int_equal(fit_collapse_at(rows, 10, rows[1].seq, 4, 1), 0);
	int64_t weight = fit_rows_tokens(rows + 1, 5);
	assert_int_equal(fit_collapse_at(rows, 10, INT64_MAX, 4, weight), rows[5].seq);
	assert_int_equal(fit_collapse_at(rows, 10, INT64_MAX, 4, weight + 1), 0);
	for (size_t i = 0; i < 6; i++)
		rows[i].collapsed = true;
	assert_int_equal(fit_collapse_at(rows, 10, INT64_MAX, 4, 1), 0);
}

static void history_is_cut_to_half_at_the_start_of_a_turn(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct message rows[21];
	const char *spec[21];

	(void)state;
	for (size_t i = 0; i < 20; i += 2) {
		spec[i] = "u:question";
		spec[i + 1] = "a:answer";
	}
	spec[20] = "u:now";
	rows_of(&a, spec, 21, rows);
	struct fit_budget roomy = { .max_tokens = 100000, .max_messages = 200 };
	assert_int_equal(fit_cut_at(rows, 21, 21, &roomy), 0);
	struct fit_budget few = { .max_tokens = 100000, .max_messages = 19 };
	assert_int_equal(fit_cut_at(rows, 21, 21, &few), 13); /* 8 messages, 4 turns */
	struct fit_budget turns = { .max_tokens = 100000, .max_messages = 200, .max_turns = 9 };
	assert_int_equal(fit_cut_at(rows, 21, 21, &turns), 13);
	struct fit_budget tight = { .max_tokens = 10, .max_messages = 200 };
	assert_int_equal(fit_cut_at(rows, 21, 21, &tight), 21); /* only what runs stays */
}

static str golden(struct arena *a, const char *name)
{
	str path = arena_fmt(a, "tests/cases/prompt/%s", name), text;
	struct err e = { 0 };

	if (file_read(&text, a, path.p, 65536, &e) < 0)
		fail_msg("%s", e.msg);
	return arena_dup(a, str_trim(text));
}

static void the_system_message_has_the_documented_blocks(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct prompt_system in = { .persona = S("You are Tim.") };

	(void)state;
	assert_string_equal(prompt_system(&a, &in).p, "You are Tim.");
	in.summary = S("They planned a trip.");
	assert_string_equal(prompt_system(&a, &in).p, golden(&a, "summary.txt").p);
	in.remembers = true;
	in.memory = S("\n- (person) mom: prefers calls over texts"
		      "\n- (preference) chris: coaching tone, no fluff");
	assert_string_equal(prompt_system(&a, &in).p, golden(&a, "memory.txt").p);
	/* The note stands whatever is remembered: it is part of what stays the same. */
	in.memory = in.summary = S("");
	str note = prompt_system(&a, &in);
	assert_true(str_has(note, S("The persona above outranks")));
	assert_false(str_has(note, S("[memory]")));
	assert_int_equal(prompt_system(&a, &(struct prompt_system){ 0 }).n, 0);
}

static void the_context_block_tells_time_and_trouble(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct mcp_server_status servers[] = {
		{ .name = S("math"), .state = MCP_READY },
		{ .name = S("garmin"), .state = MCP_FAILED, .note = S("exit 1\nno key") },
	};

	(void)state;
	str got = prompt_context(&a, INT64_C(1796031512000), &zone_utc, servers, 2);
	assert_string_equal(got.p, golden(&a, "context.txt").p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_history_becomes_a_valid_request),
		cmocka_unit_test(calls_are_read_once),
		cmocka_unit_test(a_history_without_a_user_message_is_refused),
		cmocka_unit_test(wire_that_is_not_ours_is_rebuilt_from_its_text),
		cmocka_unit_test(a_note_has_its_words_in_the_wire_only_and_is_sent),
		cmocka_unit_test(sound_wire_is_sent_byte_for_byte),
		cmocka_unit_test(context_rides_on_the_user_message_until_it_collapses),
		cmocka_unit_test(collapsed_results_become_one_line),
		cmocka_unit_test(tool_results_collapse_in_batches_and_never_unread),
		cmocka_unit_test(history_is_cut_to_half_at_the_start_of_a_turn),
		cmocka_unit_test(the_system_message_has_the_documented_blocks),
		cmocka_unit_test(the_context_block_tells_time_and_trouble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
