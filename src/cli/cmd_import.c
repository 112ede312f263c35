/*
 * gantry import: take over what ai-gantry or MTClaw left.  Without a file that is the configured
 * database, which gantry run takes over by itself; with one, what the file holds is added to ours.
 */
#include "cli/cli.h"

#include "os/path.h"
#include "store/adopt.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>

struct ask {
	struct cli *cli;
	const struct config *cfg;
	const char *file; /* NULL: the configured database */
	bool dry, json;
};

static void print_json(const struct ask *q, const char *path, const struct adopt_report *r)
{
	struct buf b = buf_in(q->cli->a, 1u << 20);

	buf_addc(&b, '{');
	buf_json_member(&b, "file", str_of(path));
	buf_json_member(&b, "program", str_of(r->program));
	buf_json_member(&b, "schema", r->schema);
	buf_fmt(&b, ",\"dry_run\":%s", q->dry ? "true" : "false");
	buf_json_member(&b, "copy", r->copy);
	for (int i = 0; i < ADOPT_WHATS; i++) {
		buf_json_key(&b, adopt_what_name((enum adopt_what)i));
		buf_fmt(&b, "{\"taken\":%lld,\"known\":%lld,\"skipped\":%lld}",
			(long long)r->n[i].taken, (long long)r->n[i].known,
			(long long)r->n[i].skipped);
	}
	buf_json_member_i64(&b, "mended", r->mended);
	buf_add(&b, S(",\"notes\":["));
	for (size_t i = 0; i < r->notes_n; i++) {
		if (i)
			buf_addc(&b, ',');
		buf_json(&b, r->notes[i]);
	}
	buf_addc(&b, ']');
	buf_json_member_i64(&b, "notes_more", r->notes_more);
	buf_add(&b, S("}\n"));
	(void)fwrite(b.p, 1, b.n, stdout);
}

static void print(const struct ask *q, const char *path, const struct adopt_report *r)
{
	struct buf b = buf_in(q->cli->a, 1u << 20);

	if (q->json) {
		print_json(q, path, r);
		return;
	}
	buf_fmt(&b, "%s: %s, schema %.*s\n", path, r->program, STRF(r->schema));
	for (int i = 0; i < ADOPT_WHATS; i++) {
		if (!r->n[i].taken && !r->n[i].known && !r->n[i].skipped)
			continue;
		buf_fmt(&b, "%-10s %6lld %s", adopt_what_name((enum adopt_what)i),
			(long long)r->n[i].taken, q->dry ? "would be taken" : "taken");
		if (r->n[i].known)
			buf_fmt(&b, ", %lld are there already", (long long)r->n[i].known);
		if (r->n[i].skipped)
			buf_fmt(&b, ", %lld skipped", (long long)r->n[i].skipped);
		buf_addc(&b, '\n');
	}
	if (r->mended)
		buf_fmt(&b, "%lld gaps in conversations %s closed\n", (long long)r->mended,
			q->dry ? "would be" : "were");
	for (size_t i = 0; i < r->notes_n; i++)
		buf_fmt(&b, "skipped: %.*s\n", STRF(text_line(q->cli->a, r->notes[i], 300)));
	if (r->notes_more)
		buf_fmt(&b, "skipped: %lld more\n", (long long)r->notes_more);
	if (r->copy.n)
		buf_fmt(&b, "the database as it was: %.*s\n", STRF(r->copy));
	if (q->dry)
		buf_add(&b, S("nothing was changed\n"));
	cli_print(q->cli, buf_str(&b));
}

/* Opening it for writing is what takes it over. */
static int in_place(const struct ask *q, struct err *e)
{
	const char *path = arena_cstr(q->cli->a, q->cfg->store.dsn);
	struct adopt_report r;
	struct store *s;
	int rc = store_adopt_preview(path, q->cli->a, &r, NULL, e);

	if (rc < 0)
		return rc;
	if (q->dry) {
		print(q, path, &r);
		return OK;
	}
	if ((rc = store_open(&s, &q->cfg->store, STORE_CLI, NULL, e)) < 0)
		return rc;
	const struct adopt_report *done = store_adopted(s);
	if (done)
		print(q, path, done);
	store_close(s);
	return done ? OK : err_set(e, E_BUSY, "%s was taken over by another process", path);
}

static int from_file(const struct ask *q, struct err *e)
{
	const char *path = arena_cstr(q->cli->a, q->cfg->store.dsn);
	struct adopt_report r;
	struct store *s;
	int rc;

	/* A dry run makes no database. */
	if (q->dry && !path_exists(path)) {
		rc = store_adopt_preview(q->file, q->cli->a, &r, NULL, e);
	} else {
		rc = store_open(&s, &q->cfg->store, STORE_READ, NULL, e);
		if (rc == OK)
			store_close(s);
		if (rc < 0 && rc != E_NOENT)
			return rc;
		if ((rc = store_open(&s, &q->cfg->store, STORE_CLI, NULL, e)) < 0)
			return rc;
		rc = store_adopt_merge(s, q->file, q->dry, q->cli->a, &r, NULL, e);
		store_close(s);
	}
	if (rc == OK)
		print(q, q->file, &r);
	return rc;
}

static int run(struct cli *cli)
{
	struct ask q = { .cli = cli };
	struct config *cfg = NULL;
	struct err e = { 0 };

	q.dry = cli_flag(cli, "--dry-run");
	q.json = cli_flag(cli, "--json");
	int code = cli_rest(cli, 0, 1);
	if (code != EXIT_OK || (code = cli_config(cli, CONFIG_STORE, true, &cfg)) != EXIT_OK)
		return code;
	q.cfg = cfg;
	q.file = cli->argc ? cli->argv[0] : NULL;
	int rc = q.file ? from_file(&q, &e) : in_place(&q, &e);
	config_free(cfg);
	return rc < 0 ? cli_fail("%s", e.msg) : EXIT_OK;
}

const struct cmd cmd_import = {
	.name = "import",
	.summary = "take over a database of ai-gantry or MTClaw",
	.usage =
		"usage: gantry import [--dry-run] [--json] [FILE]\n"
		"\n"
		"Without FILE the configured database is taken over, as gantry run does by "
		"itself:\n"
		"a copy is left beside it (NAME.ai-gantry.bak or NAME.mtclaw.bak), and the "
		"program it\n"
		"was of must not be running.  With FILE, what that holds is added to gantry's "
		"own\n"
		"database, but what is there already; FILE is only read.  A row that cannot be "
		"taken\n"
		"is skipped, and said.  --dry-run shows what would happen and changes "
		"nothing.\n"
		"\n"
		"example:\n"
		"  gantry import --dry-run ~/.mtclaw/mtclaw.db\n",
	.run = run,
};
