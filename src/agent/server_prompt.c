/*
 * Prompts of servers.  Nothing is kept of the lists: a server is asked each time, so that what it
 * changed is there at once.  What was typed stays before what it was filled in with.
 */
#include "agent/server_prompt.h"

#include "agent/server_prompt_words.h"

#include "mcp/catalog.h"
#include "os/clock.h"
#include "os/log.h"
#include "text/text.h"

#define ASK_MS 15000
#define LIST_MS 2000 /* for people, beside all turns */
#define LIST_ALL_MS 3000 /* of all servers */
#define LIST_BYTES (4u << 20) /* of what they say */
#define PAGES_MAX 10
#define WHY_CHARS 500
/* What the model reads later of an answer that was made up without it. */
#define NOT_FILLED "[The prompt was not filled in; why was shown to the user.]"
/* Stands in a message that was filled in, so that it is not again. */
#define FILLED "\n\n[filled in by tool server "

/* ---- asking ------------------------------------------------------------------------- */

struct asking {
	struct mcp_host *host;
	struct arena *a;
	int64_t timeout_ms;
	size_t most; /* bytes in a: then no other page is asked for; 0 no limit */
	const struct cancel *c;
};

static int ask(const struct asking *q, str server, const char *method, str params,
	       const struct json **result, struct err *e)
{
	const struct mcp_request request = { .server = server,
					     .method = method,
					     .params = params,
					     .timeout_ms = q->timeout_ms };

	return mcp_host_request(q->host, &request, q->a, result, q->c, e);
}

static bool enough(const struct asking *q)
{
	return q->most && q->a->used > q->most;
}

/* Each prompt of a server, until fn returns false. */
static int each_prompt(const struct asking *q, str server,
		       bool (*fn)(void *arg, const struct json *prompt), void *arg,
		       struct err *e)
{
	str cursor = S("");

	for (int page = 0; page < PAGES_MAX; page++) {
		struct buf params = buf_in(q->a, 65536);
		const struct json *result;
		buf_addc(&params, '{');
		if (cursor.n)
			buf_json_member(&params, "cursor", cursor);
		buf_addc(&params, '}');
		int rc = ask(q, server, "prompts/list", buf_str(&params), &result, e);
		if (rc < 0)
			return rc;
		for (const struct json *p = json_at(json_get(result, "prompts"), 0); p;
		     p = p->next)
			if (!fn(arg, p))
				return OK;
		cursor = json_str(result, "nextCursor");
		if (!cursor.n || params.full || enough(q))
			return OK;
	}
	return OK;
}

struct search {
	str name;
	const struct json *found;
	struct buf names;
	struct arena *a;
};

static bool look_at(void *arg, const struct json *p)
{
	struct search *s = arg;
	str name = json_str(p, "name");

	if (str_eq(name, s->name))
		s->found = p;
	buf_fmt(&s->names, "%s%.*s", s->names.n ? ", " : "", STRF(text_line(s->a, name, 80)));
	return !s->found;
}

/* The server that is called so, or whose tools begin so; false: it has no prompts. */
static bool find_server(struct mcp_host *host, str given, struct arena *a, str *name)
{
	struct mcp_server_status *v;
	struct mcp_catalog catalog;
	str owner;
	size_t n;

	mcp_host_status(host, a, &v, &n);
	for (size_t i = 0; i < n; i++)
		if (str_ieq(v[i].name, given)) {
			*name = v[i].name;
			return v[i].caps.prompts;
		}
	mcp_host_catalog(host, a, &catalog);
	if (!mcp_catalog_owner(&catalog, given, &owner))
		return false;
	*name = owner;
	for (size_t i = 0; i < n; i++)
		if (str_eq(v[i].name, owner))
			return v[i].caps.prompts;
	return false;
}

/* What a command becomes.  *answer: it is for the person, and the model is not asked. */
static int fill(const struct asking *q, str server, str prompt, str args, str *text,
		bool *answer, struct err *e)
{
	struct search s = { .name = prompt, .names = buf_in(q->a, 600), .a = q->a };
	struct buf params = buf_in(q->a, 8 * args.n + 4 * prompt.n + 65536);
	const struct json *result;
	str json;
	int rc = each_prompt(q, server, look_at, &s, e);

	*answer = true;
	if (rc < 0)
		return rc;
	if (!s.found) {
		*text = arena_fmt(q->a, "Server %.*s has no prompt \"%.*s\"; it has: %.*s",
				  STRF(server), STRF(text_line(q->a, prompt, 80)),
				  STRF(buf_str(&s.names)));
		return OK;
	}
	*answer = !server_prompt_args(s.found, server, args, q->a, &json);
	*text = json;
	if (*answer)
		return OK;
	buf_addc(&params, '{');
	buf_json_member(&params, "name", prompt);
	buf_json_key(&params, "arguments");
	buf_add(&params, json);
	buf_addc(&params, '}');
	if ((rc = ask(q, server, "prompts/get", buf_str(&params), &result, e)) < 0)
		return rc;
	*text = server_prompt_text(result, q->a);
	if (!str_trim(*text).n) {
		*text = arena_fmt(q->a, "The prompt \"%.*s\" of server %.*s is empty.",
				  STRF(text_line(q->a, prompt, 80)), STRF(server));
		*answer = true;
	}
	return OK;
}

/* ---- the turn ----------------------------------------------------------------------- */

static int write_row(struct run *r, const struct message *m, str text, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	SCOPED(store_rollback) struct tx tx = { 0 };
	int rc;

	if ((rc = store_begin(&tx, r->ag->opt.store, r->token, e)) < 0 ||
	    (rc = store_message_fill(&tx, r->t->id, m->seq, model_user_wire(&a, text), text,
				     e)) < 0)
		return rc;
	return store_commit(&tx, e);
}

static int fill_row(struct run *r, struct arena *ra, const struct message *m, bool *filled,
		    struct err *e)
{
	const struct asking q = { r->ag->opt.host, ra, ASK_MS, 0, r->token };
	struct err why = { 0 };
	str server, prompt, args, text;
	bool answer;
	int rc;

	if (!server_prompt_parse(m->text, &server, &prompt, &args) ||
	    str_has(m->text, S(FILLED)) || !find_server(q.host, server, ra, &server))
		return OK;
	rc = fill(&q, server, prompt, args, &text, &answer, &why);
	if (rc < 0 && cancel_reason(r->token) != CANCEL_NONE)
		return cancel_check(r->token, e);
	if (rc < 0) {
		text = arena_fmt(ra, "That did not work: %.*s",
				 STRF(text_line(ra, str_of(why.msg), WHY_CHARS)));
		answer = true;
	}
	if (answer && m->round == 0 && m->index == 0) {
		/* The words are the server's: they are no answer of the model's later. */
		r->text = server_prompt_told(server, text, r->a);
		r->wire = model_assistant_wire(r->a, S(NOT_FILLED));
		r->finish = MODEL_STOP;
		r->done = true;
		return OK;
	}
	/* One that joined a turn under way is told to the model, which is asked anyway. */
	text = arena_fmt(ra, "%.*s" FILLED "%.*s%s]\n%.*s", STRF(m->text), STRF(server),
			 answer ? ": that did not work" : "", STRF(text));
	log_info("prompt.filled", "server=%.*s chars=%zu", STRF(log_q(ra, server)), text.n);
	*filled = true;
	do
		rc = write_row(r, m, text, e);
	while (run_await_room(r, rc, e));
	return rc;
}

int run_server_prompt(struct run *r, struct arena *ra, bool *filled, struct err *e)
{
	bool typed = str_eq(r->t->kind, S("message")) || str_eq(r->t->kind, S("cli"));
	int rc = OK;

	*filled = false;
	for (size_t i = 0; rc == OK && typed && r->ag->opt.host && i < r->rows_n; i++)
		if (str_is(r->rows[i].role, "user") && str_starts(r->rows[i].text, S("/")) &&
		    !r->done)
			rc = fill_row(r, ra, &r->rows[i], filled, e);
	return rc;
}

/* ---- for people --------------------------------------------------------------------- */

struct listing {
	struct buf b;
	str server;
	struct arena *a;
};

static bool add_usage(void *arg, const struct json *p)
{
	struct listing *l = arg;

	buf_fmt(&l->b, "%s%.*s", l->b.n ? "\n" : "",
		STRF(server_prompt_usage(p, l->server, l->a)));
	return !l->b.full;
}

str server_prompt_list(struct agent *ag, struct arena *a, const struct cancel *c)
{
	SCOPED(cancel_done) struct cancel limit = { .fd = -1 };
	const struct asking q = { ag->opt.host, a, LIST_MS, a->used + LIST_BYTES, &limit };
	struct listing l = { .b = buf_in(a, 16384), .a = a };
	struct mcp_server_status *v;
	struct err e = { 0 };
	size_t n = 0;

	if (cancel_init(&limit, c, LIST_ALL_MS, &e) < 0)
		return arena_fmt(a, "That did not work: %s", e.msg);
	if (ag->opt.host) {
		(void)!mcp_host_ready(ag->opt.host, clock_mono_ms() + LIST_MS, &limit, NULL);
		mcp_host_status(ag->opt.host, a, &v, &n);
	}
	for (size_t i = 0; i < n && !l.b.full && !enough(&q); i++) {
		l.server = v[i].name;
		if (!v[i].caps.prompts || each_prompt(&q, l.server, add_usage, &l, &e) == OK)
			continue;
		buf_fmt(&l.b, "%sTool server %.*s: %.*s", l.b.n ? "\n" : "", STRF(l.server),
			STRF(text_line(a, str_of(e.msg), WHY_CHARS)));
	}
	return l.b.n ? buf_str(&l.b) : S("No tool server has prompts now.");
}
