/*
 * The option table.  Defaults that depend on others are derived in load_defaults.c, from rows
 * that stand above: gateway.channel before channels, storage before agent.workspace,
 * tools.builtin and the workspace before the tools.
 */
#include "config/options.h"

#include <stddef.h>
#include <string.h>

#define AT(field) .at = offsetof(struct config, field)
#define DEF(both) .def_env = (both), .def_file = (both)
#define DEF2(env_mode, file_mode) .def_env = (env_mode), .def_file = (file_mode)
#define RANGE(low, high) .min = (low), .max = (high)

#define KIB 1024
#define MIB (1024 * 1024)
#define SECOND 1000
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

/* clang-format off */
const struct option options[] = {
	{ "version", NULL, OPT_INT, DEF("1"), RANGE(1, 1),
	  .help = "Version of the file's format." },

	{ "log.level", "LOG_LEVEL", OPT_WORD, OPT_RELOAD, DEF("info"), AT(log.level),
	  .words = "debug info warn error warning=warn",
	  .help = "Least level that is logged." },
	{ "log.format", NULL, OPT_WORD, DEF2("json", "text"), AT(log.format),
	  .words = "text json", .help = "Form of a log line." },
	{ "log.file", NULL, OPT_PATH, AT(log.file),
	  .help = "File the log is appended to; unset: stderr." },

	{ "storage.driver", NULL, OPT_WORD, .need = CONFIG_STORE, DEF("sqlite"),
	  .words = "sqlite", .help = "Kind of database." },
	{ "storage.data_dir", "DATA_DIR", OPT_PATH, .need = CONFIG_STORE, AT(store.data_dir),
	  .help = "Directory of the database, its locks and attachments. Env mode: `/data`, "
		  "where that is writable; at a terminal else `$XDG_DATA_HOME/gantry`. "
		  "File mode: where `storage.dsn` is." },
	{ "storage.path", NULL, OPT_PATH, OPT_ALIAS, CONFIG_STORE,
	  .help = "Deprecated name of `storage.dsn`." },
	{ "storage.dsn", NULL, OPT_PATH, .need = CONFIG_STORE, AT(store.dsn),
	  .help = "The database file. Env mode: `gantry.db` in the data directory; file mode: "
		  "`$XDG_DATA_HOME/gantry/gantry.db`, or `~/.mtclaw/mtclaw.db` for a file of "
		  "MTClaw. `#`, `?` and `%` are plain characters." },
	{ "storage.retention.messages_days", NULL, OPT_INT, .need = CONFIG_STORE, DEF("0"),
	  RANGE(0, 36500), AT(store.messages_days),
	  .help = "Days finished turns are kept, with their messages; 0: for ever." },
	{ "storage.retention.ended_days", NULL, OPT_INT, .need = CONFIG_STORE, DEF("0"),
	  RANGE(0, 36500), AT(store.ended_days),
	  .help = "Days turns are kept of conversations that /new ended; 0: for ever." },
	{ "storage.retention.outbox_days", NULL, OPT_INT, .need = CONFIG_STORE, DEF("0"),
	  RANGE(0, 36500), AT(store.outbox_days),
	  .help = "Days delivered answers are kept; 0: as `storage.retention.messages_days`." },
	{ "storage.retention.audit_days", NULL, OPT_INT, .need = CONFIG_STORE, DEF("0"),
	  RANGE(0, 36500), AT(store.audit_days),
	  .help = "Days audit rows of tool calls and answered questions are kept; 0: for ever." },
	{ "storage.retention.runs_days", NULL, OPT_INT, .need = CONFIG_STORE, DEF("90"),
	  RANGE(0, 36500), AT(store.runs_days),
	  .help = "Days the record of runs of schedules is kept; 0: for ever." },
	{ "storage.retention.files_days", NULL, OPT_INT, .need = CONFIG_STORE, DEF("0"),
	  RANGE(0, 36500), AT(store.files_days),
	  .help = "Days received photos and files are kept; 0: as long as their turn." },
	{ "storage.retention.usage_days", NULL, OPT_INT, .need = CONFIG_STORE, DEF("0"),
	  RANGE(0, 36500), AT(store.usage_days),
	  .help = "Days the count of tokens is kept, which is by the minute; 0: for ever." },

	{ "gateway.channel", "CHANNEL", OPT_WORD, .need = CONFIG_CHANNEL, DEF("telegram"),
	  .words = "telegram stdio", AT(gateway.channel),
	  .help = "Where `gantry run` talks to its owner." },
	{ "gateway.max_turns", NULL, OPT_INT, .need = CONFIG_CHANNEL, DEF("4"), RANGE(1, 64),
	  AT(gateway.max_turns), .help = "Turns that run at the same time." },
	{ "gateway.grace", NULL, OPT_MS, .need = CONFIG_CHANNEL, DEF("8s"),
	  RANGE(0, 10 * MINUTE), AT(gateway.grace_ms),
	  .help = "Time turns get to finish when the daemon stops." },
	{ "gateway.followup", NULL, OPT_WORD, .need = CONFIG_CHANNEL, DEF("wait"),
	  .words = "wait steer", AT(gateway.followup),
	  .help = "What a message does that comes during a turn: wait for its end, or join it." },
	{ "gateway.waiting_notice", NULL, OPT_INT, .need = CONFIG_CHANNEL, DEF("8"),
	  RANGE(1, 10000), AT(gateway.waiting_notice),
	  .help = "More waiting messages than this in a session give one notice." },
	{ "gateway.max_message_bytes", NULL, OPT_INT, .need = CONFIG_CHANNEL, DEF("262144"),
	  RANGE(1 * KIB, 16 * MIB), AT(limits.input_max_bytes),
	  .help = "Longest message that is taken, in bytes." },
	{ "gateway.coalesce_ms", "COALESCE_SETTLE_MS", OPT_INT, OPT_LATER, CONFIG_CHANNEL,
	  DEF("0"),
	  RANGE(0, MINUTE), .help = "Wait this long for more messages before a turn begins." },
	{ "gateway.spinup_notice_ms", "SPINUP_NOTICE_MS", OPT_INT, OPT_LATER, CONFIG_CHANNEL,
	  DEF("0"),
	  RANGE(0, 10 * MINUTE), .help = "Notice after this long without an answer; 0: none." },

	{ "agent.name", NULL, OPT_STR, OPT_RELOAD, CONFIG_MODEL, DEF2(NULL, "gantry"),
	  AT(agent.name),
	  .help = "Name in the first line of the prompt; `MTClaw` for a file of MTClaw." },
	{ "agent.model", "LLM_MODEL", OPT_STR, OPT_REQUIRED, CONFIG_MODEL,
	  AT(model.name), .help = "Model to ask." },
	{ "agent.temperature", NULL, OPT_REAL, .need = CONFIG_MODEL, RANGE(0, 2),
	  AT(model.temperature), .help = "Sampling temperature; unset: not sent." },
	{ "agent.max_iterations", "TOOL_MAX_ITERATIONS", OPT_INT, OPT_RELOAD, CONFIG_MODEL,
	  DEF("20"), RANGE(1, 10000), .max_file = 100, AT(limits.tool_max_iterations),
	  .help = "Model calls of one turn." },
	{ "agent.max_turn_calls", NULL, OPT_INT, OPT_RELOAD, CONFIG_MODEL, DEF("200"),
	  RANGE(0, 100000),
	  AT(limits.turn_max_calls), .help = "Tool calls of one turn; 0: no limit." },
	{ "agent.max_turn_tokens", NULL, OPT_INT, OPT_RELOAD, CONFIG_MODEL, DEF("0"),
	  RANGE(0, INT64_MAX),
	  AT(limits.turn_max_tokens), .help = "Tokens one turn may use; 0: no limit." },
	{ "agent.max_turn_time", NULL, OPT_MS, OPT_RELOAD, CONFIG_MODEL, DEF("30m"),
	  RANGE(0, 24 * HOUR),
	  AT(limits.turn_max_ms), .help = "Time one turn may take; 0: no limit." },
	{ "agent.max_history_turns", NULL, OPT_INT, OPT_RELOAD, CONFIG_MODEL, DEF2("0", "40"),
	  RANGE(0, 100000), .min_file = 2, AT(limits.history_max_turns),
	  .help = "Earlier turns in the prompt; 0: no limit." },
	{ "agent.max_history_messages", "HISTORY_MAX_MESSAGES", OPT_INT, OPT_RELOAD,
	  CONFIG_MODEL, DEF2("200", "1000"), RANGE(1, 1000000), AT(limits.history_max_messages),
	  .help = "Earlier messages in the prompt." },
	{ "agent.max_history_tokens", "HISTORY_MAX_TOKENS", OPT_INT, OPT_RELOAD, CONFIG_MODEL,
	  DEF("128000"), RANGE(1, 100000000), AT(limits.history_max_tokens),
	  .help = "Estimated tokens of a whole request to the model." },
	{ "agent.workspace", NULL, OPT_PATH, .need = CONFIG_MODEL, AT(agent.workspace),
	  .help = "Where the agent keeps its files. Env mode: `workspace` in the data "
		  "directory; file mode: `~/gantry-workspace`, or `~/mtclaw-workspace` for a "
		  "file of MTClaw." },
	{ "agent.system_prompt_files", NULL, OPT_PATHS, OPT_RELOAD, CONFIG_MODEL, DEF(""),
	  AT(agent.prompt_files), .help = "Files that make up the persona, in this order." },
	{ "agent.persona_dir", "PERSONA_DIR", OPT_PATH, OPT_RELOAD, CONFIG_MODEL,
	  AT(agent.persona_dir),
	  .help = "Directory whose `*.md` files are the persona. Env mode: `/persona`; at a "
		  "terminal without that, `$XDG_CONFIG_HOME/gantry/persona`." },
	{ "agent.stream_replies", "STREAM_REPLIES", OPT_BOOL, .need = CONFIG_MODEL,
	  DEF("false"), AT(agent.stream_replies),
	  .help = "Show an answer of `gantry run` as it is written." },
	{ "agent.tool_trace", "TOOL_TRACE", OPT_WORD, OPT_RELOAD, CONFIG_MODEL, DEF("compact"),
	  .words = "compact full off", AT(agent.tool_trace),
	  .help = "Lines about tool calls while a turn runs." },
	{ "agent.self_notes", "SELF_NOTES_ENABLED", OPT_BOOL, .need = CONFIG_MODEL,
	  DEF("false"), AT(agent.self_notes),
	  .help = "The agent may keep notes on how to be with you in `SELF.md` of the persona "
		  "directory, where that can be written." },
	{ "agent.show_thinking", "SHOW_THINKING", OPT_BOOL, OPT_LATER, CONFIG_MODEL,
	  DEF("false"), .help = "Show the model's reasoning." },

	{ "openai.no_key", "LLM_NO_KEY", OPT_BOOL, .need = CONFIG_MODEL, DEF("false"),
	  AT(model.no_key), .help = "The endpoint wants no key (a local server)." },
	{ "openai.api_key_env", NULL, OPT_STR, OPT_RELOAD, CONFIG_MODEL,
	  DEF2("LLM_API_KEY", "OPENAI_API_KEY"), .help = "Variable that holds the key." },
	{ "openai.api_key_file", "LLM_API_KEY_FILE", OPT_PATH, OPT_RELOAD, CONFIG_MODEL,
	  .help = "File that holds the key, when the variable is not set." },
	{ "openai.api_key", NULL, OPT_SECRET, OPT_REQUIRED | OPT_RELOAD,
	  CONFIG_MODEL, AT(model.api_key), .help = "The key itself; only from a variable or a file." },
	{ "openai.base_url", "LLM_BASE_URL", OPT_URL, OPT_REQUIRED, CONFIG_MODEL,
	  DEF2(NULL, "https://api.openai.com/v1"), AT(model.base_url),
	  .help = "OpenAI-compatible endpoint, up to and without `/chat/completions`." },
	{ "openai.timeout", NULL, OPT_MS, .need = CONFIG_MODEL, DEF("120s"),
	  RANGE(1, 24 * HOUR), AT(model.first_token_ms),
	  .help = "Longest wait for the first token of an answer. An answer that keeps coming "
		  "is bounded by `openai.idle_timeout` and `openai.total_timeout`." },
	{ "openai.connect_timeout", NULL, OPT_MS, .need = CONFIG_MODEL, DEF("10s"),
	  RANGE(1, 10 * MINUTE), AT(model.connect_ms),
	  .help = "Longest wait for a connection." },
	{ "openai.idle_timeout", NULL, OPT_MS, .need = CONFIG_MODEL, DEF("60s"),
	  RANGE(1, 24 * HOUR), AT(model.idle_ms),
	  .help = "Longest pause inside an answer that is being streamed." },
	{ "openai.total_timeout", NULL, OPT_MS, .need = CONFIG_MODEL, DEF("600s"),
	  RANGE(1, 24 * HOUR), AT(model.total_ms),
	  .help = "Longest time for a whole answer; never less than `openai.timeout`." },
	{ "openai.max_retries", NULL, OPT_INT, .need = CONFIG_MODEL, DEF2("2", "3"),
	  RANGE(0, 20), AT(model.max_retries),
	  .help = "Repetitions of a request that failed and may be repeated." },
	{ "openai.max_tokens", "LLM_MAX_TOKENS", OPT_INT, .need = CONFIG_MODEL, DEF("0"),
	  RANGE(0, INT64_MAX), AT(model.max_tokens),
	  .help = "Limit on the tokens of an answer; 0: not sent." },
	{ "openai.reasoning_effort", "LLM_REASONING_EFFORT", OPT_WORD, .need = CONFIG_MODEL,
	  .words = "none minimal low medium high xhigh max", AT(model.reasoning_effort),
	  .help = "Passed on as it is; unset: not sent." },
	{ "openai.max_response_bytes", NULL, OPT_INT, .need = CONFIG_MODEL, DEF("16777216"),
	  RANGE(64 * KIB, 256 * MIB), AT(model.response_max),
	  .help = "Largest answer that is read, in bytes." },

	{ "models.currency", NULL, OPT_STR, OPT_RELOAD, CONFIG_MODEL, DEF("USD"),
	  AT(models.currency),
	  .help = "The currency that prices and limits in money are in; only shown." },
	{ "models.prices", NULL, OPT_PRICES, OPT_RELOAD, CONFIG_MODEL, DEF("[]"),
	  AT(models.prices),
	  .help = "List of `{model: GLOB, input: N, cached_input: N, cache_write: N, output: N}`: "
		  "what a million tokens cost; the first that matches the model's name counts. "
		  "`cached_input`: those that the provider had kept, `cache_write`: those that it "
		  "keeps from now on; each costs what others do without. No price is built in: a "
		  "model without one has no costs to show and cannot be held to a limit in "
		  "money." },

	{ "spending.turn_tokens", NULL, OPT_INT, OPT_RELOAD, CONFIG_MODEL, DEF("0"),
	  RANGE(0, INT64_MAX), AT(spending.turn.tokens),
	  .help = "Tokens one turn, the classifier's questions included may use; 0: no limit." },
	{ "spending.turn_money", NULL, OPT_MONEY, OPT_RELOAD, CONFIG_MODEL, DEF("0"),
	  AT(spending.turn.nano),
	  .help = "The same in money; needs a price of the model in `models.prices`." },
	{ "spending.job_tokens", NULL, OPT_INT, OPT_RELOAD, CONFIG_MODEL, DEF("0"),
	  RANGE(0, INT64_MAX), AT(spending.job.tokens),
	  .help = "Tokens one scheduled job in a day, all its runs together may use; 0: no limit." },
	{ "spending.job_money", NULL, OPT_MONEY, OPT_RELOAD, CONFIG_MODEL, DEF("0"),
	  AT(spending.job.nano),
	  .help = "The same in money; needs a price of the model in `models.prices`." },
	{ "spending.day_tokens", NULL, OPT_INT, OPT_RELOAD, CONFIG_MODEL, DEF("0"),
	  RANGE(0, INT64_MAX), AT(spending.day.tokens),
	  .help = "Tokens a day may use; 0: no limit." },
	{ "spending.day_money", NULL, OPT_MONEY, OPT_RELOAD, CONFIG_MODEL, DEF("0"),
	  AT(spending.day.nano),
	  .help = "The same in money; needs a price of the model in `models.prices`." },
	{ "spending.month_tokens", NULL, OPT_INT, OPT_RELOAD, CONFIG_MODEL, DEF("0"),
	  RANGE(0, INT64_MAX), AT(spending.month.tokens),
	  .help = "Tokens a month may use; 0: no limit." },
	{ "spending.month_money", NULL, OPT_MONEY, OPT_RELOAD, CONFIG_MODEL, DEF("0"),
	  AT(spending.month.nano),
	  .help = "The same in money; needs a price of the model in `models.prices`." },
	{ "spending.answer_tokens", NULL, OPT_INT, OPT_RELOAD, CONFIG_MODEL, DEF("4096"),
	  RANGE(1, 100000000), AT(spending.answer_tokens),
	  .help = "Tokens that are held for an answer before it is asked for, when "
		  "`openai.max_tokens` sets no limit to it." },

	{ "http.ca_file", "SSL_CERT_FILE", OPT_PATH, OPT_PROCESS, AT(http.ca_file),
	  .help = "Certificates to trust instead of the system's." },
	{ "http.http_proxy", "http_proxy HTTP_PROXY", OPT_STR, OPT_PROCESS,
	  AT(http.http_proxy), .help = "Proxy for http:// requests." },
	{ "http.https_proxy", "https_proxy HTTPS_PROXY", OPT_STR, OPT_PROCESS,
	  AT(http.https_proxy), .help = "Proxy for https:// requests." },
	{ "http.all_proxy", "all_proxy ALL_PROXY", OPT_STR, OPT_PROCESS, AT(http.all_proxy),
	  .help = "Proxy for what has none of its own." },
	{ "http.no_proxy", "no_proxy NO_PROXY", OPT_STR, OPT_PROCESS, AT(http.no_proxy),
	  .help = "Hosts that are reached without a proxy." },

	{ "channels.telegram.enabled", NULL, OPT_BOOL, .need = CONFIG_CHANNEL,
	  DEF2(NULL, "true"), AT(telegram.enabled),
	  .help = "Use Telegram. Env mode: when `CHANNEL` is telegram." },
	{ "channels.telegram.token_env", NULL, OPT_STR, .need = CONFIG_CHANNEL,
	  DEF("TELEGRAM_BOT_TOKEN"), .help = "Variable that holds the bot's token." },
	{ "channels.telegram.token_file", "TELEGRAM_BOT_TOKEN_FILE", OPT_PATH,
	  .need = CONFIG_CHANNEL,
	  .help = "File that holds the token, when the variable is not set." },
	{ "channels.telegram.token", NULL, OPT_SECRET, .need = CONFIG_CHANNEL,
	  AT(telegram.token), .help = "The token itself; only from a variable or a file." },
	{ "channels.telegram.allow_from", "TELEGRAM_ALLOWED_USERS", OPT_IDS,
	  .need = CONFIG_CHANNEL, DEF(""), AT(telegram.allow_from),
	  .help = "Numeric ids of the users who are answered; nobody else is." },
	{ "channels.telegram.groups", NULL, OPT_GROUPS, .need = CONFIG_CHANNEL,
	  DEF2("{\"*\": {require_mention: false}}", "{\"*\": {require_mention: true}}"),
	  .help = "Group chats by id, or `*` for all: `require_mention`, and an `allow_from` "
		  "of their own. A map given here replaces the default whole." },
	{ "channels.telegram.api_base_url", "TELEGRAM_API_BASE_URL", OPT_URL,
	  .need = CONFIG_CHANNEL, AT(telegram.api_base_url),
	  .help = "A Bot API server of your own instead of Telegram's." },
	{ "channels.telegram.error_reporting", "TELEGRAM_ERROR_REPORTING", OPT_WORD,
	  .need = CONFIG_CHANNEL, DEF("off"), .words = "off error warn",
	  AT(telegram.error_reporting),
	  .help = "Log lines of this level and above are told to the first user of "
		  "`allow_from`, at most one message a minute; only on Telegram." },

	{ "tools.builtin", "TOOLS", OPT_WORDS, .need = CONFIG_TOOLS, DEF(""),
	  .words = "fs web exec memory cron",
	  .help = "Built-in tools that are on in addition to the default ones." },
	{ "tools.result_max_chars", "TOOL_RESULT_MAX_CHARS", OPT_INT, .need = CONFIG_TOOLS,
	  DEF("16000"), RANGE(1, 10000000), AT(limits.tool_result_max_chars),
	  .help = "Longest result of an MCP tool the model is shown; head and tail are kept." },
	{ "tools.schema_max_tokens", "TOOL_SCHEMA_MAX_TOKENS", OPT_INT, .need = CONFIG_TOOLS,
	  DEF("0"), RANGE(0, INT64_MAX), AT(limits.tool_schema_max_tokens),
	  .help = "Refuse to start when the tools' schemas are estimated above this; 0: only "
		  "log the estimate." },
	{ "tools.dynamic", NULL, OPT_BOOL, .need = CONFIG_TOOLS, DEF("false"),
	  AT(agent.dynamic_tools),
	  .help = "Show the tools of servers to the model only once it asked for their prefix "
		  "with `tools_enable`." },
	{ "tools.filesystem.enabled", NULL, OPT_BOOL, .need = CONFIG_TOOLS, DEF2(NULL, "true"),
	  AT(fs.enabled), .help = "read_file, write_file, edit_file and list_dir. Env mode: `fs` in "
				  "`TOOLS`." },
	{ "tools.filesystem.roots", NULL, OPT_PATHS, .need = CONFIG_TOOLS, AT(fs.roots),
	  .help = "Directories the file tools may use; the workspace, when not set." },
	{ "tools.filesystem.max_read_bytes", NULL, OPT_INT, .need = CONFIG_TOOLS,
	  DEF("262144"), RANGE(1, 64 * MIB), AT(fs.max_read_bytes),
	  .help = "Most bytes of one read_file." },
	{ "tools.filesystem.max_write_bytes", NULL, OPT_INT, .need = CONFIG_TOOLS,
	  DEF("1048576"), RANGE(1, 256 * MIB), AT(fs.max_write_bytes),
	  .help = "Most bytes of one write_file." },
	{ "tools.web_fetch.enabled", NULL, OPT_BOOL, .need = CONFIG_TOOLS, DEF2(NULL, "true"),
	  AT(web.enabled), .help = "web_fetch. Env mode: `web` in `TOOLS`." },
	{ "tools.web_fetch.timeout", NULL, OPT_MS, .need = CONFIG_TOOLS, DEF("30s"),
	  RANGE(1, HOUR), AT(web.timeout_ms), .help = "Longest time for one fetch, redirects included." },
	{ "tools.web_fetch.max_bytes", NULL, OPT_INT, .need = CONFIG_TOOLS, DEF("1048576"),
	  RANGE(1, 64 * MIB), AT(web.max_bytes),
	  .help = "Most bytes of one fetch, counted after decompression." },
	{ "tools.web_fetch.allow_hosts", NULL, OPT_STRS, .need = CONFIG_TOOLS, DEF(""),
	  AT(web.allow_hosts),
	  .help = "Hosts of your own that may be fetched from although their addresses are not "
		  "public: `nas.lan`, `192.168.1.5:8080`, `*.home.arpa`. With a port only that "
		  "port. Everything else must be on the public Internet; a proxy is never used." },
	{ "tools.exec.enabled", NULL, OPT_BOOL, .need = CONFIG_TOOLS, DEF2(NULL, "true"),
	  AT(exec.enabled), .help = "exec. Env mode: `exec` in `TOOLS`." },
	{ "tools.exec.mode", NULL, OPT_WORD, .need = CONFIG_TOOLS, DEF("approval"),
	  .words = "approval auto off", AT(policy.mode),
	  .help = "Who decides about a command that no rule "
		  "decides: a person, a classifier; `off` switches the tool off." },
	{ "tools.exec.shell", NULL, OPT_STRS, .need = CONFIG_TOOLS, DEF(""), AT(exec.shell),
	  .help = "Shell and its flags, to which the command is added; empty: `/bin/bash -lc`, "
		  "or `/bin/sh -c` without bash. In the strict sandbox `/bin/bash --noprofile "
		  "-lc`, since the home directory cannot be read." },
	{ "tools.exec.cwd", NULL, OPT_PATH, .need = CONFIG_TOOLS, AT(exec.cwd),
	  .help = "Directory commands start in; the workspace, when not set." },
	{ "tools.exec.timeout", NULL, OPT_MS, .need = CONFIG_TOOLS, DEF("120s"),
	  RANGE(1, 24 * HOUR), AT(exec.timeout_ms), .help = "Longest time for one command." },
	{ "tools.exec.max_output_bytes", NULL, OPT_INT, .need = CONFIG_TOOLS, DEF("65536"),
	  RANGE(1, 64 * MIB), AT(exec.max_output_bytes),
	  .help = "Most bytes of a command's output that are kept, from its start and its end." },
	{ "tools.exec.approval_timeout", NULL, OPT_MS, .need = CONFIG_TOOLS, DEF("5m"),
	  RANGE(1, 7 * 24 * HOUR), AT(policy.approval_timeout_ms),
	  .help = "How long the question whether a call may run waits for its answer." },
	{ "tools.exec.deny", NULL, OPT_REGEXES, .need = CONFIG_TOOLS, DEF(""),
	  AT(policy.deny), .help = "Regular expressions of commands that are always refused: the "
		  "line, and each command in it." },
	{ "tools.exec.deny_builtin", NULL, OPT_BOOL, .need = CONFIG_TOOLS,
	  AT(policy.deny_builtin), .help = "Use the built-in deny rules (`gantry policy list`); "
		  "unset: unless `tools.exec.deny` has any." },
	{ "tools.exec.allow", NULL, OPT_REGEXES, .need = CONFIG_TOOLS, DEF(""),
	  AT(policy.allow), .help = "Regular expressions of commands that need no question. Every "
		  "command of a line must be allowed; `gantry policy test` says why one is not." },
	{ "tools.exec.auto.model", NULL, OPT_STR, .need = CONFIG_TOOLS, AT(policy.auto_model),
	  .help = "Model of the classifier; unset: `agent.model`." },
	{ "tools.exec.auto.confirm_on", NULL, OPT_STRS, .need = CONFIG_TOOLS,
	  DEF("destructive,privileged,network,secret_access"), AT(policy.confirm_on),
	  .help = "Kinds of risk the classifier leaves to a person." },
	{ "tools.exec.sandbox.profile", NULL, OPT_WORD, .need = CONFIG_TOOLS,
	  DEF2("strict", "compat"), .words = "strict compat off", AT(exec.sandbox.profile),
	  .help = "How commands are confined. `strict`: they read the system and the workspace "
		  "and write the workspace; `compat`: only gantry's own data, configuration and "
		  "secrets are hidden; `off`: not at all." },
	{ "tools.exec.sandbox.require", NULL, OPT_BOOL, .need = CONFIG_TOOLS, DEF("false"),
	  AT(exec.sandbox.require),
	  .help = "Run no command where the kernel cannot enforce all of the profile; else what "
		  "is missing is left out." },
	{ "tools.exec.sandbox.network", NULL, OPT_WORD, .need = CONFIG_TOOLS, DEF("allow"),
	  .words = "allow deny", AT(exec.sandbox.network),
	  .help = "Whether commands may use the network." },
	{ "tools.exec.sandbox.read", NULL, OPT_PATHS, .need = CONFIG_TOOLS, DEF(""),
	  AT(exec.sandbox.read), .help = "Further paths commands may read and execute." },
	{ "tools.exec.sandbox.write", NULL, OPT_PATHS, .need = CONFIG_TOOLS, DEF(""),
	  AT(exec.sandbox.write), .help = "Further paths commands may read, execute and write." },
	{ "tools.exec.sandbox.grants", NULL, OPT_WORDS, .need = CONFIG_TOOLS, DEF(""),
	  .words = "profile bin cache git git-credentials ssh gpg gh npm python cargo go docker "
		   "shm sockets",
	  AT(exec.sandbox.grants),
	  .help = "Parts of the home directory, and the sockets, that the strict profile gives by "
		  "name; see docs/security.md." },
	{ "tools.exec.sandbox.max_procs", NULL, OPT_INT, .need = CONFIG_TOOLS, DEF("512"),
	  RANGE(0, 1000000), AT(exec.sandbox.max_procs),
	  .help = "In the strict profile: processes and threads beyond those that run already; "
		  "0: no limit." },
	{ "tools.exec.sandbox.max_file_bytes", NULL, OPT_INT, .need = CONFIG_TOOLS,
	  DEF("4294967296"), RANGE(0, INT64_MAX), AT(exec.sandbox.max_file_bytes),
	  .help = "In the strict profile: largest file a command may write; 0: no limit." },
	{ "tools.exec.sandbox.max_memory_bytes", NULL, OPT_INT, .need = CONFIG_TOOLS,
	  DEF("4294967296"), RANGE(0, INT64_MAX), AT(exec.sandbox.max_memory_bytes),
	  .help = "In the strict profile: memory of one process; 0: no limit." },

	{ "mcp.manifest", "MCP_MANIFEST", OPT_PATH, .need = CONFIG_TOOLS, AT(mcp.manifest),
	  .help = "The list of tool servers. Env mode: `/etc/gantry/mcp.toml`; at a terminal "
		  "without that, `$XDG_CONFIG_HOME/gantry/mcp.toml`. File mode: `mcp.toml` "
		  "beside the file." },
	{ "mcp.inherit_env", NULL, OPT_BOOL, .need = CONFIG_TOOLS, DEF2("true", "false"),
	  AT(mcp.inherit_env),
	  .help = "Servers get the whole environment but our own variables and secrets; else "
		  "PATH, HOME, LANG, TZ and TMPDIR. A server's entry may say otherwise." },
	{ "mcp.call_timeout", NULL, OPT_MS, .need = CONFIG_TOOLS, DEF("600s"),
	  RANGE(1, 24 * HOUR), AT(mcp.call_timeout_ms),
	  .help = "Longest time for one tool call without an answer or a sign of progress." },
	{ "mcp.call_max", NULL, OPT_MS, .need = CONFIG_TOOLS, DEF("1h"), RANGE(1, 24 * HOUR),
	  AT(mcp.call_max_ms),
	  .help = "Longest time for one tool call in all, whatever progress it reports; less than "
		  "`mcp.call_timeout`, or a server's own `timeout`, counts as that." },
	{ "mcp.question_timeout", NULL, OPT_MS, OPT_RELOAD, CONFIG_TOOLS, DEF("10m"),
	  RANGE(1, 7 * 24 * HOUR), AT(mcp.question_timeout_ms),
	  .help = "How long a question that a server asks of you waits for its answer; also "
		  "whether it may ask the model." },
	{ "mcp.start_timeout", NULL, OPT_MS, .need = CONFIG_TOOLS, DEF("30s"),
	  RANGE(1, HOUR), AT(mcp.start_timeout_ms),
	  .help = "Longest time for a server's handshake." },
	{ "mcp.turn_wait", NULL, OPT_MS, .need = CONFIG_TOOLS, DEF("2s"),
	  RANGE(0, HOUR), AT(mcp.turn_wait_ms),
	  .help = "How long a message in a chat waits for servers still in their first "
		  "handshake; `gantry prompt` waits for all of it." },
	{ "mcp.ping_interval", NULL, OPT_MS, .need = CONFIG_TOOLS, DEF("30s"),
	  RANGE(0, 24 * HOUR), AT(mcp.ping_interval_ms),
	  .help = "An idle server is asked this often whether it lives; 0: never." },
	{ "mcp.resources", NULL, OPT_BOOL, .need = CONFIG_TOOLS, DEF("false"), AT(mcp.resources),
	  .help = "Two tools more for the model: `mcp_resources` lists what servers offer to "
		  "read and subscribes to it, `mcp_read_resource` reads it, also what a result "
		  "links to." },
	{ "mcp.max_line_bytes", NULL, OPT_INT, .need = CONFIG_TOOLS, DEF("16777216"),
	  RANGE(64 * KIB, 256 * MIB), AT(mcp.line_max),
	  .help = "Largest message of a server, in bytes." },

	{ "policy.rules", NULL, OPT_RULES, .need = CONFIG_TOOLS, DEF("[]"), AT(policy),
	  .help = "List of `{tool: GLOB, args: {NAME: REGEX}, action: allow|ask|deny}`; the "
		  "first that matches the tool's name and, where given, its arguments decides, "
		  "none: allow. For exec, allow leaves the decision to `tools.exec`." },
	{ "policy.grant_days", NULL, OPT_INT, .need = CONFIG_TOOLS, DEF("90"), RANGE(0, 36500),
	  AT(policy.grant_days),
	  .help = "Days for which \"always\", as an answer to a question, holds for exactly that "
		  "call (`gantry approvals rules list`); 0: for ever." },
	{ "policy.destructive", NULL, OPT_WORD, .need = CONFIG_TOOLS, DEF("allow"),
	  .words = "allow ask deny", AT(policy.destructive),
	  .help = "What becomes of tools of MCP servers that no rule speaks of and that do not "
		  "say of themselves that they destroy nothing (`destructiveHint`); of servers "
		  "that are not `trusted`, all." },

	{ "memory.enabled", "MEMORY_ENABLED", OPT_BOOL, .need = CONFIG_TOOLS,
	  DEF2("true", "false"), AT(memory.enabled),
	  .help = "Remember across sessions. File mode: also `memory` in `tools.builtin`." },
	{ "memory.backend", "MEMORY_BACKEND", OPT_BACKEND, .need = CONFIG_TOOLS,
	  DEF("builtin"), AT(memory.backend),
	  .help = "`builtin`, or `mcp:` and the name of a server, whose memory_store, "
		  "memory_recall and memory_forget are used instead." },
	{ "memory.consolidate_minutes", "MEMORY_CONSOLIDATE_MINUTES", OPT_INT,
	  .need = CONFIG_TOOLS, DEF("30"), RANGE(0, 1000000), AT(memory.consolidate_minutes),
	  .help = "How often memory is tidied up; 0: never." },

	{ "cron.enabled", "CRON_ENABLED", OPT_BOOL, .need = CONFIG_TOOLS,
	  DEF2("true", "false"), AT(cron.enabled), .help = "Run scheduled jobs." },
	{ "cron.timezone", "CRON_TZ", OPT_ZONE, .need = CONFIG_TOOLS, DEF2("UTC", "Local"),
	  AT(cron.zone), .help = "Time zone of schedules: an IANA name, or Local." },
	{ "cron.max_jobs", "CRON_MAX_JOBS", OPT_INT, .need = CONFIG_TOOLS, DEF("50"),
	  RANGE(1, 100000), AT(cron.max_jobs), .help = "Jobs that may be enabled." },
	{ "cron.tick_seconds", "CRON_TICK_SECONDS", OPT_INT, .need = CONFIG_TOOLS, DEF("15"),
	  RANGE(1, 86400), AT(cron.tick_s), .help = "How late a job may start." },
	{ "cron.jobs", NULL, OPT_JOBS, .need = CONFIG_TOOLS, DEF("[]"),
	  AT(cron.jobs), .help = "Jobs: `name`, `schedule` (5 fields or @macro), `prompt`, `session` "
		  "(persistent or ephemeral), `timeout`, `enabled`, `catch_up`, and `deliver_to` "
		  "with `channel` and `chat_id`." },

	{ "watch.enabled", "WATCH_ENABLED", OPT_BOOL, .need = CONFIG_TOOLS, DEF("false"),
	  AT(watch.enabled), .help = "Watches that wake the agent when a tool has something new." },
	{ "watch.max", "WATCH_MAX", OPT_INT, .need = CONFIG_TOOLS, DEF("50"),
	  RANGE(1, 100000), AT(watch.max), .help = "Watches that may exist." },
};
/* clang-format on */

const size_t options_n = COUNT(options);

const char *const options_foreign[] = { "DISCORD_BOT_TOKEN",
					"DISCORD_ALLOWED_USERS",
					"SLACK_BOT_TOKEN",
					"SLACK_APP_TOKEN",
					"SLACK_ALLOWED_USERS",
					"HISTORY_STRIP_FILLERS",
					"MCP_ENABLE_FORCE",
					"TOOLS_ENABLED",
					"SPARK_QTY",
					"SPARK_START_HOUR",
					"SPARK_END_HOUR",
					"SPARK_PROMPT",
					"SPARK_SKIP_RECENT_MINUTES",
					"EXAMPLES_QTY",
					"EXAMPLES_START_HOUR",
					"EXAMPLES_END_HOUR",
					"EXAMPLES_SKIP_RECENT_MINUTES",
					NULL };

size_t option_find(str key)
{
	for (size_t i = 0; i < options_n; i++)
		if (str_eq(str_of(options[i].key), key))
			return i;
	return SIZE_MAX;
}

str option_env_name(struct arena *a, const struct option *o)
{
	str prefix = S("GANTRY_"), key = str_of(o->key);
	char *name = arena_alloc(a, 1, prefix.n + key.n + 1), *p = name + prefix.n;

	memcpy(name, prefix.p, prefix.n);
	for (size_t i = 0; i < key.n; i++) {
		char c = key.p[i];

		p[i] = c == '.' ? '_' : c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
	}
	return (str){ name, prefix.n + key.n };
}
