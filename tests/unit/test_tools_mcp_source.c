/*
 * tools/mcp_source.c: tools of real children, through the gate.  The servers are this program
 * itself, see mcp_fake.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf.h"
#include "children.h"
#include "mcp_fake.h"
#include "os/signals.h"
#include "tools/mcp_source.h"

struct rig {
	struct arena a;
	struct config config;
	struct env env;
	struct mcp_host *host;
	struct tool_source source;
	struct tools *tools;
	struct toolset set;
	struct limits_cfg limits;
	int progress;
	str progress_id;
};

static int save_tools(void *arg, str server, str json, struct err *e)
{
	return OK;
}

static str load_tools(void *arg, str server, struct arena *a)
{
	return S("");
}

static void rig_up(struct rig *r, bool trusted)
{
	static char *block[] = { "PATH=/usr/bin:/bin", NULL };
	static const str args[] = { S(MCP_FAKE), S("read-only") };
	struct err e = { 0 };

	*r = (struct rig){ .limits.tool_result_max_chars = 300 };
	r->config.mcp.call_timeout_ms = TEST_MS;
	r->config.mcp.start_timeout_ms = TEST_MS;
	r->env = env_copy(&r->a, block);
	struct mcp_server_cfg server = { .name = S("one"),
					 .command = str_of(mcp_fake_self()),
					 .args = { args, COUNT(args) },
					 .trusted = trusted };
	struct mcp_manifest m = { .servers = &server, .n = 1 };
	struct mcp_host_opt opt = { .config = &r->config,
				    .env = &r->env,
				    .save_tools = save_tools,
				    .load_tools = load_tools,
				    .arg = r };
	struct tools_opt topt = { .limits = &r->limits, .mcp = &r->source };
	if (mcp_host_start(&r->host, &opt, &m, &e) < 0 ||
	    mcp_host_ready(r->host, soon(), NULL, &e) < 0)
		fail_msg("%s", e.msg);
	tools_mcp_source(&r->source, r->host);
	assert_int_equal(tools_open(&r->tools, &topt, &e), OK);
	tools_snapshot(r->tools, &r->a, &r->set);
}

static void rig_down(struct rig *r)
{
	tools_close(r->tools);
	mcp_host_stop(r->host);
	arena_free(&r->a);
}

static void on_progress(void *arg, str call_id, double done, double total, str message)
{
	struct rig *r = arg;

	r->progress++;
	r->progress_id = call_id;
}

static struct call use(struct rig *r, const char *name, str args, const struct cancel *c)
{
	struct call call = { .requested = str_of(name), .args = args };
	const struct tool_ctx ctx = { .call_id = S("id7"),
				      .on_progress = on_progress,
				      .arg = r };
	const struct tool_spec *spec = tools_admit(r->tools, &r->set, &call, &r->a);

	if (spec)
		(void)!tools_run(r->tools, spec, &call, &ctx, &r->a, c, NULL);
	return call;
}

static void tools_of_a_server_are_listed_found_and_called(void **state)
{
	SCOPED(rig_down) struct rig r;

	rig_up(&r, false);
	assert_true(r.set.n > 5);
	for (size_t i = 0; i < r.set.n; i++) {
		assert_true(str_eq(r.set.v[i].server, S("one")));
		assert_true(str_starts(r.set.v[i].schema, S("{")));
		assert_false(r.set.v[i].safe); /* hints of strangers do not count */
	}
	/* Arguments over several lines, a name without its prefix. */
	struct call call = use(&r, "Echo", S("{\n \"text\": \"hi\"\n}"), NULL);
	assert_int_equal(call.state, CALL_DONE);
	assert_true(str_eq(call.name, S("one__echo")));
	assert_true(str_eq(call.result, S("hi")));
	call = use(&r, "one__fail", S(""), NULL);
	assert_int_equal(call.state, CALL_FAILED);
	assert_true(str_has(call.result, S("no such file")));
	call = use(&r, "one__big", S("{\"n\":5000}"), NULL);
	assert_int_equal(call.state, CALL_DONE);
	assert_true(call.truncated && utf_count(call.result) <= 300);
}

static void progress_comes_with_the_id_of_its_call(void **state)
{
	SCOPED(rig_down) struct rig r;

	rig_up(&r, true);
	/* The notices may all come with the answer, which then is all that is seen. */
	for (int i = 0; i < 200 && !r.progress; i++)
		assert_int_equal(use(&r, "one__progress", S("{\"n\":50}"), NULL).state,
				 CALL_DONE);
	assert_true(r.progress > 0);
	assert_true(str_eq(r.progress_id, S("id7")));
}

static void a_cancelled_call_may_have_happened(void **state)
{
	SCOPED(rig_down) struct rig r;
	SCOPED(cancel_done) struct cancel c = { .fd = -1 };

	rig_up(&r, false);
	assert_int_equal(cancel_init(&c, NULL, 50, NULL), OK);
	struct call call = use(&r, "one__hang", S(""), &c);
	assert_int_equal(call.state, CALL_CANCELED);
	assert_true(str_has(call.result, S("may or may not have had an effect")));
}

static void a_server_that_dies_in_a_call_leaves_it_in_doubt(void **state)
{
	SCOPED(rig_down) struct rig r;

	rig_up(&r, false);
	struct call call = use(&r, "one__die", S(""), NULL);
	assert_int_equal(call.state, CALL_FAILED);
	assert_true(str_has(call.result, S("may or may not have had an effect")));
}

static void what_only_reads_is_asked_once_more_when_its_server_dies(void **state)
{
	static const struct {
		bool trusted;
		enum call_state want;
	} rows[] = { { true, CALL_DONE }, { false, CALL_FAILED } };

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(rig_down) struct rig r;
		char flag[] = "/tmp/gantry-once.XXXXXX";
		int fd = mkstemp(flag);
		assert_true(fd >= 0);
		(void)close(fd);
		(void)unlink(flag);
		rig_up(&r, rows[i].trusted);
		struct call call = use(&r, "one__die_once",
				       arena_fmt(&r.a, "{\"flag\":\"%s\"}", flag), NULL);
		(void)unlink(flag);
		assert_int_equal(call.state, rows[i].want);
		assert_true(str_has(call.result,
				    rows[i].trusted ? S("alive") : S("may or may not")));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tools_of_a_server_are_listed_found_and_called),
		cmocka_unit_test(progress_comes_with_the_id_of_its_call),
		cmocka_unit_test(a_cancelled_call_may_have_happened),
		cmocka_unit_test(a_server_that_dies_in_a_call_leaves_it_in_doubt),
		cmocka_unit_test(what_only_reads_is_asked_once_more_when_its_server_dies),
	};
	struct err e = { 0 };
	int fd;

	if (argc > 1 && strcmp(argv[1], MCP_FAKE) == 0)
		return mcp_fake_main(argc - 2, argv + 2);
	if (spawner_start(&e) < 0 || signals_open(&fd, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	spawner_stop();
	(void)close(fd);
	return failed;
}
