/*
 * gantry cron run: a job now, beside its schedule.  With a daemon it is that one's row, since it
 * owns the job's conversation; without, or in a conversation of its own, it is run here like a
 * prompt: a row of this process alone, whose answer is printed or sent.
 */
#include "cli/cron_jobs.h"

#include "cli/own.h"
#include "cli/relay.h"
#include "chan/telegram_update.h"
#include "config/zones.h"
#include "gateway/jobs.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/signals.h"
#include "text/text.h"
#include "tools/job_words.h"

#include <stdio.h>

struct by_hand {
	struct cli *cli;
	const struct config *cfg;
	const struct cron_args *args;
	struct store *s;
	bool here;
	struct job job;
	struct job_fired run;
};

/* Where answers of the job go; "" nowhere. */
static str target(const struct by_hand *h)
{
	const struct job *j = &h->job;
	str channel = j->config ? j->to_channel : j->channel;

	return channel.n ? arena_fmt(h->cli->a, "%.*s:%.*s", STRF(channel),
				     STRF(j->config ? j->to_address : j->address))
			 : S("");
}

bool cron_reachable(const struct telegram_cfg *t, str address)
{
	int64_t chat;

	if (!t->enabled || !str_i64(str_cut(&address, ':'), &chat))
		return false;
	for (size_t i = 0; i < t->allow_from.n; i++)
		if (t->allow_from.v[i] == chat)
			return true;
	for (size_t i = 0; i < t->groups_n; i++)
		if (!t->groups[i].any && t->groups[i].id == chat)
			return true;
	return false;
}

static int check_target(const struct by_hand *h, struct err *e)
{
	str to = target(h), rest = to;
	str channel = str_cut(&rest, ':');

	if (!h->args->deliver)
		return OK;
	if (!to.n)
		return err_set(e, E_INVAL,
			       "--deliver: the job has no deliver_to; without --deliver its "
			       "answer is printed");
	if (!str_eq(channel, S(TELEGRAM_CHANNEL)))
		return err_set(e, E_INVAL, "--deliver: %.*s is no Telegram chat", STRF(to));
	if (!cron_reachable(&h->cfg->telegram, rest))
		return err_set(e, E_DENIED,
			       "--deliver: %.*s is neither in channels.telegram.allow_from "
			       "nor a key of channels.telegram.groups",
			       STRF(to));
	return OK;
}

/* Record and row, in one transaction. */
static int put(struct by_hand *h, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct arena *a = h->cli->a;
	int64_t now = clock_now_ms();
	struct plan plan = { .run_at_ms = now };
	struct job_fire fire;
	int rc;

	h->job.attempt = 0;
	h->job.scheduled_at_ms = 0;
	h->job.ephemeral |= h->args->ephemeral;
	job_fire(&fire, &h->job, zone_load_or_utc(a, h->job.zone), now, now, a);
	fire.by_hand = true;
	fire.reason = S("by hand");
	if (h->here) {
		fire.owner = store_owner(h->s);
		fire.quiet = !h->args->deliver;
	}
	if ((rc = store_begin(&tx, h->s, NULL, e)) < 0 ||
	    (rc = store_job_fire(&tx, &h->job, &plan, &fire, &h->run, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	return h->run.run_id
		       ? OK
		       : err_set(e, E_BUSY, "it is running already; see gantry cron history");
}

static int prepare(struct by_hand *h, struct err *e)
{
	int rc = OK;

	/* What the configuration names can be run before a daemon ever saw it. */
	if (h->cfg->cron.enabled)
		rc = jobs_sync(h->s, &h->cfg->cron, NULL, e);
	if (rc == OK)
		rc = cron_job_of(h->s, str_of(h->cli->argv[1]), h->cli->a, &h->job, e);
	return rc < 0 ? rc : check_target(h, e);
}

static int queue(struct by_hand *h, int64_t pid)
{
	struct err e = { 0 };
	int rc = store_open(&h->s, &h->cfg->store, STORE_CLI, NULL, &e);

	if (rc < 0)
		return cli_fail("%s", e.msg);
	if ((rc = prepare(h, &e)) == OK)
		rc = put(h, &e);
	store_close(h->s);
	if (rc < 0)
		return cli_fail("%s", e.msg);
	str to = target(h);
	cli_print(h->cli,
		  arena_fmt(h->cli->a,
			    "queued as run %lld of job %lld; the daemon (pid %lld) runs it, "
			    "and its answer %s%.*s\n",
			    (long long)h->run.run_id, (long long)h->job.id, (long long)pid,
			    to.n ? "goes to " : "stays in its conversation", STRF(to)));
	return EXIT_OK;
}

/* The answer, as it was said last. */
static str said(struct by_hand *h, const char *turn)
{
	struct message *rows;
	struct call *calls;
	size_t n = 0, calls_n;

	if (store_turn_load(h->s, str_of(turn), h->cli->a, &rows, &n, &calls, &calls_n, NULL) <
	    0)
		return S("");
	while (n-- > 0)
		if (str_eq(rows[n].role, S("assistant")))
			return rows[n].text;
	return S("");
}

static int show(struct by_hand *h, struct engine *g, const char *turn, int signo)
{
	str state = { 0 }, error = { 0 };
	struct err e = { 0 };

	if (!turn[0] || store_turn_state(h->s, str_of(turn), h->cli->a, &state, &error, &e) < 0)
		return signo ? 128 + signo : cli_fail("it was not run");
	if (signo)
		return 128 + signo;
	if (!str_eq(state, S("done")))
		return cli_fail("the run failed: %.*s", STRF(error.n ? error : state));
	str text = said(h, turn);
	if (text_silent(text) || !text.n) {
		cli_print(h->cli, S("(no reply)\n"));
		return EXIT_OK;
	}
	if (!h->args->deliver) {
		cli_print(h->cli, text);
		cli_print(h->cli, S("\n"));
		return EXIT_OK;
	}
	if (relay_send(g, h->cli, h->cfg, &e) < 0)
		return cli_fail("%s", e.msg);
	cli_print(h->cli, arena_fmt(h->cli->a, "delivered to %.*s\n", STRF(target(h))));
	return EXIT_OK;
}

static int run_here(struct by_hand *h, int signals)
{
	const struct engine_opt opt = { .mode = STORE_CLI, .model = true };
	char turn[ID_LEN + 1] = "";
	struct engine g;
	struct own o = { .g = &g,
			 .signals = signals,
			 .no_rows = true,
			 .leave = { .fd = -1 },
			 .hear = { .quit = { -1 } },
			 .kick = { -1 } };
	struct err e = { 0 };
	int code, rc;

	if (engine_open(&g, h->cfg, &h->cli->env, &opt, &e) < 0)
		return cli_fail("%s", e.msg);
	h->s = g.store;
	o.work = (struct work_opt){ .only = store_owner(g.store) };
	if ((rc = prepare(h, &e)) == OK && (rc = own_open(&o, &e)) == OK &&
	    (rc = put(h, &e)) == OK)
		rc = own_run(&o, h->run.inbox_id, turn, &e);
	int signo = atomic_load(&o.signo);
	if (rc < 0 && signo == 0)
		code = cli_fail("%s", e.msg);
	else
		code = show(h, &g, turn, signo);
	own_close(&o);
	engine_close(&g);
	return code;
}

static int here(struct by_hand *h)
{
	SCOPED(fd_drop) int signals = -1;
	unsigned need = CONFIG_STORE | CONFIG_TOOLS | CONFIG_MODEL;
	struct config *cfg = NULL;
	struct err e = { 0 };
	int code =
		cli_config(h->cli, need | (h->args->deliver ? CONFIG_CHANNEL : 0), true, &cfg);

	if (code != EXIT_OK)
		return code;
	h->here = true;
	h->cfg = cfg;
	if (signals_open(&signals, &e) < 0)
		code = cli_fail("%s", e.msg);
	else
		code = run_here(h, signals);
	config_free(cfg);
	return code;
}

int cron_run(struct cli *cli, const struct cron_args *args)
{
	struct by_hand h = { .cli = cli, .args = args };
	struct config *cfg = NULL;
	int64_t pid = 0;
	int code = cli_config(cli, CONFIG_STORE | CONFIG_TOOLS, true, &cfg);

	if (code != EXIT_OK)
		return code;
	str lock = arena_fmt(cli->a, "%.*s.lock", STRF(cfg->store.dsn));
	h.cfg = cfg;
	bool queued = !args->ephemeral && lock_probe(lock.p, &pid);
	if (queued)
		code = queue(&h, pid);
	config_free(cfg);
	return queued ? code : here(&h);
}
