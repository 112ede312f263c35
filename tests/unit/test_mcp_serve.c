/*
 * A server's side of the protocol, message by message.
 */
#include "mcp/serve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct mcp_serve_tool look = {
	.name = "look",
	.title = "Look",
	.description = "Look at it.",
	.input = "{\"type\":\"object\"}",
	.output = "{\"type\":\"object\"}",
	.read_only = true,
};
static const struct mcp_serve_tool *const tools[] = { &look };
static const struct mcp_serve_opt opt = {
	.version = "1", .instructions = "say what", .tools = tools, .tools_n = 1
};

struct peer {
	struct arena a;
	struct mcp_serve s;
	struct buf out;
	struct mcp_serve_event ev;
};

static void open_peer(struct peer *p)
{
	*p = (struct peer){ 0 };
	mcp_serve_init(&p->s, &opt);
	p->out = buf_in(&p->a, 1 << 20);
}

/* What is answered to one line. */
static str said(struct peer *p, const char *text)
{
	struct mcp_line line = { .text = str_of(text) };
	struct mcp_msg m;

	p->out = buf_in(&p->a, 1 << 20);
	mcp_rpc_read(&m, &p->a, line.text);
	mcp_serve_take(&p->s, &m, &line, &p->a, &p->out, &p->ev);
	return buf_str(&p->out);
}

static void begin(struct peer *p, const char *revision, const char *capabilities)
{
	(void)said(p, arena_fmt(&p->a,
				"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
				"\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":%s,"
				"\"clientInfo\":{\"name\":\"host\",\"version\":\"1\"}}}",
				revision, capabilities)
			      .p);
}

#define META                                                                                   \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","               \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}},"                 \
	"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"modern\",\"version\":\"1\"}}"

static void each_revision_that_begins_with_initialize_is_agreed_to(void **state)
{
	static const char *const rows[][2] = {
		{ "2024-11-05", "2024-11-05" }, { "2025-03-26", "2025-03-26" },
		{ "2025-06-18", "2025-06-18" }, { "2025-11-25", "2025-11-25" },
		{ "2026-07-28", "2025-11-25" }, { "tomorrow", "2025-11-25" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct peer p;
		open_peer(&p);
		begin(&p, rows[i][0], "{}");
		assert_string_equal(rows[i][1], p.s.revision);
		assert_true(str_has(buf_str(&p.out), str_of(rows[i][1])));
		assert_string_equal("host", p.s.host);
		arena_free(&p.a);
	}
}

static void what_a_revision_does_not_know_is_left_out(void **state)
{
	static const struct {
		const char *revision;
		bool hints, titles;
	} rows[] = { { "2024-11-05", false, false },
		     { "2025-03-26", true, false },
		     { "2025-06-18", true, true } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct peer p;
		open_peer(&p);
		begin(&p, rows[i].revision, "{}");
		str list = said(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
		assert_true(str_has(list, S("\"name\":\"look\"")));
		assert_int_equal(rows[i].hints, str_has(list, S("readOnlyHint")));
		assert_int_equal(rows[i].titles, str_has(list, S("outputSchema")));
		assert_false(str_has(list, S("resultType")));
		arena_free(&p.a);
	}
}

static void a_request_that_says_its_revision_needs_no_beginning(void **state)
{
	struct peer p;

	open_peer(&p);
	str found = said(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\","
			     "\"params\":{" META "}}");
	assert_true(str_has(found, S("\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\"")));
	(void)said(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":"
		       "{" META ",\"name\":\"look\",\"arguments\":{\"a\":1},"
		       "\"requestState\":\"s\",\"inputResponses\":{\"person\":{\"action\":"
		       "\"accept\",\"content\":{\"approve\":true}}}}}");
	assert_int_equal(MCP_SERVE_CALL, p.ev.kind);
	assert_true(str_eq(p.ev.to.id, S("\"x\"")));
	assert_true(str_eq(p.ev.host, S("modern")));
	assert_true(p.ev.elicits);
	assert_true(str_eq(p.ev.state, S("s")));
	assert_true(mcp_serve_yes(mcp_serve_answer(p.ev.answers)));
	assert_ptr_equal(&look, p.ev.tool);
	assert_null(p.s.revision);
	arena_free(&p.a);
}

static void an_unknown_revision_of_a_request_is_refused_with_those_we_know(void **state)
{
	struct peer p;

	open_peer(&p);
	str no = said(
		&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
		    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2099-01-01\"}}}");
	assert_true(str_has(no, S("-32022")));
	assert_true(
		str_has(no, S("\"supported\":[\"2026-07-28\"],\"requested\":\"2099-01-01\"")));
	arena_free(&p.a);
}

static void nothing_but_ping_is_answered_before_initialize(void **state)
{
	struct peer p;

	open_peer(&p);
	assert_true(str_has(said(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
			    S("\"result\":{}")));
	assert_true(
		str_has(said(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}"),
			S("initialize first")));
	(void)said(&p, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":"
		       "{\"name\":\"look\"}}");
	assert_int_equal(MCP_SERVE_NOTHING, p.ev.kind);
	arena_free(&p.a);
}

static void a_form_can_be_shown_where_the_host_says_so(void **state)
{
	static const struct {
		const char *revision, *capabilities;
		bool elicits;
	} rows[] = {
		{ "2025-11-25", "{\"elicitation\":{}}", true },
		{ "2025-11-25", "{\"elicitation\":{\"form\":{}}}", true },
		{ "2025-11-25", "{\"elicitation\":{\"url\":{}}}", false },
		{ "2025-11-25", "{\"elicitation\":true}", false },
		{ "2025-11-25", "{}", false },
		{ "2025-03-26", "{\"elicitation\":{}}", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct peer p;
		open_peer(&p);
		begin(&p, rows[i].revision, rows[i].capabilities);
		assert_int_equal(rows[i].elicits, p.s.elicits);
		arena_free(&p.a);
	}
}

static void only_an_approved_form_is_a_yes(void **state)
{
	static const struct {
		const char *result;
		bool yes;
	} rows[] = {
		{ "{\"action\":\"accept\",\"content\":{\"approve\":true}}", true },
		{ "{\"action\":\"accept\",\"content\":{\"approve\":false}}", false },
		{ "{\"action\":\"accept\",\"content\":{\"approve\":\"true\"}}", false },
		{ "{\"action\":\"accept\"}", false },
		{ "{\"action\":\"decline\",\"content\":{\"approve\":true}}", false },
		{ "{\"content\":{\"approve\":true}}", false },
		{ "{}", false },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct arena a = { 0 };
		struct json *v;
		assert_int_equal(OK, json_read(&v, &a, str_of(rows[i].result), NULL));
		assert_int_equal(rows[i].yes, mcp_serve_yes(v));
		arena_free(&a);
	}
	assert_false(mcp_serve_yes(NULL));
	assert_false(mcp_serve_yes(mcp_serve_answer(NULL)));
}

static void a_bad_line_is_named_by_its_id_or_by_none(void **state)
{
	static const struct {
		const char *line, *answer;
	} rows[] = {
		{ "nonsense", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700," },
		{ "{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}",
		  "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32600," },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
		  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600," },
		{ "{}", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600," },
		{ "  ", "" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\"}", "" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct peer p;
		open_peer(&p);
		str out = said(&p, rows[i].line);
		assert_true(str_starts(out, str_of(rows[i].answer)));
		assert_int_equal(rows[i].answer[0] != '\0', out.n > 0);
		arena_free(&p.a);
	}
}

static void old_revisions_have_no_error_without_an_id(void **state)
{
	struct peer p;

	open_peer(&p);
	begin(&p, "2025-06-18", "{}");
	assert_int_equal(0, said(&p, "nonsense").n);
	assert_int_equal(MCP_SERVE_ODD, p.ev.kind);
	arena_free(&p.a);
}

static void a_request_that_was_cut_is_refused_by_its_id(void **state)
{
	struct peer p;
	struct mcp_line line = {
		.cut = true,
		.text = S("{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"x\",\"pa"),
		.tail = S("\"}}")
	};
	struct mcp_msg m = { .kind = MCP_FOREIGN };

	open_peer(&p);
	mcp_serve_take(&p.s, &m, &line, &p.a, &p.out, &p.ev);
	assert_true(str_starts(buf_str(&p.out), S("{\"jsonrpc\":\"2.0\",\"id\":12,\"error\"")));
	arena_free(&p.a);
}

static void batches_belong_to_two_revisions(void **state)
{
	static const struct {
		const char *revision;
		bool batches;
	} rows[] = { { "2024-11-05", true }, { "2025-03-26", true }, { "2025-06-18", false } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct peer p;
		open_peer(&p);
		assert_false(mcp_serve_batches(&p.s));
		begin(&p, rows[i].revision, "{}");
		assert_int_equal(rows[i].batches, mcp_serve_batches(&p.s));
		arena_free(&p.a);
	}
}

static void a_cancel_and_an_answer_are_told_by_their_ids(void **state)
{
	struct peer p;

	open_peer(&p);
	begin(&p, "2025-11-25", "{}");
	(void)said(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
		       "\"params\":{\"requestId\":\"n\"}}");
	assert_int_equal(MCP_SERVE_CANCEL, p.ev.kind);
	assert_true(str_eq(p.ev.id, S("\"n\"")));
	(void)said(&p, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"action\":\"decline\"}}");
	assert_int_equal(MCP_SERVE_ANSWER, p.ev.kind);
	assert_int_equal(4, p.ev.question);
	assert_non_null(p.ev.result);
	(void)said(&p,
		   "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":1,\"message\":\"\"}}");
	assert_null(p.ev.result);
	arena_free(&p.a);
}

int main(void)
{
	const struct CMUnitTest tests_[] = {
		cmocka_unit_test(each_revision_that_begins_with_initialize_is_agreed_to),
		cmocka_unit_test(what_a_revision_does_not_know_is_left_out),
		cmocka_unit_test(a_request_that_says_its_revision_needs_no_beginning),
		cmocka_unit_test(
			an_unknown_revision_of_a_request_is_refused_with_those_we_know),
		cmocka_unit_test(nothing_but_ping_is_answered_before_initialize),
		cmocka_unit_test(a_form_can_be_shown_where_the_host_says_so),
		cmocka_unit_test(only_an_approved_form_is_a_yes),
		cmocka_unit_test(a_bad_line_is_named_by_its_id_or_by_none),
		cmocka_unit_test(old_revisions_have_no_error_without_an_id),
		cmocka_unit_test(a_request_that_was_cut_is_refused_by_its_id),
		cmocka_unit_test(batches_belong_to_two_revisions),
		cmocka_unit_test(a_cancel_and_an_answer_are_told_by_their_ids),
	};

	return cmocka_run_group_tests(tests_, NULL, NULL);
}
