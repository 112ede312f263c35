/*
 * gantry config: which configuration is in force, is it right, and what is there to set.
 */
#include "cli/cli.h"

#include <string.h>

#include "config/find.h"
#include "config/render.h"
#include "os/path.h"

#define TEXT_MAX (4u << 20)

/* Load with what is asked for; say whether to tell every problem. */
static int load(struct cli *cli, unsigned need, bool say, struct config **out)
{
	struct config_opt opt = cli_config_opt(cli, need);
	struct config_problems problems;
	struct err e = { 0 };
	int rc;

	opt.inspect = true;
	rc = config_load(out, &opt, &cli->env, cli->a, &problems, &e);
	if (rc == OK)
		return EXIT_OK;
	if (say && !problems.n)
		return cli_fail("%s", e.msg);
	if (say)
		cli_problems(problems.text);
	return EXIT_FAILED;
}

static int path(struct cli *cli)
{
	struct config_place place;

	config_find(&place, cli->a, cli->config_path, &cli->env);
	if (place.path.n)
		cli_print(cli,
			  arena_fmt(cli->a, "%s (%s)%s\n", place.path.p, place.source.p,
				    path_exists(place.path.p) ? "" : ", which is not there"));
	else
		cli_print(cli, S("none: env mode, there is no configuration file\n"));
	return EXIT_OK;
}

/* What is wrong is said, and what is there shown all the same. */
static int show(struct cli *cli)
{
	struct buf b = buf_in(cli->a, TEXT_MAX);
	struct config *c = NULL;
	int code = load(cli, CONFIG_ALL, true, &c);

	if (code != EXIT_OK && load(cli, 0, false, &c) != EXIT_OK)
		return code;
	config_show(&b, c);
	cli_print(cli, buf_str(&b));
	config_free(c);
	return code;
}

static int validate(struct cli *cli)
{
	struct config *c = NULL;
	int code = load(cli, CONFIG_ALL, true, &c);

	if (code != EXIT_OK)
		return code;
	cli_print(cli, arena_fmt(cli->a, "OK: %s\n", c->file_mode ? c->path.p : "env mode"));
	for (size_t i = 0; i < c->warnings.n; i++)
		cli_print(cli, arena_fmt(cli->a, "warning: %s\n", c->warnings.v[i].p));
	config_free(c);
	return EXIT_OK;
}

static int docs(struct cli *cli)
{
	struct buf b = buf_in(cli->a, TEXT_MAX);

	config_docs(&b);
	cli_print(cli, buf_str(&b));
	return EXIT_OK;
}

static int run(struct cli *cli)
{
	static const struct {
		const char *name;
		int (*run)(struct cli *cli);
	} verbs[] = {
		{ "path", path }, { "show", show }, { "validate", validate }, { "docs", docs }
	};
	int code = cli_rest(cli, 1, 1);

	if (code != EXIT_OK)
		return code;
	for (size_t i = 0; i < COUNT(verbs); i++)
		if (strcmp(cli->argv[0], verbs[i].name) == 0)
			return verbs[i].run(cli);
	return cli_misuse(cli, "say path, show, validate or docs, not %s", cli->argv[0]);
}

const struct cmd cmd_config = {
	.name = "config",
	.summary = "show, check and explain the configuration",
	.usage = "usage: gantry config path|show|validate|docs\n"
		 "\n"
		 "  path      which file is read, and why that one\n"
		 "  show      every option in force and where it comes from; no secrets\n"
		 "  validate  OK, or everything that is wrong; and options not used yet\n"
		 "  docs      the reference of all options, in Markdown\n"
		 "\n"
		 "example:\n"
		 "  gantry --config ./config.yaml config validate\n",
	.run = run,
};
