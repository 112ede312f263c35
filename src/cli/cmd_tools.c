/*
 * gantry tools: try the tool servers without a model.
 */
#include "cli/cli.h"

#include "gateway/engine.h"
#include "os/clock.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

/* A server that is late is no error here: report_down() tells of it. */
static int wait_servers(struct engine *g, struct err *e)
{
	int64_t until = clock_mono_ms() + g->cfg->mcp.start_timeout_ms;
	int rc = mcp_host_ready(g->host, until, &g->root, e);

	return rc == E_TIMEOUT ? OK : rc;
}

static int report_down(struct cli *cli, struct engine *g)
{
	struct mcp_server_status *v;
	size_t n, down = 0;

	mcp_host_status(g->host, cli->a, &v, &n);
	for (size_t i = 0; i < n; i++) {
		if (v[i].state == MCP_READY)
			continue;
		down++;
		(void)fprintf(
			stderr, "gantry tools: server %.*s is not ready: %.*s\n",
			STRF(v[i].name),
			STRF(text_visible(cli->a, v[i].note.n ? v[i].note : S("still starting"),
					  true)));
	}
	return down ? EXIT_FAILED : EXIT_OK;
}

/* Its title, where a server gives it one, and its description, on one line. */
static str about(struct cli *cli, const struct tool_spec *t)
{
	str title = t->server.n ? t->title : S("");

	return text_line(
		cli->a,
		text_visible(cli->a,
			     arena_fmt(cli->a, "%.*s%s%.*s", STRF(text_line(cli->a, title, 60)),
				       title.n ? ": " : "", STRF(t->description)),
			     true),
		title.n ? 160 : 100);
}

static int list(struct cli *cli, struct engine *g, bool json)
{
	struct buf b = buf_in(cli->a, 64u << 20);
	struct toolset set;

	tools_snapshot(g->tools, cli->a, &set);
	buf_add(&b, json ? S("[") : S(""));
	for (size_t i = 0; i < set.n; i++) {
		const struct tool_spec *t = &set.v[i];
		if (!json) {
			buf_fmt(&b, "%.*s\t%.*s\n", STRF(t->name), STRF(about(cli, t)));
			continue;
		}
		buf_add(&b, i ? S(",\n{") : S("\n{"));
		buf_json_member(&b, "name", t->name);
		buf_json_member(&b, "server", t->server);
		buf_json_member(&b, "tool", t->tool);
		buf_json_member(&b, "title", t->title);
		buf_json_member(&b, "icon", t->icon);
		buf_json_member(&b, "description", t->description);
		buf_json_key(&b, "inputSchema");
		buf_add(&b, t->schema);
		buf_addc(&b, '}');
	}
	buf_add(&b, json ? S("\n]\n") : S(""));
	if (json)
		(void)fwrite(b.p, 1, b.n, stdout);
	else
		cli_print(cli, buf_str(&b));
	return report_down(cli, g);
}

/* Before it runs, and how it ended: one audit row. */
static int call(struct cli *cli, struct engine *g, const char *name, const char *args)
{
	struct call c = { .requested = str_of(name),
			  .args = str_of(args ? args : "{}"),
			  .requester = S("cli") };
	struct tool_ctx ctx = { .channel = S("cli"), .requester = S("cli") };
	struct toolset set;
	struct err e = { 0 };

	id_new(c.id);
	tools_snapshot(g->tools, cli->a, &set);
	const struct tool_spec *spec = tools_admit(g->tools, &set, &c, cli->a);
	/* The person at the keyboard asked for this call: a rule that asks is answered. */
	if (spec && c.state == CALL_PLANNED) {
		c.state = CALL_RUNNING;
		c.decision = S("approved");
		c.decider = S("cli");
	}
	if (store_call_record(g->store, &c, false, &g->root, &e) < 0)
		return cli_fail("%s was not run, as it cannot be recorded: %s", name, e.msg);
	if (c.state == CALL_RUNNING) {
		int rc = tools_run(g->tools, spec, &c, &ctx, cli->a, &g->root, &e);
		struct err why = { 0 };
		if (store_call_record(g->store, &c, true, &g->root, &why) < 0)
			(void)cli_fail("%s was run, but how it ended is not recorded: %s", name,
				       why.msg);
		if (rc < 0 && c.result.n == 0)
			return cli_fail("%s: %s", name, e.msg);
	}
	cli_print(cli, c.result);
	cli_print(cli, S("\n"));
	return c.state == CALL_DONE ? EXIT_OK : EXIT_FAILED;
}

static int with_engine(struct cli *cli, struct config *cfg, bool json)
{
	struct engine g;
	struct engine_opt opt = { .mode = STORE_CLI };
	struct err e = { 0 };
	int code;

	if (engine_open(&g, cfg, &cli->env, &opt, &e) < 0)
		return cli_fail("%s", e.msg);
	if (wait_servers(&g, &e) < 0)
		code = cli_fail("%s", e.msg);
	else if (strcmp(cli->argv[0], "list") == 0)
		code = list(cli, &g, json);
	else
		code = call(cli, &g, cli->argv[1], cli->argc > 2 ? cli->argv[2] : NULL);
	engine_close(&g);
	return code;
}

static int run(struct cli *cli)
{
	bool json = cli_flag(cli, "--json");
	struct config *cfg = NULL;
	int code = cli_rest(cli, 1, 3);

	if (code != EXIT_OK)
		return code;
	bool is_list = strcmp(cli->argv[0], "list") == 0 && cli->argc == 1;
	if (!is_list && !(strcmp(cli->argv[0], "call") == 0 && cli->argc >= 2))
		return cli_misuse(cli, "say list, or call SERVER__TOOL [JSON]");
	if ((code = cli_config(cli, CONFIG_STORE | CONFIG_TOOLS, true, &cfg)) != EXIT_OK)
		return code;
	code = with_engine(cli, cfg, json);
	config_free(cfg);
	return code;
}

const struct cmd cmd_tools = {
	.name = "tools",
	.summary = "list the tools, or call one; no model is needed",
	.usage = "usage: gantry tools list [--json]\n"
		 "       gantry tools call SERVER__TOOL [JSON]\n"
		 "\n"
		 "Starts the servers of the manifest and talks to them.  Exit code 1 when a "
		 "server\n"
		 "is not ready, or the call failed.\n"
		 "\n"
		 "example:\n"
		 "  gantry tools call files__list_directory '{\"path\": \"/srv/docs\"}'\n",
	.run = run,
};
