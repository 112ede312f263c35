/*
 * gantry doctor: what is wrong here, and what to do about it.  The rows are in doctor.c.
 */
#include "cli/cmd_doctor.h"

static int run(struct cli *cli)
{
	const struct doctor_opt opt = {
		.json = cli_flag(cli, "--json"),
		.offline = cli_flag(cli, "--offline"),
		.fix = cli_flag(cli, "--fix"),
	};
	int code = cli_rest(cli, 0, 0);

	return code != EXIT_OK ? code : doctor_main(cli, &opt);
}

const struct cmd cmd_doctor = {
	.name = "doctor",
	.summary = "look at everything that could be wrong, and say what to do",
	.usage = "usage: gantry doctor [--offline] [--fix] [--json]\n"
		 "\n"
		 "One line for each thing: OK, INFO, WARN, FAIL, or SKIP where there was "
		 "nothing "
		 "to look\n"
		 "at.  What is not well says what to do.  It runs beside a daemon or without "
		 "one, and\n"
		 "changes nothing but with --fix; the model is asked four short questions, and "
		 "each\n"
		 "tool server is started once.\n"
		 "\n"
		 "  --offline  ask neither the model nor Telegram\n"
		 "  --fix      build the search index of memory anew when it is damaged\n"
		 "  --json     one array of {check, status, message, advice, ms}\n"
		 "\n"
		 "Exit code 1 when a row says FAIL.\n"
		 "\n"
		 "example:\n"
		 "  gantry --config ./config.yaml doctor --offline\n",
	.run = run,
};
