/*
 * gantry status: the exit code is the health.  It tests the daemon's lock first and opens
 * the database only when it is held, so it creates nothing.  What makes a daemon dead or degraded
 * is in gateway/health.
 */
#include "cli/cli.h"

#include "gateway/feed.h"
#include "gateway/health.h"
#include "os/clock.h"
#include "os/file.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>

/* E_NOENT: there is no daemon. */
static int look(struct cli *cli, const struct config *cfg, int64_t *pid, struct health *h,
		struct err *e)
{
	str lock = arena_fmt(cli->a, "%.*s.lock", STRF(cfg->store.dsn));
	struct store_health rows;
	struct store *s;
	int rc;

	if (!lock_probe(lock.p, pid))
		return err_set(e, E_NOENT, "no daemon is running (%s is not held)", lock.p);
	if ((rc = store_open(&s, &cfg->store, STORE_READ, NULL, e)) < 0)
		return rc;
	rc = store_health_get(s, cli->a, &rows, e);
	store_close(s);
	if (rc < 0)
		return rc;
	health_judge(&rows, clock_now_ms(), feed_step_max(cfg, cli->a), cli->a, h);
	if (h->parts[0].age_ms < 0)
		return err_set(e, E_TIMEOUT, "the daemon has not begun to work yet");
	return OK;
}

static void print_json(struct cli *cli, const struct health *h, int64_t pid, str reason)
{
	struct buf b = buf_in(cli->a, 65536);

	buf_addc(&b, '{');
	buf_json_member(&b, "status", str_of(health_word(h->state)));
	buf_json_member_i64(&b, "pid", pid);
	buf_json_member_i64(&b, "heartbeat_age_ms", h->parts[0].name ? h->parts[0].age_ms : -1);
	buf_json_member(&b, "part", str_of(h->part));
	buf_json_member(&b, "reason", reason);
	buf_json_key(&b, "parts");
	buf_addc(&b, '[');
	for (size_t i = 0; i < HEALTH_PARTS && h->parts[i].name; i++) {
		if (h->parts[i].age_ms < 0)
			continue;
		buf_add(&b, str_ends(buf_str(&b), S("[")) ? S("{") : S(",{"));
		buf_json_member(&b, "part", str_of(h->parts[i].name));
		buf_json_member_i64(&b, "age_ms", h->parts[i].age_ms);
		buf_json_member_i64(&b, "limit_ms", h->parts[i].limit_ms);
		buf_addc(&b, '}');
	}
	buf_add(&b, S("]}\n"));
	(void)fwrite(b.p, 1, b.n, stdout);
}

static int run(struct cli *cli)
{
	bool json = cli_flag(cli, "--json"), strict = cli_flag(cli, "--strict");
	struct health h = { .state = DEAD, .part = "" };
	struct config *cfg = NULL;
	struct err e = { 0 };
	int64_t pid = 0;
	int code = cli_rest(cli, 0, 0);

	if (code != EXIT_OK || (code = cli_config(cli, CONFIG_STORE, true, &cfg)) != EXIT_OK)
		return code;
	int rc = look(cli, cfg, &pid, &h, &e);
	str reason = rc < 0 ? str_of(e.msg) : h.reason;
	if (rc < 0)
		h.state = DEAD;
	if (json)
		print_json(cli, &h, pid, reason);
	else if (h.state == DEAD)
		(void)cli_fail("%.*s", STRF(reason));
	else
		(void)printf("%s: pid %lld, heartbeat %lld s ago%s%.*s\n", health_word(h.state),
			     (long long)pid, (long long)(h.parts[0].age_ms / 1000),
			     reason.n ? "; " : "", STRF(text_visible(cli->a, reason, true)));
	config_free(cfg);
	return h.state == DEAD || (strict && h.state == DEGRADED) ? EXIT_FAILED : EXIT_OK;
}

const struct cmd cmd_status = {
	.name = "status",
	.summary = "is the daemon alive?  The exit code says it",
	.usage = "usage: gantry status [--strict] [--json]\n"
		 "\n"
		 "healthy (exit code 0): a daemon holds the lock, and its parts move.\n"
		 "degraded (0, with --strict 1): the channel or the model failed when it was "
		 "last\n"
		 "asked; a restart would not mend that.\n"
		 "dead (1): there is no daemon, or its clock, its poll, a deliverer, a worker "
		 "or a\n"
		 "turn did not move for longer than its limit.\n"
		 "\n"
		 "It only reads, and creates nothing.\n"
		 "\n"
		 "example:\n"
		 "  gantry status || systemctl restart gantry\n",
	.run = run,
};
