/*
 * The course of a session: which era, the handshake, the list, the questions of the server,
 * whether it lives.  What is sent to a server of the initialize era is all that a client has to
 * send but for calls and their cancellation, and it is valid in each of its revisions.
 *
 * A server that is silent at first may only be slow to start, so initialize is sent beside
 * the probe then, and the first answer decides.
 */
#include "mcp/session.h"

#include "base/utf.h"
#include "mcp/result.h"
#include "mcp/roots.h"
#include "mcp/stateless.h"

#include <stdio.h>
#include <string.h>

#define OFFERED "2025-11-25"
#define PING_LIMIT_MS 30000
#define PROBE_MS 5000
#define LISTEN_PAUSE_MS 1000
#define LISTEN_PAUSE_MAX_MS 60000
#define TTL_MIN_MS 300000
#define TEXT_MAX 4096

static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18", OFFERED };

void mcp_session_init(struct mcp_session *s, const struct mcp_session_opt *opt)
{
	*s = (struct mcp_session){ .opt = opt };
}

void mcp_session_done(struct mcp_session *s)
{
	mcp_pages_done(&s->pages);
	arena_free(&s->watched_arena);
}

static int64_t next_id(struct mcp_session *s)
{
	return atomic_fetch_add(s->opt->ids, 1) + 1;
}

/* The directories to offer as they are now, NULL: none. */
static const struct str_list *roots_of(const struct mcp_session *s)
{
	const struct str_list *roots = s->opt->roots ? atomic_load(s->opt->roots) : NULL;

	return roots && roots->n ? roots : NULL;
}

static void add_offer(struct buf *b, const struct mcp_session *s)
{
	const struct mcp_offer *o = &s->opt->offer;

	buf_add(b, S("{"));
	if (s->roots) {
		buf_json_key(b, "roots");
		buf_add(b, S("{\"listChanged\":true}"));
	}
	if (o->sampling) {
		buf_json_key(b, "sampling");
		buf_add(b, o->sampling_tools ? S("{\"tools\":{}}") : S("{}"));
	}
	if (o->form || o->url) {
		buf_json_key(b, "elicitation");
		buf_fmt(b, "{%s%s%s}", o->form ? "\"form\":{}" : "",
			o->form && o->url ? "," : "", o->url ? "\"url\":{}" : "");
	}
	buf_add(b, S("}"));
}

static void initialize(struct mcp_session *s, struct buf *out)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, TEXT_MAX);

	buf_add(&b, S("{"));
	buf_json_member(&b, "protocolVersion", S(OFFERED));
	buf_json_key(&b, "capabilities");
	s->roots = roots_of(s);
	add_offer(&b, s);
	buf_json_key(&b, "clientInfo");
	buf_add(&b, S("{\"name\":\"gantry\""));
	buf_json_member(&b, "version", str_of(s->opt->version));
	buf_add(&b, S("}}"));
	s->id_initialize = next_id(s);
	s->phase = MCP_PHASE_INITIALIZE;
	s->probe_until_ms = 0;
	mcp_rpc_request(out, s->id_initialize, "initialize", buf_str(&b));
}

void mcp_session_begin(struct mcp_session *s, int64_t now_ms, struct buf *out)
{
	int64_t patience = s->opt->start_ms / 3;

	s->until_ms = now_ms + s->opt->start_ms;
	s->heard_ms = now_ms;
	if (s->opt->era == MCP_ERA_INITIALIZE) {
		initialize(s, out);
		return;
	}
	if (s->opt->era == MCP_ERA_UNKNOWN && patience > PROBE_MS)
		patience = PROBE_MS;
	s->probed = true;
	s->phase = MCP_PHASE_DISCOVER;
	s->probe_until_ms = now_ms + patience;
	s->id_discover = next_id(s);
	mcp_stateless_discover(s->opt, s->id_discover, out);
}

static void ask_list(struct mcp_session *s, int64_t now_ms, struct buf *out)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (s->phase == MCP_PHASE_READY)
		s->until_ms = now_ms + s->opt->start_ms;
	mcp_pages_ask(&s->pages, s->opt->ids,
		      s->peer.stateless ? mcp_stateless_meta(s->opt, &a) : S(""), now_ms, out);
}

const char *mcp_session_revision(str version)
{
	for (size_t i = 0; i < COUNT(revisions); i++)
		if (str_is(version, revisions[i]))
			return revisions[i];
	return NULL;
}

void mcp_session_read_peer(struct mcp_peer *peer, const struct json *info,
			   const struct json *caps)
{
	const struct json *tools = json_get(caps, "tools"),
			  *prompts = json_get(caps, "prompts");
	const struct json *resources = json_get(caps, "resources");
	str name = utf_head(json_str(info, "name"), 40),
	    at = utf_head(json_str(info, "version"), 30);

	(void)snprintf(peer->server, sizeof(peer->server), "%.*s%s%.*s", STRF(name),
		       name.n && at.n ? " " : "", STRF(at));
	peer->caps = (struct mcp_caps){
		.resources = json_is(resources, JSON_OBJECT),
		.subscribe = json_bool(resources, "subscribe", false),
		.prompts = json_is(prompts, JSON_OBJECT),
		.completions = json_is(json_get(caps, "completions"), JSON_OBJECT),
		.logging = json_is(json_get(caps, "logging"), JSON_OBJECT),
	};
	peer->tasks = json_is(
		json_get(json_get(json_get(json_get(caps, "tasks"), "requests"), "tools"),
			 "call"),
		JSON_OBJECT);
	peer->tells.tools = json_bool(tools, "listChanged", false);
	peer->tells.resources = json_bool(resources, "listChanged", false);
	peer->tells.prompts = json_bool(prompts, "listChanged", false);
}

static int take_discover(struct mcp_session *s, const struct mcp_msg *m, int64_t now_ms,
			 struct buf *out, struct err *e)
{
	s->id_discover = 0;
	switch (mcp_stateless_judge(m, &s->peer, e)) {
	case MCP_STATELESS:
		/* Whatever becomes of initialize, if that was sent too. */
		s->id_initialize = 0;
		s->probe_until_ms = 0;
		s->phase = MCP_PHASE_LIST;
		ask_list(s, now_ms, out);
		return OK;
	case MCP_OLDER:
		if (!s->id_initialize)
			initialize(s, out);
		return OK;
	case MCP_NEITHER:
		break;
	}
	return E_PROTO;
}

static int take_initialize(struct mcp_session *s, const struct mcp_msg *m, int64_t now_ms,
			   struct buf *out, struct err *e)
{
	str version = json_str(m->result, "protocolVersion");

	s->id_initialize = 0;
	if (m->error)
		return err_set(e, E_PROTO, "initialize was refused: %.*s",
			       STRF(utf_head(mcp_result_reason(m->error), 150)));
	s->peer.revision = mcp_session_revision(version);
	if (!s->peer.revision && version.n)
		return err_set(
			e, E_PROTO,
			"the server speaks protocol revision \"%.*s\", which is not known "
			"here",
			STRF(utf_head(version, 40)));
	if (!s->peer.revision)
		return err_set(e, E_PROTO, "the answer to initialize has no protocolVersion");
	/* A late answer to the probe changes nothing any more. */
	s->id_discover = 0;
	mcp_session_read_peer(&s->peer, json_get(m->result, "serverInfo"),
			      json_get(m->result, "capabilities"));
	mcp_rpc_notice(out, "notifications/initialized", (str){ 0 });
	s->phase = MCP_PHASE_LIST;
	ask_list(s, now_ms, out);
	return OK;
}

static void subscribe(struct mcp_session *s, str uri, struct buf *out)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, 6 * uri.n + 100);

	buf_add(&b, S("{"));
	buf_json_member(&b, "uri", uri);
	buf_add(&b, S("}"));
	mcp_rpc_request(out, next_id(s), "resources/subscribe", buf_str(&b));
}

/* Ask to be told of changes, where that was not done yet. */
static void ask_changes(struct mcp_session *s, int64_t now_ms, struct buf *out)
{
	const struct mcp_peer *p = &s->peer;

	s->listen_at_ms = 0;
	s->listens_ms = now_ms;
	if (!p->tells.tools && !p->tells.prompts && !p->tells.resources && !s->watched_n)
		return;
	s->id_listen = next_id(s);
	mcp_stateless_listen(s, s->id_listen, out);
}

/* What was asked of an earlier life of a server is asked of this one. */
static void begin_watching(struct mcp_session *s, int64_t now_ms, struct buf *out)
{
	if (s->peer.stateless)
		ask_changes(s, now_ms, out);
	for (size_t i = 0; i < s->watched_n && !s->peer.stateless; i++)
		subscribe(s, s->watched[i], out);
}

static void stop_listening(struct mcp_session *s, struct buf *out)
{
	SCOPED(arena_free) struct arena a = { 0 };

	if (s->id_listen)
		mcp_rpc_notice(out, "notifications/cancelled",
			       arena_fmt(&a, "{\"requestId\":%lld}", (long long)s->id_listen));
	s->id_listen = 0;
}

void mcp_session_watch(struct mcp_session *s, const str *uris, size_t n, struct buf *out)
{
	struct arena fresh = { 0 };
	str *v = NEWN(&fresh, str, n);

	for (size_t i = 0; i < n; i++)
		v[i] = arena_dup(&fresh, uris[i]);
	arena_free(&s->watched_arena);
	s->watched_arena = fresh;
	s->watched = v;
	s->watched_n = n;
	if (s->phase == MCP_PHASE_READY && s->peer.stateless) {
		stop_listening(s, out);
		ask_changes(s, s->listens_ms, out);
	}
}

/* The server has ended the stream of changes: ask again after a while. */
static void listen_ended(struct mcp_session *s, int64_t now_ms)
{
	s->id_listen = 0;
	if (now_ms - s->listens_ms >= LISTEN_PAUSE_MAX_MS)
		s->listen_pause_ms = 0;
	s->listen_pause_ms = s->listen_pause_ms ? 2 * s->listen_pause_ms : LISTEN_PAUSE_MS;
	if (s->listen_pause_ms > LISTEN_PAUSE_MAX_MS)
		s->listen_pause_ms = LISTEN_PAUSE_MAX_MS;
	s->listen_at_ms = now_ms + s->listen_pause_ms;
}

/* The first list decides about the session; a later one that is bad leaves all as it was. */
static int fail_list(struct mcp_session *s, const struct err *why, struct arena *a,
		     struct mcp_event *ev, struct err *e)
{
	if (s->phase != MCP_PHASE_READY)
		return err_set(e, why->code, "%s", why->msg);
	s->until_ms = 0;
	ev->kind = MCP_EVENT_ODD;
	ev->text = arena_fmt(a, "the list of tools stays as it was: %s", why->msg);
	return OK;
}

static int take_page(struct mcp_session *s, const struct mcp_msg *m, int64_t now_ms,
		     struct arena *a, struct buf *out, struct mcp_event *ev, struct err *e)
{
	struct err why = { 0 };
	str remark;
	int rc = mcp_pages_take(&s->pages, m, s->opt->ids,
				s->peer.stateless ? mcp_stateless_meta(s->opt, a) : S(""), out,
				&remark, &why);

	if (rc < 0)
		return fail_list(s, &why, a, ev, e);
	if (rc == MCP_PAGES_MORE)
		return OK;
	/* It is whole, or as whole as it will get. */
	if (s->phase != MCP_PHASE_READY)
		begin_watching(s, now_ms, out);
	s->phase = MCP_PHASE_READY;
	s->until_ms = 0;
	if (s->pages.ttl_ms > 0 && !s->peer.tells.tools)
		s->pages.due_ms =
			now_ms + (s->pages.ttl_ms > TTL_MIN_MS ? s->pages.ttl_ms : TTL_MIN_MS);
	ev->kind = MCP_EVENT_TOOLS;
	ev->text = remark;
	return OK;
}

/* Is it a question that was offered to be answered? */
static bool is_question(const struct mcp_session *s, const struct mcp_msg *m,
			enum mcp_question_kind *kind)
{
	const struct mcp_offer *o = &s->opt->offer;
	bool url = str_eq(json_str(m->params, "mode"), S("url"));

	if (s->phase < MCP_PHASE_LIST || s->peer.stateless)
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
	} else if (str_eq(m->method, S("roots/list")) && s->roots && !s->peer.stateless) {
		mcp_rpc_answer(out, m->id, mcp_roots_result(roots_of(s), a));
	} else {
		mcp_rpc_refuse(out, m->id, MCP_METHOD_NOT_FOUND,
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

/* A task is another, or a person has done what a link was for. */
static void take_news(const struct mcp_msg *m, struct mcp_event *ev)
{
	ev->task = json_str(m->params, "taskId");
	ev->link = json_str(m->params, "elicitationId");
	ev->text = json_str(m->params, "statusMessage");
	if (ev->task.n || ev->link.n)
		ev->kind = MCP_EVENT_PROGRESS;
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

/* A question is taken back, or the stream of changes ends. */
static void take_cancelled(struct mcp_session *s, const struct mcp_msg *m, int64_t now_ms,
			   struct mcp_event *ev)
{
	int64_t id;

	ev->request = json_get(m->params, "requestId");
	if (!s->peer.stateless)
		ev->kind = MCP_EVENT_WITHDRAWN;
	else if (s->id_listen && mcp_rpc_own_id(ev->request, &id) && id == s->id_listen)
		listen_ended(s, now_ms);
}

static void take_notice(struct mcp_session *s, const struct mcp_msg *m, int64_t now_ms,
			struct arena *a, struct mcp_event *ev)
{
	if (str_eq(m->method, S("notifications/progress")))
		take_progress(m, ev);
	else if (!s->peer.stateless &&
		 (str_eq(m->method, S("notifications/tasks/status")) ||
		  str_eq(m->method, S("notifications/elicitation/complete"))))
		take_news(m, ev);
	else if (str_eq(m->method, S("notifications/message")))
		take_log(m, a, ev);
	else if (str_eq(m->method, S("notifications/tools/list_changed")))
		mcp_pages_changed(&s->pages, now_ms);
	else if (str_eq(m->method, S("notifications/cancelled")))
		take_cancelled(s, m, now_ms, ev);
	else if (str_starts(m->method, S("notifications/resources/")) ||
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
	if (id == s->id_discover)
		return take_discover(s, m, now_ms, out, e);
	if (id == s->id_initialize)
		return take_initialize(s, m, now_ms, out, e);
	if (id == s->pages.id)
		return take_page(s, m, now_ms, a, out, ev, e);
	if (id == s->id_listen) {
		/* One that cannot do that is not asked again. */
		listen_ended(s, now_ms);
		s->listen_at_ms = m->error ? 0 : s->listen_at_ms;
		return OK;
	}
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
			       s->phase == MCP_PHASE_LIST       ? "tools/list"
			       : s->phase == MCP_PHASE_DISCOVER ? "server/discover"
								: "initialize",
			       (long long)s->opt->start_ms);
	/* A list that does not come is given up; whether the server lives, ping will tell. */
	s->pages.id = 0;
	s->until_ms = 0;
	return OK;
}

/* What it logs is asked for where that can be said, at first and when it changes.  Its answer
 * is of no interest. */
static void tell_level(struct mcp_session *s, struct buf *out)
{
	const char *level = s->opt->level ? atomic_load(s->opt->level) : NULL;
	SCOPED(arena_free) struct arena a = { 0 };

	if (!level || level == s->level || !s->peer.caps.logging || s->peer.stateless)
		return;
	s->level = level;
	mcp_rpc_request(out, next_id(s), "logging/setLevel",
			arena_fmt(&a, "{\"level\":\"%s\"}", level));
}

/* Whoever was told that there are directories hears when they are others. */
static void tell_roots(struct mcp_session *s, struct buf *out)
{
	const struct str_list *now = roots_of(s);

	if (now == s->roots || !s->roots || s->peer.stateless)
		return;
	s->roots = now;
	mcp_rpc_notice(out, "notifications/roots/list_changed", (str){ 0 });
}

int mcp_session_tick(struct mcp_session *s, int64_t now_ms, bool idle, struct buf *out,
		     struct err *e)
{
	int rc = check_limits(s, now_ms, e);

	if (rc == OK && s->probe_until_ms && now_ms >= s->probe_until_ms)
		initialize(s, out);
	if (rc < 0 || s->phase != MCP_PHASE_READY)
		return rc;
	tell_level(s, out);
	tell_roots(s, out);
	if (s->pages.due_ms && now_ms >= s->pages.due_ms && !s->pages.id)
		ask_list(s, now_ms, out);
	if (s->listen_at_ms && now_ms >= s->listen_at_ms) {
		ask_changes(s, now_ms, out);
		/* What changed meanwhile was told to nobody. */
		if (s->peer.tells.tools)
			mcp_pages_changed(&s->pages, now_ms);
	}
	if (s->opt->ping_ms && idle && !s->id_ping && now_ms >= s->heard_ms + s->opt->ping_ms) {
		s->id_ping = next_id(s);
		s->ping_until_ms = now_ms + ping_limit(s);
		if (s->peer.stateless)
			mcp_stateless_discover(s->opt, s->id_ping, out);
		else
			mcp_rpc_request(out, s->id_ping, "ping", (str){ 0 });
	}
	return OK;
}

static void sooner(int64_t *due, int64_t at)
{
	if (at && at < *due)
		*due = at;
}

int64_t mcp_session_due(const struct mcp_session *s, bool idle)
{
	int64_t due = INT64_MAX;

	sooner(&due, s->until_ms);
	sooner(&due, s->probe_until_ms);
	if (s->id_ping)
		sooner(&due, s->ping_until_ms);
	if (s->phase != MCP_PHASE_READY)
		return due;
	if (!s->pages.id)
		sooner(&due, s->pages.due_ms);
	sooner(&due, s->listen_at_ms);
	if (s->opt->ping_ms && idle && !s->id_ping)
		sooner(&due, s->heard_ms + s->opt->ping_ms);
	return due;
}

size_t mcp_session_open(const struct mcp_session *s, int64_t ids[5])
{
	const int64_t all[5] = { s->id_discover, s->id_initialize, s->pages.id, s->id_ping,
				 s->id_listen };
	size_t n = 0;

	for (size_t i = 0; i < COUNT(all); i++)
		if (all[i])
			ids[n++] = all[i];
	return n;
}
