/*
 * gantry queue: what waits, what is worked on and what did not end well, in inbox and outbox.
 * Looking takes no lock; retry and drop are one short transaction, safe beside a running daemon.
 */
#include "cli/cli.h"

#include "base/date.h"
#include "cli/show.h"
#include "config/zones.h"
#include "os/clock.h"
#include "store/queue.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>

#define LIST_MAX 1000
#define OUT_MAX ((size_t)32 << 20)

static str name_of(const struct queue_row *q, struct arena *a)
{
	return arena_fmt(a, "%c%lld", q->out ? 'o' : 'i', (long long)q->id);
}

static void row_json(struct buf *b, const struct config *cfg, const struct queue_row *q,
		     struct arena *a)
{
	buf_addc(b, '{');
	buf_json_member(b, "id", name_of(q, a));
	buf_json_member(b, "queue", q->out ? S("outbox") : S("inbox"));
	buf_json_member(b, "state", q->state);
	buf_json_member(b, "kind", q->kind);
	buf_json_member(b, "channel", show_line(cfg, q->channel, 100, a));
	buf_json_member(b, "address", show_line(cfg, q->address, 100, a));
	buf_json_member(b, "session", q->session_id);
	buf_json_member(b, "turn", q->turn_id);
	buf_json_member(b, "created_at", date_rfc3339(a, q->created_at_ms));
	if (q->wait_until_at_ms)
		buf_json_member(b, "not_before", date_rfc3339(a, q->wait_until_at_ms));
	if (q->out) {
		buf_json_member_i64(b, "pieces", q->pieces);
		buf_json_member_i64(b, "sent", q->sent);
		buf_json_member_i64(b, "unknown", q->unknown);
		buf_json_member_i64(b, "dead", q->dead);
	}
	buf_json_member(b, "error", show_line(cfg, q->error, 400, a));
	buf_json_member(b, "text", show_line(cfg, q->text, 400, a));
	buf_addc(b, '}');
}

/* What a row is, in words: for the list and for what was dropped. */
static str about(const struct config *cfg, const struct queue_row *q, struct arena *a)
{
	struct buf b = buf_in(a, 4096);

	if (q->pieces)
		buf_fmt(&b, "%lld of %lld parts sent; ", (long long)q->sent,
			(long long)q->pieces);
	if (q->error.n)
		buf_fmt(&b, "%.*s; ", STRF(show_line(cfg, q->error, 60, a)));
	buf_fmt(&b, "\"%.*s\"",
		STRF(show_line(cfg,
			       str_eq(q->kind, S("approval")) ? S("(a question)") : q->text, 48,
			       a)));
	return buf_str(&b);
}

static void row_text(struct buf *b, const struct config *cfg, const struct zone *z,
		     const struct queue_row *q, struct arena *a)
{
	str where = arena_fmt(a, "%.*s %.*s", STRF(q->channel), STRF(q->address));

	buf_fmt(b, "%-8.*s %-8.*s %-9.*s %.*s  %-20.*s %.*s\n", STRF(name_of(q, a)),
		STRF(q->state), STRF(q->kind), STRF(show_time(z, a, q->created_at_ms)),
		STRF(show_line(cfg, where, 40, a)), STRF(about(cfg, q, a)));
}

static int list(struct cli *cli, const struct config *cfg, struct store *s, bool json,
		int *code, struct err *e)
{
	const struct zone *z = zone_load_or_utc(cli->a, cfg->cron.zone);
	struct buf b = buf_in(cli->a, OUT_MAX);
	struct queue_row *v;
	size_t n;
	bool more;
	int rc = store_queue_list(s, LIST_MAX, cli->a, &v, &n, &more, e);

	if (rc < 0)
		return rc;
	buf_add(&b, json ? S("[")
			 : S("ID       STATE    KIND      SINCE                WHERE          "
			     "      ABOUT\n"));
	for (size_t i = 0; i < n; i++) {
		buf_add(&b, !json ? S("") : i ? S(",\n") : S("\n"));
		if (json)
			row_json(&b, cfg, &v[i], cli->a);
		else
			row_text(&b, cfg, z, &v[i], cli->a);
	}
	if (json) {
		buf_add(&b, n ? S("\n]\n") : S("]\n"));
	} else if (!n) {
		buf_reset(&b);
		buf_add(&b, S("nothing waits, and nothing failed\n"));
	} else if (more) {
		buf_add(&b, S("(there are more: these are the oldest)\n"));
	}
	*code = cli_answer(cli, &b, json);
	return OK;
}

/* "i12" or "o7". */
static bool parse_id(str text, bool *out, int64_t *id)
{
	if (text.n < 2 || (text.p[0] != 'i' && text.p[0] != 'o'))
		return false;
	*out = text.p[0] == 'o';
	return str_i64(str_sub(text, 1, text.n), id) && *id > 0;
}

static int change(struct cli *cli, const struct config *cfg, struct store *s, bool out,
		  int64_t id, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	bool retry = strcmp(cli->argv[0], "retry") == 0;
	struct queue_row was;
	int64_t made = 0, n = 0;
	int rc = store_begin(&tx, s, NULL, e);

	if (rc == OK)
		rc = retry ? store_queue_retry(&tx, out, id, cli->a, &made, &n, e)
			   : store_queue_drop(&tx, out, id, cli->a, &was, e);
	if (rc < 0 || (rc = store_commit(&tx, e)) < 0)
		return rc;
	if (!retry)
		cli_print(cli, arena_fmt(cli->a, "dropped %.*s (%.*s %.*s): %.*s\n",
					 STRF(name_of(&was, cli->a)), STRF(was.state),
					 STRF(was.kind), STRF(about(cfg, &was, cli->a))));
	else if (made)
		cli_print(cli, arena_fmt(cli->a, "queued again as i%lld\n", (long long)made));
	else
		cli_print(cli, arena_fmt(cli->a, "%lld part%s to be sent again\n", (long long)n,
					 n == 1 ? " is" : "s are"));
	return OK;
}

static int with_store(struct cli *cli, const struct config *cfg, bool json, bool out,
		      int64_t id)
{
	bool look = strcmp(cli->argv[0], "list") == 0;
	struct store *s;
	struct err e = { 0 };
	int rc = store_open(&s, &cfg->store, STORE_READ, NULL, &e), code = EXIT_OK;

	if (rc == E_NOENT && look) {
		cli_print(cli, json ? S("[]\n") : S("no database yet\n"));
		return EXIT_OK;
	}
	if (rc == E_NOENT)
		return cli_fail("there is no database yet, and so nothing in the queue");
	if (rc == OK && !look) {
		store_close(s);
		rc = store_open(&s, &cfg->store, STORE_CLI, NULL, &e);
	}
	if (rc < 0)
		return cli_fail("%s", e.msg);
	rc = look ? list(cli, cfg, s, json, &code, &e) : change(cli, cfg, s, out, id, &e);
	store_close(s);
	return rc < 0 ? cli_fail("%s", e.msg) : code;
}

static int run(struct cli *cli)
{
	bool json = cli_flag(cli, "--json"), out = false;
	struct config *cfg = NULL;
	int64_t id = 0;
	int code = cli_rest(cli, 1, 2);

	if (code != EXIT_OK)
		return code;
	bool look = strcmp(cli->argv[0], "list") == 0;
	bool one = strcmp(cli->argv[0], "retry") == 0 || strcmp(cli->argv[0], "drop") == 0;
	if (!(look && cli->argc == 1) && !(one && cli->argc == 2))
		return cli_misuse(cli, "say list, or retry|drop ID");
	if (one && !parse_id(str_of(cli->argv[1]), &out, &id))
		return cli_misuse(cli, "%s is no id of the list, such as i12 or o7",
				  cli->argv[1]);
	if ((code = cli_config(cli, CONFIG_STORE | CONFIG_TOOLS, true, &cfg)) != EXIT_OK)
		return code;
	code = with_store(cli, cfg, json, out, id);
	config_free(cfg);
	return code;
}

const struct cmd cmd_queue = {
	.name = "queue",
	.summary = "what waits or failed, in and out; try it again or drop it",
	.usage = "usage: gantry queue list [--json]\n"
		 "       gantry queue retry|drop ID\n"
		 "\n"
		 "Rows of the inbox have an id like i12: they wait, run, are parked for an "
		 "answer, or\n"
		 "their turn failed in the last seven days.  Rows of the outbox are o7: they "
		 "wait, are\n"
		 "being sent, a part may not have arrived (unknown), or was refused (dead).\n"
		 "retry runs a failed message again, or sends the missing parts again; a "
		 "running\n"
		 "daemon does it within 30 seconds.  drop says what it took off.\n"
		 "\n"
		 "example:\n"
		 "  gantry queue list && gantry queue retry o7\n",
	.run = run,
};
