/*
 * gantry init: the files a new deployment begins with.  What exists is never touched.
 */
#include "cli/cli.h"

#include <stdio.h>

#include "cli/templates.h"
#include "os/file.h"
#include "os/path.h"

struct seed {
	struct cli *cli;
	int wrote, skipped;
};

static int say(const struct seed *s, const char *what, str path)
{
	cli_print(s->cli, arena_fmt(s->cli->a, "%s %.*s\n", what, STRF(path)));
	return EXIT_OK;
}

/* The directory exists and a file can be made in it. */
static int prepare(str dir, unsigned mode)
{
	struct err e = { 0 };

	if (path_kind(dir.p, NULL) != PATH_DIR && dir_make(dir.p, mode, &e) < 0)
		return cli_fail("init: %s", e.msg);
	if (!dir_writable(dir.p))
		return cli_fail("init: %s is not a directory that can be written to", dir.p);
	return EXIT_OK;
}

static int write_file(struct seed *s, str path, const char *content)
{
	struct err e = { 0 };
	int rc = file_create(path.p, str_of(content), 0644, &e);

	if (rc == E_BUSY) {
		s->skipped++;
		return say(s, "skip ", path);
	}
	if (rc < 0)
		return cli_fail("init: %s", e.msg);
	s->wrote++;
	return say(s, "wrote", path);
}

static str setting(struct cli *cli, const char *name, const char *def)
{
	str v = str_trim(env_get(&cli->env, name));

	return v.n ? arena_dup(cli->a, v) : str_of(def);
}

static int seed(struct seed *s)
{
	struct arena *a = s->cli->a;
	str persona = setting(s->cli, "PERSONA_DIR", "deploy/persona");
	str manifest = setting(s->cli, "MCP_MANIFEST", "deploy/mcp.toml");
	str data = setting(s->cli, "DATA_DIR", "deploy/data");
	int code;

	if ((code = prepare(persona, 0755)) != EXIT_OK ||
	    (code = prepare(path_dir(a, manifest), 0755)) != EXIT_OK ||
	    (code = prepare(data, 0700)) != EXIT_OK)
		return code;
	for (size_t i = 0; i < template_persona_n; i++) {
		str path = arena_fmt(a, "%.*s/%s", STRF(persona), template_persona[i].name);

		if ((code = write_file(s, path, template_persona[i].text)) != EXIT_OK)
			return code;
	}
	if ((code = write_file(s, manifest, template_manifest)) != EXIT_OK)
		return code;
	return write_file(s, S("./.env.example"), template_env);
}

static int run(struct cli *cli)
{
	struct seed s = { .cli = cli };
	int code = cli_rest(cli, 0, 0);

	if (code != EXIT_OK || (code = seed(&s)) != EXIT_OK)
		return code;
	cli_print(cli,
		  arena_fmt(cli->a, "%d written, %d left as they were\n", s.wrote, s.skipped));
	return EXIT_OK;
}

const struct cmd cmd_init = {
	.name = "init",
	.summary = "write the files a new deployment begins with",
	.usage = "usage: gantry init\n"
		 "\n"
		 "Writes the persona ($PERSONA_DIR, default deploy/persona), the list of tool "
		 "servers\n"
		 "($MCP_MANIFEST, default deploy/mcp.toml) and ./.env.example, and makes the "
		 "data\n"
		 "directory ($DATA_DIR, default deploy/data).  What is there already is left "
		 "as it "
		 "is.\n"
		 "\n"
		 "example:\n"
		 "  PERSONA_DIR=./persona MCP_MANIFEST=./mcp.toml gantry init\n",
	.run = run,
};
