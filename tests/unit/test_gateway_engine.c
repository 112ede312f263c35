/*
 * All parts together: what a failed start leaves, what a reload takes, and what one that fails
 * changes: nothing.
 */
#include "store_world.h"

#include "gateway/engine.h"
#include "os/file.h"
#include "unit/loading.h"

#include <stdio.h>
#include <string.h>

static void put(struct world *w, const char *name, const char *text)
{
	ok(w, file_write_atomic(world_path(w, name), str_of(text), 0600, &w->e));
}

/* In the world's directory, where the persona and the manifest are too. */
static struct config *configured(struct world *w, const char *more)
{
	struct loaded l;
	const char *const *vars = VARS("DATA_DIR=$H", "LLM_BASE_URL=http://h", "LLM_MODEL=m",
				       "LLM_API_KEY_FILE=$H/key", "PERSONA_DIR=$H",
				       "MCP_MANIFEST=$H/mcp.toml", "TOOLS=fs", more);

	(void)snprintf(home, sizeof home, "%s", w->dir);
	load_stdio(&l, &(struct config_opt){ .need = CONFIG_ALL }, vars);
	if (!l.c)
		fail_msg("%s", l.problems.text.p ? l.problems.text.p : l.e.msg);
	arena_free(&l.a);
	return l.c;
}

static int setup(void **state)
{
	int rc = world_setup_closed(state);
	struct world *w = *state;

	put(w, "key", "first-key");
	put(w, "SOUL.md", "a sailor");
	put(w, "mcp.toml", "");
	return rc;
}

static int open_engine(struct engine *g, struct config *cfg, struct err *e)
{
	static const struct env none;

	return engine_open(g, cfg, &none,
			   &(struct engine_opt){ .mode = STORE_CLI, .model = true }, e);
}

static void a_start_that_fails_leaves_nothing_open(void **state)
{
	struct world *w = *state;
	struct config *cfg = configured(w, NULL);
	struct engine g;
	int64_t before = 0, after = 0;

	put(w, "mcp.toml", "[[server]\n");
	for (int i = 0; i < 3; i++) {
		str *names;
		size_t n;
		assert_int_equal(open_engine(&g, cfg, &w->e), E_INVAL);
		assert_non_null(strstr(w->e.msg, "mcp.toml"));
		engine_close(&g); /* again is fine */
		ok(w, dir_list(&names, &n, &w->a, "/proc/self/fd", 10000, &w->e));
		*(i ? &after : &before) = (int64_t)n;
	}
	assert_int_equal(before, after);
	config_free(cfg);
}

static void a_reload_takes_the_manifest(void **state)
{
	struct world *w = *state;
	struct config *cfg = configured(w, NULL);
	struct mcp_server_status *v;
	struct engine g;
	size_t n = 9;

	ok(w, open_engine(&g, cfg, &w->e));
	mcp_host_status(g.host, &w->a, &v, &n);
	assert_int_equal(n, 0);
	put(w, "mcp.toml", "[[server]]\nname = \"s\"\ncommand = \"/nonexistent/server\"\n");
	put(w, "SOUL.md", "a smith");
	ok(w, engine_reload(&g, configured(w, NULL), &w->e));
	mcp_host_status(g.host, &w->a, &v, &n);
	assert_int_equal(n, 1);
	engine_close(&g);
	config_free(cfg);
}

static void a_reload_that_fails_takes_nothing_over(void **state)
{
	struct world *w = *state;
	struct config *cfg = configured(w, NULL), *fresh = configured(w, NULL);
	struct mcp_server_status *v;
	struct engine g;
	size_t n = 9;

	ok(w, open_engine(&g, cfg, &w->e));
	/* The manifest is fine and has a server more; the persona cannot be had. */
	put(w, "mcp.toml", "[[server]]\nname = \"s\"\ncommand = \"/nonexistent/server\"\n");
	fresh->agent.persona_dir = str_of(world_path(w, "key"));
	assert_int_equal(engine_reload(&g, fresh, &w->e), E_INVAL);
	mcp_host_status(g.host, &w->a, &v, &n);
	assert_int_equal(n, 0);
	config_free(fresh); /* ours still */
	engine_close(&g);
	config_free(cfg);
}

static void tools_that_need_too_many_tokens_stop_the_start(void **state)
{
	struct world *w = *state;
	struct config *cfg = configured(w, "TOOL_SCHEMA_MAX_TOKENS=5");
	struct engine g;

	ok(w, open_engine(&g, cfg, &w->e));
	assert_int_equal(engine_check_schema(&g, &w->e), E_LIMIT);
	assert_non_null(strstr(w->e.msg, "the limit is 5"));
	engine_close(&g);
	config_free(cfg);
	cfg = configured(w, "TOOL_SCHEMA_MAX_TOKENS=50000");
	ok(w, open_engine(&g, cfg, &w->e));
	ok(w, engine_check_schema(&g, &w->e));
	engine_close(&g);
	config_free(cfg);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(a_start_that_fails_leaves_nothing_open),
		T(a_reload_takes_the_manifest),
		T(a_reload_that_fails_takes_nothing_over),
		T(tools_that_need_too_many_tokens_stop_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
