/*
 * gantry version: one line that says which build this is.
 */
#include "cli/cli.h"

#include "base/version.h"

#include <stdio.h>

static int run(struct cli *cli)
{
	int code = cli_rest(cli, 0, 0);

	if (code != EXIT_OK)
		return code;
	(void)printf("gantry %s (commit %s, %s)\n", version_text(), version_commit(),
		     version_date());
	return EXIT_OK;
}

const struct cmd cmd_version = {
	.name = "version",
	.summary = "version, commit and its date",
	.usage = "usage: gantry version\n"
		 "\n"
		 "Prints one line: version, commit and the commit's date.\n"
		 "\n"
		 "example:\n"
		 "  gantry version\n",
	.run = run,
};
