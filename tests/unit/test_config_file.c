/*
 * The configuration as a function of a file, and of what a file lets in from outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "config/yaml.h"
#include "os/file.h"
#include "unit/loading.h"

#define NEED (CONFIG_STORE | CONFIG_MODEL | CONFIG_TOOLS)

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
	{ "models: {prices: [{model: 'gpt-*', input: 2.50, output: 10}]}\n", "models.prices",
	  "[{model: \"gpt-*\", input: 2.50, output: 10}]" },
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
	{ "models: {prices: {a: b}}\n", "models.prices: must be a list of maps" },
	{ "models: {prices: [x]}\n", "models.prices: must be a map of names and values" },
	{ "models: {prices: [{input: 1, output: 1}]}\n", "models.prices.model: must be" },
	{ "models: {prices: [{model: m, input: 1}]}\n", "models.prices.output: must be set" },
	{ "models: {prices: [{model: m, output: 1}]}\n", "models.prices.input: must be set" },
	{ "models: {prices: [{model: m, input: -1, output: 1}]}\n",
	  "models.prices.input: must be an amount per million tokens" },
	{ "models: {prices: [{model: m, input: 1, output: [2]}]}\n",
	  "models.prices.output: must be an amount per million tokens" },
	{ "models: {prices: [{model: m, input: 1, output: 1, cached_input: 1e3}]}\n",
	  "models.prices.cached_input: must be an amount per million tokens" },
	{ "models: {prices: [{model: m, input: 1, output: 1, image: 3}]}\n",
	  "models.prices.image: unknown key" },
	{ "cron: {jobs: {a: b}}\n", "cron.jobs: must be a list of maps" },
	{ "gateway: {followup: dance}\n", "gateway.followup: must be one of: wait, steer" },
};

static void faults_of_a_file_are_told_with_their_place(void **state)
{
	for (size_t i = 0; i < COUNT(file_faults); i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		SCOPED(loaded_free) struct loaded l;
		struct config_opt opt = { .path = put(&a, "c.yaml", file_faults[i].yaml),
					  .need = CONFIG_ALL };

		load_stdio(&l, &opt, VARS(FILLED));
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
	  "cron.jobs.schedule: a cron expression has 5 fields" },
	{ "name: j, schedule: '0 * * * * *', prompt: p, session: persistent, timeout: 2m",
	  "cron.jobs.schedule: a cron expression has 5 fields" },
	{ "name: j, schedule: '0 0 * * * * *', prompt: p, session: persistent, timeout: 2m",
	  "cron.jobs.schedule" },
	{ "name: j, schedule: '0 0 30 2 *', prompt: p, session: persistent, timeout: 2m",
	  "a date that never comes" },
	{ "name: j, schedule: '0 24 * * *', prompt: p, session: persistent, timeout: 2m",
	  "cron.jobs.schedule: hour: 24 is not in 0 to 23" },
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
	{ "name: 'a:run-1', schedule: '* * * * *', prompt: p, session: persistent, timeout: 2m",
	  "cron.jobs.name: must not hold \":run-\"" },
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
	assert_non_null(strstr(l.problems.text.p, "key.txt: the file is empty"));
	assert_null(strstr(l.problems.text.p, "is not set"));
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
	assert_non_null(strstr(l.c->warnings.v[1].p, "config.yml lies beside"));
	assert_string_equal(l.c->store.dsn.p, arena_fmt(&a, "%s/.mtclaw/mtclaw.db", home).p);
	assert_string_equal(l.c->agent.workspace.p,
			    arena_fmt(&a, "%s/mtclaw-workspace", home).p);
	assert_string_equal(l.c->agent.name.p, "MTClaw");
	/* Who comes from there has to be told what commands may do. */
	assert_non_null(strstr(l.c->warnings.v[0].p, "tools.exec.sandbox.profile is not set"));
	loaded_free(&l);
	(void)put(&a, ".mtclaw/config.yaml", "tools: {exec: {sandbox: {profile: compat}}}\n");
	load(&l, &opt, VARS(FILLED));
	assert_int_equal(l.c->warnings.n, 1);
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
				  .need = CONFIG_ALL };

	load_stdio(&l, &opt, VARS(FILLED, "GANTRY_LOG_LEVEL=debug"));
	assert_int_equal(l.rc, OK);
	assert_string_equal(l.c->log.level.p, "error");
	loaded_free(&l);
	opt.log_level = "loud";
	load_stdio(&l, &opt, VARS(FILLED));
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

/* What that program knows; a retired name and an optional one are left out of the example. */
static const char *const complete[] = {
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
	"cron.enabled",
	"cron.timezone",
	"cron.jobs",
	"storage.driver",
	"storage.dsn",
	"log.level",
	"log.format",
	"log.file",
};

static void the_example_has_every_key_of_the_kindred_program(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct problems p;
	const struct yaml *root;
	str text;

	problems_init(&p, &a, S("example"));
	assert_int_equal(file_read(&text, &a, "examples/mtclaw-config.yaml", 1 << 20, NULL),
			 OK);
	root = yaml_read(&a, text, &p);
	assert_int_equal(p.n, 0);
	for (size_t i = 0; i < COUNT(complete); i++) {
		const struct yaml *y = root;
		str rest = str_of(complete[i]);

		while (y && rest.n)
			y = yaml_get(y, str_cut(&rest, '.'));
		if (!y)
			fail_msg("%s", complete[i]);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_home, remove_home)
	const struct CMUnitTest tests[] = {
		T(keys_of_a_file_are_understood),
		T(faults_of_a_file_are_told_with_their_place),
		T(jobs_are_checked_and_their_delivery_when_they_can_fire),
		T(telegram_without_anyone_to_answer_is_refused_in_a_file),
		T(stray_variables_do_not_reach_into_a_file),
		T(a_secret_comes_from_the_variable_or_else_the_file),
		T(the_file_is_looked_for_in_this_order),
		T(flags_win_over_everything),
		T(a_complete_file_of_the_kindred_program_loads_unchanged),
		T(the_example_has_every_key_of_the_kindred_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
