/*
 * Servers without a handshake: how a server's era is found out, what every request says, and the
 * stream of changes, with a clock that the test turns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/stateless.h"

#define START_MS 3000
#define PING_MS 9000

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
	r->opt = (struct mcp_session_opt){
		.version = "9.9", .start_ms = START_MS, .ping_ms = PING_MS, .ids = &r->ids
	};
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

static int tick(struct rig *r, int64_t pass_ms)
{
	r->now += pass_ms;
	return mcp_session_tick(&r->s, r->now, true, &r->out, &r->e);
}

#define ANSWER(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}"
#define FAILURE(id, code, more)                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code                         \
	",\"message\":\"no\"" more "}}"
#define META                                                                                   \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","               \
	"\"io.modelcontextprotocol/clientInfo\":{\"name\":\"gantry\",\"version\":\"9.9\"},"    \
	"\"io.modelcontextprotocol/clientCapabilities\":{\"extensions\":{"                     \
	"\"io.modelcontextprotocol/tasks\":{}}}}"
#define DISCOVERED(caps)                                                                       \
	"{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"                 \
	"\"capabilities\":" caps ",\"ttlMs\":0,\"cacheScope\":\"private\",\"_meta\":{\"io."    \
	"modelcontextprotocol/serverInfo\":"                                                   \
	"{\"name\":\"n\",\"version\":\"v\"}}}"
#define INITIALIZED                                                                            \
	"{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"serverInfo\":{\"name\":"    \
	"\"n\","                                                                               \
	"\"version\":\"v\"}}"
#define TOOLS "{\"resultType\":\"complete\",\"tools\":[{\"name\":\"a\"}],\"ttlMs\":0}"

static void begin(struct rig *r)
{
	rig_init(r);
	mcp_session_begin(&r->s, r->now, &r->out);
}

static void make_ready(struct rig *r, const char *discovered)
{
	begin(r);
	assert_int_equal(take(r, discovered), OK);
	(void)sent(r);
	assert_int_equal(take(r, ANSWER("2", TOOLS)), OK);
	assert_int_equal(r->ev.kind, MCP_EVENT_TOOLS);
	assert_int_equal(r->s.phase, MCP_PHASE_READY);
}

static void every_request_says_who_asks_and_what_it_can(void **state)
{
	SCOPED(rig_done) struct rig r;

	begin(&r);
	assert_string_equal(sent(&r),
			    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\","
			    "\"params\":{" META "}}\n");
	assert_int_equal(take(&r, ANSWER("1", DISCOVERED("{\"tools\":{},\"prompts\":{}}"))),
			 OK);
	assert_string_equal(r.s.peer.revision, "2026-07-28");
	assert_string_equal(r.s.peer.server, "n v");
	assert_true(r.s.peer.stateless && r.s.probed && r.s.peer.caps.prompts);
	assert_string_equal(sent(&r), "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\","
				      "\"params\":{" META "}}\n");
	assert_int_equal(
		take(&r, ANSWER("2", "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"c\"}")),
		OK);
	assert_string_equal(sent(&r), "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\","
				      "\"params\":{\"cursor\":\"c\"," META "}}\n");
	assert_int_equal(take(&r, ANSWER("3", "{\"tools\":[{\"name\":\"b\"}]}")), OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_TOOLS);
	assert_int_equal(r.s.pages.listing.n, 2);
	assert_string_equal(sent(&r), ""); /* there is nothing to listen for */
}

static const struct str_list a_root = { &S("/w"), 1 };
static const struct str_list *_Atomic roots = &a_root;

static void a_callers_request_offers_what_the_caller_answers(void **state)
{
	SCOPED(rig_done) struct rig r;

	rig_init(&r);
	r.opt.offer = (struct mcp_offer){ .form = true, .url = true };
	r.opt.roots = &roots;
	assert_non_null(
		strstr(mcp_stateless_more(&r.opt, true, &r.a).p,
		       "/clientCapabilities\":{\"elicitation\":{\"form\":{},\"url\":{}},"
		       "\"extensions\":{"));
	/* What its entry in the manifest allows, and nothing else of what is deprecated. */
	assert_null(strstr(mcp_stateless_more(&r.opt, true, &r.a).p, "sampling"));
	r.opt.offer.sampling = true;
	assert_non_null(
		strstr(mcp_stateless_more(&r.opt, true, &r.a).p, "\"sampling\":{},\"ext"));
	r.opt.offer.sampling_tools = true;
	assert_non_null(strstr(mcp_stateless_more(&r.opt, true, &r.a).p,
			       "\"sampling\":{\"tools\":{}},\"ext"));
	assert_null(strstr(mcp_stateless_more(&r.opt, false, &r.a).p, "sampling"));
	assert_null(strstr(mcp_stateless_more(&r.opt, true, &r.a).p, "roots"));
	assert_null(strstr(mcp_stateless_more(&r.opt, false, &r.a).p, "elicitation"));
	assert_int_equal(mcp_stateless_more(&r.opt, false, &r.a).p[0], ',');
}

static void any_answer_but_a_modern_one_leads_to_initialize(void **state)
{
	static const char *const answers[] = {
		FAILURE("1", "-32601", ""),
		FAILURE("1", "-32602", ""),
		FAILURE("1", "-32600", ""),
		FAILURE("1", "-32000", ""),
		FAILURE("1", "0", ""),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"text\"}",
		ANSWER("1", "{}"),
		ANSWER("1", "null"),
		ANSWER("1", "[]"),
		ANSWER("1", "{\"supportedVersions\":\"2026-07-28\",\"capabilities\":{}}"),
		ANSWER("1", "{\"supportedVersions\":[\"2026-07-28\"]}"),
		ANSWER("1", "{\"supportedVersions\":[\"2099-01-01\",\"2025-06-18\"],"
			    "\"capabilities\":{}}"),
		FAILURE("1", "-32022",
			",\"data\":{\"requested\":\"x\",\"supported\":[\"2025-11-25\"]}"),
		FAILURE("1", "-32022", ""),
		FAILURE("1", "-32022", ",\"data\":{\"supported\":[\"2026-07-28\"]}"),
	};

	for (size_t i = 0; i < COUNT(answers); i++) {
		SCOPED(rig_done) struct rig r;

		begin(&r);
		(void)sent(&r);
		assert_int_equal(take(&r, answers[i]), OK);
		assert_true(
			str_starts(str_of(sent(&r)),
				   S("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\","
				     "\"params\":{\"protocolVersion\":\"2025-11-25\",")));
		assert_int_equal(take(&r, ANSWER("2", INITIALIZED)), OK);
		assert_false(r.s.peer.stateless);
		assert_string_equal(r.s.peer.revision, "2025-06-18");
		assert_non_null(strstr(sent(&r), "\"method\":\"tools/list\"}"));
	}
}

static void a_modern_server_that_speaks_nothing_known_is_not_asked_the_old_way(void **state)
{
	static const struct {
		const char *answer, *why;
	} rows[] = {
		{ ANSWER("1", "{\"supportedVersions\":[\"2099-01-01\",\"2098-01-01\"],"
			      "\"capabilities\":{}}"),
		  "the server speaks protocol revision 2099-01-01, 2098-01-01, of which none "
		  "is "
		  "known here" },
		{ FAILURE("1", "-32022", ",\"data\":{\"supported\":[\"2099-01-01\"]}"),
		  "the server speaks protocol revision 2099-01-01, of which none is known "
		  "here" },
		{ FAILURE("1", "-32021", ""), "server/discover was refused: no" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(rig_done) struct rig r;

		begin(&r);
		(void)sent(&r);
		assert_int_equal(take(&r, rows[i].answer), E_PROTO);
		assert_string_equal(r.e.msg, rows[i].why);
		assert_string_equal(sent(&r), "");
	}
}

static void silence_is_followed_by_initialize_and_the_first_answer_decides(void **state)
{
	static const struct {
		const char *first, *late;
		bool stateless;
	} rows[] = {
		{ ANSWER("2", INITIALIZED), ANSWER("1", DISCOVERED("{}")), false },
		{ ANSWER("1", DISCOVERED("{}")), ANSWER("2", INITIALIZED), true },
		{ ANSWER("1", DISCOVERED("{}")), FAILURE("2", "-32601", ""), true },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(rig_done) struct rig r;

		begin(&r);
		(void)sent(&r);
		assert_int_equal(mcp_session_due(&r.s, true), r.now + START_MS / 3);
		assert_int_equal(tick(&r, START_MS / 3 - 1), OK);
		assert_string_equal(sent(&r), "");
		assert_int_equal(tick(&r, 1), OK);
		assert_non_null(strstr(sent(&r), "\"id\":2,\"method\":\"initialize\""));
		assert_int_equal(tick(&r, 1), OK);
		assert_string_equal(sent(&r), "");
		assert_int_equal(take(&r, rows[i].first), OK);
		assert_non_null(strstr(sent(&r), "\"id\":3,\"method\":\"tools/list\""));
		assert_int_equal(take(&r, rows[i].late), OK);
		assert_int_equal(take(&r, ANSWER("3", TOOLS)), OK);
		assert_int_equal(r.ev.kind, MCP_EVENT_TOOLS);
		assert_int_equal(r.s.peer.stateless, rows[i].stateless);
	}
}

static void a_server_that_never_speaks_is_given_up_at_the_limit(void **state)
{
	SCOPED(rig_done) struct rig r;

	begin(&r);
	assert_int_equal(tick(&r, START_MS / 3), OK);
	assert_int_equal(tick(&r, START_MS), E_TIMEOUT);
	assert_string_equal(r.e.msg, "no answer to initialize within 3000 ms");
}

static void what_is_remembered_is_not_found_out_again(void **state)
{
	SCOPED(rig_done) struct rig r, other;

	rig_init(&r);
	r.opt.era = MCP_ERA_INITIALIZE;
	mcp_session_begin(&r.s, r.now, &r.out);
	assert_non_null(strstr(sent(&r), "\"id\":1,\"method\":\"initialize\""));
	assert_false(r.s.probed);
	/* A server that had answered the probe gets longer for it than one that is unknown. */
	rig_init(&other);
	other.opt.start_ms = 30000;
	mcp_session_begin(&other.s, other.now, &other.out);
	assert_int_equal(mcp_session_due(&other.s, true), other.now + 5000);
	other.opt.era = MCP_ERA_STATELESS;
	mcp_session_begin(&other.s, other.now, &other.out);
	assert_int_equal(mcp_session_due(&other.s, true), other.now + 10000);
}

#define TELLS                                                                                  \
	"{\"tools\":{\"listChanged\":true},\"prompts\":{\"listChanged\":true},"                \
	"\"resources\":{\"subscribe\":true}}"

static void changes_are_listened_for_as_far_as_the_server_tells(void **state)
{
	SCOPED(rig_done) struct rig r;
	static const str uris[] = { { "file:///a", 9 }, { "file:///b", 9 } };

	make_ready(&r, ANSWER("1", DISCOVERED(TELLS)));
	assert_string_equal(sent(&r),
			    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"subscriptions/listen\","
			    "\"params\":{\"notifications\":{\"toolsListChanged\":true,"
			    "\"promptsListChanged\":true}," META "}}\n");
	assert_int_equal(
		take(&r,
		     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"),
		OK);
	assert_int_equal(tick(&r, 1000), OK);
	assert_non_null(
		strstr(sent(&r), "\"id\":4,\"method\":\"tools/list\",\"params\":{\"_meta\""));
	assert_int_equal(take(&r, ANSWER("4", TOOLS)), OK);
	assert_string_equal(sent(&r), ""); /* it still listens */
	/* What else is watched is asked for with all the rest. */
	mcp_session_watch(&r.s, uris, 2, &r.out);
	const char *text = sent(&r);
	assert_non_null(
		strstr(text, "\"notifications/cancelled\",\"params\":{\"requestId\":3}"));
	assert_non_null(strstr(text, "\"id\":5,\"method\":\"subscriptions/listen\",\"params\":{"
				     "\"notifications\":{\"toolsListChanged\":true,"
				     "\"promptsListChanged\":true,\"resourceSubscriptions\":["
				     "\"file:///a\",\"file:///b\"]},\"_meta\""));
}

static void a_stream_of_changes_that_ends_is_asked_for_again_with_pauses_that_grow(void **state)
{
	SCOPED(rig_done) struct rig r;

	make_ready(&r, ANSWER("1", DISCOVERED(TELLS)));
	(void)sent(&r);
	/* Of another request, and of this one. */
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
				  "\"params\":{\"requestId\":99}}"),
			 OK);
	assert_int_equal(r.s.id_listen, 3);
	assert_int_equal(take(&r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
				  "\"params\":{\"requestId\":3}}"),
			 OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_NONE);
	assert_int_equal(mcp_session_due(&r.s, true), r.now + 1000);
	assert_int_equal(tick(&r, 999), OK);
	assert_string_equal(sent(&r), "");
	assert_int_equal(tick(&r, 1), OK);
	assert_non_null(strstr(sent(&r), "\"id\":4,\"method\":\"subscriptions/listen\""));
	/* What changed meanwhile was told to nobody. */
	assert_int_equal(tick(&r, 100), OK);
	assert_non_null(strstr(sent(&r), "\"id\":5,\"method\":\"tools/list\""));
	assert_int_equal(take(&r, ANSWER("5", TOOLS)), OK);
	assert_int_equal(take(&r, ANSWER("4", "{\"resultType\":\"complete\"}")), OK);
	assert_int_equal(r.ev.kind, MCP_EVENT_NONE);
	assert_int_equal(tick(&r, 1999), OK);
	assert_string_equal(sent(&r), "");
	assert_int_equal(tick(&r, 1), OK);
	assert_non_null(strstr(sent(&r), "\"id\":6,\"method\":\"subscriptions/listen\""));
	/* One that refuses is left alone. */
	assert_int_equal(take(&r, FAILURE("6", "-32601", "")), OK);
	assert_int_equal(r.s.listen_at_ms, 0);
}

static void a_list_that_is_not_told_of_is_asked_for_again_when_it_is_stale(void **state)
{
	SCOPED(rig_done) struct rig r;

	begin(&r);
	r.opt.ping_ms = 0;
	assert_int_equal(take(&r, ANSWER("1", DISCOVERED("{\"tools\":{}}"))), OK);
	assert_int_equal(take(&r, ANSWER("2", "{\"tools\":[],\"ttlMs\":600000}")), OK);
	(void)sent(&r);
	assert_int_equal(mcp_session_due(&r.s, true), r.now + 600000);
	assert_int_equal(tick(&r, 600000), OK);
	assert_non_null(strstr(sent(&r), "\"id\":3,\"method\":\"tools/list\""));
	/* Never more than every five minutes. */
	assert_int_equal(take(&r, ANSWER("3", "{\"tools\":[],\"ttlMs\":1}")), OK);
	assert_int_equal(mcp_session_due(&r.s, true), r.now + 300000);
}

static void it_is_asked_for_a_sign_of_life_in_its_own_words_and_asks_nothing_itself(
	void **state)
{
	static const char *const requests[] = { "roots/list", "sampling/createMessage",
						"elicitation/create" };
	SCOPED(rig_done) struct rig r;

	make_ready(&r, ANSWER("1", DISCOVERED("{}")));
	r.opt.roots = &roots;
	r.opt.offer = (struct mcp_offer){ .form = true, .sampling = true };
	for (size_t i = 0; i < COUNT(requests); i++) {
		(void)sent(&r);
		assert_int_equal(take(&r, arena_fmt(&r.a,
						    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":"
						    "\"%s\",\"params\":{}}",
						    requests[i])
						  .p),
				 OK);
		assert_int_equal(r.ev.kind, MCP_EVENT_NONE);
		assert_non_null(strstr(sent(&r), "\"id\":7,\"error\":{\"code\":-32601"));
	}
	assert_int_equal(tick(&r, PING_MS), OK);
	assert_non_null(strstr(sent(&r),
			       "\"id\":3,\"method\":\"server/discover\",\"params\":{\"_meta"));
	assert_int_equal(take(&r, ANSWER("3", DISCOVERED("{}"))), OK);
	assert_int_equal(tick(&r, PING_MS - 1), OK);
	assert_string_equal(sent(&r), "");
}

static void a_server_with_a_handshake_is_asked_again_for_what_is_watched(void **state)
{
	SCOPED(rig_done) struct rig r;
	static const str uri = { "file:///a", 9 };

	rig_init(&r);
	r.opt.era = MCP_ERA_INITIALIZE;
	mcp_session_watch(&r.s, &uri, 1, &r.out);
	mcp_session_begin(&r.s, r.now, &r.out);
	assert_int_equal(take(&r, ANSWER("1", INITIALIZED)), OK);
	(void)sent(&r);
	assert_int_equal(take(&r, ANSWER("2", TOOLS)), OK);
	assert_string_equal(sent(&r),
			    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/subscribe\","
			    "\"params\":{\"uri\":\"file:///a\"}}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_says_who_asks_and_what_it_can),
		cmocka_unit_test(a_callers_request_offers_what_the_caller_answers),
		cmocka_unit_test(any_answer_but_a_modern_one_leads_to_initialize),
		cmocka_unit_test(
			a_modern_server_that_speaks_nothing_known_is_not_asked_the_old_way),
		cmocka_unit_test(
			silence_is_followed_by_initialize_and_the_first_answer_decides),
		cmocka_unit_test(a_server_that_never_speaks_is_given_up_at_the_limit),
		cmocka_unit_test(what_is_remembered_is_not_found_out_again),
		cmocka_unit_test(changes_are_listened_for_as_far_as_the_server_tells),
		cmocka_unit_test(
			a_stream_of_changes_that_ends_is_asked_for_again_with_pauses_that_grow),
		cmocka_unit_test(
			a_list_that_is_not_told_of_is_asked_for_again_when_it_is_stale),
		cmocka_unit_test(
			it_is_asked_for_a_sign_of_life_in_its_own_words_and_asks_nothing_itself),
		cmocka_unit_test(a_server_with_a_handshake_is_asked_again_for_what_is_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
