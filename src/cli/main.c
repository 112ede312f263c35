/*
 * The program: a table of subcommands, and the order of the first steps.  The spawner is
 * forked before anything else is known, so that it never held a secret; the environment is
 * copied and then wiped from where /proc would show it.  Then the program confines itself,
 * whatever it was called for.
 */
#include "cli/cli.h"

#include <unistd.h>

#include "os/heap.h"
#include "os/kernel.h"
#include "os/proc.h"
#include "os/signals.h"

/* In the order of the README; a line each, so that two who add one do not meet. */
/* clang-format off */
static const struct cmd *const commands[] = {
	&cmd_onboard,
	&cmd_chat,
	&cmd_run,
	&cmd_import,
	&cmd_db,
	&cmd_send,
	&cmd_prompt,
	&cmd_tools,
	&cmd_auth,
	&cmd_cron,
	&cmd_policy,
	&cmd_approvals,
	&cmd_memory,
	&cmd_sessions,
	&cmd_trace,
	&cmd_queue,
	&cmd_replay,
	&cmd_usage,
	&cmd_report,
	&cmd_config,
	&cmd_doctor,
	&cmd_status,
	&cmd_service,
	&cmd_mcp,
	&cmd_init,
	&cmd_version,
};
/* clang-format on */

int main(int argc, char **argv)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct cli cli = { .a = &a };
	struct err e = { 0 };
	int code;

	heap_tune();
	if (kernel_check(&e) < 0 || signals_spare(&e) < 0 || spawner_start(&e) < 0)
		return cli_fail("%s", e.msg);
	cli.env = env_copy(&a, environ);
	cli.terminal = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
	code = spawner_hide(&e) < 0 || sandbox_self(&e) < 0
		       ? cli_fail("%s", e.msg)
		       : cli_main(&cli, commands, COUNT(commands), argc, argv);
	spawner_stop();
	return code;
}
