/*
 * gantry report: one self-contained HTML page about a span of time.  The sums are read in one
 * view of the database, which is closed before the page is written.
 */
#include "cli/cli.h"

#include "cli/report_page.h"
#include "cli/since.h"
#include "config/zones.h"
#include "os/clock.h"
#include "os/file.h"

#include <stdio.h>
#include <string.h>

#define OUT_MAX ((size_t)32 << 20)
#define SESSIONS_MAX 10
#define PERIODS_MAX 62 /* more are drawn by the week, then by the month */
#define DAY_MS (INT64_C(24) * 3600 * 1000)

static enum tally_unit unit_of(int64_t days)
{
	if (days <= PERIODS_MAX)
		return TALLY_DAY;
	return days <= 7 * PERIODS_MAX ? TALLY_WEEK : TALLY_MONTH;
}

/* Where the first rows are, only when nobody said from when on. */
static int first_of(struct store *s, const struct zone *z, int64_t until_ms, int64_t *since_ms,
		    struct arena *a, struct err *e)
{
	struct tally t;
	const struct tally_opt opt = { .until_ms = until_ms, .zone = z };
	int rc = *since_ms ? OK : store_tally(s, &opt, a, &t, e);

	if (rc == OK && !*since_ms)
		*since_ms = t.since_ms;
	return rc;
}

static int gather(struct cli *cli, const struct config *cfg, struct report *r, int64_t since_ms,
		  struct err *e)
{
	struct tally *t = NEW(cli->a, struct tally);
	struct store *s;
	int rc = store_open(&s, &cfg->store, STORE_READ, NULL, e);

	if (rc < 0)
		return rc;
	rc = first_of(s, r->zone, r->until_ms, &since_ms, cli->a, e);
	r->unit = unit_of((r->until_ms - since_ms) / DAY_MS + 1);
	const struct tally_opt opt = { .parts = TALLY_DAYS | TALLY_LATENCY | TALLY_SESSIONS |
						TALLY_TOOLS | TALLY_MODELS | TALLY_ERRORS,
				       .since_ms = since_ms,
				       .until_ms = r->until_ms,
				       .zone = r->zone,
				       .unit = r->unit,
				       .sessions_max = SESSIONS_MAX };
	if (rc == OK)
		rc = store_tally(s, &opt, cli->a, t, e);
	store_close(s);
	r->t = t;
	return rc;
}

static int report(struct cli *cli, const struct config *cfg, const char *path, int64_t since_ms)
{
	struct report r = { .cfg = cfg,
			    .zone = zone_load_or_utc(cli->a, cfg->cron.zone),
			    .until_ms = clock_now_ms() };
	struct buf b = buf_in(cli->a, OUT_MAX);
	struct err e = { 0 };
	int rc = gather(cli, cfg, &r, since_ms, &e);

	if (rc == E_NOENT)
		return cli_fail("there is no database yet, and so nothing to report on");
	if (rc < 0)
		return cli_fail("%s", e.msg);
	report_page(&b, &r, cli->a);
	if (b.full)
		return cli_fail("the page is over %zu MiB", OUT_MAX >> 20);
	if (strcmp(path, "-") == 0) {
		(void)fwrite(b.p, 1, b.n, stdout);
		return EXIT_OK;
	}
	if (file_write_atomic(path, buf_str(&b), 0600, &e) < 0)
		return cli_fail("%s", e.msg);
	cli_print(cli, arena_fmt(cli->a, "wrote %s\n", path));
	return EXIT_OK;
}

static int run(struct cli *cli)
{
	const char *path = NULL, *since_text = "30d";
	struct config *cfg = NULL;
	int64_t since_ms;
	bool bad = false;

	(void)cli_value(cli, "--html", &path, &bad);
	if (bad || !path || !*path)
		return cli_misuse(cli, "say --html FILE, or --html - for standard output");
	(void)cli_value(cli, "--since", &since_text, &bad);
	int code = cli_rest(cli, 0, 0);
	if (code != EXIT_OK ||
	    (code = cli_config(cli, CONFIG_STORE | CONFIG_TOOLS, true, &cfg)) != EXIT_OK)
		return code;
	code = bad || !since_parse(str_of(since_text), zone_load_or_utc(cli->a, cfg->cron.zone),
				   clock_now_ms(), &since_ms)
		       ? cli_misuse(cli, "--since wants days (7d), a date (2026-11-01), an RFC "
					 "3339 time, or all")
		       : report(cli, cfg, path, since_ms);
	config_free(cfg);
	return code;
}

const struct cmd cmd_report = {
	.name = "report",
	.summary = "one HTML page of turns, times, tokens, cost, tools and schedules",
	.usage = "usage: gantry report --html FILE|- [--since DATE|Nd|all]\n"
		 "\n"
		 "One page that needs neither a network nor scripts, light and dark, with a "
		 "table behind\n"
		 "each chart.  Without --since it is the last 30 days; over two months are "
		 "drawn "
		 "by the\n"
		 "week, over a year by the month.  The file is for your eyes (mode 0600).\n"
		 "\n"
		 "example:\n"
		 "  gantry report --html report.html --since 7d\n",
	.run = run,
};
