/*
 * gantry approvals: which tools were called, who decided and what came of it; and what was
 * allowed for good.  Safe beside a running daemon: reading takes no lock, taking a grant back
 * is one short transaction.
 */
#include "cli/cli.h"

#include "base/date.h"
#include "cli/show.h"
#include "os/clock.h"
#include "store/audit.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

#define OUT_MAX ((size_t)256 << 20)
#define ID_SHOWN 12 /* digits of a grant's hash */
#define DAY_MS ((int64_t)24 * 3600 * 1000)

/* What kindred programs call it. */
static str label(const struct audit_row *r)
{
	static const char *const words[][2] = {
		{ "deny", "denied_rule" },
		{ "denied", "denied_user" },
		{ "unanswered", "expired" },
		{ "too long", "refused_too_long" },
	};

	if (str_eq(r->decision, S("allow")))
		return r->rule.n ? S("allowed_rule") : S("allowed");
	for (size_t i = 0; i < COUNT(words); i++)
		if (str_eq(r->decision, str_of(words[i][0])))
			return str_of(words[i][1]);
	return r->decision;
}

static void row_json(struct buf *b, const struct config *cfg, const struct audit_row *r,
		     struct arena *a)
{
	buf_addc(b, '{');
	buf_json_member(b, "at", date_rfc3339(a, r->created_at_ms));
	buf_json_member(b, "id", str_of(r->id.p));
	buf_json_member(b, "session", r->session_id);
	buf_json_member(b, "turn", r->turn_id);
	buf_json_member(b, "tool", r->tool);
	buf_json_member(b, "state", r->state);
	buf_json_member(b, "decision", label(r));
	buf_json_member(b, "rule", r->rule);
	buf_json_member(b, "decider", r->decider);
	buf_json_member(b, "requester", r->requester);
	if (r->has_exit)
		buf_json_member_i64(b, "exit_code", r->exit_code);
	if (r->has_duration)
		buf_json_member_i64(b, "duration_ms", r->duration_ms);
	buf_json_key(b, "truncated");
	buf_add(b, r->truncated ? S("true") : S("false"));
	buf_json_member(b, "command", show_args(cfg, r->tool, r->args, a));
	buf_addc(b, '}');
}

static void row_text(struct buf *b, const struct config *cfg, const struct audit_row *r,
		     struct arena *a)
{
	char exit[24] = "-", took[24] = "-";

	if (r->has_exit)
		(void)snprintf(exit, sizeof exit, "%lld", (long long)r->exit_code);
	if (r->has_duration)
		(void)snprintf(took, sizeof took, "%lld", (long long)r->duration_ms);
	buf_fmt(b, "%.*s  %-22.*s %-20.*s %-16.*s %-12.*s %-12.*s %5s %11s %-5s  %.*s\n",
		STRF(date_rfc3339(a, r->created_at_ms)), STRF(r->session_id),
		STRF(text_line(a, r->tool, 40)), STRF(label(r)),
		STRF(text_line(a, r->decider, 24)), STRF(text_line(a, r->requester, 24)), exit,
		took, r->truncated ? "yes" : "no",
		STRF(text_line(a, show_args(cfg, r->tool, r->args, a), 200)));
}

static int list(struct cli *cli, const struct config *cfg, struct store *s, int64_t limit,
		bool json, struct err *e)
{
	struct buf b = buf_in(cli->a, OUT_MAX);
	struct audit_row *v;
	size_t n;
	int rc = store_audit_list(s, limit, cli->a, &v, &n, e);

	if (rc < 0)
		return rc;
	buf_add(&b, json ? S("[")
			 : S("TIME                      SESSION                TOOL        "
			     "         DECISION         DECIDER      REQUESTER     EXIT "
			     "DURATION_MS TRUNC  COMMAND\n"));
	for (size_t i = 0; i < n; i++) {
		buf_add(&b, !json ? S("") : i ? S(",\n") : S("\n"));
		(json ? row_json : row_text)(&b, cfg, &v[i], cli->a);
	}
	if (b.full)
		return err_set(e, E_LIMIT, "the list is over %zu bytes; say --limit", OUT_MAX);
	if (json) {
		buf_add(&b, S("\n]\n"));
		(void)fwrite(b.p, 1, b.n, stdout);
		return OK;
	}
	cli_print(cli, n ? buf_str(&b) : S("no tool was called yet\n"));
	return OK;
}

static void grant_json(struct buf *b, const struct grant *g, int64_t until_ms, struct arena *a)
{
	buf_addc(b, '{');
	buf_json_member(b, "id", str_sub(g->hash, 0, ID_SHOWN));
	buf_json_member(b, "tool", g->tool);
	buf_json_member(b, "by", g->by);
	buf_json_member(b, "at", date_rfc3339(a, g->created_at_ms));
	buf_json_member(b, "expires", until_ms ? date_rfc3339(a, until_ms) : S(""));
	buf_json_member(b, "command", g->command);
	buf_addc(b, '}');
}

static int rules_list(struct cli *cli, const struct config *cfg, struct store *s, bool json,
		      struct err *e)
{
	struct buf b = buf_in(cli->a, OUT_MAX);
	struct grant *v;
	size_t n;
	int rc = store_grant_list(s, cli->a, &v, &n, e);

	if (rc < 0)
		return rc;
	buf_add(&b, json ? S("[")
			 : S("ID            TOOL                 BY           EXPIRES        "
			     "           COMMAND\n"));
	for (size_t i = 0; i < n; i++) {
		int64_t days = cfg->policy.grant_days;
		int64_t until = days ? v[i].created_at_ms + days * DAY_MS : 0;
		str when = !until                   ? S("never")
			   : until < clock_now_ms() ? S("expired")
						    : date_rfc3339(cli->a, until);
		buf_add(&b, !json ? S("") : i ? S(",\n") : S("\n"));
		if (json)
			grant_json(&b, &v[i], until, cli->a);
		else
			buf_fmt(&b, "%-13.*s %-20.*s %-12.*s %-25.*s %.*s\n",
				STRF(str_sub(v[i].hash, 0, ID_SHOWN)),
				STRF(text_line(cli->a, v[i].tool, 40)),
				STRF(text_line(cli->a, v[i].by, 24)), STRF(when),
				STRF(text_line(cli->a, v[i].command, 200)));
	}
	if (b.full)
		return err_set(e, E_LIMIT, "the list is over %zu bytes", OUT_MAX);
	if (json)
		(void)fwrite(b.p, 1, b.n, stdout);
	if (json)
		(void)fputs("\n]\n", stdout);
	else
		cli_print(cli, n ? buf_str(&b) : S("nothing is allowed for good\n"));
	return OK;
}

static int rules_rm(struct cli *cli, struct store *s, str id, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, s, NULL, e)) < 0 ||
	    (rc = store_grant_remove(&tx, id, e)) < 0 || (rc = store_commit(&tx, e)) < 0)
		return rc;
	cli_print(cli, S("taken back: it will be asked about again\n"));
	return OK;
}

static int with_store(struct cli *cli, const struct config *cfg, int64_t limit, bool json)
{
	bool rules = strcmp(cli->argv[0], "rules") == 0;
	bool rm = rules && strcmp(cli->argv[1], "rm") == 0;
	struct store *s;
	struct err e = { 0 };
	int rc = store_open(&s, &cfg->store, STORE_READ, NULL, &e);

	if (rc == E_NOENT) {
		cli_print(cli, json ? S("[]\n") : S("no database yet\n"));
		return EXIT_OK;
	}
	if (rc == OK && rm) {
		store_close(s);
		rc = store_open(&s, &cfg->store, STORE_CLI, NULL, &e);
	}
	if (rc < 0)
		return cli_fail("%s", e.msg);
	rc = rm      ? rules_rm(cli, s, str_of(cli->argv[2]), &e)
	     : rules ? rules_list(cli, cfg, s, json, &e)
		     : list(cli, cfg, s, limit, json, &e);
	store_close(s);
	return rc < 0 ? cli_fail("%s", e.msg) : EXIT_OK;
}

static bool fits(const struct cli *cli)
{
	if (strcmp(cli->argv[0], "list") == 0)
		return cli->argc == 1;
	if (strcmp(cli->argv[0], "rules") != 0 || cli->argc < 2)
		return false;
	return (strcmp(cli->argv[1], "list") == 0 && cli->argc == 2) ||
	       (strcmp(cli->argv[1], "rm") == 0 && cli->argc == 3);
}

static int run(struct cli *cli)
{
	bool json = cli_flag(cli, "--json"), bad = false;
	const char *text = "50";
	struct config *cfg = NULL;
	int64_t limit = 0;

	(void)cli_value(cli, "--limit", &text, &bad);
	if (bad || !str_i64(str_of(text), &limit) || limit < 0)
		return cli_misuse(cli, "--limit wants a number, 0 for all");
	int code = cli_rest(cli, 1, 3);
	if (code != EXIT_OK)
		return code;
	if (!fits(cli))
		return cli_misuse(cli, "say list, rules list, or rules rm ID");
	if ((code = cli_config(cli, CONFIG_STORE | CONFIG_TOOLS, true, &cfg)) != EXIT_OK)
		return code;
	code = with_store(cli, cfg, limit, json);
	config_free(cfg);
	return code;
}

const struct cmd cmd_approvals = {
	.name = "approvals",
	.summary = "what was run and who allowed it; what is allowed for good",
	.usage = "usage: gantry approvals list [--limit N] [--json]\n"
		 "       gantry approvals rules list [--json]\n"
		 "       gantry approvals rules rm ID\n"
		 "\n"
		 "list shows every call of a tool, newest first, with secrets hidden.  rules "
		 "are "
		 "the\n"
		 "exact calls that were answered with \"always\"; a removed one is asked about "
		 "again.\n"
		 "\n"
		 "example:\n"
		 "  gantry approvals list --limit 10\n",
	.run = run,
};
