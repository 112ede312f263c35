/*
 * gantry memory: read, correct and delete by hand what the agent remembers.  Safe beside a
 * running daemon: every change is one short transaction, and the daemon's next prompt sees it.
 */
#include "cli/cli.h"

#include "os/file.h"
#include "store/memory_forget.h"
#include "text/json.h"
#include "text/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define IMPORT_MAX ((size_t)256 << 20)
#define ROWS_MAX 1000000
#define LIST_LIMIT 200

struct ask {
	struct cli *cli;
	struct store *s;
	bool json, all;
	int64_t limit;
	unsigned kind; /* 0: all */
	const char *query; /* --query, NULL */
};

static void row_json(struct buf *b, const struct memory *m)
{
	buf_addc(b, '{');
	buf_json_member_i64(b, "id", m->id);
	buf_json_member(b, "kind", m->kind);
	buf_json_member(b, "subject", m->subject);
	buf_json_member(b, "content", m->content);
	buf_json_member(b, "source", m->source);
	buf_json_key(b, "confidence");
	buf_fmt(b, "%.6g", m->confidence);
	buf_json_member(b, "created_at", m->created_at);
	buf_json_member(b, "updated_at", m->updated_at);
	if (m->expires_at.n)
		buf_json_member(b, "expires_at", m->expires_at);
	if (m->superseded_by)
		buf_json_member_i64(b, "superseded_by", m->superseded_by);
	buf_add(b, S("}\n"));
}

static void row_line(struct buf *b, struct arena *a, const struct memory *m)
{
	buf_fmt(b, "%lld\t%.*s", (long long)m->id,
		STRF(text_visible(a, memory_line(a, m), true)));
	if (m->superseded_by)
		buf_fmt(b, "\t[superseded by %lld]", (long long)m->superseded_by);
	else if (!m->active)
		buf_add(b, S("\t[expired]"));
	buf_addc(b, '\n');
}

static void print(const struct ask *q, const struct memory *v, size_t n)
{
	struct buf b = buf_in(q->cli->a, (size_t)2 << 30);

	for (size_t i = 0; i < n; i++) {
		if (q->json)
			row_json(&b, &v[i]);
		else
			row_line(&b, q->cli->a, &v[i]);
	}
	if (q->json)
		(void)fwrite(b.p, 1, b.n, stdout);
	else
		cli_print(q->cli, buf_str(&b));
}

static int list(const struct ask *q, struct err *e)
{
	struct memory_filter f = { .kinds = q->kind, .inactive = q->all, .limit = q->limit };
	struct memory *v;
	size_t n;
	int rc = store_memory_list(q->s, &f, q->cli->a, &v, &n, e);

	if (rc == OK)
		print(q, v, n);
	return rc;
}

static int search(const struct ask *q, struct err *e)
{
	struct memory *v;
	size_t n;
	int rc = store_memory_search(q->s, str_of(q->cli->argv[1]),
				     q->limit ? q->limit : ROWS_MAX, q->cli->a, &v, &n, e);

	if (rc == OK)
		print(q, v, n);
	return rc;
}

static int one_id(const struct ask *q, int64_t *id, struct err *e)
{
	const char *text = q->cli->argv[1];

	if (!str_i64(str_of(text), id) || *id <= 0)
		return err_set(e, E_INVAL, "\"%s\" is no id; see gantry memory list", text);
	return OK;
}

static int show(const struct ask *q, struct err *e)
{
	struct buf b = buf_in(q->cli->a, 1u << 20);
	struct memory *v;
	int64_t id;
	size_t n;
	int rc = one_id(q, &id, e);

	if (rc == OK)
		rc = store_memory_get(q->s, &id, 1, q->cli->a, &v, &n, e);
	if (rc == OK && n == 0)
		return err_set(e, E_NOENT, "no memory with id %lld", (long long)id);
	if (rc < 0)
		return rc;
	if (q->json) {
		print(q, v, n);
		return OK;
	}
	row_line(&b, q->cli->a, v);
	buf_fmt(&b, "source %.*s, confidence %.3g, created %.*s, updated %.*s", STRF(v->source),
		v->confidence, STRF(v->created_at), STRF(v->updated_at));
	if (v->expires_at.n)
		buf_fmt(&b, ", expires %.*s", STRF(v->expires_at));
	buf_addc(&b, '\n');
	cli_print(q->cli, buf_str(&b));
	return OK;
}

static int store_one(const struct ask *q, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	char **arg = q->cli->argv;
	struct memory m = { .kind = str_of(arg[1]),
			    .subject = str_of(arg[2]),
			    .content = str_of(arg[3]),
			    .source = S("operator") };
	int64_t id;
	bool known;
	int rc;

	if ((rc = store_begin(&tx, q->s, NULL, e)) < 0 ||
	    (rc = store_memory_add(&tx, &m, &id, &known, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	(void)printf("%s id=%lld\n", known ? "known already:" : "stored", (long long)id);
	return OK;
}

static int chosen(const struct ask *q, int64_t **ids, size_t *n, struct err *e)
{
	struct memory *hits;

	*ids = NEW(q->cli->a, int64_t);
	*n = 1;
	if (!q->query)
		return one_id(q, *ids, e);
	int rc = store_memory_match(q->s, str_of(q->query), q->cli->a, &hits, n, e);
	if (rc < 0)
		return rc;
	*ids = NEWN(q->cli->a, int64_t, *n + 1);
	for (size_t i = 0; i < *n; i++)
		(*ids)[i] = hits[i].id;
	return OK;
}

static int forget_some(const struct ask *q, size_t *n, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	struct memory *gone;
	int64_t *ids;
	int rc = chosen(q, &ids, n, e);

	if (rc < 0 || *n == 0 || (rc = store_begin(&tx, q->s, NULL, e)) < 0 ||
	    (rc = store_memory_forget(&tx, ids, *n, S(""), q->cli->a, &gone, n, e)) < 0 ||
	    (rc = store_commit(&tx, e)) < 0)
		return rc;
	print(q, gone, *n);
	return OK;
}

static int forget(const struct ask *q, struct err *e)
{
	size_t all = 0, n;
	int rc;

	/* A search finds only so many at once. */
	do {
		if ((rc = forget_some(q, &n, e)) < 0)
			return rc;
		all += n;
	} while (q->query && n);
	if (all)
		return OK;
	return err_set(e, E_NOENT, "%s; nothing was forgotten",
		       q->query ? "no memory has all words of the query"
				: "there is no memory with this id");
}

static int export_all(const struct ask *q, struct err *e)
{
	struct memory_filter f = { .inactive = true, .oldest_first = true, .limit = 1000 };

	for (;;) {
		SCOPED(arena_free) struct arena a = { 0 };
		struct buf b = buf_in(&a, (size_t)256 << 20);
		struct memory *v;
		size_t n;
		int rc = store_memory_list(q->s, &f, &a, &v, &n, e);
		if (rc < 0 || n == 0)
			return rc;
		for (size_t i = 0; i < n; i++)
			row_json(&b, &v[i]);
		if (fwrite(b.p, 1, b.n, stdout) != b.n)
			return err_sys(e, "standard output");
		f.after_id = v[n - 1].id;
	}
}

static int import_line(struct tx *tx, str line, int64_t at, bool *known, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct json *v;
	struct err why = { 0 };
	int rc = json_read(&v, &a, line, &why);

	if (rc == OK && !json_is(v, JSON_OBJECT))
		rc = err_set(&why, E_INVAL, "must be an object");
	if (rc < 0)
		return err_set(e, E_INVAL, "line %lld: %s", (long long)at, why.msg);
	const struct json *sure = json_get(v, "confidence");
	struct memory m = {
		.id = json_i64(v, "id", 0),
		.kind = json_str(v, "kind"),
		.subject = json_str(v, "subject"),
		.content = json_str(v, "content"),
		.source = json_str(v, "source"),
		.confidence = json_is(sure, JSON_INT) || json_is(sure, JSON_REAL) ? sure->d : 1,
		.created_at = json_str(v, "created_at"),
		.updated_at = json_str(v, "updated_at"),
		.expires_at = json_str(v, "expires_at"),
		.superseded_by = json_i64(v, "superseded_by", 0),
	};
	rc = store_memory_import(tx, &m, known, &why);
	return rc < 0 ? err_set(e, rc, "line %lld: %s", (long long)at, why.msg) : OK;
}

/* All or nothing: a bad line says which, and what was there stays as it was. */
static int import(const struct ask *q, struct err *e)
{
	SCOPED(store_rollback) struct tx tx = { 0 };
	const char *path = q->cli->argv[1];
	int64_t at = 0, added = 0, there = 0;
	str text;
	int rc = strcmp(path, "-") == 0
			 ? file_read_fd(&text, q->cli->a, STDIN_FILENO, IMPORT_MAX, e)
			 : file_read(&text, q->cli->a, path, IMPORT_MAX, e);

	if (rc < 0 || (rc = store_begin(&tx, q->s, NULL, e)) < 0)
		return rc;
	while (text.n) {
		str line = str_trim(str_cut(&text, '\n'));
		bool known = false;
		at++;
		if (line.n == 0)
			continue;
		if ((rc = import_line(&tx, line, at, &known, e)) < 0)
			return rc;
		added += !known;
		there += known;
	}
	if ((rc = store_commit(&tx, e)) < 0)
		return rc;
	(void)printf("imported %lld, %lld were there already\n", (long long)added,
		     (long long)there);
	return OK;
}

static int check(const struct ask *q, struct err *e)
{
	struct memory_health h;
	int rc = store_memory_check(q->s, NULL, &h, e);

	if (rc < 0)
		return rc;
	if (q->json)
		(void)printf("{\"rows\":%lld,\"active\":%lld,\"rebuilt\":%s,\"indexed\":%lld,"
			     "\"purged\":%lld}\n",
			     (long long)h.rows, (long long)h.active, h.stale ? "true" : "false",
			     (long long)h.unindexed, (long long)h.purged);
	else
		(void)printf("%lld memories, %lld active; the index %s; %lld indexed anew; "
			     "%lld expired long ago deleted\n",
			     (long long)h.rows, (long long)h.active,
			     h.stale ? "did not fit and was rebuilt" : "is sound",
			     (long long)h.unindexed, (long long)h.purged);
	return OK;
}

static const struct verb {
	const char *name;
	int args; /* besides itself */
	bool writes;
	int (*run)(const struct ask *q, struct err *e);
} verbs[] = {
	{ "list", 0, false, list },    { "search", 1, false, search },
	{ "show", 1, false, show },    { "store", 3, true, store_one },
	{ "forget", 1, true, forget }, { "export", 0, false, export_all },
	{ "import", 1, true, import }, { "check", 0, true, check },
};

static const struct verb *verb_of(const struct cli *cli, bool query)
{
	for (size_t i = 0; i < COUNT(verbs); i++)
		if (strcmp(cli->argv[0], verbs[i].name) == 0) {
			bool by_query = verbs[i].run == forget && query;
			int args = by_query ? 0 : verbs[i].args;
			return cli->argc == 1 + args && (!query || by_query) ? &verbs[i] : NULL;
		}
	return NULL;
}

static int with_store(struct ask *q, const struct verb *verb, const struct config *cfg)
{
	struct err e = { 0 };
	int rc =
		store_open(&q->s, &cfg->store, verb->writes ? STORE_CLI : STORE_READ, NULL, &e);

	if (rc == E_NOENT) {
		(void)fprintf(stderr, "no database yet\n");
		return verb->args ? EXIT_FAILED : EXIT_OK;
	}
	if (rc < 0)
		return cli_fail("%s", e.msg);
	rc = verb->run(q, &e);
	store_close(q->s);
	return rc < 0 ? cli_fail("%s", e.msg) : EXIT_OK;
}

static int run(struct cli *cli)
{
	struct ask q = { .cli = cli,
			 .json = cli_flag(cli, "--json"),
			 .all = cli_flag(cli, "--all") };
	const char *limit = NULL, *kind = NULL;
	struct config *cfg = NULL;
	bool bad = false;

	(void)cli_value(cli, "--limit", &limit, &bad);
	(void)cli_value(cli, "--kind", &kind, &bad);
	(void)cli_value(cli, "--query", &q.query, &bad);
	q.limit = LIST_LIMIT;
	if (bad || (limit && (!str_i64(str_of(limit), &q.limit) || q.limit < 0)))
		return cli_misuse(cli, "--limit wants a number, 0 for all");
	if (kind && !(q.kind = memory_kind(str_of(kind))))
		return cli_misuse(cli,
				  "--kind wants fact, preference, person, episode or insight");
	int code = cli_rest(cli, 1, 4);
	if (code != EXIT_OK)
		return code;
	const struct verb *verb = verb_of(cli, q.query != NULL);
	if (!verb)
		return cli_misuse(cli, "say list, search QUERY, show ID, store KIND SUBJECT "
				       "CONTENT, forget ID|--query Q, export, import FILE or "
				       "check");
	if ((code = cli_config(cli, CONFIG_STORE, true, &cfg)) != EXIT_OK)
		return code;
	code = with_store(&q, verb, cfg);
	config_free(cfg);
	return code;
}

const struct cmd cmd_memory = {
	.name = "memory",
	.summary = "read, correct or delete what the agent remembers",
	.usage = "usage: gantry memory list [--kind KIND] [--all] [--limit N] [--json]\n"
		 "       gantry memory search QUERY [--limit N] [--json]\n"
		 "       gantry memory show ID [--json]\n"
		 "       gantry memory store KIND SUBJECT CONTENT\n"
		 "       gantry memory forget ID | --query QUERY [--json]\n"
		 "       gantry memory export\n"
		 "       gantry memory import FILE\n"
		 "       gantry memory check [--json]\n"
		 "\n"
		 "Kinds: fact, preference, person, episode (kept 30 days), insight.  forget "
		 "prints what\n"
		 "went; with --query it takes every memory that has all words.  export and "
		 "--json print\n"
		 "one JSON object a line, which import takes back (- reads standard input).  "
		 "check holds\n"
		 "the indexes against the rows and mends them.\n"
		 "\n"
		 "example:\n"
		 "  gantry memory store preference chris \"coaching tone, no fluff\"\n",
	.run = run,
};
