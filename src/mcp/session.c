/*
 * The protocol: the handshake, the pages of the list, the questions of the server, the ping.
 * What is sent here is all that a client of the initialize era has to send but for calls
 * and their cancellation, and it is valid in each of the revisions.
 */
#include "mcp/session.h"

#include "base/utf.h"
#include "mcp/result.h"

#include <stdio.h>
#include <string.h>

#define OFFERED "2025-11-25"
#define PAGES_MAX 200
#define DEBOUNCE_MS 100
#define LIST_PAUSE_MS 1000
#define PING_LIMIT_MS 30000
#define TEXT_MAX 4096
#define CURSOR_MAX 16384
#define NOT_FOUND (-32601)

static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18", OFFERED };

void mcp_session_init(struct mcp_session *s, const struct mcp_session_opt *opt)
{
	*s = (struct mcp_session){ .opt = opt };
}

void mcp_session_done(struct mcp_session *s)
{
	mcp_listing_done(&s->listing);
}

static int64_t next_id(struct mcp_session *s)
{
	return atomic_fetch_add(s->opt->ids, 1) + 1;
}

static void add_offer(struct buf *b, const struct mcp_session_opt *opt)
{
	const struct mcp_offer *o = &opt->offer;

	buf_add(b, S("{"));
	if (opt->root.n) {
		buf_json_key(b, "roots");
		buf_add(b, S("{}"));
	}
	if (o->sampling) {
		buf_json_key(b, "sampling");
		buf_add(b, S("{}"));
	}
	if (o->form || o->url) {
		buf_json_key(b, "elicitation");
		buf_fmt(b, "{%s%s%s}", o->form ? "\"form\":{}" : "",
			o->form && o->url ? "," : "", o->url ? "\"url\":{}" : "");
	}
	buf_add(b, S("}"));
}

void mcp_session_begin(struct mcp_session *s, int64_t now_ms, struct buf *out)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, TEXT_MAX);

	buf_add(&b, S("{"));
	buf_json_member(&b, "protocolVersion", S(OFFERED));
	buf_json_key(&b, "capabilities");
	add_offer(&b, s->opt);
	buf_json_key(&b, "clientInfo");
	buf_add(&b, S("{\"name\":\"gantry\""));
	buf_json_member(&b, "version", str_of(s->opt->version));
	buf_add(&b, S("}}"));
	s->id_initialize = next_id(s);
	s->phase = MCP_PHASE_INITIALIZE;
	s->until_ms = now_ms + s->opt->start_ms;
	s->heard_ms = now_ms;
	mcp_rpc_request(out, s->id_initialize, "initialize", buf_str(&b));
}

static void ask_page(struct mcp_session *s, struct buf *out)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 8 * CURSOR_MAX);

	if (s->cursor.n) {
		buf_add(&b, S("{"));
		buf_json_member(&b, "cursor", s->cursor);
		buf_add(&b, S("}"));
	}
	s->id_list = next_id(s);
	mcp_rpc_request(out, s->id_list, "tools/list", buf_str(&b));
}

static void ask_list(struct mcp_session *s, int64_t now_ms, struct buf *out)
{
	mcp_listing_done(&s->listing);
	s->pages = 0;
	s->cursor = (str){ 0 };
	s->list_at_ms = 0;
	s->listed_ms = now_ms;
	if (s->phase == MCP_PHASE_READY)
		s->until_ms = now_ms + s->opt->start_ms;
	ask_page(s, out);
}

static const char *revision_of(str version)
{
	for (size_t i = 0; i < COUNT(revisions); i++)
		if (str_eq(version, str_of(revisions[i])))
			return revisions[i];
	return NULL;
}

static void read_caps(const struct json *v, struct mcp_caps *out)
{
	const struct json *resources = json_get(v, "resources");

	*out = (struct mcp_caps){
		.resources = json_is(resources, JSON_OBJECT),
		.subscribe = json_bool(resources, "subscribe", false),
		.prompts = json_is(json_get(v, "prompts"), JSON_OBJECT),
		.completions = json_is(json_get(v, "completions"), JSON_OBJECT),
		.logging = json_is(json_get(v, "logging"), JSON_OBJECT),
	};
}

static int take_initialize(struct mcp_session *s, const struct mcp_msg *m, int64_t now_ms,
			   struct buf *out, struct err *e)
{
	str version = json_str(m->result, "protocolVersion");
	const struct json *info = json_get(m->result, "serverInfo");
	str name = utf_head(json_str(info, "name"), 40),
	    at = utf_head(json_str(info, "version"), 30);

	s->id_initialize = 0;
	read_caps(json_get(m->result, "capabilities"), &s->peer.caps);
	if (m->error)
		return err_set(e, E_PROTO, "initialize was refused: %.*s",
			       STRF(utf_head(mcp_result_reason(m->error), 150)));
	s->peer.revision = revision_of(version);
	if (!s->peer.revision && version.n)
		return err_set(
			e, E_PROTO,
			"the server speaks protocol revision \"%.*s\", which is not known "
			"here",
			STRF(utf_head(version, 40)));
	if (!s->peer.revision)
		return err_set(e, E_PROTO, "the answer to initialize has no protocolVersion");
	(void)snprintf(s->peer.server, sizeof(s->peer.server), "%.*s%s%.*s", STRF(name),
		       name.n && at.n ? " " : "", STRF(at));
	mcp_rpc_notice(out, "notifications/initialized", (str){ 0 });
	s->phase = MCP_PHASE_LIST;
	ask_list(s, now_ms, out);
	return OK;
}

/* The list is whole, or as whole as it will get. */
static void end_list(struct mcp_session *s, struct mcp_event *ev, str remark)
{
	s->phase = MCP_PHASE_READY;
	s->id_list = 0;
	s->until_ms = 0;
	ev->kind = MCP_EVENT_TOOLS;
	ev->text = remark;
}

/* The first list decides about the session; a later one that is bad leaves all as it was. */
static int fail_list(struct mcp_session *s, const struct err *why, struct arena *a,
		     struct mcp_event *ev, struct err *e)
{
	mcp_listing_done(&s->listing);
	s->cursor = (str){ 0 };
	s->id_list = 0;
	if (s->phase != MCP_PHASE_READY)
		return err_set(e, why->code, "%s", why->msg);
	s->until_ms = 0;
	ev->kind = MCP_EVENT_ODD;
	ev->text = arena_fmt(a, "the list of tools stays as it was: %s", why->msg);
	return OK;
}

static int read_page(struct mcp_session *s, const struct mcp_msg *m, struct err *e)
{
	if (m->error)
		return err_set(e, E_PROTO, "tools/list was refused: %.*s",
			       STRF(utf_head(mcp_result_reason(m->error), 150)));
	return mcp_listing_add(&s->listing, m->result, e);
}

static int take_page(struct mcp_session *s, const struct mcp_msg *m, struct arena *a,
		     struct buf *out, struct mcp_event *ev, struct err *e)
{
	str next = json_str(m->result, "nextCursor");
	struct err why = { 0 };

	if (m->error && json_i64(m->error, "code", 0) == NOT_FOUND) {
		end_list(s, ev, S("the server has no tools"));
		return OK;
	}
	if (read_page(s, m, &why) < 0)
		return fail_list(s, &why, a, ev, e);
	if (!next.n) {
		end_list(s, ev, (str){ 0 });
	} else if (++s->pages >= PAGES_MAX || str_eq(next, s->cursor) || next.n > CURSOR_MAX) {
		end_list(s, ev,
			 S("the list of tools does not end; what it had so far is taken"));
	} else {
		s->cursor = arena_dup(&s->listing.a, next);
		ask_page(s, out);
	}
	return OK;
}

/* file:///a/b, with everything percent-encoded that is not plain. */
static void add_uri(struct buf *b, str path)
{
	buf_add(b, S("file://"));
	for (size_t i = 0; i < path.n; i++) {
		unsigned char c = (unsigned char)path.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || memchr("/-_.~", c, 5);

		if (plain)
			buf_addc(b, (char)c);
		else
			buf_fmt(b, "%%%02X", c);
	}
}

static str roots_result(struct arena *a, str root)
{
	struct buf b = buf_in(a, 4 * TEXT_MAX), uri = buf_in(a, 4 * TEXT_MAX);
	str name = root;

	for (size_t at; (at = str_find(name, S("/"))) != SIZE_MAX && at + 1 < name.n;)
		name = str_sub(name, at + 1, name.n);
	add_uri(&uri, root);
	buf_add(&b, S("{\"roots\":[{"));
	buf_json_member(&b, "uri", buf_str(&uri));
	buf_json_member(&b, "name", name);
	buf_add(&b, S("}]}"));
	return buf_str(&b);
}

/* Is it a question that was offered to be answered? */
static bool is_question(const struct mcp_session *s, const struct mcp_msg *m,
			enum mcp_question_kind *kind)
{
	const struct mcp_offer *o = &s->opt->offer;
	bool url = str_eq(json_str(m->params, "mode"), S("url"));

	if (s->phase < MCP_PHASE_LIST)
		return false;
	*kind = MCP_ELICIT;
	if (str_eq(m->method, S("elicitation/create")))
		return url ? o->url : o->form;
	*kind = MCP_SAMPLE;
	return o->sampling && str_eq(m->method, S("sampling/createMessage"));
}

/* The server asks. */
static void take_request(struct mcp_session *s, const struct mcp_msg *m, struct arena *a,
			 struct buf *out, struct mcp_event *ev)
{
	if (str_eq(m->method, S("ping"))) {
		mcp_rpc_answer(out, m->id, S("{}"));
	} else if (is_question(s, m, &ev->question)) {
		ev->kind = MCP_EVENT_QUESTION;
		ev->request = m->id;
		ev->params = m->params;
	} else if (str_eq(m->method, S("roots/list")) && s->opt->root.n) {
		mcp_rpc_answer(out, m->id, roots_result(a, s->opt->root));
	} else {
		mcp_rpc_refuse(out, m->id, NOT_FOUND,
			       arena_fmt(a, "this client does not serve %.*s",
					 STRF(utf_head(m->method, 100))));
	}
}

static void take_progress(const struct mcp_msg *m, struct mcp_event *ev)
{
	const struct json *done = json_get(m->params, "progress");
	const struct json *total = json_get(m->params, "total");

	if (!mcp_rpc_own_id(json_get(m->params, "progressToken"), &ev->id) || !done)
		return;
	ev->kind = MCP_EVENT_PROGRESS;
	ev->done = done->d;
	ev->total = json_is(total, JSON_INT) || json_is(total, JSON_REAL) ? total->d : -1;
	ev->text = json_str(m->params, "message");
}

static void take_log(const struct mcp_msg *m, struct arena *a, struct mcp_event *ev)
{
	const struct json *data = json_get(m->params, "data");
	struct buf b = buf_in(a, (size_t)64 << 20);

	ev->kind = MCP_EVENT_LOG;
	ev->level = json_str(m->params, "level");
	ev->text = json_text(data);
	if (data && data->type != JSON_STRING) {
		json_write(&b, data);
		ev->text = buf_str(&b);
	}
}

static void take_notice(struct mcp_session *s, const struct mcp_msg *m, int64_t now_ms,
			struct arena *a, struct mcp_event *ev)
{
	if (str_eq(m->method, S("notifications/progress")))
		take_progress(m, ev);
	else if (str_eq(m->method, S("notifications/message")))
		take_log(m, a, ev);
	else if (str_eq(m->method, S("notifications/tools/list_changed")) && !s->list_at_ms) {
		/* Not at once, since they come in bursts, and never in a tight circle. */
		s->list_at_ms = now_ms + DEBOUNCE_MS;
		if (s->list_at_ms < s->listed_ms + LIST_PAUSE_MS)
			s->list_at_ms = s->listed_ms + LIST_PAUSE_MS;
	} else if (str_eq(m->method, S("notifications/cancelled"))) {
		ev->kind = MCP_EVENT_WITHDRAWN;
		ev->request = json_get(m->params, "requestId");
	} else if (str_starts(m->method, S("notifications/resources/")) ||
		   str_eq(m->method, S("notifications/prompts/list_changed"))) {
		ev->kind = MCP_EVENT_NOTICE;
		ev->method = m->method;
		ev->params = m->params;
	}
}

static int take_answer(struct mcp_session *s, const struct mcp_msg *m, int64_t now_ms,
		       struct arena *a, struct buf *out, struct mcp_event *ev, struct err *e)
{
	int64_t id;

	if (!mcp_rpc_own_id(m->id, &id) || id <= 0)
		return OK;
	s->id_ping = 0;
	if (id == s->id_initialize)
		return take_initialize(s, m, now_ms, out, e);
	if (id == s->id_list)
		return take_page(s, m, a, out, ev, e);
	ev->kind = MCP_EVENT_ANSWER;
	ev->id = id;
	ev->result = m->result;
	ev->error = m->error;
	return OK;
}

int mcp_session_take(struct mcp_session *s, const struct mcp_msg *m, int64_t now_ms,
		     struct arena *a, struct buf *out, struct mcp_event *ev, struct err *e)
{
	*ev = (struct mcp_event){ .total = -1 };
	if (m->kind == MCP_FOREIGN || m->kind == MCP_BATCH || m->kind == MCP_DEEP)
		return OK;
	s->heard_ms = now_ms;
	if (m->kind == MCP_REQUEST)
		take_request(s, m, a, out, ev);
	else if (m->kind == MCP_NOTICE)
		take_notice(s, m, now_ms, a, ev);
	else
		return take_answer(s, m, now_ms, a, out, ev, e);
	return OK;
}

static int64_t ping_limit(const struct mcp_session *s)
{
	return s->opt->ping_ms < PING_LIMIT_MS ? s->opt->ping_ms : PING_LIMIT_MS;
}

static int check_limits(struct mcp_session *s, int64_t now_ms, struct err *e)
{
	if (s->id_ping && now_ms >= s->ping_until_ms)
		return err_set(e, E_TIMEOUT, "no answer to ping within %lld ms",
			       (long long)ping_limit(s));
	if (!s->until_ms || now_ms < s->until_ms)
		return OK;
	if (s->phase != MCP_PHASE_READY)
		return err_set(e, E_TIMEOUT, "no answer to %s within %lld ms",
			       s->phase == MCP_PHASE_LIST ? "tools/list" : "initialize",
			       (long long)s->opt->start_ms);
	/* A list that does not come is given up; whether the server lives, ping will tell. */
	s->id_list = 0;
	s->until_ms = 0;
	return OK;
}

int mcp_session_tick(struct mcp_session *s, int64_t now_ms, bool idle, struct buf *out,
		     struct err *e)
{
	int rc = check_limits(s, now_ms, e);

	if (rc < 0 || s->phase != MCP_PHASE_READY)
		return rc;
	if (s->list_at_ms && now_ms >= s->list_at_ms && !s->id_list)
		ask_list(s, now_ms, out);
	if (s->opt->ping_ms && idle && !s->id_ping && now_ms >= s->heard_ms + s->opt->ping_ms) {
		s->id_ping = next_id(s);
		s->ping_until_ms = now_ms + ping_limit(s);
		mcp_rpc_request(out, s->id_ping, "ping", (str){ 0 });
	}
	return OK;
}

int64_t mcp_session_due(const struct mcp_session *s, bool idle)
{
	int64_t due = s->until_ms ? s->until_ms : INT64_MAX;

	if (s->id_ping && s->ping_until_ms < due)
		due = s->ping_until_ms;
	if (s->phase != MCP_PHASE_READY)
		return due;
	if (s->list_at_ms && !s->id_list && s->list_at_ms < due)
		due = s->list_at_ms;
	if (s->opt->ping_ms && idle && !s->id_ping && s->heard_ms + s->opt->ping_ms < due)
		due = s->heard_ms + s->opt->ping_ms;
	return due;
}
