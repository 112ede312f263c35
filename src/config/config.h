/*
 * config/config: the configuration as plain data.
 *
 * One immutable struct config, filled from the option table (config/options.c) out of the
 * environment (env mode) or a YAML file (file mode), in an arena of its own.  Modules take
 * the sub-struct they need, never the whole.  All text is NUL-terminated (.p serves as a C
 * string); unset text is "".  Times carry their unit in the name.
 *
 * Reload builds a new snapshot; running turns keep the one they hold.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/arena.h"
#include "base/err.h"
#include "config/cron_cfg.h"
#include "config/policy_cfg.h"
#include "config/telegram_cfg.h"
#include "config/memory_cfg.h"
#include "config/store_cfg.h"
#include "config/web_cfg.h"
#include "config/price.h"
#include "config/spending_cfg.h"

struct model_cfg {
	str base_url, api_key, name;
	bool no_key; /* keyless endpoint */
	int64_t max_tokens; /* 0: not sent */
	str reasoning_effort; /* "": not sent */
	bool has_temperature;
	double temperature;
	int64_t connect_ms, first_token_ms, idle_ms, total_ms;
	int64_t max_retries;
	int64_t response_max; /* bytes of one answer */
};

struct http_cfg {
	str ca_file, http_proxy, https_proxy, all_proxy, no_proxy;
};

struct limits_cfg {
	int64_t history_max_messages, history_max_tokens, history_max_turns; /* turns 0: none */
	int64_t tool_result_max_chars, tool_max_iterations, tool_schema_max_tokens;
	int64_t turn_max_calls, turn_max_tokens, turn_max_ms; /* 0: none */
	int64_t input_max_bytes; /* one message */
};

struct agent_cfg {
	str name; /* file mode: goes into the prompt */
	str persona_dir; /* env mode's *.md directory, "" none */
	struct str_list prompt_files; /* file mode's system_prompt_files */
	str workspace;
	bool stream_replies, self_notes, dynamic_tools;
	str tool_trace; /* compact, full, off */
};

struct mcp_cfg {
	str manifest; /* path, "" none */
	bool manifest_optional; /* nobody asked for it by name: a missing file means no servers */
	bool inherit_env; /* default for servers: env mode true */
	int64_t call_timeout_ms, call_max_ms, start_timeout_ms, turn_wait_ms, ping_interval_ms;
	int64_t question_timeout_ms; /* how long a question of a server waits for a person */
	int64_t line_max; /* bytes of one message from a server */
	bool resources; /* the model may list, read and subscribe to resources of servers */
};

struct fs_cfg {
	bool enabled;
	struct str_list roots;
	int64_t max_read_bytes, max_write_bytes;
};

struct gateway_cfg {
	str channel; /* telegram, stdio */
	int64_t max_turns, grace_ms;
	int64_t waiting_notice; /* ready rows of a session before a notice */
	str followup; /* wait, steer */
};

struct log_cfg {
	str level, format, file;
};

/* The effective value of one row of the option table, for showing. */
struct config_setting {
	str text; /* as it would stand in a file; <set:env:X> and the like for a secret */
	str from; /* "" default, "env X", "line N", "flag" */
	bool set; /* by the user */
};

struct config {
	struct arena arena; /* owns all of it */
	bool file_mode;
	str path; /* of the file, "" in env mode */
	str path_source; /* flag, env:NAME, default, "" */
	const struct config_setting *settings; /* as many as the table has rows */
	struct model_cfg model;
	struct models_cfg models;
	struct spending_cfg spending;
	struct http_cfg http;
	struct limits_cfg limits;
	struct agent_cfg agent;
	struct mcp_cfg mcp;
	struct fs_cfg fs;
	struct memory_cfg memory;
	struct web_cfg web;
	struct exec_cfg exec;
	struct policy_cfg policy;
	struct gateway_cfg gateway;
	struct store_cfg store;
	struct log_cfg log;
	struct telegram_cfg telegram;
	struct cron_cfg cron;
	struct watch_cfg watch;
	const str *secrets; /* values to keep out of logs and children */
	size_t secrets_n;
	struct str_list secret_files; /* of tool servers, beside those that options name */
	struct str_list warnings; /* unused options, deprecated names: for the log at start */
};

#endif
