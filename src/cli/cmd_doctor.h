/*
 * cli/cmd_doctor: everything that could be wrong with an installation, looked at once: one
 * line a row, and with each that is not well what to do about it.  `gantry onboard` ends with
 * it.
 *
 * Creates and changes nothing (but with fix); runs beside a daemon without disturbing it, and
 * without one.  Secrets are never printed.
 *
 * Threads  main.
 * Blocks   at most some minutes; every wait ends with the token.
 */
#ifndef CLI_CMD_DOCTOR_H
#define CLI_CMD_DOCTOR_H

#include "cli/cli.h"
#include "os/cancel.h"

struct doctor_opt {
	bool json; /* one JSON array in place of lines */
	bool offline; /* without the rows that ask somebody on the network */
	bool fix; /* mend what can be mended */
	/* What ends it; NULL: it hears SIGINT and SIGTERM itself.  A caller that hears them
	 * passes its own. */
	const struct cancel *cancel;
};

/* Load the configuration as cli says, run all rows, print them to stdout.  The exit code:
 * EXIT_FAILED when a row failed, 128 and the signal's number when one ended it. */
int doctor_main(struct cli *cli, const struct doctor_opt *opt);

#endif
