/*
 * The configuration as a function of an environment and files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/load.h"
#include "os/file.h"
#include "text/text.h"

#define ENV_MAX 16

static char home[64];

static int make_home(void **state)
{
	(void)snprintf(home, sizeof(home), "/tmp/gantry-config-XXXXXX");
	return mkdtemp(home) ? 0 : -1;
}

static int remove_home(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str *names;
	size_t n;

	static const char *const dirs[] = { "xdg/gantry", "xdg", ".mtclaw", "sub", "" };

	for (size_t d = 0; d < COUNT(dirs); d++) {
		str dir = arena_fmt(&a, "%s/%s", home, dirs[d]);

		if (dir_list(&names, &n, &a, dir.p, 1000, NULL) == OK)
			for (size_t i = 0; i < n; i++)
				(void)unlink(arena_fmt(&a, "%s/%s", dir.p, names[i].p).p);
		(void)rmdir(dir.p);
	}
	return 0;
}

/* A loaded configuration, or its problems. */
struct loaded {
	struct arena a;
	struct config *c;
	struct config_problems problems;
	struct err e;
	int rc;
};

static void loaded_free(struct loaded *l)
{
	config_free(l->c);
	arena_free(&l->a);
}

/* Load with HOME in the temporary directory and these variables; $H stands for HOME. */
static void load(struct loaded *l, const struct config_opt *opt, const char *const *vars)
{
	char *block[ENV_MAX + 2];
	size_t n = 0;

	*l = (struct loaded){ 0 };
	block[n++] = (char *)arena_fmt(&l->a, "HOME=%s", home).p;
	for (; vars && *vars; vars++) {
		const char *mark = strstr(*vars, "$H");

		assert_true(n < ENV_MAX);
		block[n++] = mark ? (char *)arena_fmt(&l->a, "%.*s%s%s", (int)(mark - *vars),
						      *vars, home, mark + 2)
					     .p
				  : (char *)*vars;
	}
	block[n] = NULL;
	struct env env = env_copy(&l->a, block);
	l->rc = config_load(&l->c, opt, &env, &l->a, &l->problems, &l->e);
}

#define VARS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define LLM "LLM_BASE_URL=http://h/v1", "LLM_API_KEY=key123", "LLM_MODEL=m"

static const struct config_opt chat = { .channel = "stdio", .need = CONFIG_ALL };

static void seed_one_environment_gives_its_defaults(void **state)
{
	SCOPED(loaded_free) struct loaded l;
	const struct config *c;

	load(&l, &(struct config_opt){ .need = CONFIG_ALL },
	     VARS(LLM, "CHANNEL=stdio", "DATA_DIR=$H/data", "PERSONA_DIR=/p"));
	if (l.rc < 0)
		fail_msg("%s", l.problems.text.p);
	c = l.c;
	assert_false(c->file_mode);
	assert_string_equal(c->model.base_url.p, "http://h/v1");
	assert_string_equal(c->model.api_key.p, "key123");
	assert_string_equal(c->gateway.channel.p, "stdio");
	assert_int_equal(c->limits.history_max_messages, 200);
	assert_int_equal(c->limits.history_max_tokens, 128000);
	assert_int_equal(c->limits.history_max_turns, 0);
	assert_int_equal(c->limits.tool_result_max_chars, 16000);
	assert_int_equal(c->limits.tool_max_iterations, 20);
	assert_int_equal(c->limits.tool_schema_max_tokens, 0);
	assert_int_equal(c->model.max_tokens, 0);
	assert_false(c->agent.stream_replies);
	assert_false(c->fs.enabled);
	assert_true(c->mcp.inherit_env);
	assert_string_equal(c->mcp.manifest.p, "/etc/gantry/mcp.toml");
	assert_string_equal(c->agent.persona_dir.p, "/p");
	assert_string_equal(c->log.level.p, "info");
	assert_string_equal(c->log.format.p, "json");
	assert_string_equal(c->log.file.p, "");
	assert_string_equal(c->store.dsn.p, arena_fmt(&l.a, "%s/data/gantry.db", home).p);
	assert_string_equal(c->store.data_dir.p, arena_fmt(&l.a, "%s/data", home).p);
	assert_string_equal(c->agent.workspace.p, arena_fmt(&l.a, "%s/data/workspace", home).p);
	assert_int_equal(c->warnings.n, 0);
	assert_int_equal(c->secrets_n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(seed_one_environment_gives_its_defaults,
						make_home, remove_home),
	};

	(void)chat;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
