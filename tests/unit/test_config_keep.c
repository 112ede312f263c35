/*
 * Reloading takes what may be taken and keeps the rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "config/load.h"

static struct config *loaded(struct arena *a, char **vars)
{
	struct config_opt opt = { .need = CONFIG_ALL };
	struct env env = env_copy(a, vars);
	struct config_problems problems;
	struct config *c = NULL;

	if (config_load(&c, &opt, &env, a, &problems, NULL) < 0)
		fail_msg("%s", problems.text.p ? problems.text.p : "");
	return c;
}

#define COMMON "CHANNEL=stdio", "LLM_BASE_URL=http://h", "LLM_MODEL=m"

static void reloadable_options_are_taken_and_the_others_kept(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct config *was = loaded(
		&a, (char *[]){ COMMON, "LLM_API_KEY=first-key", "DATA_DIR=/tmp", "TOOLS=fs",
				"LOG_LEVEL=info", "TELEGRAM_ALLOWED_USERS=1,2",
				"GANTRY_POLICY_RULES=[{tool: a, action: ask}]",
				"GANTRY_CRON_JOBS=[{name: j, schedule: '@daily', prompt: p, "
				"session: ephemeral, timeout: 2m}]",
				"TOOL_MAX_ITERATIONS=5", NULL });
	struct config *now = loaded(
		&a, (char *[]){ COMMON, "LLM_API_KEY=second-key", "DATA_DIR=/tmp/other",
				"LOG_LEVEL=debug", "TELEGRAM_ALLOWED_USERS=3",
				"TOOL_MAX_ITERATIONS=6", "GANTRY_AGENT_TEMPERATURE=1", NULL });

	config_keep(now, was);
	assert_string_equal(now->log.level.p, "debug");
	assert_int_equal(now->limits.tool_max_iterations, 6);
	assert_string_equal(now->store.data_dir.p, "/tmp");
	assert_string_equal(now->model.api_key.p, "second-key");
	assert_true(now->fs.enabled);
	assert_false(now->model.has_temperature);
	assert_int_equal(now->secrets_n, 2); /* both are hidden */
	assert_int_equal(now->telegram.allow_from.n, 2);
	assert_int_equal(now->policy.n, 1);
	config_free(was); /* nothing is shared with it */
	assert_string_equal(now->store.dsn.p, "/tmp/gantry.db");
	assert_string_equal(now->fs.roots.v[0].p, "/tmp/workspace");
	assert_int_equal(now->telegram.allow_from.v[1], 2);
	assert_string_equal(now->policy.rules[0].tool.p, "a");
	assert_string_equal(now->secrets[0].p, "second-key");
	assert_string_equal(now->secrets[1].p, "first-key");
	assert_int_equal(now->cron.jobs.n, 1);
	assert_string_equal(now->cron.jobs.v[0].prompt.p, "p");
	assert_int_equal(now->cron.jobs.v[0].timeout_ms, 120000);
	config_free(now);
}

static void what_waits_for_the_next_start_is_named(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct config *was =
		loaded(&a, (char *[]){ COMMON, "LLM_API_KEY=k", "DATA_DIR=/tmp", NULL });
	struct config *now = loaded(&a, (char *[]){ COMMON, "LLM_API_KEY=k", "DATA_DIR=/tmp",
						    "GANTRY_GATEWAY_MAX_TURNS=9",
						    "HISTORY_MAX_MESSAGES=9", NULL });

	config_keep(now, was);
	assert_int_equal(now->gateway.max_turns, 4);
	assert_int_equal(now->limits.history_max_messages, 9);
	assert_int_equal(now->warnings.n, 1);
	assert_string_equal(now->warnings.v[0].p,
			    "gateway.max_turns has changed; the next start takes it");
	config_free(was);
	config_free(now);
}

static void another_token_from_the_same_place_waits_for_the_next_start(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct config *was = loaded(&a, (char *[]){ COMMON, "LLM_API_KEY=k", "DATA_DIR=/tmp",
						    "TELEGRAM_BOT_TOKEN=1:first", NULL });
	struct config *now = loaded(&a, (char *[]){ COMMON, "LLM_API_KEY=k", "DATA_DIR=/tmp",
						    "TELEGRAM_BOT_TOKEN=1:second", NULL });

	config_keep(now, was);
	assert_string_equal(now->telegram.token.p, "1:first");
	assert_int_equal(now->warnings.n, 1);
	assert_string_equal(now->warnings.v[0].p,
			    "channels.telegram.token has changed; the next start takes it");
	config_free(was);
	config_free(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reloadable_options_are_taken_and_the_others_kept),
		cmocka_unit_test(what_waits_for_the_next_start_is_named),
		cmocka_unit_test(another_token_from_the_same_place_waits_for_the_next_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
