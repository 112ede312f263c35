/*
 * gantry status: the exit code is the health.  It tests the daemon's lock first and opens
 * the database only when it is held, so it creates nothing.  A channel in trouble is said, and
 * does not count: a restart would not mend the network.
 */
#include "cli/cli.h"

#include "os/clock.h"
#include "os/file.h"
#include "store/state.h"
#include "text/json.h"

#include <stdio.h>

#define HEARTBEAT_MAX_MS 60000

/* EXIT_OK with the age of the heartbeat, or why not. */
static int check(struct cli *cli, const struct config *cfg, int64_t *pid, int64_t *age_ms,
		 str *trouble, struct err *e)
{
	str lock = arena_fmt(cli->a, "%.*s.lock", STRF(cfg->store.dsn));
	struct store *s;
	int64_t at_ms = 0;
	int rc;

	if (!lock_probe(lock.p, pid))
		return err_set(e, E_NOENT, "no daemon is running (%s is not held)", lock.p);
	if ((rc = store_open(&s, &cfg->store, STORE_READ, NULL, e)) < 0)
		return rc;
	rc = store_heartbeat_get(s, S("daemon"), &at_ms, e);
	if (rc == OK)
		rc = store_trouble_get(s, S("poll"), cli->a, trouble, e);
	store_close(s);
	if (rc < 0)
		return rc;
	*age_ms = clock_now_ms() - at_ms;
	if (*age_ms > HEARTBEAT_MAX_MS)
		return err_set(e, E_TIMEOUT,
			       "the last heartbeat is %lld s old, the limit is %d s",
			       (long long)(*age_ms / 1000), HEARTBEAT_MAX_MS / 1000);
	return OK;
}

static int run(struct cli *cli)
{
	bool json = cli_flag(cli, "--json");
	struct config *cfg = NULL;
	struct err e = { 0 };
	int64_t pid = 0, age_ms = -1;
	str trouble = S("");
	int code = cli_rest(cli, 0, 0);

	if (code != EXIT_OK || (code = cli_config(cli, CONFIG_STORE, true, &cfg)) != EXIT_OK)
		return code;
	int rc = check(cli, cfg, &pid, &age_ms, &trouble, &e);
	if (json) {
		struct buf b = buf_in(cli->a, 4096);
		buf_addc(&b, '{');
		buf_json_member(&b, "status",
				rc < 0      ? S("dead")
				: trouble.n ? S("degraded")
					    : S("healthy"));
		buf_json_member_i64(&b, "pid", pid);
		buf_json_member_i64(&b, "heartbeat_age_ms", age_ms);
		buf_json_member(&b, "reason", rc < 0 ? str_of(e.msg) : trouble);
		buf_add(&b, S("}\n"));
		(void)fwrite(b.p, 1, b.n, stdout);
	} else if (rc == OK) {
		(void)printf("%s: pid %lld, heartbeat %lld s ago%s%.*s\n",
			     trouble.n ? "degraded" : "healthy", (long long)pid,
			     (long long)(age_ms / 1000), trouble.n ? "; " : "", STRF(trouble));
	} else {
		(void)cli_fail("%s", e.msg);
	}
	config_free(cfg);
	return rc == OK ? EXIT_OK : EXIT_FAILED;
}

const struct cmd cmd_status = {
	.name = "status",
	.summary = "is the daemon alive?  The exit code says it",
	.usage = "usage: gantry status [--json]\n"
		 "\n"
		 "Exit code 0 when a daemon holds the lock and its heartbeat is at most 60 s "
		 "old,\n"
		 "else 1 with the reason.  A channel that cannot be reached is \"degraded\", "
		 "and "
		 "0.\n"
		 "\n"
		 "example:\n"
		 "  gantry status || systemctl restart gantry\n",
	.run = run,
};
