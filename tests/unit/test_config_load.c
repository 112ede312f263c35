/*
 * The configuration as a function of the environment.  Files: test_config_file.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "os/file.h"
#include "os/path.h"
#include "unit/loading.h"

#define LLM "LLM_BASE_URL=http://h/v1", "LLM_API_KEY=key123", "LLM_MODEL=m"

static const struct config_opt chat = { .need = CONFIG_ALL };

static void env_mode_has_its_own_defaults(void **state)
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
	assert_true(c->mcp.manifest_optional); /* nobody asked for it */
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

/* --- values in env mode ------------------------------------------------------------- */

static const struct {
	const char *var, *key, *text; /* text NULL: the start is refused, naming the variable */
} env_values[] = {
	{ "LOG_LEVEL=DEBUG", "log.level", "debug" },
	{ "LOG_LEVEL= warning ", "log.level", "warn" },
	{ "LOG_LEVEL=verbose", NULL, NULL },
	{ "CHANNEL=STDIO", "gateway.channel", "stdio" },
	{ "CHANNEL=discord", NULL, NULL },
	{ "HISTORY_MAX_MESSAGES=0", NULL, NULL },
	{ "HISTORY_MAX_MESSAGES=", "agent.max_history_messages", "200" },
	{ "HISTORY_MAX_MESSAGES=10 ", "agent.max_history_messages", "10" },
	{ "HISTORY_MAX_MESSAGES=1e3", NULL, NULL },
	{ "HISTORY_MAX_MESSAGES=9999999999", NULL, NULL },
	{ "HISTORY_MAX_TOKENS=0", NULL, NULL },
	{ "TOOL_RESULT_MAX_CHARS=0", NULL, NULL },
	{ "TOOL_MAX_ITERATIONS=0", NULL, NULL },
	{ "TOOL_MAX_ITERATIONS=150", "agent.max_iterations", "150" },
	{ "TOOL_SCHEMA_MAX_TOKENS=-1", NULL, NULL },
	{ "MEMORY_CONSOLIDATE_MINUTES=-1", NULL, NULL },
	{ "MEMORY_CONSOLIDATE_MINUTES=0", "memory.consolidate_minutes", "0" },
	{ "MEMORY_ENABLED=maybe", NULL, NULL },
	{ "MEMORY_ENABLED=off", "memory.enabled", "false" },
	{ "MEMORY_BACKEND=mcp:brain", "memory.backend", "mcp:brain" },
	{ "MEMORY_BACKEND=mcp:", NULL, NULL },
	{ "MEMORY_BACKEND=vector", NULL, NULL },
	{ "CRON_TZ=utc", "cron.timezone", "UTC" },
	{ "CRON_TZ=America/New_York", "cron.timezone", "America/New_York" },
	{ "CRON_TZ=Mars/Olympus", NULL, NULL },
	{ "CRON_TZ=../../../etc/passwd", NULL, NULL },
	{ "CRON_TZ=/etc/passwd", NULL, NULL },
	{ "CRON_MAX_JOBS=0", NULL, NULL },
	{ "CRON_TICK_SECONDS=0", NULL, NULL },
	{ "STREAM_REPLIES=", "agent.stream_replies", "false" },
	{ "STREAM_REPLIES=False", "agent.stream_replies", "false" },
	{ "STREAM_REPLIES=No ", "agent.stream_replies", "false" },
	{ "STREAM_REPLIES=yes", "agent.stream_replies", "true" },
	{ "STREAM_REPLIES=maybe", NULL, NULL },
	{ "PERSONA_DIR=   ", "gateway.max_turns", "4" }, /* blank is unset */
	{ "LLM_BASE_URL=ftp://x", NULL, NULL },
	{ "LLM_BASE_URL=not a url", NULL, NULL },
	{ "LLM_BASE_URL=https://x/v1/", "openai.base_url", "https://x/v1" },
	{ "LLM_MODEL=", NULL, NULL },
	{ "LLM_MODEL=  ", NULL, NULL },
	{ "LLM_API_KEY=", NULL, NULL },
	{ "LLM_API_KEY=two words", NULL, NULL },
	{ "LLM_MAX_TOKENS=-1", NULL, NULL },
	{ "LLM_MAX_TOKENS=4096", "openai.max_tokens", "4096" },
	{ "LLM_REASONING_EFFORT=High", "openai.reasoning_effort", "high" },
	{ "LLM_REASONING_EFFORT=extreme", NULL, NULL },
	{ "TOOL_TRACE=verbose", NULL, NULL },
	{ "WATCH_MAX=0", NULL, NULL },
	{ "TELEGRAM_ALLOWED_USERS=1, 2,,3 ", "channels.telegram.allow_from", "[1, 2, 3]" },
	{ "TOOLS=fs, web", "tools.web_fetch.enabled", "true" },
	{ "TOOLS=fs, web", "tools.exec.enabled", "false" },
	{ "TOOLS=fs,frogs", NULL, NULL },
	{ "GANTRY_TOOLS_FILESYSTEM_ENABLED=1", "tools.filesystem.enabled", "true" },
	{ "GANTRY_LOG_LEVEL=error", "log.level", "error" },
	{ "GANTRY_GATEWAY_MAX_TURNS=65", NULL, NULL },
	{ "GANTRY_GATEWAY_GRACE=1500ms", "gateway.grace", "1500ms" },
	{ "GANTRY_GATEWAY_GRACE=8", NULL, NULL },
	{ "GANTRY_AGENT_TEMPERATURE=0.7", "agent.temperature", "0.7" },
	{ "GANTRY_AGENT_TEMPERATURE=3", NULL, NULL },
	{ "GANTRY_AGENT_SYSTEM_PROMPT_FILES=[\"/a,b\", /c]", "agent.system_prompt_files",
	  "[\"/a,b\", /c]" },
	{ "GANTRY_POLICY_RULES=[{tool: 'x*', action: ASK}]", "policy.rules",
	  "[{tool: \"x*\", action: ASK}]" },
	{ "GANTRY_POLICY_RULES=[{tool: x, action: maybe}]", NULL, NULL },
	{ "GANTRY_POLICY_RULES={", NULL, NULL },
	{ "GANTRY_POLICY_RULES=x", NULL, NULL },
	{ "GANTRY_TOOLS_EXEC_DENY=[\"a(\"]", NULL, NULL },
	{ "GANTRY_OPENAI_API_KEY=other", "openai.api_key", "<set:env:GANTRY_OPENAI_API_KEY>" },
	{ "LLM_NO_KEY=true", "openai.no_key", "true" },
	{ "GANTRY_OPENAI_TIMEOUT=0", NULL, NULL },
	{ "GANTRY_STORAGE_DRIVER=postgres", NULL, NULL },
};

static void variables_are_understood_or_refused_by_name(void **state)
{
	for (size_t i = 0; i < COUNT(env_values); i++) {
		SCOPED(loaded_free) struct loaded l;
		str rest = str_of(env_values[i].var), name = str_cut(&rest, '=');
		const char *base[] = { "LLM_BASE_URL=http://h/v1", "LLM_API_KEY=key123",
				       "LLM_MODEL=m", "CHANNEL=stdio", "DATA_DIR=$H" };
		const char *vars[8] = { env_values[i].var };
		size_t n = 1;

		for (size_t k = 0; k < COUNT(base); k++)
			if (!str_starts(str_of(base[k]), name))
				vars[n++] = base[k];
		load(&l, &(struct config_opt){ .need = CONFIG_ALL }, vars);
		if ((l.rc == OK) != (env_values[i].text != NULL))
			fail_msg("%s: %s", env_values[i].var,
				 l.rc < 0 ? l.problems.text.p : "taken");
		if (l.rc == OK) {
			assert_string_equal(setting(l.c, env_values[i].key).p,
					    env_values[i].text);
			continue;
		}
		assert_int_equal(l.rc, E_INVAL);
		if (l.problems.n != 1 || !str_starts(l.problems.text, name))
			fail_msg("%s: %s", env_values[i].var, l.problems.text.p);
		if (rest.n > 4 && strstr(l.problems.text.p, rest.p))
			fail_msg("the value is quoted: %s", l.problems.text.p);
	}
}

static void everything_wrong_is_told_at_once(void **state)
{
	SCOPED(loaded_free) struct loaded l;

	load(&l, &(struct config_opt){ .need = CONFIG_ALL },
	     VARS("DATA_DIR=$H", "LOG_LEVEL=loud", "CRON_MAX_JOBS=x"));
	assert_int_equal(l.rc, E_INVAL);
	assert_string_equal(
		l.problems.text.p,
		"LOG_LEVEL: must be one of: debug, info, warn, error\n"
		"CRON_MAX_JOBS: must be a whole number from 1 to 100000\n"
		"LLM_BASE_URL: must be set\n"
		"LLM_MODEL: must be set\n"
		"LLM_API_KEY: must be set (an endpoint without keys: set LLM_NO_KEY to true)\n"
		"TELEGRAM_BOT_TOKEN: must be set\n"
		"TELEGRAM_ALLOWED_USERS: is empty: the bot would accept no one\n");
	assert_int_equal(l.problems.n, 7);
	assert_string_equal(l.e.msg, "config: 7 problems");
}

static void telegram_needs_a_token_and_someone_to_answer(void **state)
{
	static const struct {
		const char *token, *users;
		const char *problem;
	} rows[] = {
		{ "X=", "X=", "TELEGRAM_BOT_TOKEN: must be set" },
		{ "TELEGRAM_BOT_TOKEN=1:a", "X=", "TELEGRAM_ALLOWED_USERS: is empty" },
		{ "TELEGRAM_BOT_TOKEN=1:a", "TELEGRAM_ALLOWED_USERS=,",
		  "TELEGRAM_ALLOWED_USERS" },
		{ "TELEGRAM_BOT_TOKEN=1:a", "TELEGRAM_ALLOWED_USERS=bob",
		  "TELEGRAM_ALLOWED_USERS" },
		{ "TELEGRAM_BOT_TOKEN=1:a", "TELEGRAM_ALLOWED_USERS=123,456", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(loaded_free) struct loaded l;

		load(&l, &(struct config_opt){ .need = CONFIG_ALL },
		     VARS(LLM, "DATA_DIR=$H", rows[i].token, rows[i].users));
		assert_int_equal(l.rc, rows[i].problem ? E_INVAL : OK);
		if (rows[i].problem) {
			assert_non_null(strstr(l.problems.text.p, rows[i].problem));
			continue;
		}
		assert_true(l.c->telegram.enabled);
		assert_int_equal(l.c->telegram.allow_from.n, 2);
		assert_int_equal(l.c->telegram.allow_from.v[1], 456);
		assert_string_equal(l.c->telegram.token.p, "1:a");
	}
}

static void lines_of_the_log_are_told_on_telegram_only(void **state)
{
	static const struct {
		const char *channel, *value, *problem, *level;
	} rows[] = {
		{ "CHANNEL=telegram", "X=", NULL, "off" },
		{ "CHANNEL=telegram", "TELEGRAM_ERROR_REPORTING=error", NULL, "error" },
		{ "CHANNEL=telegram", "TELEGRAM_ERROR_REPORTING=warn", NULL, "warn" },
		{ "CHANNEL=stdio", "TELEGRAM_ERROR_REPORTING=off", NULL, "off" },
		{ "CHANNEL=stdio", "TELEGRAM_ERROR_REPORTING=error",
		  "TELEGRAM_ERROR_REPORTING: works only on Telegram; the channel is stdio",
		  NULL },
		{ "CHANNEL=telegram", "TELEGRAM_ERROR_REPORTING=trace",
		  "TELEGRAM_ERROR_REPORTING", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(loaded_free) struct loaded l;

		load(&l, &(struct config_opt){ .need = CONFIG_ALL },
		     VARS(LLM, "DATA_DIR=$H", "TELEGRAM_BOT_TOKEN=1:a",
			  "TELEGRAM_ALLOWED_USERS=1", rows[i].channel, rows[i].value));
		assert_int_equal(l.rc, rows[i].problem ? E_INVAL : OK);
		if (rows[i].problem)
			assert_non_null(strstr(l.problems.text.p, rows[i].problem));
		else
			assert_string_equal(l.c->telegram.error_reporting.p, rows[i].level);
	}
}

static void a_command_is_not_stopped_by_what_it_does_not_need(void **state)
{
	SCOPED(loaded_free) struct loaded l;

	load(&l, &(struct config_opt){ .need = CONFIG_STORE },
	     VARS("DATA_DIR=$H", "LLM_BASE_URL=x", "CHANNEL=pigeon", "CRON_TZ=Mars",
		  "TOOL_MAX_ITERATIONS=x", "GANTRY_GATEWAY_MAX_TURNS=0"));
	assert_int_equal(l.rc, OK);
	assert_int_equal(l.problems.n, 0);
	assert_int_equal(l.c->gateway.max_turns, 4); /* never a value out of range */
	assert_int_equal(l.c->limits.tool_max_iterations, 20);
	loaded_free(&l);
	load(&l, &(struct config_opt){ .need = CONFIG_STORE },
	     VARS("DATA_DIR=$H", "LOG_LEVEL=loud"));
	assert_int_equal(l.rc, E_INVAL); /* everybody logs */
}

static void a_key_may_come_from_a_mounted_file(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(loaded_free) struct loaded l;
	const char *path = arena_fmt(&a, "%s/key", home).p;

	assert_int_equal(file_create(path, S("key-from-file\n"), 0600, NULL), OK);
	load_stdio(&l, &chat,
		   VARS("LLM_BASE_URL=http://h", "LLM_MODEL=m", "DATA_DIR=$H",
			"LLM_API_KEY_FILE=$H/key"));
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->model.api_key.p, "key-from-file");
	assert_int_equal(l.c->secrets_n, 1);
	loaded_free(&l);
	load_stdio(&l, &chat,
		   VARS("LLM_BASE_URL=http://h", "LLM_MODEL=m", "DATA_DIR=$H",
			"LLM_API_KEY_FILE=$H/nokey"));
	assert_true(str_starts(l.problems.text, S("LLM_API_KEY_FILE: ")));
}

static void what_is_not_used_yet_is_named_when_set(void **state)
{
	SCOPED(loaded_free) struct loaded l;

	load_stdio(&l, &chat,
		   VARS(LLM, "DATA_DIR=$H", "GANTRY_AGENT_SHOW_THINKING=true", "SPARK_QTY=2-3",
			"GANTRY_LOG_LEVL=debug"));
	assert_int_equal(l.rc, OK);
	assert_int_equal(l.c->warnings.n, 3);
	assert_string_equal(l.c->warnings.v[0].p,
			    "not used by this version yet: GANTRY_AGENT_SHOW_THINKING");
	assert_string_equal(l.c->warnings.v[1].p,
			    "GANTRY_LOG_LEVL is not an option; did you mean GANTRY_LOG_LEVEL?");
	assert_string_equal(l.c->warnings.v[2].p,
			    "SPARK_QTY means nothing here and is ignored");
}

static void proxies_come_from_the_process_in_either_case(void **state)
{
	SCOPED(loaded_free) struct loaded l;

	load_stdio(&l, &chat,
		   VARS(LLM, "DATA_DIR=$H", "HTTPS_PROXY=http://u:longpass@up:1",
			"https_proxy=", "no_proxy=a,b", "NO_PROXY=c"));
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->http.https_proxy.p, "http://u:longpass@up:1");
	assert_string_equal(l.c->http.no_proxy.p, "a,b");
	assert_string_equal(l.c->http.http_proxy.p, "");
	assert_int_equal(l.c->secrets_n, 2);
}

static void openai_timeout_also_raises_the_limit_of_the_whole(void **state)
{
	SCOPED(loaded_free) struct loaded l;

	load_stdio(&l, &chat, VARS(LLM, "DATA_DIR=$H"));
	assert_int_equal(l.c->model.connect_ms, 10000);
	assert_int_equal(l.c->model.first_token_ms, 120000);
	assert_int_equal(l.c->model.idle_ms, 60000);
	assert_int_equal(l.c->model.total_ms, 600000);
	assert_int_equal(l.c->mcp.call_timeout_ms, 600000);
	assert_int_equal(l.c->mcp.line_max, 16 << 20);
	assert_false(l.c->model.has_temperature);
	loaded_free(&l);
	load_stdio(&l, &chat,
		   VARS(LLM, "DATA_DIR=$H", "GANTRY_OPENAI_TIMEOUT=15m",
			"GANTRY_AGENT_TEMPERATURE=0"));
	assert_int_equal(l.c->model.total_ms, 900000);
	assert_true(l.c->model.has_temperature);
}

/* --- where things are --------------------------------------------------------------- */

static void without_data_only_a_person_gets_their_own_directories(void **state)
{
	SCOPED(loaded_free) struct loaded l;
	struct config_opt opt = chat;

	if (dir_writable("/data"))
		skip();
	load_stdio(&l, &opt, VARS(LLM));
	assert_int_equal(l.rc, E_INVAL);
	assert_string_equal(
		l.problems.text.p,
		"DATA_DIR: /data is not a writable directory: mount a volume there, or "
		"set DATA_DIR\n");
	loaded_free(&l);
	opt.terminal = true;
	load_stdio(&l, &opt, VARS(LLM));
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->store.dsn.p,
			    arena_fmt(&l.a, "%s/.local/share/gantry/gantry.db", home).p);
	loaded_free(&l);
	load_stdio(&l, &opt, VARS(LLM, "XDG_DATA_HOME=/x/y", "XDG_CONFIG_HOME=$H/none"));
	assert_string_equal(l.c->store.data_dir.p, "/x/y/gantry");
	assert_string_equal(l.c->agent.persona_dir.p,
			    arena_fmt(&l.a, "%s/none/gantry/persona", home).p);
	assert_string_equal(l.c->mcp.manifest.p,
			    arena_fmt(&l.a, "%s/none/gantry/mcp.toml", home).p);
	loaded_free(&l);
	load_stdio(&l, &chat,
		   VARS(LLM, "GANTRY_STORAGE_DSN=$H/x.db")); /* /data is not asked then */
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->store.data_dir.p, home);
}

static void relative_and_home_paths_become_absolute(void **state)
{
	SCOPED(loaded_free) struct loaded l;
	char cwd[4096];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	load_stdio(&l, &chat,
		   VARS(LLM, "DATA_DIR=~/d", "PERSONA_DIR=./deploy/persona", "MCP_MANIFEST=~"));
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->store.data_dir.p, arena_fmt(&l.a, "%s/d", home).p);
	assert_string_equal(l.c->agent.persona_dir.p,
			    arena_fmt(&l.a, "%s/deploy/persona", cwd).p);
	assert_string_equal(l.c->mcp.manifest.p, home);
	assert_false(l.c->mcp.manifest_optional);
	loaded_free(&l);
	load_stdio(&l, &chat, VARS(LLM, "DATA_DIR=~bob/x"));
	assert_non_null(strstr(l.problems.text.p, "DATA_DIR: ~user is not supported"));
}

static void impossible_places_are_named(void **state)
{
	static const struct {
		const char *var, *problem;
	} rows[] = {
		{ "DATA_DIR=/dev/null/x", "DATA_DIR: /dev/null is not a directory\n" },
		{ "GANTRY_STORAGE_DSN=/tmp",
		  "GANTRY_STORAGE_DSN: /tmp is a directory, not a file\n" },
		{ "GANTRY_LOG_FILE=/tmp",
		  "GANTRY_LOG_FILE: /tmp is a directory, not a file\n" },
		{ "GANTRY_LOG_FILE=/dev/null/a/b",
		  "GANTRY_LOG_FILE: /dev/null is not a directory\n" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(loaded_free) struct loaded l;

		load_stdio(&l, &chat,
			   VARS(LLM, rows[i].var,
				strncmp(rows[i].var, "DATA", 4) ? "DATA_DIR=/tmp" : "X="));
		assert_int_equal(l.rc, E_INVAL);
		assert_string_equal(l.problems.text.p, rows[i].problem);
	}
}

static void groups_are_read_with_their_own_lists(void **state)
{
	SCOPED(loaded_free) struct loaded l;
	const struct telegram_cfg *t;

	load_stdio(&l, &chat,
		   VARS(LLM, "DATA_DIR=$H", "TELEGRAM_ALLOWED_USERS=1, 9007199254740993",
			"GANTRY_CHANNELS_TELEGRAM_GROUPS={\"-1009007199254740993\": {}, "
			"\"*\": {require_mention: no, allow_from: [5, 9007199254740995]}}"));
	assert_int_equal(l.rc, OK);
	t = &l.c->telegram;
	assert_int_equal(t->allow_from.v[1], 9007199254740993);
	assert_int_equal(t->groups_n, 2);
	assert_int_equal(t->groups[0].id, -1009007199254740993);
	assert_false(t->groups[0].any);
	assert_true(t->groups[0].require_mention);
	assert_int_equal(t->groups[0].allow_from.n, 0);
	assert_true(t->groups[1].any);
	assert_false(t->groups[1].require_mention);
	assert_int_equal(t->groups[1].allow_from.v[1], 9007199254740995);
}

static void without_a_file_groups_need_no_mention(void **state)
{
	SCOPED(loaded_free) struct loaded l;

	load_stdio(&l, &chat, VARS(LLM, "DATA_DIR=$H"));
	assert_int_equal(l.c->telegram.groups_n, 1);
	assert_true(l.c->telegram.groups[0].any);
	assert_false(l.c->telegram.groups[0].require_mention);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_home, remove_home)
	const struct CMUnitTest tests[] = {
		T(env_mode_has_its_own_defaults),
		T(variables_are_understood_or_refused_by_name),
		T(everything_wrong_is_told_at_once),
		T(telegram_needs_a_token_and_someone_to_answer),
		T(lines_of_the_log_are_told_on_telegram_only),
		T(a_command_is_not_stopped_by_what_it_does_not_need),
		T(a_key_may_come_from_a_mounted_file),
		T(what_is_not_used_yet_is_named_when_set),
		T(proxies_come_from_the_process_in_either_case),
		T(openai_timeout_also_raises_the_limit_of_the_whole),
		T(without_data_only_a_person_gets_their_own_directories),
		T(relative_and_home_paths_become_absolute),
		T(impossible_places_are_named),
		T(groups_are_read_with_their_own_lists),
		T(without_a_file_groups_need_no_mention),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
