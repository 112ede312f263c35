/*
 * JSON-RPC: how bytes become lines, what a line is taken for, what is written, and whose
 * answer a line was that was too long to keep.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/rpc.h"

#define LINES_MAX 16

struct taken {
	struct mcp_line line[LINES_MAX];
	size_t n;
};

static void taken_free(struct taken *t)
{
	for (size_t i = 0; i < t->n; i++)
		arena_free(&t->line[i].a);
	t->n = 0;
}

/* Feed bytes in pieces of step and keep the lines. */
static void feed(struct mcp_lines *l, str bytes, size_t step, struct taken *out)
{
	while (bytes.n) {
		str piece = str_sub(bytes, 0, step);

		bytes = str_sub(bytes, step, bytes.n);
		while (out->n < LINES_MAX && mcp_lines_take(l, &piece, &out->line[out->n]))
			out->n++;
		assert_int_equal(piece.n, 0);
	}
}

static void lines_end_at_0x0a_only_however_the_bytes_arrive(void **state)
{
	str bytes =
		S("{\"a\":\"x\xE2\x80\xA8y\"}\r\n\n \r\nb\rc\x0b\x0c\xC2\x85\x64\nunfinished");
	static const char *const want[] = { "{\"a\":\"x\xE2\x80\xA8y\"}", "", " ",
					    "b\rc\x0b\x0c\xC2\x85\x64" };

	for (size_t step = 1; step <= bytes.n; step++) {
		SCOPED(taken_free) struct taken t = { 0 };
		SCOPED(mcp_lines_done) struct mcp_lines l;

		mcp_lines_init(&l, 1000);
		feed(&l, bytes, step, &t);
		assert_int_equal(t.n, COUNT(want));
		for (size_t i = 0; i < t.n; i++)
			assert_true(str_eq(t.line[i].text, str_of(want[i])) && !t.line[i].cut);
		assert_int_equal(l.b.n, strlen("unfinished"));
	}
}

static void a_line_over_the_limit_is_cut_and_the_next_one_is_whole(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 1 << 20);

	buf_add(&b, S("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\""));
	for (int i = 0; i < 60000; i++)
		buf_addc(&b, 'x');
	buf_add(&b, S("\",\"end\":\"z\"}\nnext\n"));
	for (size_t step = 1; step < 100000; step = step * 3 + 1) {
		SCOPED(taken_free) struct taken t = { 0 };
		SCOPED(mcp_lines_done) struct mcp_lines l;
		int64_t id = 0;

		mcp_lines_init(&l, 50000);
		feed(&l, buf_str(&b), step, &t);
		assert_int_equal(t.n, 2);
		assert_true(t.line[0].cut);
		assert_int_equal(t.line[0].text.n, MCP_HEAD_MAX);
		assert_int_equal(t.line[0].tail.n, MCP_TAIL_MAX);
		assert_true(str_ends(t.line[0].tail, S("xxx\",\"end\":\"z\"}")));
		assert_true(t.line[0].a.used < 4 * MCP_HEAD_MAX);
		assert_int_equal(mcp_rpc_lost(&t.line[0], &id), MCP_LOST_ONE);
		assert_int_equal(id, 7);
		assert_true(str_eq(t.line[1].text, S("next")));
	}
}

static void a_line_of_exactly_the_limit_is_kept(void **state)
{
	SCOPED(taken_free) struct taken t = { 0 };
	SCOPED(mcp_lines_done) struct mcp_lines l;

	mcp_lines_init(&l, 5);
	feed(&l, S("12345\n123456\n1234\n"), 100, &t);
	assert_int_equal(t.n, 3);
	assert_false(t.line[0].cut);
	assert_true(t.line[1].cut);
	assert_true(str_eq(t.line[1].text, S("12345")));
	assert_true(str_eq(t.line[1].tail, S("123456")));
	assert_false(t.line[2].cut);
}

static void the_id_of_a_cut_answer_is_found_at_either_end(void **state)
{
	static const struct {
		const char *head, *tail;
		enum mcp_lost lost;
		int64_t id;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a", "", MCP_LOST_ONE, 7 },
		{ "{ \"id\" : 12 , \"result\" : {", "", MCP_LOST_ONE, 12 },
		{ "{\"jsonrpc\":\"2.0\",\"error\":{\"id\":4,", "x\"},\"id\":5}", MCP_LOST_ONE,
		  5 },
		{ "{\"result\":{\"content\":[{\"id\":3,\"t\":\"\\\"id\\\":9,",
		  "\"}]},\"jsonrpc\":\"2.0\",\"id\":41}", MCP_LOST_ONE, 41 },
		{ "{\"result\":{", "x\"}]},\"id\":42,\"jsonrpc\":\"2.0\"} ", MCP_LOST_ONE, 42 },
		{ "{\"result\":{", "x\"}],\"id\":6},\"jsonrpc\":\"2.0\"}", MCP_LOST_UNKNOWN,
		  0 },
		{ "{\"result\":{", "x, \\\"id\\\":6}", MCP_LOST_UNKNOWN, 0 },
		{ "{\"result\":{", "no brace at the end", MCP_LOST_UNKNOWN, 0 },
		{ "{\"result\":{", "\"id\":\"text\"}", MCP_LOST_UNKNOWN, 0 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1234", "}", MCP_LOST_UNKNOWN, 0 },
		{ "{\"method\":\"sampling/createMessage\",\"params\":{", ",\"id\":6}",
		  MCP_LOST_NOTHING, 0 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"x\",\"params\":{", "",
		  MCP_LOST_NOTHING, 0 },
		{ "DEBUG \"id\":7,", "\"id\":7}", MCP_LOST_NOTHING, 0 },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{", "}]", MCP_LOST_UNKNOWN, 0 },
		{ "{\"x\":\"\\", "", MCP_LOST_UNKNOWN, 0 },
		{ "{", "", MCP_LOST_UNKNOWN, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct mcp_line line = { .text = str_of(rows[i].head),
					 .tail = str_of(rows[i].tail),
					 .cut = true };
		int64_t id = 0;

		if (mcp_rpc_lost(&line, &id) != rows[i].lost || id != rows[i].id)
			fail_msg("row %zu: id %lld", i, (long long)id);
	}
}

static void a_line_is_taken_for_what_it_is(void **state)
{
	static const struct {
		const char *line;
		enum mcp_kind kind;
	} rows[] = {
		{ "", MCP_FOREIGN },
		{ "Server v1.2 started", MCP_FOREIGN },
		{ "null", MCP_FOREIGN },
		{ "[1]", MCP_FOREIGN },
		{ "[]", MCP_FOREIGN },
		{ "17", MCP_FOREIGN },
		{ "{\"level\":\"info\",\"msg\":\"x\"}", MCP_FOREIGN },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"conte", MCP_FOREIGN },
		{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}", MCP_FOREIGN },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", MCP_FOREIGN },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", MCP_ANSWER },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", MCP_ANSWER },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"x\"}}",
		  MCP_FOREIGN },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", MCP_FOREIGN },
		{ "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", MCP_FOREIGN },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}", MCP_ANSWER },
		{ " {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null} ", MCP_ANSWER },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{}}", MCP_ANSWER },
		{ "{\"result\":{},\"id\":1,\"jsonrpc\":\"2.0\"}", MCP_ANSWER },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}", MCP_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", MCP_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}", MCP_NOTICE },
		{ "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]", MCP_BATCH },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct mcp_msg m;

		mcp_rpc_read(&m, &a, str_of(rows[i].line));
		if (m.kind != rows[i].kind)
			fail_msg("%s is taken for %d", rows[i].line, (int)m.kind);
	}
}

static void an_answer_always_has_a_result_or_an_error(void **state)
{
	static const struct {
		const char *line;
		bool result, error;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":null}", true, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null,\"error\":{}}", true, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"gone\"}", false, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":null}", false, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1}", false, true },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct mcp_msg m;

		mcp_rpc_read(&m, &a, str_of(rows[i].line));
		if (m.kind != MCP_ANSWER || !!m.result != rows[i].result ||
		    !!m.error != rows[i].error)
			fail_msg("%s: result %d, error %d", rows[i].line, !!m.result,
				 !!m.error);
	}
}

static void an_answer_nested_too_deeply_is_told_from_noise(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 100000);
	struct mcp_msg m;
	int64_t id = 0;

	buf_add(&b, S("{\"jsonrpc\":\"2.0\",\"id\":31,\"result\":"));
	for (int i = 0; i < 10000; i++)
		buf_add(&b, S("["));
	for (int i = 0; i < 10000; i++)
		buf_add(&b, S("]"));
	buf_add(&b, S("}"));
	mcp_rpc_read(&m, &a, buf_str(&b));
	assert_int_equal(m.kind, MCP_DEEP);

	struct mcp_line line = { .text = buf_str(&b), .tail = buf_str(&b) };
	assert_int_equal(mcp_rpc_lost(&line, &id), MCP_LOST_ONE);
	assert_int_equal(id, 31);
}

static void only_integers_are_ids_of_ours(void **state)
{
	struct json i = { .type = JSON_INT, .i = 5 }, s = { .type = JSON_STRING, .s = S("5") },
		    whole = { .type = JSON_REAL, .d = 6.0 },
		    part = { .type = JSON_REAL, .d = 6.5 },
		    huge = { .type = JSON_REAL, .d = 1e300 };
	int64_t id = 0;

	assert_true(mcp_rpc_own_id(&i, &id));
	assert_int_equal(id, 5);
	assert_false(mcp_rpc_own_id(&s, &id));
	assert_false(mcp_rpc_own_id(NULL, &id));
	assert_false(mcp_rpc_own_id(&part, &id));
	assert_false(mcp_rpc_own_id(&huge, &id));
	assert_true(mcp_rpc_own_id(&whole, &id));
	assert_int_equal(id, 6);
}

static void messages_are_one_line_each(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct json id = { .type = JSON_STRING, .s = S("a\n\"b") };
	struct buf b = buf_in(&a, 4096);

	mcp_rpc_request(&b, 3, "tools/list", (str){ 0 });
	mcp_rpc_request(&b, 4, "tools/list", S("{\"cursor\":\"c\"}"));
	mcp_rpc_notice(&b, "notifications/initialized", (str){ 0 });
	mcp_rpc_answer(&b, &id, S("{}"));
	mcp_rpc_refuse(&b, &id, -32601, S("no\nsuch"));
	assert_string_equal(
		buf_str(&b).p,
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/"
		"list\",\"params\":{\"cursor\":\"c\"}}\n"
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":\"a\\n\\\"b\",\"result\":{}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":\"a\\n\\\"b\",\"error\":{\"code\":-32601,"
		"\"message\":\"no\\nsuch\"}}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_at_0x0a_only_however_the_bytes_arrive),
		cmocka_unit_test(a_line_over_the_limit_is_cut_and_the_next_one_is_whole),
		cmocka_unit_test(a_line_of_exactly_the_limit_is_kept),
		cmocka_unit_test(the_id_of_a_cut_answer_is_found_at_either_end),
		cmocka_unit_test(a_line_is_taken_for_what_it_is),
		cmocka_unit_test(an_answer_always_has_a_result_or_an_error),
		cmocka_unit_test(an_answer_nested_too_deeply_is_told_from_noise),
		cmocka_unit_test(only_integers_are_ids_of_ours),
		cmocka_unit_test(messages_are_one_line_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
