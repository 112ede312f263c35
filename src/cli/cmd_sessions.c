/*
 * gantry sessions: read and delete conversations.  Safe beside a running daemon: reading
 * takes no lock, deleting is one short transaction.
 */
#include "cli/cli.h"

#include "base/date.h"
#include "store/message.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

#define PAGE 200

static int list(struct cli *cli, struct store *s, int64_t limit, struct err *e)
{
	struct buf b = buf_in(cli->a, 64u << 20);
	struct session *v;
	size_t n;
	int rc = store_session_list(s, limit, cli->a, &v, &n, e);

	if (rc < 0)
		return rc;
	buf_add(&b, S("ID                     CHANNEL   ADDRESS        MESSAGES    TOKENS  "
		      "UPDATED\n"));
	for (size_t i = 0; i < n; i++)
		buf_fmt(&b, "%-22.*s %-9.*s %-14.*s %8lld %9lld  %.*s\n", STRF(v[i].id),
			STRF(v[i].channel), STRF(text_line(cli->a, v[i].address, 40)),
			(long long)v[i].messages_n,
			(long long)(v[i].prompt_tokens + v[i].completion_tokens),
			STRF(date_rfc3339(cli->a, v[i].updated_at_ms)));
	cli_print(cli, buf_str(&b));
	return OK;
}

static void show_one(struct buf *b, struct arena *a, const struct message *m)
{
	buf_fmt(b, "[%lld] %.*s", (long long)m->seq, STRF(m->role));
	if (m->tool_name.n)
		buf_fmt(b, " (%.*s)", STRF(m->tool_name));
	buf_fmt(b, ": %.*s\n", STRF(text_visible(a, m->text, false)));
	struct json *v;
	const struct json *calls = NULL;
	if (str_eq(m->role, S("assistant")) && json_read(&v, a, m->wire, NULL) == OK)
		calls = json_get(v, "tool_calls");
	for (const struct json *c = calls ? calls->child : NULL; c; c = c->next) {
		const struct json *fn = json_get(c, "function");
		buf_fmt(b, "    call %.*s %.*s\n", STRF(json_str(fn, "name")),
			STRF(text_line(a, json_str(fn, "arguments"), 2000)));
	}
}

/* All messages, page by page, so that a long session needs no memory. */
static int each(struct store *s, str id, FILE *out,
		void (*print)(struct buf *b, struct arena *a, const struct message *m),
		struct err *e)
{
	int64_t after = 0;

	for (;;) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, 256u << 20);
		struct message *v;
		size_t n;
		int rc = store_messages(s, id, after, PAGE, &a, &v, &n, e);
		if (rc < 0 || n == 0)
			return rc;
		for (size_t i = 0; i < n; i++)
			print(&b, &a, &v[i]);
		if (fwrite(b.p, 1, b.n, out) != b.n)
			return err_sys(e, "standard output");
		after = v[n - 1].seq;
	}
}

/* One JSON object a line: position, turn and the exact wire message. */
static void export_one(struct buf *b, struct arena *a, const struct message *m)
{
	struct json *v;

	buf_addc(b, '{');
	buf_json_member_i64(b, "seq", m->seq);
	buf_json_member(b, "turn", m->turn_id);
	buf_json_member(b, "at", date_rfc3339(a, m->created_at_ms));
	if (m->context.n)
		buf_json_member(b, "context", m->context);
	buf_json_key(b, "message");
	if (json_read(&v, a, m->wire, NULL) == OK)
		buf_add(b, m->wire);
	else
		buf_json(b, m->wire);
	buf_add(b, S("}\n"));
}

static int by_id(struct cli *cli, struct store *s, const char *verb, str id, struct err *e)
{
	struct session found;
	int rc = store_session_get(s, id, cli->a, &found, e);

	if (rc == E_NOENT)
		return err_set(e, rc, "no session %.*s; see gantry sessions list", STRF(id));
	if (rc < 0)
		return rc;
	if (strcmp(verb, "show") == 0)
		return each(s, id, stdout, show_one, e);
	if (strcmp(verb, "export") == 0)
		return each(s, id, stdout, export_one, e);
	SCOPED(store_rollback) struct tx tx = { 0 };
	if ((rc = store_begin(&tx, s, NULL, e)) < 0 ||
	    (rc = store_session_remove(&tx, id, e)) < 0 || (rc = store_commit(&tx, e)) < 0)
		return rc;
	cli_print(cli, S("deleted session\n"));
	return OK;
}

static int with_store(struct cli *cli, const struct config *cfg, int64_t limit)
{
	const char *verb = cli->argv[0];
	enum store_mode mode = strcmp(verb, "rm") == 0 ? STORE_CLI : STORE_READ;
	struct store *s;
	struct err e = { 0 };
	int rc = store_open(&s, &cfg->store, STORE_READ, NULL, &e);

	if (rc == E_NOENT) {
		cli_print(cli, S("no database yet\n"));
		return EXIT_OK;
	}
	if (rc == OK && mode == STORE_CLI) {
		store_close(s);
		rc = store_open(&s, &cfg->store, mode, NULL, &e);
	}
	if (rc < 0)
		return cli_fail("%s", e.msg);
	if (strcmp(verb, "list") == 0)
		rc = list(cli, s, limit, &e);
	else
		rc = by_id(cli, s, verb, str_of(cli->argv[1]), &e);
	store_close(s);
	return rc < 0 ? cli_fail("%s", e.msg) : EXIT_OK;
}

static int run(struct cli *cli)
{
	const char *text = "50";
	bool bad = false;
	struct config *cfg = NULL;
	int64_t limit = 0;

	(void)cli_value(cli, "--limit", &text, &bad);
	if (bad || !str_i64(str_of(text), &limit) || limit < 0)
		return cli_misuse(cli, "--limit wants a number, 0 for all");
	int code = cli_rest(cli, 1, 2);
	if (code != EXIT_OK)
		return code;
	const char *verb = cli->argv[0];
	bool one = strcmp(verb, "show") == 0 || strcmp(verb, "rm") == 0 ||
		   strcmp(verb, "export") == 0;
	if (!(one && cli->argc == 2) && !(strcmp(verb, "list") == 0 && cli->argc == 1))
		return cli_misuse(cli, "say list, or show|rm|export ID");
	if ((code = cli_config(cli, CONFIG_STORE, true, &cfg)) != EXIT_OK)
		return code;
	code = with_store(cli, cfg, limit);
	config_free(cfg);
	return code;
}

const struct cmd cmd_sessions = {
	.name = "sessions",
	.summary = "list, show, export or delete conversations",
	.usage =
		"usage: gantry sessions list [--limit N]\n"
		"       gantry sessions show|export|rm ID\n"
		"\n"
		"export prints one JSON object a line, with the exact message as it was sent.\n"
		"\n"
		"example:\n"
		"  gantry sessions export $(gantry sessions list --limit 1 | awk 'NR==2 {print "
		"$1}')\n",
	.run = run,
};
