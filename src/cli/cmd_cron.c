/*
 * gantry cron: schedules from the command line.  "next" is a calculator that needs neither a
 * configuration nor a database; the rest is in cron_jobs.c.
 */
#include "cli/cli.h"

#include "base/date.h"
#include "cli/cron_jobs.h"
#include "config/zones.h"
#include "os/clock.h"
#include "sched/cron.h"

#include <stdio.h>
#include <string.h>

#define COUNT_MAX 10000
#define LINE_MAX_BYTES 1024

struct next_args {
	const char *tz, *from, *count;
	int64_t from_ms, count_n;
};

static int next_lines(const struct cron *c, const struct zone *z, int64_t from_ms, int64_t n,
		      struct err *e)
{
	int64_t at = from_ms / 1000 - (from_ms % 1000 < 0);

	for (int64_t i = 0; i < n; i++) {
		SCOPED(arena_free) struct arena a = { 0 };
		int rc = cron_next(c, z, at, &at, e);

		if (rc < 0)
			return rc;
		if (printf("%.*s\n", STRF(zone_rfc3339(z, &a, at))) < 0)
			return err_sys(e, "standard output");
	}
	return OK;
}

static bool from_of(str text, int64_t *ms)
{
	bool zoned;

	return date_parse_rfc3339(text, ms, &zoned) && zoned;
}

/* One line of "EXPR TAB ZONE TAB FROM": the next time, or "error: ...". */
static int batch_line(struct cli *cli, char *line, const struct next_args *args, str *last,
		      const struct zone **z, struct err *e)
{
	str rest = str_trim(str_of(line));
	str expr = str_cut(&rest, '\t'), zone = str_cut(&rest, '\t');
	int64_t from = args->from_ms;
	struct cron c;
	int rc;

	if (rest.n && !from_of(rest, &from))
		return err_set(e, E_INVAL, "\"%.*s\" is no RFC 3339 time", STRF(rest));
	zone = zone.n ? zone : str_of(args->tz);
	if (!*z || !str_eq(zone, *last)) {
		*last = arena_dup(cli->a, zone);
		*z = NULL;
		if ((rc = zone_load(z, cli->a, *last, NULL, e)) < 0)
			return rc;
	}
	if ((rc = cron_parse(&c, expr, e)) < 0)
		return rc;
	return next_lines(&c, *z, from, args->count_n, e);
}

static int batch(struct cli *cli, const struct next_args *args)
{
	char line[LINE_MAX_BYTES];
	const struct zone *z = NULL;
	str last = { 0 };

	while (fgets(line, sizeof line, stdin)) {
		struct err e = { 0 };

		if (batch_line(cli, line, args, &last, &z, &e) < 0)
			(void)printf("error: %s\n", e.msg);
	}
	return fflush(stdout) == 0 ? EXIT_OK : cli_fail("standard output");
}

static int next(struct cli *cli, struct next_args *args)
{
	const struct zone *z;
	struct err e = { 0 };
	struct cron c;

	args->from_ms = clock_now_ms();
	if (args->from && !from_of(str_of(args->from), &args->from_ms))
		return cli_misuse(cli, "--from wants an RFC 3339 time such as "
				       "2026-11-30T17:00:00Z");
	args->count_n = 1;
	if (args->count && (!str_i64(str_of(args->count), &args->count_n) ||
			    args->count_n < 1 || args->count_n > COUNT_MAX))
		return cli_misuse(cli, "--count wants a number from 1 to %d", COUNT_MAX);
	if (!args->tz) {
		str tz = str_trim(env_get(&cli->env, "TZ"));
		args->tz = tz.n ? arena_cstr(cli->a, tz) : "Local";
	}
	if (strcmp(cli->argv[1], "-") == 0)
		return batch(cli, args);
	if (zone_load(&z, cli->a, str_of(args->tz), NULL, &e) < 0 ||
	    cron_parse(&c, str_of(cli->argv[1]), &e) < 0 ||
	    next_lines(&c, z, args->from_ms, args->count_n, &e) < 0)
		return cli_fail("%s", e.msg);
	return EXIT_OK;
}

static int jobs(struct cli *cli, struct cron_args *args, const char *limit)
{
	struct config *cfg = NULL;
	const char *verb = cli->argv[0];

	args->limit = 50;
	if (limit && (!str_i64(str_of(limit), &args->limit) || args->limit < 0))
		return cli_misuse(cli, "--limit wants a number, 0 for all");
	if (strcmp(verb, "add") == 0 && (!args->when || !args->chat))
		return cli_misuse(cli, "add wants --when and --chat");
	int code = cli_config(cli, CONFIG_STORE | CONFIG_TOOLS, true, &cfg);
	if (code != EXIT_OK)
		return code;
	code = cron_jobs(cli, cfg, args);
	config_free(cfg);
	return code;
}

/* How many arguments each verb takes, itself included. */
static const struct arity {
	const char *verb;
	int min, max;
} arities[] = {
	{ "next", 2, 2 }, { "list", 1, 1 },   { "history", 1, 2 },
	{ "run", 2, 2 },  { "cancel", 2, 2 }, { "add", 2, 2 },
};

static int run(struct cli *cli)
{
	struct next_args args = { 0 };
	struct cron_args job = { 0 };
	const char *limit = NULL;
	bool bad = false;

	(void)cli_value(cli, "--tz", &args.tz, &bad);
	(void)cli_value(cli, "--from", &args.from, &bad);
	(void)cli_value(cli, "--count", &args.count, &bad);
	(void)cli_value(cli, "--when", &job.when, &bad);
	(void)cli_value(cli, "--repeat", &job.repeat, &bad);
	(void)cli_value(cli, "--chat", &job.chat, &bad);
	(void)cli_value(cli, "--limit", &limit, &bad);
	job.deliver = cli_flag(cli, "--deliver");
	job.ephemeral = cli_flag(cli, "--ephemeral");
	job.json = cli_flag(cli, "--json");
	job.all = cli_flag(cli, "--all");
	if (bad)
		return cli_misuse(cli, "an option lacks its value");
	int code = cli_rest(cli, 1, 2);
	if (code != EXIT_OK)
		return code;
	for (size_t i = 0; i < COUNT(arities); i++) {
		if (strcmp(cli->argv[0], arities[i].verb) != 0)
			continue;
		if (cli->argc < arities[i].min || cli->argc > arities[i].max)
			break;
		bool runs = strcmp(cli->argv[0], "run") == 0;
		if ((job.deliver || job.ephemeral) && !runs)
			break;
		return i == 0 ? next(cli, &args)
		       : runs ? cron_run(cli, &job)
			      : jobs(cli, &job, limit);
	}
	return cli_misuse(cli,
			  "say next EXPR, list, history [JOB], run JOB, cancel JOB, or add "
			  "PROMPT");
}

const struct cmd cmd_cron = {
	.name = "cron",
	.summary = "schedules: list, add, run, cancel; when an expression is due next",
	.usage =
		"usage: gantry cron list [--all] [--json]\n"
		"       gantry cron history [JOB] [--limit N] [--json]\n"
		"       gantry cron run JOB [--deliver] [--ephemeral]\n"
		"       gantry cron cancel JOB\n"
		"       gantry cron add PROMPT --when WHEN [--repeat HOW] --chat "
		"CHANNEL:ADDRESS\n"
		"       gantry cron next EXPR [--tz ZONE] [--from RFC3339] [--count N]\n"
		"\n"
		"JOB is a number, or the name of a job of the configuration.  A running daemon "
		"runs\n"
		"what is due.\n"
		"\n"
		"run runs a job now, beside its schedule.  A running daemon does it, and its "
		"answer goes\n"
		"where the job's answers go.  Without one it is run here and the answer is "
		"printed; with\n"
		"--deliver it is sent instead.  --ephemeral runs it here in any case, in a "
		"conversation\n"
		"of its own.  Exit code 1 when the run failed.\n"
		"\n"
		"next prints the next run times of a cron expression, one RFC 3339 time a "
		"line; no\n"
		"daemon, configuration or database is needed.  EXPR - reads lines of EXPR, "
		"ZONE and\n"
		"FROM with tabs between them.\n"
		"\n"
		"example:\n"
		"  gantry cron add 'submit the timecard' --when 'friday 17:00' --chat "
		"telegram:12345\n"
		"  gantry cron next '30 7 * * 1-5' --tz Europe/Berlin --count 3\n",
	.run = run,
};
