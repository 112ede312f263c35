/*
 * Jobs of both kinds from the command line.  Safe beside a running daemon: each change is one
 * short transaction, which the daemon sees at its next look.
 */
#include "cli/cron_jobs.h"

#include "base/date.h"
#include "config/zones.h"
#include "gateway/jobs.h"
#include "os/clock.h"
#include "text/json.h"
#include "text/text.h"
#include "tools/job_words.h"

#include <stdio.h>
#include <string.h>

struct with {
	struct cli *cli;
	const struct config *cfg;
	const struct cron_args *args;
	struct store *s;
};

static str when_text(struct arena *a, const struct zone *z, int64_t at_ms)
{
	return at_ms ? zone_rfc3339(z, a, at_ms / 1000) : S("-");
}

static void json_time(struct buf *b, const char *key, int64_t at_ms)
{
	buf_json_key(b, key);
	if (at_ms)
		buf_json(b, date_rfc3339(b->a, at_ms));
	else
		buf_add(b, S("null"));
}

static void member_bool(struct buf *b, const char *key, bool is)
{
	buf_json_key(b, key);
	buf_add(b, is ? S("true") : S("false"));
}

static void job_json(struct buf *b, const struct job *j, const char *state)
{
	buf_addc(b, '{');
	buf_json_key(b, "id");
	if (j->id)
		buf_fmt(b, "%lld", (long long)j->id);
	else
		buf_add(b, S("null")); /* no daemon has seen it yet */
	buf_json_member(b, "state", str_of(state));
	buf_json_member(b, "source", j->config ? S("config") : S("chat"));
	buf_json_member(b, "name", j->name);
	buf_json_member(b, "channel", j->config ? j->to_channel : j->channel);
	buf_json_member(b, "address", j->config ? j->to_address : j->address);
	buf_json_member(b, "kind", j->kind);
	buf_json_member(b, "expr", j->expr);
	buf_json_member(b, "zone", j->zone);
	member_bool(b, "enabled", j->enabled);
	member_bool(b, "running", j->running);
	json_time(b, "next", j->enabled ? j->next_at_ms : 0);
	buf_json_member(b, "last_error", j->last_error);
	buf_json_member(b, "prompt", j->prompt);
	buf_addc(b, '}');
}

/* One array, one object a line. */
static void json_line(struct buf *b, size_t i)
{
	buf_add(b, i ? S(",\n") : S("[\n"));
}

static void json_end(struct buf *b, size_t n)
{
	buf_add(b, n ? S("\n]\n") : S("[]\n"));
	(void)fwrite(b->p, 1, b->n, stdout);
}

/* What a job is doing, for people. */
static const char *state_word(const struct with *w, const struct job *j)
{
	if (j->running)
		return "running";
	if (!j->enabled || (j->config && !w->cfg->cron.enabled))
		return "off";
	return j->id == 0 ? "new" : j->failing ? "failing" : "on";
}

/* Is a job of the configuration in the database as it stands there? */
static bool same(const struct job *row, const struct job *c)
{
	return str_eq(row->expr, c->expr) && str_eq(row->zone, c->zone) &&
	       row->enabled == c->enabled && str_eq(row->prompt, c->prompt) &&
	       str_eq(row->to_address, c->to_address);
}

/* Rows, and before them the jobs of the configuration that no daemon has taken over yet: new
 * ones, and those that were changed, instead of their rows. */
static int all_jobs(const struct with *w, struct job **out, size_t *n, struct err *e)
{
	struct arena *a = w->cli->a;
	struct job *rows = NULL, *named = NULL, *list;
	size_t rows_n = 0, named_n = 0, used = 0;
	int rc = OK;

	if (w->s)
		rc = store_job_list(w->s, S(""), S(""), true, a, &rows, &rows_n, e);
	if (rc == OK)
		rc = jobs_of_config(&w->cfg->cron, a, &named, &named_n, e);
	if (rc < 0)
		return rc;
	list = NEWN(a, struct job, rows_n + named_n + 1);
	for (size_t i = 0; i < named_n; i++) {
		bool known = false;
		for (size_t k = 0; k < rows_n && !known; k++)
			known = rows[k].config && str_eq(rows[k].name, named[i].name) &&
				same(&rows[k], &named[i]);
		if (!known && (named[i].enabled || w->args->all))
			list[used++] = named[i];
	}
	for (size_t k = 0; k < rows_n; k++) {
		bool old = false; /* the file says otherwise by now */
		for (size_t i = 0; rows[k].config && i < named_n && !old; i++)
			old = str_eq(rows[k].name, named[i].name) && !same(&rows[k], &named[i]);
		if (!old && (rows[k].enabled || w->args->all))
			list[used++] = rows[k];
	}
	*out = list;
	*n = used;
	return OK;
}

static str id_text(const struct job *j, struct arena *a)
{
	return j->id ? arena_fmt(a, "%lld", (long long)j->id) : S("-");
}

static int list(const struct with *w, struct err *e)
{
	struct arena *a = w->cli->a;
	struct buf b = buf_in(a, 64u << 20);
	const struct zone *z = zone_load_or_utc(a, w->cfg->cron.zone);
	struct job *v;
	size_t n;
	int rc = all_jobs(w, &v, &n, e);

	if (rc < 0)
		return rc;
	if (w->args->json) {
		for (size_t i = 0; i < n; i++) {
			json_line(&b, i);
			job_json(&b, &v[i], state_word(w, &v[i]));
		}
		json_end(&b, n);
		return OK;
	}
	buf_add(&b,
		S("ID    NAME          SCHEDULE              NEXT                       STATE"
		  "    PROMPT\n"));
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%-5.*s %-13.*s %-21.*s %-26.*s %-8s %.*s\n",
			STRF(id_text(&v[i], a)),
			STRF(v[i].name.n ? text_line(a, v[i].name, 40) : S("-")),
			STRF(job_schedule(&v[i], a)),
			STRF(when_text(a, z, v[i].enabled ? v[i].next_at_ms : 0)),
			state_word(w, &v[i]), STRF(text_line(a, v[i].prompt, 60)));
	cli_print(w->cli, n ? buf_str(&b) : S("no jobs\n"));
	return OK;
}

int cron_job_of(struct store *s, str text, struct arena *a, struct job *out, struct err *e)
{
	int64_t id;
	int rc = store_job_find(s, text, a, out, e);

	if (rc == E_NOENT && str_i64(text, &id))
		rc = store_job_get(s, id, a, out, e);
	return rc == E_NOENT
		       ? err_set(e, rc, "no job \"%.*s\"; see gantry cron list", STRF(text))
		       : rc;
}

static int job_of(const struct with *w, str text, struct job *job, struct err *e)
{
	return cron_job_of(w->s, text, w->cli->a, job, e);
}

static void run_json(struct buf *b, const struct job_run *r)
{
	buf_addc(b, '{');
	buf_json_member_i64(b, "id", r->id);
	buf_json_member_i64(b, "job", r->job_id);
	json_time(b, "scheduled", r->scheduled_at_ms);
	json_time(b, "scheduled_to", r->last_at_ms);
	buf_json_member_i64(b, "n", r->n);
	buf_json_member_i64(b, "attempt", r->attempt);
	buf_json_member(b, "state", r->state);
	buf_json_member(b, "reason", r->reason);
	buf_json_member(b, "error", r->error);
	buf_json_member(b, "turn", r->turn_id);
	buf_json_member(b, "session", r->session_id);
	json_time(b, "started", r->started_at_ms);
	json_time(b, "finished", r->finished_at_ms);
	buf_addc(b, '}');
}

static int history(const struct with *w, struct err *e)
{
	struct arena *a = w->cli->a;
	struct buf b = buf_in(a, 64u << 20);
	const struct zone *z = zone_load_or_utc(a, w->cfg->cron.zone);
	struct job job = { 0 };
	struct job_run *v;
	size_t n;
	int rc = OK;

	if (w->cli->argc > 1)
		rc = job_of(w, str_of(w->cli->argv[1]), &job, e);
	if (rc == OK)
		rc = store_job_runs(w->s, job.id, w->args->limit, a, &v, &n, e);
	if (rc < 0)
		return rc;
	if (w->args->json) {
		for (size_t i = 0; i < n; i++) {
			json_line(&b, i);
			run_json(&b, &v[i]);
		}
		json_end(&b, n);
		return OK;
	}
	buf_add(&b,
		S("JOB   SCHEDULED                  N     STATE        REASON    STARTED      "
		  "              ERROR\n"));
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%-5lld %-26.*s %-5lld %-12.*s %-9.*s %-26.*s %.*s\n",
			(long long)v[i].job_id, STRF(when_text(a, z, v[i].scheduled_at_ms)),
			(long long)v[i].n, STRF(v[i].state), STRF(v[i].reason),
			STRF(when_text(a, z, v[i].started_at_ms)),
			STRF(text_line(a, v[i].error, 80)));
	cli_print(w->cli, n ? buf_str(&b) : S("no runs\n"));
	return OK;
}

/* "telegram:123" or "telegram:-100123:7" */
static bool chat_of(const char *text, str *channel, str *address)
{
	str rest = str_of(text);

	*channel = str_cut(&rest, ':');
	*address = rest;
	return (str_eq(*channel, S("telegram")) || str_eq(*channel, S("stdio"))) && rest.n > 0;
}

static int add(const struct with *w, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct arena *a = w->cli->a;
	const struct zone *z;
	struct sched s;
	struct job job = { .sender = S("cli"),
			   .prompt = str_trim(str_of(w->cli->argv[1])),
			   .zone = w->cfg->cron.zone,
			   .catch_up = true };
	int64_t id, now = clock_now_ms();
	int rc;

	if (!job.prompt.n)
		return err_set(e, E_INVAL, "the prompt is empty");
	if (!chat_of(w->args->chat, &job.channel, &job.address))
		return err_set(e, E_INVAL,
			       "--chat wants CHANNEL:ADDRESS, such as telegram:12345");
	if ((rc = zone_load(&z, a, job.zone, NULL, e)) < 0 ||
	    (rc = when_parse(&s, a, str_of(w->args->when),
			     str_of(w->args->repeat ? w->args->repeat : ""), now, z, e)) < 0)
		return rc;
	job.kind = str_of(sched_kind_word(s.kind));
	job.expr = s.expr;
	job.next_at_ms = s.first_at_ms;
	if ((rc = store_begin(&tx, w->s, NULL, e)) < 0 ||
	    (rc = store_job_add(&tx, &job, w->cfg->cron.max_jobs, &id, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	cli_print(w->cli, arena_fmt(a, "%lld\nnext: %.*s\n", (long long)id,
				    STRF(when_next_words(&s, a, z, s.first_at_ms, now, 3))));
	return OK;
}

static int cancel_job(const struct with *w, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct job job;
	int rc = job_of(w, str_of(w->cli->argv[1]), &job, e);

	if (rc < 0)
		return rc;
	if (job.config)
		return err_set(e, E_INVAL,
			       "it stands in the configuration: set enabled: false there");
	if ((rc = store_begin(&tx, w->s, NULL, e)) < 0 ||
	    (rc = store_job_cancel(&tx, job.id, S(""), S(""), e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	cli_print(w->cli, S("cancelled\n"));
	return OK;
}

static const struct verb {
	const char *name;
	bool writes;
	int (*run)(const struct with *w, struct err *e);
} verbs[] = {
	{ "list", false, list },
	{ "history", false, history },
	{ "add", true, add },
	{ "cancel", true, cancel_job },
};

int cron_jobs(struct cli *cli, const struct config *cfg, const struct cron_args *args)
{
	struct with w = { cli, cfg, args, NULL };
	const struct verb *verb = verbs;
	struct err e = { 0 };

	while (strcmp(verb->name, cli->argv[0]) != 0)
		verb++;
	int rc = store_open(&w.s, &cfg->store, STORE_READ, NULL, &e);
	if (rc == OK && verb->writes)
		store_close(w.s);
	if (verb->writes)
		rc = store_open(&w.s, &cfg->store, STORE_CLI, NULL, &e);
	if (rc == E_NOENT && verb->run == list) {
		rc = list(&w, &e); /* of the configuration alone */
		return rc < 0 ? cli_fail("%s", e.msg) : EXIT_OK;
	}
	if (rc == E_NOENT) {
		cli_print(cli, args->json ? S("[]\n") : S("no database yet\n"));
		return EXIT_OK;
	}
	if (rc < 0)
		return cli_fail("%s", e.msg);
	rc = verb->run(&w, &e);
	store_close(w.s);
	return rc < 0 ? cli_fail("%s", e.msg) : EXIT_OK;
}
