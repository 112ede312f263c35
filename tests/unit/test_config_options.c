/*
 * The option table is sound: every row can be named, read and defaulted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/map.h"
#include "config/options.h"
#include "config/value.h"

static void names_are_unique_and_prefixes_are_no_options(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct map seen = { 0 };

	for (size_t i = 0; i < options_n; i++) {
		str names = str_of(options[i].env);

		if (map_set(&seen, &a, str_of(options[i].key), &seen))
			fail_msg("%s stands there twice", options[i].key);
		if (map_set(&seen, &a, option_env_name(&a, &options[i]), &seen))
			fail_msg("%s: its GANTRY_ name is taken", options[i].key);
		while (names.n)
			if (map_set(&seen, &a, str_cut(&names, ' '), &seen))
				fail_msg("%s: its variable is taken", options[i].key);
		for (size_t k = 0; k < options_n; k++)
			if (str_starts(str_of(options[k].key),
				       arena_fmt(&a, "%s.", options[i].key)))
				fail_msg("%s is also a map", options[i].key);
	}
}

static void options_of_a_map_stand_together(void **state)
{
	/* What is shown is nested YAML, in which a map may come once only. */
	SCOPED(arena_free) struct arena a = { 0 };
	struct map closed = { 0 };
	str before = { 0 };

	for (size_t i = 0; i < options_n; i++) {
		str key = str_of(options[i].key);

		for (size_t n = 0; n < key.n; n++) {
			str map = str_sub(key, 0, n + 1);

			if (key.p[n] != '.')
				continue;
			if (!str_starts(before, map) && map_get(&closed, map))
				fail_msg("%s: its map was closed before", options[i].key);
			(void)map_set(&closed, &a, map, &closed);
		}
		before = key;
	}
}

static void env_names_come_from_keys(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	size_t i = option_find(S("tools.exec.auto.confirm_on"));

	assert_true(i < options_n);
	assert_string_equal(option_env_name(&a, &options[i]).p,
			    "GANTRY_TOOLS_EXEC_AUTO_CONFIRM_ON");
	assert_int_equal(option_find(S("tools.exec")), SIZE_MAX);
}

static const char *check_default(struct arena *a, const struct option *o, const char *def,
				 int64_t min, int64_t max)
{
	int64_t v;
	str word;
	bool is;

	if (!def)
		return NULL;
	switch (o->type) {
	case OPT_INT:
		return value_int(a, str_of(def), min, max ? max : INT64_MAX, &v);
	case OPT_MS:
		return value_ms(a, str_of(def), min, max, &v);
	case OPT_BOOL:
		return value_bool(str_of(def), &is);
	case OPT_WORD:
		return value_word(a, str_of(def), o->words, &word);
	case OPT_URL:
		return value_url(a, str_of(def), &word);
	default:
		return NULL;
	}
}

static void defaults_are_within_their_own_rules(void **state)
{
	for (size_t i = 0; i < options_n; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		const struct option *o = &options[i];
		const char *why = check_default(&a, o, o->def_env, o->min, o->max);

		if (!why)
			why = check_default(&a, o, o->def_file,
					    o->min_file ? o->min_file : o->min,
					    o->max_file ? o->max_file : o->max);
		if (why)
			fail_msg("%s: %s", o->key, why);
		assert_true(o->help && o->help[strlen(o->help) - 1] == '.');
		assert_true((o->type == OPT_WORD || o->type == OPT_WORDS) ==
			    (o->words != NULL));
		if (o->type == OPT_INT || o->type == OPT_MS || o->type == OPT_REAL)
			assert_true(o->max >= o->min && o->max > 0);
	}
}

/* Every variable and key of the two kindred programs. */
static const char *const variables[] = {
	"LLM_BASE_URL",
	"LLM_MODEL",
	"LLM_MAX_TOKENS",
	"LLM_REASONING_EFFORT",
	"TELEGRAM_ALLOWED_USERS",
	"TELEGRAM_API_BASE_URL",
	"CHANNEL",
	"PERSONA_DIR",
	"DATA_DIR",
	"MCP_MANIFEST",
	"HISTORY_MAX_MESSAGES",
	"HISTORY_MAX_TOKENS",
	"TOOL_RESULT_MAX_CHARS",
	"TOOL_MAX_ITERATIONS",
	"TOOL_SCHEMA_MAX_TOKENS",
	"MEMORY_ENABLED",
	"MEMORY_BACKEND",
	"MEMORY_CONSOLIDATE_MINUTES",
	"CRON_ENABLED",
	"CRON_TZ",
	"CRON_MAX_JOBS",
	"CRON_TICK_SECONDS",
	"STREAM_REPLIES",
	"LOG_LEVEL",
	"TOOLS",
	"TOOL_TRACE",
	"WATCH_ENABLED",
	"WATCH_MAX",
	"SHOW_THINKING",
	"COALESCE_SETTLE_MS",
	"SPINUP_NOTICE_MS",
	"TELEGRAM_ERROR_REPORTING",
};

static const char *const keys[] = {
	"version",
	"agent.name",
	"agent.model",
	"agent.temperature",
	"agent.max_iterations",
	"agent.max_history_turns",
	"agent.workspace",
	"agent.system_prompt_files",
	"openai.api_key_env",
	"openai.api_key_file",
	"openai.base_url",
	"openai.timeout",
	"openai.max_retries",
	"openai.no_key",
	"channels.telegram.enabled",
	"channels.telegram.token_env",
	"channels.telegram.token_file",
	"channels.telegram.allow_from",
	"channels.telegram.groups",
	"channels.telegram.api_base_url",
	"tools.filesystem.enabled",
	"tools.filesystem.roots",
	"tools.filesystem.max_read_bytes",
	"tools.filesystem.max_write_bytes",
	"tools.web_fetch.enabled",
	"tools.web_fetch.timeout",
	"tools.web_fetch.max_bytes",
	"tools.exec.enabled",
	"tools.exec.mode",
	"tools.exec.shell",
	"tools.exec.cwd",
	"tools.exec.timeout",
	"tools.exec.max_output_bytes",
	"tools.exec.approval_timeout",
	"tools.exec.deny",
	"tools.exec.allow",
	"tools.exec.auto.model",
	"tools.exec.auto.confirm_on",
	"tools.exec.sandbox.profile",
	"cron.enabled",
	"cron.timezone",
	"cron.jobs",
	"storage.driver",
	"storage.dsn",
	"storage.path",
	"log.level",
	"log.format",
	"log.file",
	"gateway.max_turns",
	"gateway.grace",
	"gateway.followup",
	"policy.rules",
	"mcp.manifest",
};

static void nothing_of_the_kindred_programs_is_missing(void **state)
{
	for (size_t i = 0; i < COUNT(keys); i++)
		if (option_find(str_of(keys[i])) == SIZE_MAX)
			fail_msg("%s", keys[i]);
	for (size_t i = 0; i < COUNT(variables); i++) {
		bool found = false;

		for (size_t k = 0; k < options_n; k++)
			found = found || str_eq(str_of(options[k].env), str_of(variables[i]));
		if (!found)
			fail_msg("%s", variables[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_unique_and_prefixes_are_no_options),
		cmocka_unit_test(options_of_a_map_stand_together),
		cmocka_unit_test(env_names_come_from_keys),
		cmocka_unit_test(defaults_are_within_their_own_rules),
		cmocka_unit_test(nothing_of_the_kindred_programs_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
