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
#include "config/options.h"
#include "os/file.h"
#include "text/text.h"

#define ENV_MAX 16
#define NEED (CONFIG_STORE | CONFIG_MODEL | CONFIG_TOOLS)

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

/* --- values in env mode ------------------------------------------------------------- */

static str setting(const struct config *c, const char *key)
{
	size_t i = option_find(str_of(key));

	assert_true(i < options_n);
	return c->settings[i].text;
}

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
		"LLM_API_KEY: must be set (an endpoint without keys: LLM_NO_KEY=true)\n"
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

static void what_is_not_used_yet_is_named_when_set(void **state)
{
	SCOPED(loaded_free) struct loaded l;

	load(&l, &chat,
	     VARS(LLM, "DATA_DIR=$H", "CRON_TZ=UTC", "GANTRY_WATCH_MAX=3", "SPARK_QTY=2-3",
		  "GANTRY_LOG_LEVL=debug"));
	assert_int_equal(l.rc, OK);
	assert_int_equal(l.c->warnings.n, 3);
	assert_string_equal(l.c->warnings.v[0].p,
			    "not used by this version yet: CRON_TZ, GANTRY_WATCH_MAX");
	assert_string_equal(l.c->warnings.v[1].p,
			    "GANTRY_LOG_LEVL is not an option; did you mean GANTRY_LOG_LEVEL?");
	assert_string_equal(l.c->warnings.v[2].p,
			    "SPARK_QTY means nothing here and is ignored");
}

static void proxies_come_from_the_process_in_either_case(void **state)
{
	SCOPED(loaded_free) struct loaded l;

	load(&l, &chat,
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

	load(&l, &chat, VARS(LLM, "DATA_DIR=$H"));
	assert_int_equal(l.c->model.connect_ms, 10000);
	assert_int_equal(l.c->model.first_token_ms, 120000);
	assert_int_equal(l.c->model.idle_ms, 60000);
	assert_int_equal(l.c->model.total_ms, 600000);
	assert_int_equal(l.c->mcp.call_timeout_ms, 600000);
	assert_int_equal(l.c->mcp.line_max, 16 << 20);
	assert_false(l.c->model.has_temperature);
	loaded_free(&l);
	load(&l, &chat,
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
	load(&l, &opt, VARS(LLM));
	assert_int_equal(l.rc, E_INVAL);
	assert_string_equal(
		l.problems.text.p,
		"DATA_DIR: /data is not a writable directory: mount a volume there, or "
		"set DATA_DIR\n");
	loaded_free(&l);
	opt.terminal = true;
	load(&l, &opt, VARS(LLM));
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->store.dsn.p,
			    arena_fmt(&l.a, "%s/.local/share/gantry/gantry.db", home).p);
	loaded_free(&l);
	load(&l, &opt, VARS(LLM, "XDG_DATA_HOME=/x/y", "XDG_CONFIG_HOME=$H/none"));
	assert_string_equal(l.c->store.data_dir.p, "/x/y/gantry");
	assert_string_equal(l.c->agent.persona_dir.p,
			    arena_fmt(&l.a, "%s/none/gantry/persona", home).p);
	assert_string_equal(l.c->mcp.manifest.p,
			    arena_fmt(&l.a, "%s/none/gantry/mcp.toml", home).p);
	loaded_free(&l);
	load(&l, &chat, VARS(LLM, "GANTRY_STORAGE_DSN=$H/x.db")); /* /data is not asked then */
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->store.data_dir.p, home);
}

static void relative_and_home_paths_become_absolute(void **state)
{
	SCOPED(loaded_free) struct loaded l;
	char cwd[4096];

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	load(&l, &chat,
	     VARS(LLM, "DATA_DIR=~/d", "PERSONA_DIR=./deploy/persona", "MCP_MANIFEST=~"));
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->store.data_dir.p, arena_fmt(&l.a, "%s/d", home).p);
	assert_string_equal(l.c->agent.persona_dir.p,
			    arena_fmt(&l.a, "%s/deploy/persona", cwd).p);
	assert_string_equal(l.c->mcp.manifest.p, home);
	loaded_free(&l);
	load(&l, &chat, VARS(LLM, "DATA_DIR=~bob/x"));
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

		load(&l, &chat,
		     VARS(LLM, rows[i].var,
			  strncmp(rows[i].var, "DATA", 4) ? "DATA_DIR=/tmp" : "X="));
		assert_int_equal(l.rc, E_INVAL);
		assert_string_equal(l.problems.text.p, rows[i].problem);
	}
}

/* --- files -------------------------------------------------------------------------- */

static const char *put(struct arena *a, const char *name, const char *text)
{
	str path = arena_fmt(a, "%s/%s", home, name);
	FILE *f;

	for (size_t i = strlen(home) + 1; i < path.n; i++)
		if (path.p[i] == '/')
			(void)mkdir(arena_cstr(a, str_sub(path, 0, i)), 0700);
	assert_non_null(f = fopen(path.p, "w"));
	(void)fputs(text, f);
	(void)fclose(f);
	return path.p;
}

/* What a file needs beyond the row's text comes from variables. */
#define FILLED "GANTRY_AGENT_MODEL=m", "GANTRY_OPENAI_NO_KEY=1"

static const struct {
	const char *yaml, *key, *text;
} file_values[] = {
	{ "version: 1\n", "version", "1" },
	{ "log: {level: WARNING, format: JSON}\n", "log.level", "warn" },
	{ "agent:\n", "agent.max_iterations", "20" },
	{ "agent: {}\n", "agent.max_history_turns", "40" },
	{ "agent: {name: ~}\n", "agent.name", "gantry" },
	{ "agent: {name: 007}\n", "agent.name", "007" },
	{ "agent: {temperature: 0}\n", "agent.temperature", "0" },
	{ "agent: {system_prompt_files: [a.md, /b.md, ~/c.md]}\n", "agent.system_prompt_files",
	  "[$H/a.md, /b.md, $H/c.md]" },
	{ "agent: {workspace: ./w}\n", "tools.filesystem.roots", "[$H/w]" },
	{ "agent: {workspace: w}\n", "tools.exec.cwd", "$H/w" },
	{ "version: 1\n", "agent.workspace", "$H/gantry-workspace" },
	{ "version: 1\n", "storage.dsn", "$H/.local/share/gantry/gantry.db" },
	{ "version: 1\n", "mcp.manifest", "$H/mcp.toml" },
	{ "version: 1\n", "openai.base_url", "https://api.openai.com/v1" },
	{ "version: 1\n", "tools.exec.sandbox.profile", "compat" },
	{ "version: 1\n", "cron.enabled", "false" },
	{ "version: 1\n", "log.format", "text" },
	{ "storage: {dsn: 'a#b?c%d.db'}\n", "storage.dsn", "$H/a#b?c%d.db" },
	{ "storage: {path: old.db}\n", "storage.dsn", "$H/old.db" },
	{ "storage: {data_dir: d}\n", "storage.dsn", "$H/d/gantry.db" },
	{ "tools: {exec: {mode: off}}\n", "tools.exec.enabled", "false" },
	{ "tools: {exec: {shell: []}}\n", "tools.exec.shell", "[]" },
	{ "tools: {exec: {shell: [/bin/sh, -c]}}\n", "tools.exec.shell", "[/bin/sh, \"-c\"]" },
	{ "tools: {exec: {deny: ['rm\\s+-rf', \"a,b\"]}}\n", "tools.exec.deny",
	  "[\"rm\\\\s+-rf\", \"a,b\"]" },
	{ "tools: {exec: {enabled: false, timeout: 0s}}\n", "tools.exec.timeout", "0s" },
	{ "tools: {filesystem: {enabled: false, max_read_bytes: 0}}\n",
	  "tools.filesystem.max_read_bytes", "0" },
	{ "tools: {filesystem: {roots: ['/a, b', ' ', '']}}\n", "tools.filesystem.roots",
	  "[\"/a, b\"]" },
	{ "channels: {telegram: {groups: {-1001234567890: {allow_from: [1]}}}}\n",
	  "channels.telegram.groups", "{\"-1001234567890\": {allow_from: [1]}}" },
	{ "channels: {telegram: {allow_from: [-5, 6]}}\n", "channels.telegram.allow_from",
	  "[-5, 6]" },
	{ "cron: {timezone: Europe/Berlin}\n", "cron.timezone", "Europe/Berlin" },
	{ "policy: {rules: [{tool: 'a__*', action: deny}, {tool: b, action: allow}]}\n",
	  "policy.rules", "[{tool: \"a__*\", action: deny}, {tool: b, action: allow}]" },
};

static str with_home(struct arena *a, const char *text)
{
	struct buf b = buf_in(a, 1 << 16);
	const char *mark;

	for (; (mark = strstr(text, "$H")); text = mark + 2)
		buf_fmt(&b, "%.*s%s", (int)(mark - text), text, home);
	buf_add(&b, str_of(text));
	return buf_str(&b);
}

static void keys_of_a_file_are_understood(void **state)
{
	for (size_t i = 0; i < COUNT(file_values); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		SCOPED(loaded_free) struct loaded l;
		struct config_opt opt = { .path = put(&a, "c.yaml", file_values[i].yaml),
					  .need = NEED };

		load(&l, &opt, VARS(FILLED));
		if (l.rc < 0)
			fail_msg("%s: %s", file_values[i].yaml, l.problems.text.p);
		assert_true(l.c->file_mode);
		assert_string_equal(setting(l.c, file_values[i].key).p,
				    with_home(&a, file_values[i].text).p);
	}
}

static const struct {
	const char *yaml, *problem;
} file_faults[] = {
	{ "version: 2\n", "1:1: version: must be a whole number from 1 to 1" },
	{ "agnet: {}\n", "1:1: agnet: unknown key; did you mean agent?" },
	{ "frobnicate: 1\n", "1:1: frobnicate: unknown key" },
	{ "agent:\n  modle: x\n", "2:3: agent.modle: unknown key; did you mean agent.model?" },
	{ "agent:\n  base_url: x\n",
	  "2:3: agent.base_url: unknown key; did you mean openai.base_url?" },
	{ "openai: {modle: x}\n",
	  "1:10: openai.modle: unknown key; did you mean agent.model?" },
	{ "tools: {exec: {auto: {modell: x}}}\n",
	  "1:23: tools.exec.auto.modell: unknown key; did you mean tools.exec.auto.model?" },
	{ "agent: 5\n", "1:1: agent: must be a map of options" },
	{ "[a, b]\n", "1:1: must be a map of options" },
	{ "agent: {name: [x]}\n", "1:9: agent.name: must be a single value" },
	{ "agent: {name: {x: y}}\n", "1:9: agent.name: must be a single value" },
	{ "agent: {max_iterations: 0}\n",
	  "agent.max_iterations: must be a whole number from 1 to 100" },
	{ "agent: {max_iterations: 101}\n", "agent.max_iterations: must be" },
	{ "agent: {max_iterations: 2.0}\n", "agent.max_iterations: must be" },
	{ "agent: {max_history_turns: 1}\n",
	  "agent.max_history_turns: must be a whole number from 2" },
	{ "agent: {temperature: 2.1}\n", "agent.temperature: must be a number from 0 to 2" },
	{ "agent: {model: a}\nagent: {model: b}\n", "2:1: agent: this key stands here twice" },
	{ "openai: {api_key: sk-literal}\n",
	  "1:10: openai.api_key: a secret does not belong in this file: name its variable in "
	  "openai.api_key_env, or its file in openai.api_key_file" },
	{ "channels: {telegram: {token: 1:a}}\n",
	  "name its variable in channels.telegram.token_env" },
	{ "openai: {api_key_env: sk-abc-def}\n",
	  "openai.api_key_env: must be the name of a variable, not the secret itself" },
	{ "openai: {api_key_file: nofile}\n", "openai.api_key_file: " },
	{ "openai: {base_url: api.openai.com}\n",
	  "openai.base_url: must be an absolute http:// or https:// URL" },
	{ "openai: {timeout: 0s}\n", "openai.timeout: must be a duration from 1ms to 24h" },
	{ "openai: {timeout: 120}\n", "openai.timeout: must be a duration with its unit" },
	{ "openai: {max_retries: -1}\n", "openai.max_retries: must be" },
	{ "channels: {telegram: {api_base_url: x}}\n",
	  "channels.telegram.api_base_url: must be" },
	{ "channels: {telegram: {allow_from: 5}}\n",
	  "channels.telegram.allow_from: must be a list, as in [one, two]" },
	{ "channels: {telegram: {allow_from: [bob]}}\n",
	  "channels.telegram.allow_from: must be a list of whole numbers" },
	{ "channels: {telegram: {allow_from: [[1]]}}\n",
	  "channels.telegram.allow_from: must be a list of single values" },
	{ "channels: {telegram: {groups: {bob: {}}}}\n",
	  "channels.telegram.groups.bob: a group is named by its numeric id, or * for all" },
	{ "channels: {telegram: {groups: {5: {}}}}\n",
	  "channels.telegram.groups.5: looks like a user's id; ids of groups are negative" },
	{ "channels: {telegram: {groups: {-5: {mention: x}}}}\n",
	  "channels.telegram.groups.mention: unknown key" },
	{ "channels: {telegram: {groups: {-5: {require_mention: maybe}}}}\n",
	  "channels.telegram.groups.require_mention: must be true or false" },
	{ "channels: {telegram: {groups: {-5: {allow_from: [x]}}}}\n",
	  "channels.telegram.groups.allow_from: must be a list of whole numbers" },
	{ "channels: {telegram: {groups: []}}\n", "channels.telegram.groups: must be a map" },
	{ "tools: {filesystem: {roots: []}}\n",
	  "tools.filesystem.roots: must name at least one directory" },
	{ "tools: {filesystem: {max_read_bytes: 0}}\n",
	  "tools.filesystem.max_read_bytes: must be" },
	{ "tools: {web_fetch: {timeout: 0s}}\n", "tools.web_fetch.timeout: must be" },
	{ "tools: {exec: {mode: perhaps}}\n",
	  "tools.exec.mode: must be one of: approval, auto, off" },
	{ "tools: {exec: {deny: [a, 'b(']}}\n",
	  "tools.exec.deny: number 2 is not a regular expression" },
	{ "tools: {exec: {allow: ['[']}}\n",
	  "tools.exec.allow: number 1 is not a regular expression" },
	{ "tools: {exec: {shell: [/bin/sh]}}\n",
	  "tools.exec.shell: needs the shell and its flags" },
	{ "cron: {timezone: Mars/Olympus}\n", "cron.timezone: must be an IANA time zone" },
	{ "storage: {driver: postgres}\n", "storage.driver: must be one of: sqlite" },
	{ "storage: {dsn: a, path: b}\n", "storage.path, its old name, is set as well" },
	{ "storage: {dsn: /dev/null/x/y.db}\n", "storage.dsn: /dev/null is not a directory" },
	{ "log: {level: loud}\n", "log.level: must be one of: debug, info, warn, error" },
	{ "log: {format: xml}\n", "log.format: must be one of: text, json" },
	{ "log: {file: .}\n", "log.file: " },
	{ "policy: {rules: {a: b}}\n", "policy.rules: must be a list of maps" },
	{ "policy: {rules: [x]}\n", "policy.rules: must be a map of names and values" },
	{ "policy: {rules: [{tool: x}]}\n",
	  "policy.rules.action: must be one of: allow, ask, deny" },
	{ "policy: {rules: [{action: ask}]}\n", "policy.rules.tool: must be" },
	{ "policy: {rules: [{tool: x, action: ask, when: y}]}\n",
	  "policy.rules.when: unknown key" },
	{ "cron: {jobs: {a: b}}\n", "cron.jobs: must be a list of maps" },
	{ "gateway: {followup: dance}\n", "gateway.followup: must be one of: wait, steer" },
};

static void faults_of_a_file_are_told_with_their_place(void **state)
{
	for (size_t i = 0; i < COUNT(file_faults); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		SCOPED(loaded_free) struct loaded l;
		struct config_opt opt = { .path = put(&a, "c.yaml", file_faults[i].yaml),
					  .channel = "stdio",
					  .need = CONFIG_ALL };

		load(&l, &opt, VARS(FILLED));
		if (l.rc != E_INVAL || l.problems.n != 1 ||
		    !strstr(l.problems.text.p, file_faults[i].problem))
			fail_msg("%s: %zu: %s", file_faults[i].yaml, l.problems.n,
				 l.problems.text.p ? l.problems.text.p : "taken");
		assert_null(strstr(l.problems.text.p, "sk-"));
	}
}

#define JOB "name: j, schedule: '30 7 * * 1-5', prompt: p, session: persistent, timeout: 2m"

static const struct {
	const char *job, *problem; /* NULL: fine */
} jobs[] = {
	{ JOB, NULL },
	{ JOB ", enabled: false, catch_up: true", NULL },
	{ "name: j, schedule: '@daily', prompt: p, session: ephemeral, timeout: 1s", NULL },
	{ "schedule: '* * * * *', prompt: p, session: persistent, timeout: 2m",
	  "cron.jobs.name: must be set" },
	{ "name: j, schedule: '* * * *', prompt: p, session: persistent, timeout: 2m",
	  "cron.jobs.schedule: must have 5 fields" },
	{ "name: j, schedule: '0 * * * * *', prompt: p, session: persistent, timeout: 2m",
	  "cron.jobs.schedule: must have 5 fields" },
	{ "name: j, schedule: '0 0 * * * * *', prompt: p, session: persistent, timeout: 2m",
	  "cron.jobs.schedule" },
	{ "name: j, prompt: p, session: persistent, timeout: 2m", "cron.jobs.schedule" },
	{ "name: j, schedule: '* * * * *', session: persistent, timeout: 2m",
	  "cron.jobs.prompt: must be set" },
	{ "name: j, schedule: '* * * * *', prompt: p, timeout: 2m",
	  "cron.jobs.session: must be one of: persistent, ephemeral" },
	{ "name: j, schedule: '* * * * *', prompt: p, session: persistent",
	  "cron.jobs.timeout" },
	{ "name: j, schedule: '* * * * *', prompt: p, session: persistent, timeout: 0s",
	  "cron.jobs.timeout" },
	{ JOB ", enabled: maybe", "cron.jobs.enabled: must be true or false" },
	{ JOB ", colour: red", "cron.jobs.colour: unknown key" },
	{ JOB "}, {" JOB, "cron.jobs.name: another job has this name" },
	{ JOB ", deliver_to: {channel: telegram, chat_id: '7'}", NULL },
	{ JOB ", deliver_to: {channel: telegram, chat_id: '-10'}", NULL },
	{ JOB ", deliver_to: {channel: telegram, chat_id: '8'}",
	  "the chat is neither in channels.telegram.allow_from" },
	{ JOB ", deliver_to: {channel: telegram, chat_id: '*'}", "the chat is neither" },
	{ JOB ", deliver_to: {channel: telegram}", "needs channel and chat_id" },
	{ JOB ", deliver_to: {channel: mail, chat_id: '7'}", "the channel must be telegram" },
	{ JOB ", deliver_to: {to: x}", "cron.jobs.to: unknown key" },
	{ JOB ", enabled: false, deliver_to: {channel: telegram, chat_id: '8'}", NULL },
};

static void jobs_are_checked_and_their_delivery_when_they_can_fire(void **state)
{
	for (size_t i = 0; i < COUNT(jobs); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		SCOPED(loaded_free) struct loaded l;
		str yaml = arena_fmt(
			&a,
			"channels: {telegram: {allow_from: [7], groups: {'*': {}, -10: "
			"{}}}}\n"
			"cron: {enabled: true, jobs: [{%s}]}\n",
			jobs[i].job);
		struct config_opt opt = { .path = put(&a, "c.yaml", yaml.p), .need = NEED };

		load(&l, &opt, VARS(FILLED));
		if ((l.rc == OK) != !jobs[i].problem ||
		    (jobs[i].problem && !strstr(l.problems.text.p, jobs[i].problem)))
			fail_msg("%s: %s", jobs[i].job,
				 l.problems.n ? l.problems.text.p : "taken");
	}
}

static void telegram_without_anyone_to_answer_is_refused_in_a_file(void **state)
{
	static const struct {
		const char *yaml, *problem;
	} rows[] = {
		{ "channels: {telegram: {token_env: TOK}}\n",
		  "channels.telegram.allow_from: is empty: the bot would accept no one" },
		{ "channels: {telegram: {token_env: TOK, groups: {-5: {allow_from: [1]}}}}\n",
		  NULL },
		{ "channels: {telegram: {token_env: TOK, groups: {-5: {}}}}\n",
		  "accept no one" },
		{ "channels: {telegram: {token_env: TOK, allow_from: [1]}}\n", NULL },
		{ "channels: {telegram: {allow_from: [1]}}\n",
		  "channels.telegram.token: the variable TELEGRAM_BOT_TOKEN is not set" },
		{ "channels: {telegram: {enabled: false}}\n",
		  "channels.telegram.enabled: is false" },
		{ "channels: {telegram: {enabled: false}}\ngateway: {channel: stdio}\n", NULL },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		SCOPED(loaded_free) struct loaded l;
		struct config_opt opt = { .path = put(&a, "c.yaml", rows[i].yaml),
					  .need = CONFIG_ALL };

		load(&l, &opt, VARS(FILLED, "TOK=1:x"));
		if ((l.rc == OK) != !rows[i].problem ||
		    (rows[i].problem && !strstr(l.problems.text.p, rows[i].problem)))
			fail_msg("%s: %s", rows[i].yaml,
				 l.problems.n ? l.problems.text.p : "taken");
	}
}

static void stray_variables_do_not_reach_into_a_file(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(loaded_free) struct loaded l;
	struct config_opt opt = { .path = put(&a, "c.yaml",
					      "openai: {api_key_env: MY_KEY}\n"
					      "agent: {model: a}\n"),
				  .need = NEED };

	load(&l, &opt,
	     VARS("LOG_LEVEL=debug", "LLM_MODEL=b", "LLM_API_KEY=wrong", "DATA_DIR=/nowhere/x",
		  "OPENAI_API_KEY=wrong", "MY_KEY=right", "GANTRY_GATEWAY_MAX_TURNS=7",
		  "HTTPS_PROXY=http://p:1"));
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->log.level.p, "info");
	assert_string_equal(l.c->model.name.p, "a");
	assert_string_equal(l.c->model.api_key.p, "right");
	assert_int_equal(l.c->gateway.max_turns, 7);
	assert_string_equal(l.c->http.https_proxy.p, "http://p:1");
}

static void a_secret_comes_from_the_variable_or_else_the_file(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(loaded_free) struct loaded l;
	struct config_opt opt = { .path = put(
					  &a, "c.yaml",
					  "openai: {api_key_env: K, api_key_file: key.txt}\n"
					  "agent: {model: a}\n"),
				  .need = NEED };

	(void)put(&a, "key.txt", "  from-file\n");
	assert_int_equal(chmod(arena_fmt(&a, "%s/key.txt", home).p, 0600), 0);
	load(&l, &opt, VARS("K=from-env"));
	assert_string_equal(l.c->model.api_key.p, "from-env");
	loaded_free(&l);
	load(&l, &opt, VARS("K= "));
	assert_string_equal(l.c->model.api_key.p, "from-file");
	assert_string_equal(setting(l.c, "openai.api_key").p,
			    arena_fmt(&a, "<set:file:%s/key.txt>", home).p);
	assert_int_equal(l.c->warnings.n, 0);
	loaded_free(&l);
	assert_int_equal(chmod(arena_fmt(&a, "%s/key.txt", home).p, 0604), 0);
	load(&l, &opt, NULL);
	assert_int_equal(l.c->warnings.n, 1);
	assert_non_null(strstr(l.c->warnings.v[0].p, "can be read by every user"));
	loaded_free(&l);
	(void)put(&a, "key.txt", " \n");
	load(&l, &opt, NULL);
	assert_non_null(strstr(l.problems.text.p, "openai.api_key: the variable K is not set"));
	loaded_free(&l);
	opt.inspect = true; /* only looking: a warning will do */
	load(&l, &opt, NULL);
	assert_int_equal(l.rc, OK);
	assert_non_null(strstr(l.c->warnings.v[l.c->warnings.n - 1].p, "openai.api_key"));
	loaded_free(&l);
	(void)put(&a, "key.txt", "two\nlines");
	load(&l, &opt, NULL);
	assert_non_null(strstr(l.problems.text.p, "must be one word"));
	assert_null(strstr(l.problems.text.p, "two"));
	loaded_free(&l);
	char *big = arena_alloc(&a, 1, 65538);
	memset(big, 'x', 65537);
	(void)put(&a, "key.txt", big);
	load(&l, &opt, NULL);
	assert_non_null(strstr(l.problems.text.p, "openai.api_key_file: "));
}

static void the_file_is_looked_for_in_this_order(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(loaded_free) struct loaded l;
	struct config_opt opt = { .need = NEED };

	(void)put(&a, ".mtclaw/config.yml", "agent: {model: yml}\n");
	load(&l, &opt, VARS(FILLED));
	assert_string_equal(l.c->path.p, arena_fmt(&a, "%s/.mtclaw/config.yml", home).p);
	assert_string_equal(l.c->path_source.p, "default");
	loaded_free(&l);
	(void)put(&a, ".mtclaw/config.yaml", "storage: {}\n");
	load(&l, &opt, VARS(FILLED));
	assert_string_equal(l.c->path.p, arena_fmt(&a, "%s/.mtclaw/config.yaml", home).p);
	assert_non_null(strstr(l.c->warnings.v[0].p, "config.yml lies beside"));
	assert_string_equal(l.c->store.dsn.p, arena_fmt(&a, "%s/.mtclaw/mtclaw.db", home).p);
	assert_string_equal(l.c->agent.workspace.p,
			    arena_fmt(&a, "%s/mtclaw-workspace", home).p);
	assert_string_equal(l.c->agent.name.p, "MTClaw");
	loaded_free(&l);
	(void)put(&a, "xdg/gantry/config.yaml", "version: 1\n");
	load(&l, &opt, VARS(FILLED, "XDG_CONFIG_HOME=$H/xdg"));
	assert_string_equal(l.c->path.p, arena_fmt(&a, "%s/xdg/gantry/config.yaml", home).p);
	assert_string_equal(l.c->agent.name.p, "gantry");
	loaded_free(&l);
	(void)put(&a, "m.yaml", "version: 1\n");
	load(&l, &opt, VARS(FILLED, "XDG_CONFIG_HOME=$H/xdg", "MTCLAW_CONFIG=$H/m.yaml"));
	assert_string_equal(l.c->path_source.p, "env:MTCLAW_CONFIG");
	assert_string_equal(l.c->store.dsn.p, arena_fmt(&a, "%s/.mtclaw/mtclaw.db", home).p);
	loaded_free(&l);
	load(&l, &opt, VARS(FILLED, "GANTRY_CONFIG=$H/m.yaml", "MTCLAW_CONFIG=/nowhere"));
	assert_string_equal(l.c->path_source.p, "env:GANTRY_CONFIG");
	assert_string_equal(l.c->agent.name.p, "gantry");
	loaded_free(&l);
	opt.path = "/nowhere/at/all.yaml";
	load(&l, &opt, VARS(FILLED, "GANTRY_CONFIG=$H/m.yaml"));
	assert_int_equal(l.rc, E_NOENT);
	assert_string_equal(l.e.msg, "config: there is no file /nowhere/at/all.yaml (flag)");
}

static void flags_win_over_everything(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(loaded_free) struct loaded l;
	struct config_opt opt = { .path = put(&a, "c.yaml", "log: {level: warn}\n"),
				  .log_level = "Error",
				  .channel = "stdio",
				  .need = CONFIG_ALL };

	load(&l, &opt, VARS(FILLED, "GANTRY_LOG_LEVEL=debug"));
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->log.level.p, "error");
	assert_string_equal(l.c->gateway.channel.p, "stdio");
	loaded_free(&l);
	opt.log_level = "loud";
	load(&l, &opt, VARS(FILLED));
	assert_string_equal(l.problems.text.p,
			    "--log-level: must be one of: debug, info, warn, error\n");
}

static void a_complete_file_of_the_kindred_program_loads_unchanged(void **state)
{
	SCOPED(loaded_free) struct loaded l;
	struct config_opt opt = { .path = "examples/mtclaw-config.yaml", .need = CONFIG_ALL };

	load(&l, &opt, VARS("OPENAI_API_KEY=sk-test", "TELEGRAM_BOT_TOKEN=1:t"));
	if (l.rc < 0)
		fail_msg("%s", l.problems.n ? l.problems.text.p : l.e.msg);
	assert_string_equal(l.c->model.base_url.p, "https://api.openai.com/v1");
	assert_int_equal(l.c->limits.history_max_turns, 40);
	assert_int_equal(l.c->telegram.allow_from.n, 1);
	assert_string_equal(l.c->store.dsn.p, arena_fmt(&l.a, "%s/.mtclaw/mtclaw.db", home).p);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_home, remove_home)
	const struct CMUnitTest tests[] = {
		T(seed_one_environment_gives_its_defaults),
		T(variables_are_understood_or_refused_by_name),
		T(everything_wrong_is_told_at_once),
		T(telegram_needs_a_token_and_someone_to_answer),
		T(a_command_is_not_stopped_by_what_it_does_not_need),
		T(what_is_not_used_yet_is_named_when_set),
		T(proxies_come_from_the_process_in_either_case),
		T(openai_timeout_also_raises_the_limit_of_the_whole),
		T(without_data_only_a_person_gets_their_own_directories),
		T(relative_and_home_paths_become_absolute),
		T(impossible_places_are_named),
		T(keys_of_a_file_are_understood),
		T(faults_of_a_file_are_told_with_their_place),
		T(jobs_are_checked_and_their_delivery_when_they_can_fire),
		T(telegram_without_anyone_to_answer_is_refused_in_a_file),
		T(stray_variables_do_not_reach_into_a_file),
		T(a_secret_comes_from_the_variable_or_else_the_file),
		T(the_file_is_looked_for_in_this_order),
		T(flags_win_over_everything),
		T(a_complete_file_of_the_kindred_program_loads_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
