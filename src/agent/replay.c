/*
 * A request is made again by the code that made it the first time, out of the rows that its
 * record names and the texts that were kept with it (the system message, the tools).
 */
#include "agent/replay.h"

#include "agent/run.h"
#include "config/price.h"
#include "model/request.h"
#include "text/json.h"
#include "text/text.h"

#define SHOWN 300

/* --- the tools ------------------------------------------------------------------------- */

/* The end of the JSON value that begins at i: what closes it, or a comma, is not part of it. */
static size_t value_end(str s, size_t i)
{
	int depth = 0;

	for (; i < s.n; i++) {
		char c = s.p[i];
		if (c == '"') {
			for (i++; i < s.n && s.p[i] != '"'; i++)
				i += s.p[i] == '\\';
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			if (depth-- == 0)
				return i;
		} else if (c == ',' && depth == 0) {
			return i;
		}
	}
	return s.n;
}

static bool skip(str s, size_t *i, str what)
{
	if (!str_starts(str_sub(s, *i, s.n), what))
		return false;
	*i += what.n;
	return true;
}

static str text_at(struct arena *a, str s, size_t *i)
{
	size_t end = value_end(s, *i);
	struct json *v;
	str text = str_sub(s, *i, end);

	*i = end;
	return json_read(&v, a, text, NULL) == OK ? json_text(v) : S("");
}

/* The list as publish.c writes it.  A schema is taken as it stands. */
static bool read_tools(struct arena *a, str s, const struct model_tool **out, size_t *n)
{
	struct model_tool *v = NULL;
	size_t cap = 0, used = 0, i = 0;

	if (!skip(s, &i, S("[")))
		return false;
	while (i < s.n && s.p[i] != ']') {
		if (used == cap) {
			v = arena_grow(a, v, cap * sizeof *v, (cap ? cap * 2 : 16) * sizeof *v);
			cap = cap ? cap * 2 : 16;
		}
		if ((used && !skip(s, &i, S(","))) || !skip(s, &i, S("{\"name\":")))
			return false;
		v[used].name = text_at(a, s, &i);
		if (!skip(s, &i, S(",\"description\":")))
			return false;
		v[used].description = text_at(a, s, &i);
		if (!skip(s, &i, S(",\"parameters\":")))
			return false;
		size_t end = value_end(s, i);
		v[used++].schema = str_sub(s, i, end);
		i = end;
		if (!skip(s, &i, S("}")))
			return false;
	}
	*out = v;
	*n = used;
	return i + 1 == s.n;
}

/* --- the messages ---------------------------------------------------------------------- */

/* Those that the record names, each turn's in the order of its steps. */
static int load_rows(struct store *s, str session_id, const struct sent_record *r,
		     struct arena *a, struct message **out, size_t *n, struct err *e)
{
	struct message *all, *v;
	size_t all_n, used = 0;
	int rc = store_messages(s, session_id, r->first - 1, r->last - r->first + 1, a, &all,
				&all_n, e);

	if (rc < 0)
		return rc;
	v = NEWN(a, struct message, all_n + 1); /* and a note */
	for (size_t i = 0; i < all_n; i++) {
		struct message m = all[i];
		size_t at = used;
		if (!sent_has(r->rows, m.seq))
			continue;
		m.collapsed = !str_eq(m.role, S("assistant")) && sent_has(r->thin, m.seq);
		for (; at > 0 && str_eq(v[at - 1].turn_id, m.turn_id) &&
		       (v[at - 1].round > m.round ||
			(v[at - 1].round == m.round && v[at - 1].index > m.index));
		     at--)
			v[at] = v[at - 1];
		v[at] = m;
		used++;
	}
	*out = v;
	*n = used;
	return OK;
}

static int make_messages(struct remade *out, struct store *s, const struct turn_found *t,
			 struct arena *a, struct err *e)
{
	const struct sent_record *r = &out->record;
	const struct prompt_image *images;
	struct message *rows;
	struct model_msg *msgs;
	size_t n, images_n;
	int rc = load_rows(s, t->session_id, r, a, &rows, &n, e);

	if (rc < 0 || (rc = turn_images(s, t->id, r->no_images, a, &images, &images_n, e)) < 0)
		return rc;
	if (r->note.n)
		rows[n++] = sent_note(a, t->id, r->note);
	rc = prompt_messages_with(a, rows, n, images, images_n, &msgs, &out->msgs_n, e);
	out->msgs = msgs;
	return rc;
}

/* --- a request ------------------------------------------------------------------------- */

static int make(struct remade *out, struct store *s, const struct turn_found *t,
		struct sent_parts *parts, struct arena *a, struct err *e)
{
	const struct model_row *row = out->row;
	struct json *params;
	struct request request;
	int rc = sent_read(&out->record, a, row->request, parts, e);

	if (rc < 0 || (rc = make_messages(out, s, t, a, e)) < 0 ||
	    (rc = json_read(&params, a, row->params, e)) < 0)
		return rc;
	if (!read_tools(a, row->tools, &out->tools, &out->tools_n))
		return err_set(e, E_PROTO, "the list of its tools cannot be read");
	const struct model_sent *sent = &out->record.sent;
	out->cfg = (struct model_cfg){
		.name = price_model(row->issuer),
		.max_tokens = sent->max_tokens,
		.has_temperature = sent->has_temperature,
		.temperature = sent->temperature,
		.reasoning_effort = sent->effort,
	};
	struct model_req req = {
		.system = row->system,
		.msgs = out->msgs,
		.msgs_n = out->msgs_n,
		.tools = out->tools,
		.tools_n = out->tools_n,
		.stream = json_bool(params, "stream", false),
	};
	rc = request_write(&request, a, &out->cfg, row->issuer, sent->gemini, &req,
			   &(struct model_quirks){ .flags = sent->quirks }, e);
	out->body = request.body;
	return rc;
}

/* The first message that is not what it was; msgs_n when all are. */
static size_t first_changed(const struct remade *m, const struct sent_parts *parts)
{
	size_t i = 0;

	while (i < m->msgs_n && i < parts->n && sent_part(&m->msgs[i]) == parts->v[i])
		i++;
	return i;
}

static str where(const struct remade *m, const struct sent_parts *parts, struct arena *a)
{
	const struct sent_record *r = &m->record;
	size_t at = first_changed(m, parts);

	if (at < m->msgs_n && at < parts->n)
		return arena_fmt(
			a, "message %zu of %zu (%.*s) is not what was sent; it is now: %.*s",
			at + 1, parts->n, STRF(m->msgs[at].role),
			STRF(text_line(a, m->msgs[at].wire, SHOWN)));
	if (at < m->msgs_n)
		return arena_fmt(
			a, "there were %zu messages, now there are %zu; the next is: %.*s",
			parts->n, m->msgs_n, STRF(text_line(a, m->msgs[at].wire, SHOWN)));
	if (at < parts->n)
		return arena_fmt(
			a, "there were %zu messages, and from number %zu on they are gone",
			parts->n, at + 1);
	if (sent_head(m->row->system) != r->system)
		return arena_fmt(a, "the system message is not what was sent; it is now: %.*s",
				 STRF(text_line(a, m->row->system, SHOWN)));
	if (sent_head(m->row->tools) != r->tools)
		return arena_fmt(a, "the tools are not what was sent; they are now: %.*s",
				 STRF(text_line(a, m->row->tools, SHOWN)));
	return arena_fmt(a,
			 "messages, system message and tools are what was sent, but it had %zu "
			 "bytes and is made with %zu now: %.*s",
			 r->sent.bytes, m->body.n, STRF(text_line(a, m->body, SHOWN)));
}

static void compare(struct replay_request *q, struct store *s, const struct turn_found *t,
		    struct sent_parts *parts, struct arena *a)
{
	struct err why = { 0 };
	int rc = make(&q->made, s, t, parts, a, &why);
	const struct model_sent *sent = &q->made.record.sent;

	if (rc == E_NOENT) {
		q->state = REPLAY_UNKNOWN;
		q->where = S("it was sent by a version that kept no record of its requests, or "
			     "never sent");
	} else if (rc < 0 && q->made.record.rows.n == 0) {
		q->state = REPLAY_UNKNOWN;
		q->where = arena_dup(a, str_of(why.msg));
	} else if (rc < 0) {
		q->state = REPLAY_DIFFERS;
		q->where = arena_fmt(a, "it cannot be made any more: %s", why.msg);
	} else if (q->made.body.n == sent->bytes && str_digest(q->made.body) == sent->digest) {
		q->state = REPLAY_SAME;
	} else {
		q->state = REPLAY_DIFFERS;
		q->where = where(&q->made, parts, a);
	}
}

int replay_turn(struct replay *out, struct store *s, str id, struct arena *a, struct err *e)
{
	struct replay r = { 0 };
	struct sent_parts parts = { 0 };
	struct model_row *rows;
	int rc;

	if ((rc = store_turn_find(s, id, a, &r.turn, e)) < 0 ||
	    (rc = store_model_requests(s, r.turn.id, a, &rows, &r.n, e)) < 0 ||
	    (rc = store_turn_load(s, r.turn.id, a, &r.rows, &r.rows_n, &r.calls, &r.calls_n,
				  e)) < 0)
		return rc;
	r.v = NEWN(a, struct replay_request, r.n + 1);
	for (size_t i = 0; i < r.n; i++) {
		r.v[i].made.row = &rows[i];
		compare(&r.v[i], s, &r.turn, &parts, a);
		r.same += r.v[i].state == REPLAY_SAME;
	}
	*out = r;
	return OK;
}
