/*
 * gantry mcp: the agent as a tool server of another host.
 */
#include "cli/cli.h"

#include "base/version.h"
#include "cli/serve.h"
#include "os/file.h"
#include "os/signals.h"

#include <unistd.h>

static const char instructions[] =
	"gantry is a personal agent with a memory, tools and schedules of its own. ask "
	"gives it a whole task or question; memory_recall and memory_store reach what it "
	"remembers of its owner; schedule makes it do something later by itself.";

/* Its servers are told within which agents they run, by the databases of those: a manifest that
 * names this very command would start it without end. */
static int go_within(struct cli *cli, const struct config *cfg, struct err *e)
{
	unsigned long long hash = str_hash(STR_HASH, cfg->store.dsn);
	str own = arena_fmt(cli->a, "%016llx", hash), all = env_get(&cli->env, ENV_WITHIN);
	const char **v;
	size_t n = 0;

	if (str_has(all, own))
		return err_set(e, E_DENIED,
			       "it is started from itself: a manifest of tool servers names "
			       "gantry mcp with the database %.*s, which is that of the agent "
			       "it belongs to",
			       STRF(cfg->store.dsn));
	while (cli->env.v[n])
		n++;
	v = NEWN(cli->a, const char *, n + 2);
	n = 0;
	for (const char *const *p = cli->env.v; *p; p++)
		if (!str_starts(str_of(*p), S(ENV_WITHIN "=")))
			v[n++] = *p;
	v[n] = arena_fmt(cli->a, ENV_WITHIN "=%.*s,%.*s", STRF(own), STRF(all)).p;
	cli->env.v = v;
	return OK;
}

static int with_engine(struct cli *cli, const struct config *cfg, int signals)
{
	struct engine g;
	const struct engine_opt opt = { .mode = STORE_CLI, .model = true };
	struct serve *s = NEW(cli->a, struct serve);
	struct err e = { 0 };
	int rc;

	if (engine_open(&g, cfg, &cli->env, &opt, &e) < 0)
		return cli_fail("%s", e.msg);
	*s = (struct serve){
		.g = &g,
		.cfg = cfg,
		.opt = { .version = version_text(), .instructions = instructions },
		.in = STDIN_FILENO,
		.out = STDOUT_FILENO,
		.signals = signals,
	};
	serve_tools_init(s, cli->a);
	if ((rc = engine_check_schema(&g, &e)) == OK)
		rc = serve_run(s, &e);
	engine_close(&g);
	if (s->signo)
		return 128 + s->signo;
	return rc < 0 ? cli_fail("%s", e.msg) : EXIT_OK;
}

static int run(struct cli *cli)
{
	SCOPED(fd_drop) int signals = -1;
	struct config *cfg = NULL;
	struct err e = { 0 };
	int code;

	if ((code = cli_rest(cli, 0, 0)) != EXIT_OK)
		return code;
	if (cli->terminal)
		return cli_fail(
			"this speaks the Model Context Protocol over a pipe and is to be "
			"started by a host; see gantry mcp --help");
	if ((code = cli_config(cli, CONFIG_STORE | CONFIG_MODEL | CONFIG_TOOLS, true, &cfg)) !=
	    EXIT_OK)
		return code;
	if (go_within(cli, cfg, &e) < 0 || signals_open(&signals, &e) < 0)
		code = cli_fail("%s", e.msg);
	else
		code = with_engine(cli, cfg, signals);
	config_free(cfg);
	return code;
}

const struct cmd cmd_mcp = {
	.name = "mcp",
	.summary = "serve the agent to other hosts, as a tool server over a pipe",
	.usage = "usage: gantry mcp\n"
		 "\n"
		 "Speaks the Model Context Protocol over standard input and output; log\n"
		 "lines go to standard error.  Tools: ask (a whole turn, with progress),\n"
		 "memory_recall, memory_store, schedule.  It may run beside a daemon on the\n"
		 "same data, and ends with its input.  What policy asks about is put to the\n"
		 "person behind the host, where the host can do that, and else refused.\n"
		 "\n"
		 "example, in a host's configuration:\n"
		 "  {\"mcpServers\": {\"gantry\": "
		 "{\"command\": \"gantry\", \"args\": [\"mcp\"]}}}\n",
	.run = run,
};
