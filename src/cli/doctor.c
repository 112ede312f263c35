/*
 * The rows of `gantry doctor`, the order they are looked at in, and how what they found is
 * printed.  What is looked at, and how, is in the files the rows come from.
 */
#include "cli/doctor.h"

#include "cli/cmd_doctor.h"
#include "cli/hear.h"
#include "config/find.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/signals.h"
#include "text/json.h"
#include "text/text.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#define SECOND_MS 1000
#define TOTAL_MS (240 * SECOND_MS)
#define LINE_MAX 4096

static const struct doctor_row {
	const char *name;
	void (*look)(struct doctor *d);
	int limit_s;
	bool network; /* asks somebody else: not with --offline */
} rows[] = {
	{ "storage", doctor_storage, 5, false },
	{ "disk", doctor_disk, 5, false },
	{ "fsync", doctor_sync, 20, false },
	{ "database", doctor_database, 15, false },
	{ "integrity", doctor_integrity, 60, false },
	{ "memory", doctor_memory, 60, false },
	{ "daemon", doctor_daemon, 15, false },
	{ "permissions", doctor_permissions, 5, false },
	{ "workspace", doctor_workspace, 5, false },
	{ "roots", doctor_roots, 5, false },
	{ "prompts", doctor_prompts, 5, false },
	{ "cwd", doctor_cwd, 5, false },
	{ "shell", doctor_shell, 5, false },
	{ "deny", doctor_deny, 5, false },
	{ "mode", doctor_mode, 5, false },
	{ "sandbox", doctor_sandbox, 5, false },
	{ "network", doctor_network, 20, true },
	{ "clock", doctor_clock, 5, true },
	{ "key", doctor_key, 5, false },
	{ "model", doctor_model, 5, true },
	{ "answer", doctor_answer, 35, true },
	{ "stream", doctor_stream, 35, true },
	{ "tools", doctor_calls, 35, true },
	{ "usage", doctor_usage, 5, true },
	{ "vision", doctor_vision, 35, true },
	{ "token", doctor_token, 5, false },
	{ "telegram", doctor_bot, 20, true },
	{ "webhook", doctor_webhook, 20, true },
	{ "allow-list", doctor_allowed, 5, false },
	{ "servers", doctor_servers, 90, false },
	{ "destructive", doctor_destructive, 5, false },
	{ "zone", doctor_zone, 5, false },
	{ "schedules", doctor_schedules, 10, false },
};

/* --- what was found ------------------------------------------------------------------- */

static const char *word(enum doctor_status s)
{
	static const char *const words[] = { [DOCTOR_OK] = "OK",
					     [DOCTOR_INFO] = "INFO",
					     [DOCTOR_SKIP] = "SKIP",
					     [DOCTOR_WARN] = "WARN",
					     [DOCTOR_FAIL] = "FAIL" };

	return words[s];
}

static str safe(struct doctor *d, str s)
{
	s = text_redact(d->a, s);
	if (d->cfg)
		s = text_redact_values(d->a, s, d->cfg->secrets, d->cfg->secrets_n);
	return text_visible(d->a, s, true);
}

static void print_json(struct doctor *d, enum doctor_status s, str text, str advice)
{
	struct buf b = buf_in(d->a, 8 * LINE_MAX);

	buf_add(&b, d->any ? S(",\n{") : S("\n{"));
	buf_json_member(&b, "check", str_of(d->row));
	buf_json_member(&b, "status", str_of(word(s)));
	buf_json_member(&b, "message", text);
	buf_json_member(&b, "advice", advice);
	buf_json_member_i64(&b, "ms", clock_mono_ms() - d->since_ms);
	buf_addc(&b, '}');
	(void)fwrite(b.p, 1, b.n, stdout);
}

void doctor_say(struct doctor *d, enum doctor_status s, const char *advice, const char *fmt,
		...)
{
	char line[LINE_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	str text = safe(d, str_of(line)), what = safe(d, str_of(advice));
	if (d->json)
		print_json(d, s, text, what);
	else
		(void)printf("%-4s  %-12s  %.*s%s%.*s\n", word(s), d->row, STRF(text),
			     what.n ? "; " : "", STRF(what));
	(void)fflush(stdout); /* a row may take its time: what is known is seen */
	d->any = d->said = true;
	d->failed = d->failed || s == DOCTOR_FAIL;
}

/* --- the configuration, which is the first row ---------------------------------------- */

static bool load(struct doctor *d, struct config **out)
{
	struct config_place place;
	struct config_problems problems;
	struct err e = { 0 };
	int rc;

	d->row = "config";
	d->since_ms = clock_mono_ms();
	config_find(&place, d->a, d->cli->config_path, &d->cli->env);
	rc = cli_inspect(d->cli, CONFIG_ALL, out, &problems, &e);
	d->cfg = rc == OK ? *out : NULL;
	for (str text = rc < 0 ? problems.text : S(""); problems.n && text.n;) {
		str line = str_cut(&text, '\n');
		doctor_say(d, DOCTOR_FAIL, NULL, "%.*s", STRF(line));
	}
	if (rc < 0 && !problems.n)
		doctor_say(d, DOCTOR_FAIL,
			   rc == E_NOENT ? "gantry onboard makes one, --config names another"
					 : NULL,
			   "%s", e.msg);
	if (rc < 0 && problems.n && cli_unset(d->cli))
		doctor_say(d, DOCTOR_INFO, NULL, "%s", CLI_SET_UP);
	if (rc < 0)
		return false;
	for (size_t i = 0; i < d->cfg->warnings.n; i++)
		doctor_say(d, DOCTOR_WARN, NULL, "%.*s", STRF(d->cfg->warnings.v[i]));
	if (place.path.n)
		doctor_say(d, DOCTOR_OK, NULL, "%.*s (%.*s)", STRF(place.path),
			   STRF(place.source));
	else
		doctor_say(d, DOCTOR_OK, NULL,
			   "env mode: from the environment, there is no file");
	return true;
}

/* --- running the rows ------------------------------------------------------------------ */

static void look(struct doctor *d, const struct doctor_row *row, const struct cancel *root)
{
	SCOPED(cancel_done) struct cancel c = { .fd = -1 };
	struct err e = { 0 };

	d->row = row->name;
	d->since_ms = clock_mono_ms();
	d->said = false;
	if (row->network && d->offline) {
		doctor_say(d, DOCTOR_SKIP, NULL, "not asked: --offline");
		return;
	}
	if (cancel_init(&c, root, (int64_t)row->limit_s * SECOND_MS, &e) < 0) {
		doctor_say(d, DOCTOR_FAIL, NULL, "%s", e.msg);
		return;
	}
	d->c = &c;
	row->look(d);
	if (!d->said && cancel_reason(root) != CANCEL_USER)
		doctor_say(d, DOCTOR_FAIL, "look at what it waits for, and run it again",
			   "it took longer than %d s, and was given up", row->limit_s);
}

static int open_pool(struct doctor *d, struct err *e)
{
	const struct http_cfg *h = &d->cfg->http;
	const struct http_opt opt = { .ca_file = h->ca_file.p,
				      .http_proxy = h->http_proxy.p,
				      .https_proxy = h->https_proxy.p,
				      .all_proxy = h->all_proxy.p,
				      .no_proxy = h->no_proxy.p,
				      .user_agent = "gantry" };

	return http_pool_open(&d->pool, &opt, e);
}

static void look_all(struct doctor *d, const struct cancel *root)
{
	struct err e = { 0 };

	if (open_pool(d, &e) < 0) {
		doctor_say(d, DOCTOR_FAIL, NULL, "%s", e.msg);
		return;
	}
	for (size_t i = 0; i < COUNT(rows) && cancel_reason(root) != CANCEL_USER; i++)
		look(d, &rows[i], root);
	store_close(d->store);
	http_pool_close(d->pool);
}

/* --- Ctrl-C ---------------------------------------------------------------------------- */

struct ears {
	struct hear hear;
	struct cancel *root;
	_Atomic int signo;
};

static void on_signal(void *arg, int signo)
{
	struct ears *o = arg;

	if (signo == SIGWINCH)
		return;
	atomic_store(&o->signo, signo);
	cancel_fire(o->root, CANCEL_USER);
}

static int open_ears(struct ears *o, struct cancel *root, struct err *e)
{
	int rc = signals_open(&o->hear.signals, e);

	o->root = root;
	o->hear.on_signal = on_signal;
	o->hear.arg = o;
	return rc < 0 ? rc : hear_start(&o->hear, e);
}

static void close_ears(struct ears *o)
{
	hear_stop(&o->hear);
	fd_drop(&o->hear.signals);
}

int doctor_main(struct cli *cli, const struct doctor_opt *opt)
{
	SCOPED(cancel_done) struct cancel root = { .fd = -1 };
	struct doctor d = { .cli = cli,
			    .a = cli->a,
			    .offline = opt->offline,
			    .fix = opt->fix,
			    .json = opt->json,
			    .usage = { -1, -1, -1, -1 } };
	struct ears ears = { .hear = { .signals = -1, .quit = { .fd = -1 } } };
	struct config *cfg = NULL;
	struct err e = { 0 };

	if (cancel_init(&root, opt->cancel, TOTAL_MS, &e) < 0 ||
	    (!opt->cancel && open_ears(&ears, &root, &e) < 0)) {
		close_ears(&ears);
		return cli_fail("%s", e.msg);
	}
	if (d.json)
		(void)fputs("[", stdout);
	if (load(&d, &cfg))
		look_all(&d, &root);
	if (d.json)
		(void)fputs("\n]\n", stdout);
	close_ears(&ears);
	config_free(cfg);
	int signo = atomic_load(&ears.signo);
	return signo ? 128 + signo : d.failed ? EXIT_FAILED : EXIT_OK;
}
