/*
 * Options, dispatch and exit codes; also what base/version.c holds.  The table of cli/main.c
 * and whole commands are tested by scenes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* What the command saw. */
static struct {
	int ran, argc;
	char args[256];
	bool json, bad;
	const char *session, *config, *level;
} seen;

static int run_fake(struct cli *cli)
{
	int code;

	seen.ran++;
	seen.json = cli_flag(cli, "--json");
	(void)cli_value(cli, "--session", &seen.session, &seen.bad);
	if (seen.bad)
		return cli_misuse(cli, "--session wants an id");
	if ((code = cli_rest(cli, 0, 2)) != EXIT_OK)
		return code;
	seen.config = cli->config_path;
	seen.level = cli->log_level;
	seen.argc = cli->argc;
	for (int i = 0; i < cli->argc; i++)
		(void)snprintf(seen.args + strlen(seen.args),
			       sizeof(seen.args) - strlen(seen.args), "%s|", cli->argv[i]);
	return 7;
}

static const struct cmd fake = { .name = "run",
				 .alias = "gateway",
				 .summary = "s",
				 .usage = "usage of run\n",
				 .run = run_fake };

static int run_rows(struct cli *cli)
{
	int code = cli_rest(cli, 1, 2);

	return code != EXIT_OK ? code : cli->argc == 1 ? cli_rest(cli, 2, 2) : 8;
}

static int run_version(struct cli *cli)
{
	return cli_rest(cli, 0, 0) == EXIT_OK ? 9 : EXIT_USAGE;
}

static const struct cmd forms = { .name = "replay",
				  .summary = "s",
				  .usage = "usage: gantry replay list [--json]\n"
					   "       gantry replay list --all\n"
					   "       gantry replay show|rm ID\n"
					   "       gantry replay move FROM\n"
					   "\n"
					   "More of replay.\n",
				  .run = run_rows };
static const struct cmd version = {
	.name = "version", .summary = "s", .usage = "u\n", .run = run_version
};
static const struct cmd *const cmds[] = { &forms, &fake, &version };

static char out_text[4096], err_text[4096];

static void slurp(int fd, char *to)
{
	ssize_t n;

	(void)lseek(fd, 0, SEEK_SET);
	n = read(fd, to, 4095);
	to[n < 0 ? 0 : n] = 0;
	(void)close(fd);
}

static int temporary(void)
{
	char name[] = "/tmp/gantry-cli-XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	(void)unlink(name);
	return fd;
}

/* Run with these words, standard output and error caught. */
static int run(const char *const *words)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct cli cli = { .a = &a };
	char *argv[16] = { (char *)"gantry" };
	int argc = 1, code, out = dup(1), err = dup(2), out_file = temporary(),
	    err_file = temporary();

	memset(&seen, 0, sizeof(seen));
	for (; words[argc - 1]; argc++)
		argv[argc] = (char *)words[argc - 1];
	(void)fflush(stdout);
	(void)dup2(out_file, 1);
	(void)dup2(err_file, 2);
	code = cli_main(&cli, cmds, COUNT(cmds), argc, argv);
	(void)fflush(stdout);
	(void)dup2(out, 1);
	(void)dup2(err, 2);
	(void)close(out);
	(void)close(err);
	slurp(out_file, out_text);
	slurp(err_file, err_text);
	return code;
}

#define RUN(...) run((const char *const[]){ __VA_ARGS__, NULL })

static void without_a_word_it_is_run(void **state)
{
	assert_int_equal(run((const char *const[]){ NULL }), 7);
	assert_int_equal(seen.ran, 1);
	assert_int_equal(RUN("gateway"), 7);
	assert_int_equal(RUN("run", "a", "b"), 7);
	assert_string_equal(seen.args, "a|b|");
}

static void options_stand_anywhere_before_two_dashes(void **state)
{
	assert_int_equal(RUN("run", "x", "--session", "s1", "--json", "-"), 7);
	assert_true(seen.json);
	assert_string_equal(seen.session, "s1");
	assert_string_equal(seen.args, "x|-|");
	assert_int_equal(RUN("run", "--session=s=2", "--", "--json"), 7);
	assert_false(seen.json);
	assert_string_equal(seen.session, "s=2");
	assert_string_equal(seen.args, "--json|");
	assert_int_equal(RUN("--config", "f", "run", "--log-level=debug"), 7);
	assert_string_equal(seen.config, "f");
	assert_string_equal(seen.level, "debug");
	assert_int_equal(RUN("run", "x", "--config=g"), 7);
	assert_string_equal(seen.config, "g");
	assert_int_equal(RUN("run", "--", "--config", "h"), 7);
	assert_null(seen.config);
	assert_string_equal(seen.args, "--config|h|");
}

static void wrong_usage_is_one_line_and_exits_2(void **state)
{
	static const struct {
		const char *words[4], *err;
	} rows[] = {
		{ { "frob" }, "gantry: there is no command frob; see: gantry --help\n" },
		{ { "rum" },
		  "gantry: there is no command rum; did you mean run?; see: gantry --help\n" },
		{ { "rpelay" },
		  "gantry: there is no command rpelay; did you mean replay?; see: gantry "
		  "--help\n" },
		{ { "ru" },
		  "gantry: there is no command ru; did you mean run?; see: gantry --help\n" },
		{ { "vers" },
		  "gantry: there is no command vers; did you mean version?; see: gantry "
		  "--help\n" },
		{ { "replay" },
		  "gantry replay: say one of list, show, rm, move; see: gantry replay "
		  "--help\n" },
		{ { "replay", "move" },
		  "gantry replay: something is missing, gantry replay move FROM; see: gantry "
		  "replay --help\n" },
		{ { "--frob" }, "gantry: unknown option --frob; see: gantry --help\n" },
		{ { "run", "--frob" },
		  "gantry run: unknown option --frob; see: gantry run --help\n" },
		{ { "run", "--sessions", "x" },
		  "gantry run: unknown option --sessions; see: gantry run --help\n" },
		{ { "run", "--session" },
		  "gantry run: --session wants an id; see: gantry run --help\n" },
		{ { "run", "--session", "--" },
		  "gantry run: --session wants an id; see: gantry run --help\n" },
		{ { "--config" }, "gantry: --config wants a file; see: gantry --help\n" },
		{ { "\x1b[2J" }, "gantry: there is no command \\x1b[2J; see: gantry --help\n" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(run(rows[i].words), EXIT_USAGE);
		assert_string_equal(err_text, rows[i].err);
		assert_string_equal(out_text, "");
	}
	assert_int_equal(RUN("run", "a", "b", "c"), EXIT_USAGE);
	assert_non_null(strstr(err_text, "c is one argument too many"));
}

static void help_goes_to_standard_output(void **state)
{
	assert_int_equal(RUN("--help"), EXIT_OK);
	assert_non_null(strstr(out_text, "  run "));
	assert_string_equal(err_text, "");
	assert_int_equal(RUN("help"), EXIT_OK);
	assert_non_null(strstr(out_text, "  run "));
	assert_int_equal(RUN("run", "--help"), EXIT_OK);
	assert_string_equal(out_text, "usage of run\n");
	assert_int_equal(RUN("run", "x", "-h"), EXIT_OK);
	assert_int_equal(RUN("help", "gateway"), EXIT_OK);
	assert_string_equal(out_text, "usage of run\n");
	assert_int_equal(RUN("help", "frob"), EXIT_USAGE);
	assert_int_equal(seen.ran, 0);
}

static void the_version_is_an_option_too(void **state)
{
	assert_int_equal(RUN("--version"), 9);
	assert_int_equal(RUN("--version", "x"), EXIT_USAGE);
	assert_int_equal(RUN("run", "--version"), EXIT_USAGE);
}

static void an_answer_is_printed_whole_or_not_at_all(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct cli cli = { .a = &a };
	struct buf b = buf_in(&a, 4);

	buf_add(&b, S("12345"));
	assert_int_equal(cli_answer(&cli, &b, true), EXIT_FAILED);
	assert_int_equal(cli_answer(&cli, &b, false), EXIT_FAILED);
}

static void a_program_is_looked_for_in_path(void **state)
{
	SCOPED(arena_free) struct arena a = { 0 };
	char *vars[] = { (char *)"PATH=:/nonexistent:/:/bin", NULL };
	struct env env = env_copy(&a, vars);

	assert_string_equal(cli_which(&env, &a, S("sh")).p, "/bin/sh");
	assert_string_equal(cli_which(&env, &a, S("/bin/sh")).p, "/bin/sh");
	assert_int_equal(cli_which(&env, &a, S("bin")).n, 0); /* a directory */
	assert_int_equal(cli_which(&env, &a, S("no-such-program")).n, 0);
}

static void every_command_of_ours_has_an_example(void **state)
{
	static const struct cmd *const ours[] = { &cmd_run,      &cmd_chat,   &cmd_prompt,
						  &cmd_tools,    &cmd_config, &cmd_init,
						  &cmd_sessions, &cmd_status, &cmd_version };

	for (size_t i = 0; i < COUNT(ours); i++) {
		assert_non_null(strstr(ours[i]->usage, "\nexample:\n  "));
		assert_non_null(strstr(ours[i]->usage, ours[i]->name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_word_it_is_run),
		cmocka_unit_test(options_stand_anywhere_before_two_dashes),
		cmocka_unit_test(wrong_usage_is_one_line_and_exits_2),
		cmocka_unit_test(help_goes_to_standard_output),
		cmocka_unit_test(the_version_is_an_option_too),
		cmocka_unit_test(an_answer_is_printed_whole_or_not_at_all),
		cmocka_unit_test(a_program_is_looked_for_in_path),
		cmocka_unit_test(every_command_of_ours_has_an_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
