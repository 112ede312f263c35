/*
 * The protocol without any process: what is sent, what is made of what comes, and when, with
 * a clock that the test turns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/session.h"

#define START_MS 1000
#define PING_MS 5000

struct rig {
	struct arena a;
	_Atomic int64_t ids;
	struct mcp_session_opt opt;
	struct mcp_session s;
	struct buf out;
	struct mcp_event ev;
	struct err e;
	int64_t now;
};

static void rig_init(struct rig *r)
{
	*r = (struct rig){ .now = 1000000 };
	r->opt = (struct mcp_session_opt){ .version = "9.9",
					   .era = MCP_ERA_INITIALIZE,
					   .start_ms = START_MS,
					   .ping_ms = PING_MS,
					   .ids = &r->ids };
	r->out = buf_in(&r->a, 1 << 20);
	mcp_session_init(&r->s, &r->opt);
}

static void rig_done(struct rig *r)
{
	mcp_session_done(&r->s);
	arena_free(&r->a);
}

/* What was sent since the last time. */
static const char *sent(struct rig *r)
{
	str s = arena_dup(&r->a, buf_str(&r->out));

	buf_reset(&r->out);
	return s.p;
}

static int take(struct rig *r, const char *line)
{
	struct mcp_msg m;

	mcp_rpc_read(&m, &r->a, str_of(line));
	return mcp_session_take(&r->s, &m, r->now, &r->a, &r->out, &r->ev, &r->e);
}

static int tick(struct rig *r, int64_t pass_ms, bool idle)
{
	r->now += pass_ms;
	return mcp_session_tick(&r->s, r->now, idle, &r->out, &r->e);
}

#define INIT_ANSWER                                                                            \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\","        \
	"\"capabilities\":{},\"serverInfo\":{\"name\":\"n\",\"version\":\"v\"}}}"
#define LIST(id, names, more)                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"tools\":[" names "]" more "}}"

/* Up to the end of the handshake. */
static void make_ready(struct rig *r)
{
	mcp_session_begin(&r->s, r->now, &r->out);
	assert_int_equal(take(r, INIT_ANSWER), OK);
	assert_int_equal(take(r, LIST("2", "{\"name\":\"a\"}", "")), OK);
	assert_int_equal(r->ev.kind, MCP_EVENT_TOOLS);
	assert_int_equal(r->s.phase, MCP_PHASE_READY);
	(void)sent(r);
}

static void the_handshake_is_initialize_initialized_list(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	mcp_session_begin(&r.s, r.now, &r.out);
	assert_string_equal(
		sent(&r), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
			  "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
			  "\"clientInfo\":{\"name\":\"gantry\",\"version\":\"9.9\"}}}\n");
	assert_int_equal(take(&r, INIT_ANSWER), OK);
	assert_string_equal(r.s.peer.revision, "2025-06-18");
	assert_string_equal(r.s.peer.server, "n v");
	assert_string_equal(sent(&r),
			    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
			    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n");
	assert_int_equal(take(&r, LIST("2", "{\"name\":\"a\"}", ",\"nextCursor\":\"c\\\"1\"")),
			 OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_NONE);
	assert_string_equal(sent(&r), "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\","
				      "\"params\":{\"cursor\":\"c\\\"1\"}}\n");
	assert_int_equal(take(&r, LIST("3", "{\"name\":\"b\"},{\"name\":\"a\"},{}", "")), OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_TOOLS);
	assert_int_equal(r.s.pages.listing.n, 2);
	assert_int_equal(r.s.pages.listing.dropped, 2);
	assert_string_equal(sent(&r), "");
}

static void roots_are_declared_only_when_there_is_one(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	assert_int_equal(
		take(&r, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"roots/list\"}"), OK);
	assert_non_null(strstr(sent(&r), "-32601"));
	const struct str_list one = { &S("/a b/\xC3\xBC"), 1 };
	const struct str_list *_Atomic roots = &one;
	r.opt.roots = &roots;
	mcp_session_begin(&r.s, r.now, &r.out);
	assert_non_null(
		strstr(sent(&r), "\"capabilities\":{\"roots\":{\"listChanged\":true}}"));
	assert_int_equal(
		take(&r, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"roots/list\"}"), OK);
	assert_string_equal(sent(&r),
			    "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"roots\":[{\"uri\":"
			    "\"file:///a%20b/%C3%BC\",\"name\":\"\xC3\xBC\"}]}}\n");
}

static void a_bad_answer_to_initialize_ends_it_with_the_reason(void **state)
{
	static const struct {
		const char *answer, *why;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"1999-01-"
		  "01\"}}",
		  "the server speaks protocol revision \"1999-01-01\", which is not known "
		  "here" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
		  "the answer to initialize has no protocolVersion" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":20241105}}",
		  "the answer to initialize has no protocolVersion" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"no\"}}",
		  "initialize was refused: no" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(rig_done) struct rig r;

		rig_init(&r);
		mcp_session_begin(&r.s, r.now, &r.out);
		assert_int_equal(take(&r, rows[i].answer), E_PROTO);
		assert_string_equal(r.e.msg, rows[i].why);
	}
}

static void a_bad_first_list_ends_it_and_a_later_one_changes_nothing(void **state)
{
	SCOPED(rig_done) struct rig r;
	SCOPED(rig_done) struct rig q;

	rig_init(&r);
	mcp_session_begin(&r.s, r.now, &r.out);
	assert_int_equal(take(&r, INIT_ANSWER), OK);
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":{}}}"),
			 E_PROTO);
	assert_string_equal(r.e.msg, "the answer to tools/list has no array \"tools\"");
	rig_init(&q);
	make_ready(&q);
	assert_int_equal(
		take(&q,
		     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"),
		OK);
	assert_int_equal(tick(&q, 1000, true), OK);
	assert_non_null(strstr(sent(&q), "\"id\":3,\"method\":\"tools/list\""));
	assert_int_equal(take(&q, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-1,"
				  "\"message\":\"busy\"}}"),
			 OK);
	assert_int_equal(q.ev.kind, MCP_EVENT_ODD);
	assert_true(str_has(q.ev.text, S("busy")));
	assert_int_equal(tick(&q, 100, true), OK);
	assert_string_equal(sent(&q), "");
}

static void the_handshake_has_a_limit_in_each_step(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	mcp_session_begin(&r.s, r.now, &r.out);
	assert_int_equal(mcp_session_due(&r.s, true), r.now + START_MS);
	assert_int_equal(tick(&r, START_MS - 1, true), OK);
	assert_int_equal(tick(&r, 1, true), E_TIMEOUT);
	assert_string_equal(r.e.msg, "no answer to initialize within 1000 ms");
	r.now -= 500;
	assert_int_equal(take(&r, INIT_ANSWER), OK);
	assert_int_equal(tick(&r, 500, true), E_TIMEOUT);
	assert_string_equal(r.e.msg, "no answer to tools/list within 1000 ms");
}

static void changes_of_the_list_are_gathered_and_paced(void **state)
{
	static const char changed[] =
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
	SCOPED(rig_done) struct rig r;
	int64_t began;

	rig_init(&r);
	assert_int_equal(take(&r, changed), OK);
	make_ready(&r);
	assert_int_equal(mcp_session_due(&r.s, false), INT64_MAX);
	began = r.now;
	r.now += 5000;
	for (int i = 0; i < 20; i++, r.now++)
		assert_int_equal(take(&r, changed), OK);
	assert_int_equal(mcp_session_due(&r.s, false), began + 5000 + 100);
	assert_int_equal(tick(&r, 79, false), OK);
	assert_string_equal(sent(&r), "");
	assert_int_equal(tick(&r, 1, false), OK);
	assert_non_null(strstr(sent(&r), "tools/list"));
	/* Another one while the list is on its way is not lost, but it waits. */
	began = r.now;
	assert_int_equal(take(&r, changed), OK);
	assert_int_equal(take(&r, LIST("3", "{\"name\":\"b\"}", "")), OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_TOOLS);
	assert_int_equal(mcp_session_due(&r.s, false), began + 1000);
}

static void silence_is_answered_by_a_ping_and_no_answer_is_the_end(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	make_ready(&r);
	assert_int_equal(mcp_session_due(&r.s, true), r.now + PING_MS);
	assert_int_equal(tick(&r, PING_MS, false), OK);
	assert_string_equal(sent(&r), "");
	assert_int_equal(tick(&r, 0, true), OK);
	assert_string_equal(sent(&r), "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\n");
	assert_int_equal(tick(&r, 100, true), OK);
	assert_string_equal(sent(&r), "");
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32601,"
				  "\"message\":\"what?\"}}"),
			 OK);
	assert_int_equal(mcp_session_due(&r.s, true), r.now + PING_MS);
	assert_int_equal(tick(&r, PING_MS, true), OK);
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
				  "message\",\"params\":{}}"),
			 OK);
	assert_int_equal(tick(&r, PING_MS, true), E_TIMEOUT);
	assert_string_equal(r.e.msg, "no answer to ping within 5000 ms");
}

static void a_page_that_repeats_its_cursor_ends_the_list(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	mcp_session_begin(&r.s, r.now, &r.out);
	assert_int_equal(take(&r, INIT_ANSWER), OK);
	assert_int_equal(take(&r, LIST("2", "{\"name\":\"a\"}", ",\"nextCursor\":\"x\"")), OK);
	assert_int_equal(take(&r, LIST("3", "{\"name\":\"b\"}", ",\"nextCursor\":\"x\"")), OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_TOOLS);
	assert_true(str_has(r.ev.text, S("does not end")));
	assert_int_equal(r.s.pages.listing.n, 2);
}

static void a_list_of_endless_pages_is_bounded(void **state)
{
	SCOPED(rig_done) struct rig r;
	int pages = 0;

	rig_init(&r);
	mcp_session_begin(&r.s, r.now, &r.out);
	assert_int_equal(take(&r, INIT_ANSWER), OK);
	for (r.ev.kind = MCP_EVENT_NONE; r.ev.kind == MCP_EVENT_NONE && pages < 10000; pages++)
		assert_int_equal(take(&r, arena_fmt(&r.a,
						    LIST("%d", "{\"name\":\"t%d\"}",
							 ",\"nextCursor\":\"c%d\""),
						    pages + 2, pages, pages)
						  .p),
				 OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_TOOLS);
	assert_int_equal(pages, 200);
}

static void too_many_tools_are_a_reason(void **state)
{
	SCOPED(rig_done) struct rig r;
	struct buf b;

	rig_init(&r);
	b = buf_in(&r.a, 1 << 20);
	mcp_session_begin(&r.s, r.now, &r.out);
	assert_int_equal(take(&r, INIT_ANSWER), OK);
	buf_add(&b, S("{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":["));
	for (int i = 0; i < 4097; i++)
		buf_fmt(&b, "%s{\"name\":\"t%d\"}", i ? "," : "", i);
	buf_add(&b, S("]}}"));
	assert_int_equal(take(&r, buf_str(&b).p), E_LIMIT);
	assert_string_equal(r.e.msg, "more than 4096 tools");
}

static void answers_progress_and_logs_are_handed_on(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	make_ready(&r);
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{\"x\":1}}"), OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_ANSWER);
	assert_int_equal(r.ev.id, 77);
	assert_int_equal(json_i64(r.ev.result, "x", 0), 1);
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"id\":\"77\",\"result\":{}}"), OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_NONE);
	assert_int_equal(take(&r,
			      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
			      "\"params\":{\"progressToken\":77,\"progress\":0.5,\"total\":2,"
			      "\"message\":\"m\"}}"),
			 OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_PROGRESS);
	assert_true(r.ev.id == 77 && r.ev.done == 0.5 && r.ev.total == 2);
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
				  "\"params\":{\"progressToken\":\"77\",\"progress\":1}}"),
			 OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_NONE);
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
				  "\"params\":{\"level\":\"error\",\"data\":{\"a\":[1]}}}"),
			 OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_LOG);
	assert_true(str_eq(r.ev.level, S("error")) && str_eq(r.ev.text, S("{\"a\":[1]}")));
	assert_string_equal(sent(&r), "");
}

static void only_what_is_answered_is_offered(void **state)
{
	static const struct {
		struct mcp_offer offer;
		const char *root, *capabilities;
	} rows[] = {
		{ { 0 }, "", "\"capabilities\":{}" },
		{ { .form = true }, "", "\"capabilities\":{\"elicitation\":{\"form\":{}}}" },
		{ { .form = true, .url = true, .sampling = true },
		  "/w",
		  "\"capabilities\":{\"roots\":{\"listChanged\":true},\"sampling\":{},"
		  "\"elicitation\":{\"form\":{},"
		  "\"url\":{}}}" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(rig_done) struct rig r;
		str root = str_of(rows[i].root);

		rig_init(&r);
		r.opt.offer = rows[i].offer;
		const struct str_list list = { &root, root.n > 0 };
		const struct str_list *_Atomic roots = &list;
		r.opt.roots = &roots;
		mcp_session_begin(&r.s, r.now, &r.out);
		assert_non_null(strstr(sent(&r), rows[i].capabilities));
	}
}

static void what_it_logs_is_asked_for_and_asked_again_when_it_changes(void **state)
{
	const char *_Atomic level = "warning";
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	r.opt.level = &level;
	r.s.phase = MCP_PHASE_READY;
	assert_int_equal(mcp_session_tick(&r.s, r.now, false, &r.out, NULL), OK);
	/* Not of a server that cannot. */
	assert_string_equal(sent(&r), "");
	r.s.peer.caps.logging = true;
	assert_int_equal(mcp_session_tick(&r.s, r.now, false, &r.out, NULL), OK);
	assert_non_null(
		strstr(sent(&r), "\"logging/setLevel\",\"params\":{\"level\":\"warning\"}"));
	assert_int_equal(mcp_session_tick(&r.s, r.now, false, &r.out, NULL), OK);
	assert_string_equal(sent(&r), "");
	level = "debug";
	assert_int_equal(mcp_session_tick(&r.s, r.now, false, &r.out, NULL), OK);
	assert_non_null(strstr(sent(&r), "\"debug\""));
}

static void a_server_that_was_told_of_roots_hears_when_they_are_others(void **state)
{
	static const str paths[] = { { "/a", 2 }, { "/b", 2 } };
	static const struct str_list before = { paths, 1 }, after = { paths + 1, 1 };
	static const char changed[] = "{\"jsonrpc\":\"2.0\",\"method\":"
				      "\"notifications/roots/list_changed\"}\n";
	const struct str_list *_Atomic roots = &before;
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	r.opt.roots = &roots;
	mcp_session_begin(&r.s, r.now, &r.out);
	(void)sent(&r);
	roots = &after;
	/* Not in the handshake. */
	assert_int_equal(mcp_session_tick(&r.s, r.now, false, &r.out, NULL), OK);
	assert_string_equal(sent(&r), "");
	r.s.phase = MCP_PHASE_READY;
	assert_int_equal(mcp_session_tick(&r.s, r.now, false, &r.out, NULL), OK);
	assert_string_equal(sent(&r), changed);
	assert_int_equal(
		take(&r, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"roots/list\"}"), OK);
	assert_non_null(strstr(sent(&r), "file:///b\""));
	assert_int_equal(mcp_session_tick(&r.s, r.now, false, &r.out, NULL), OK);
	assert_string_equal(sent(&r), "");
	r.s.peer.stateless = true;
	roots = &before;
	assert_int_equal(mcp_session_tick(&r.s, r.now, false, &r.out, NULL), OK);
	assert_string_equal(sent(&r), "");
}

static void the_state_of_a_task_and_the_end_of_a_link_are_told_on(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	r.s.phase = MCP_PHASE_READY;
	assert_int_equal(take(&r,
			      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\","
			      "\"params\":{\"taskId\":\"t\",\"status\":\"working\","
			      "\"statusMessage\":\"half\"}}"),
			 OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_PROGRESS);
	assert_true(str_is(r.ev.task, "t") && str_is(r.ev.text, "half") && !r.ev.link.n);
	assert_int_equal(
		take(&r,
		     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\","
		     "\"params\":{\"elicitationId\":\"e\"}}"),
		OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_PROGRESS);
	assert_true(str_is(r.ev.link, "e") && !r.ev.task.n);
	/* Of nothing in particular, and where there is no such thing. */
	for (int i = 0; i < 2; i++) {
		r.s.peer.stateless = i;
		assert_int_equal(
			take(&r, i ? "{\"jsonrpc\":\"2.0\",\"method\":"
				     "\"notifications/elicitation/complete\",\"params\":{"
				     "\"elicitationId\":\"e\"}}"
				   : "{\"jsonrpc\":\"2.0\",\"method\":"
				     "\"notifications/tasks/status\",\"params\":{}}"),
			OK);
		assert_int_equal(r.ev.kind, MCP_EVENT_NONE);
	}
	assert_string_equal(sent(&r), "");
}

static void nothing_is_asked_before_there_is_a_session(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	r.opt.offer = (struct mcp_offer){ .form = true, .sampling = true };
	mcp_session_begin(&r.s, r.now, &r.out);
	(void)sent(&r);
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":"
				  "\"elicitation/create\",\"params\":{}}"),
			 OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_NONE);
	assert_non_null(strstr(sent(&r), "\"code\":-32601"));
}

static void questions_are_handed_on_as_far_as_they_are_offered(void **state)
{
	static const struct {
		const char *method, *params;
		bool taken;
		enum mcp_question_kind kind;
	} rows[] = {
		{ "elicitation/create", "{\"message\":\"m\"}", true, MCP_ELICIT },
		{ "elicitation/create", "{\"mode\":\"form\"}", true, MCP_ELICIT },
		{ "elicitation/create", "{\"mode\":\"url\"}", false, MCP_ELICIT },
		{ "sampling/createMessage", "{}", true, MCP_SAMPLE },
		{ "roots/list", "{}", false, MCP_ROOTS },
		{ "tasks/list", "{}", false, MCP_ROOTS },
	};
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	r.opt.offer = (struct mcp_offer){ .form = true, .sampling = true };
	make_ready(&r);
	for (size_t i = 0; i < COUNT(rows); i++) {
		(void)sent(&r);
		assert_int_equal(take(&r, arena_fmt(&r.a,
						    "{\"jsonrpc\":\"2.0\",\"id\":\"q%zu\","
						    "\"method\":\"%s\",\"params\":%s}",
						    i, rows[i].method, rows[i].params)
						  .p),
				 OK);
		if (!rows[i].taken) {
			assert_int_equal(r.ev.kind, MCP_EVENT_NONE);
			assert_non_null(strstr(sent(&r), "\"code\":-32601"));
			continue;
		}
		assert_int_equal(r.ev.kind, MCP_EVENT_QUESTION);
		assert_int_equal(r.ev.question, rows[i].kind);
		assert_true(str_eq(json_text(r.ev.request), arena_fmt(&r.a, "q%zu", i)));
		assert_non_null(r.ev.params);
		assert_string_equal(sent(&r), "");
	}
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
				  "\"params\":{\"requestId\":\"q1\"}}"),
			 OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_WITHDRAWN);
	assert_true(str_eq(json_text(r.ev.request), S("q1")));
}

static void what_the_server_can_and_what_changed_of_it_is_told(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	mcp_session_begin(&r.s, r.now, &r.out);
	assert_int_equal(
		take(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"
			 "\"2025-06-18\",\"capabilities\":{\"resources\":{\"subscribe\":true},"
			 "\"prompts\":{},\"logging\":{},\"completions\":7},"
			 "\"serverInfo\":{\"name\":\"n\",\"version\":\"v\"}}}"),
		OK);
	assert_true(r.s.peer.caps.resources && r.s.peer.caps.subscribe);
	assert_true(r.s.peer.caps.prompts && r.s.peer.caps.logging);
	assert_false(r.s.peer.caps.completions);
	assert_int_equal(take(&r, LIST("2", "{\"name\":\"a\"}", "")), OK);
	assert_int_equal(
		take(&r, "{\"jsonrpc\":\"2.0\",\"method\":"
			 "\"notifications/resources/updated\",\"params\":{\"uri\":\"u\"}}"),
		OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_NOTICE);
	assert_true(str_is(r.ev.method, "notifications/resources/updated"));
	assert_true(str_is(json_str(r.ev.params, "uri"), "u"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_answered_is_offered),
		cmocka_unit_test(what_it_logs_is_asked_for_and_asked_again_when_it_changes),
		cmocka_unit_test(a_server_that_was_told_of_roots_hears_when_they_are_others),
		cmocka_unit_test(the_state_of_a_task_and_the_end_of_a_link_are_told_on),
		cmocka_unit_test(nothing_is_asked_before_there_is_a_session),
		cmocka_unit_test(questions_are_handed_on_as_far_as_they_are_offered),
		cmocka_unit_test(what_the_server_can_and_what_changed_of_it_is_told),
		cmocka_unit_test(the_handshake_is_initialize_initialized_list),
		cmocka_unit_test(roots_are_declared_only_when_there_is_one),
		cmocka_unit_test(a_bad_answer_to_initialize_ends_it_with_the_reason),
		cmocka_unit_test(a_bad_first_list_ends_it_and_a_later_one_changes_nothing),
		cmocka_unit_test(the_handshake_has_a_limit_in_each_step),
		cmocka_unit_test(changes_of_the_list_are_gathered_and_paced),
		cmocka_unit_test(silence_is_answered_by_a_ping_and_no_answer_is_the_end),
		cmocka_unit_test(a_page_that_repeats_its_cursor_ends_the_list),
		cmocka_unit_test(a_list_of_endless_pages_is_bounded),
		cmocka_unit_test(too_many_tools_are_a_reason),
		cmocka_unit_test(answers_progress_and_logs_are_handed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
