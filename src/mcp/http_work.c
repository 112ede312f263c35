/*
 * Work of the server's thread over HTTP.  Nothing is decided here about messages: the session
 * does that.  What came to a caller and is not its answer comes in over mcp_http_heard().
 */
#include "mcp/http_work.h"

#include "mcp/stateless.h"
#include "os/clock.h"
#include "os/log.h"

#define SEND_MS 10000
#define OPEN_MS 300 /* calls wait so long for the server's own stream */
#define ERROR_MAX ((size_t)512 << 10)

/* ---- messages -------------------------------------------------------------------------- */

/* Parameters that are to be shown as headers.  A tool that asks for that
 * wrongly is left out. */
void mcp_work_sift(void *arg, struct mcp_listing *listing)
{
	struct mcp_life *l = arg;
	struct arena a = { 0 };
	struct mcp_marked *list = NULL;
	size_t n = 0;

	if (!l->hear.session.peer.stateless)
		return;
	for (size_t i = 0; i < listing->n; i++) {
		struct mcp_marked m = { .next = list, .tool = listing->tools[i].tool };
		struct err e = { 0 };

		if (mcp_marks_read(&m.marks, &a, listing->tools[i].schema, &e) < 0) {
			mcp_hearer_remark(&l->hear, arena_fmt(&a, "tool %.*s is left out: %s",
							      STRF(m.tool), e.msg));
			continue;
		}
		listing->tools[n++] = listing->tools[i];
		if (!m.marks)
			continue;
		list = NEW(&a, struct mcp_marked);
		*list = m;
		list->tool = arena_dup(&a, m.tool);
	}
	listing->n = n;
	mcp_http_mark(l->h, &a, list);
}

/* It speaks what we speak, and refused to: once it is asked again. */
static bool insist(struct mcp_life *l, const struct mcp_msg *m)
{
	const struct json *versions = json_get(json_get(m->error, "data"), "supported");

	if (l->hear.session.phase != MCP_PHASE_DISCOVER || l->insisted ||
	    json_i64(m->error, "code", 0) != MCP_UNSUPPORTED_VERSION)
		return false;
	for (const struct json *v = json_at(versions, 0); v && !l->insisted; v = v->next)
		l->insisted = str_is(json_text(v), MCP_STATELESS_REVISION);
	if (l->insisted)
		mcp_hearer_begin(&l->hear);
	return l->insisted;
}

static int take_message(struct mcp_life *l, struct mcp_heard *n, struct err *e)
{
	return insist(l, &n->m) ? OK : mcp_hearer_take(&l->hear, &n->m, n->call, &n->a, e);
}

/* All that came meanwhile. */
int mcp_work_heard(struct mcp_life *l, struct err *e)
{
	int rc = OK;

	for (struct mcp_heard *n = mcp_http_heard(l->h), *next; n; n = next) {
		/* It lives in its own arena, which whoever takes the message over may free. */
		struct mcp_heard own = *n;

		next = own.next;
		if (rc == OK)
			rc = take_message(l, &own, e);
		arena_free(&own.a);
	}
	return rc;
}

/* ---- sending --------------------------------------------------------------------------- */

int mcp_work_hear(void *arg, struct arena *line, const struct mcp_msg *m, struct err *e)
{
	struct mcp_life *l = arg;
	int64_t id;
	bool answer = l->asked && m->kind == MCP_ANSWER && mcp_rpc_own_id(m->id, &id) &&
		      id == l->asked;

	(void)e;
	mcp_http_hear(l->h, line, m, 0, answer ? -1 : 0);
	return answer ? 2 : 0;
}

/* While a message is being sent. */
static int on_busy_wake(void *arg, struct err *e)
{
	return mcp_work_heard(arg, e);
}

static bool is_fallback(const struct mcp_life *l, const struct mcp_told *told)
{
	return !l->legacy && l->hear.session.phase == MCP_PHASE_INITIALIZE &&
	       told->status >= 400 && told->status < 500 && told->status != 401 &&
	       told->status != 403 && told->status != 408 && told->status != 429 &&
	       l->opt->server->http.transport == MCP_TRANSPORT_AUTO;
}

/* What an answer said about where we are. */
static void take_place(struct mcp_life *l, const struct mcp_told *told)
{
	bool begins = told->session.n && l->hear.session.phase <= MCP_PHASE_LIST &&
		      !l->place.session.n;

	if (begins)
		l->place.session = arena_dup(&l->place_arena, told->session);
	if (begins || l->place.revision != l->hear.session.peer.revision) {
		l->place.revision = l->hear.session.peer.revision;
		l->place.resumes = !l->hear.session.peer.stateless;
		mcp_http_place(l->h, &l->place);
	}
}

/* Nobody answered the request id: the session hears of an error, of which error is what the
 * server said, if it did. */
int mcp_work_refused(struct mcp_life *l, int64_t id, str body, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf b = buf_in(&a, ERROR_MAX);
	struct json *v = NULL;
	const struct json *error;

	if (json_read(&v, &a, body, NULL) < 0)
		v = NULL;
	error = json_get(v, "error");
	if (json_is(error, JSON_OBJECT))
		json_write(&b, error);
	else
		buf_fmt(&b, "{\"code\":%d,\"message\":\"it was refused\"}",
			MCP_METHOD_NOT_FOUND);
	return mcp_hearer_fail(&l->hear, id, buf_str(&b), e);
}

/* What a server would say of a stream that it closes, which the session counts as its end. */
int mcp_work_broken(struct mcp_life *l, int64_t id, struct err *e)
{
	struct mcp_heard n = { 0 };
	int rc;

	mcp_rpc_read(&n.m, &n.a,
		     arena_fmt(&n.a,
			       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
			       "\"params\":{\"requestId\":%lld}}",
			       (long long)id));
	rc = mcp_hearer_take(&l->hear, &n.m, 0, &n.a, e);
	arena_free(&n.a);
	return rc;
}

/* What it did with server/discover tells that it is of the initialize era. */
static bool is_older(const struct mcp_life *l, int rc, const struct mcp_told *told)
{
	return rc < 0 && l->hear.session.phase == MCP_PHASE_DISCOVER && rc != E_DENIED &&
	       cancel_reason(l->stop) == CANCEL_NONE && told->status != 429 &&
	       (told->status || rc == E_TIMEOUT || !told->not_run);
}

/* How long an answer may take. */
static int64_t patience(const struct mcp_life *l)
{
	int64_t ms = l->hear.session.probe_until_ms - clock_mono_ms();

	if (!l->asked)
		return SEND_MS;
	if (l->hear.session.phase == MCP_PHASE_DISCOVER && l->hear.session.probe_until_ms)
		return ms > 1 ? ms : 1;
	return l->opt->session.start_ms;
}

/* Send one message and take what comes of it.  *fallback: it is no Streamable HTTP. */
static int post(struct mcp_life *l, str text, struct mcp_told *told, bool *fallback,
		struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_place place;
	struct mcp_wire wire;
	struct http_header mirror[MCP_MIRROR_MAX];
	struct mcp_msg m;
	int64_t life = mcp_http_where(l->h, &a, &place, &wire), asked;
	bool modern =
		l->hear.session.peer.stateless || l->hear.session.phase == MCP_PHASE_DISCOVER;
	int rc;

	mcp_rpc_read(&m, &a, text);
	if (modern)
		place.revision = MCP_STATELESS_REVISION;
	l->asked = 0;
	if (m.kind == MCP_REQUEST)
		(void)mcp_rpc_own_id(m.id, &l->asked);
	const struct mcp_talk t = {
		.wire = &wire,
		.at = &place,
		.label = m.method.n ? arena_cstr(&a, m.method) : "answer",
		.body = str_trim(text),
		.headers = mirror,
		.headers_n = modern ? mcp_http_mirror(l->h, &a, m.method, m.params, mirror,
						      MCP_MIRROR_MAX)
				    : 0,
		.asks = l->asked && !l->legacy,
		.acts = str_is(m.method, "tools/call"),
		.max_ms = patience(l),
		.ears = { .on_message = mcp_work_hear,
			  .on_wake = on_busy_wake,
			  .wake = mcp_calls_bell(l->h->calls),
			  .arg = l },
	};
	asked = l->asked;
	rc = mcp_talk_post(&t, &a, told, l->stop, e);
	l->asked = 0;
	if (is_older(l, rc, told)) {
		rc = mcp_work_refused(l, asked, told->body, e);
	} else {
		if (rc < 0 && told->lost)
			mcp_http_lose(l->h, life);
		*fallback = rc < 0 && is_fallback(l, told);
		if (rc == OK)
			rc = mcp_work_heard(l, e);
		if (rc == OK)
			take_place(l, told);
	}
	told->session = told->body = (str){ 0 };
	return rc;
}

/* Once it is ready no single message decides, unless nobody is let in any more: whether it
 * lives, ping will tell. */
static bool is_small(const struct mcp_life *l, int rc, const struct mcp_told *told)
{
	return (rc != E_DENIED || told->status == 403) &&
	       l->hear.session.phase == MCP_PHASE_READY &&
	       cancel_reason(l->stop) == CANCEL_NONE;
}

static int send_text(struct mcp_life *l, str text, bool *fallback, struct err *e)
{
	struct mcp_told told;
	int rc = post(l, text, &told, fallback, e);

	return rc < 0 && is_small(l, rc, &told) ? OK : rc;
}

/* HTTP+SSE: a caller's request, whose answer comes over the stream.  When it was refused none
 * will; when nothing was said of it for long one may. */
static int send_call(struct mcp_life *l, const struct mcp_frame *f, struct err *e)
{
	struct mcp_told told;
	struct err why = { 0 };
	bool ignored;
	int rc = post(l, f->text, &told, &ignored, &why);

	if (rc == OK)
		return OK;
	if (cancel_reason(l->stop) == CANCEL_NONE && (rc != E_TIMEOUT || told.not_run))
		mcp_calls_refused(l->h->calls, f->id, rc, told.not_run, why.msg);
	return is_small(l, rc, &told) ? OK : err_set(e, rc, "%s", why.msg);
}

/* No handshake: is it about the stream of changes?  That is opened where we wait; and the one
 * before it is closed rather than cancelled. */
static bool keep_listen(struct mcp_life *l, str line)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_msg m;

	if (!l->hear.session.peer.stateless || l->hear.session.phase != MCP_PHASE_READY)
		return false;
	mcp_rpc_read(&m, &a, line);
	if (str_is(m.method, "subscriptions/listen")) {
		arena_free(&l->listen_arena);
		l->listen = arena_dup(&l->listen_arena, line);
		return true;
	}
	return m.kind == MCP_NOTICE && str_is(m.method, "notifications/cancelled");
}

/* Everything of the session and of callers that is not carried by them. */
static int pump(struct mcp_life *l, bool *fallback, struct err *e)
{
	int rc = mcp_work_heard(l, e);

	while (rc == OK && l->hear.out.n) {
		struct arena batch = { 0 };
		str lines = mcp_hearer_send(&l->hear, &batch);

		while (lines.n && rc == OK) {
			str line = str_cut(&lines, '\n');

			rc = keep_listen(l, line) ? OK : send_text(l, line, fallback, e);
		}
		arena_free(&batch);
	}
	for (struct mcp_frame *f;
	     rc == OK && l->hear.session.phase == MCP_PHASE_READY &&
	     (f = l->legacy ? mcp_calls_next(l->h->calls) : mcp_calls_notice(l->h->calls));) {
		bool ignored;

		if (f->id) {
			mcp_calls_wrote(l->h->calls, f->id);
			rc = send_call(l, f, e);
		} else if (!l->hear.session.peer.stateless) {
			/* Without a handshake a stream that is closed says all of it. */
			rc = send_text(l, f->text, &ignored, e);
		}
		mcp_frame_free(f);
	}
	return rc;
}

static void set_wake(struct mcp_life *l)
{
	int64_t due = mcp_hearer_due(&l->hear, mcp_calls_idle(l->h->calls));

	if (l->ready_ms && !l->open && !l->legacy && l->ready_ms + OPEN_MS < due)
		due = l->ready_ms + OPEN_MS;
	l->wake_at_ms = due == INT64_MAX ? 0 : due;
}

/* HTTP+SSE: nothing can be said before the stream said where to. */
static int await_endpoint(struct mcp_life *l, int64_t now, struct err *e)
{
	l->wake_at_ms = l->endpoint_until_ms;
	if (now < l->endpoint_until_ms)
		return mcp_work_heard(l, e);
	return err_set(e, E_TIMEOUT, "its stream of events named no endpoint within %lld ms",
		       (long long)l->opt->session.start_ms);
}

/* Calls may come.  Not before the server can ask of them what it asks on its own stream: many
 * drop what they have to say while there is none. */
void mcp_work_open(struct mcp_life *l)
{
	if (l->open || l->legacy || !l->ready_ms ||
	    !(l->listening || l->deaf || l->hear.session.peer.stateless ||
	      clock_mono_ms() >= l->ready_ms + OPEN_MS))
		return;
	l->open = true;
	mcp_calls_carry(l->h->calls, &l->h->carrier);
}

/* One round of work. */
int mcp_work_round(struct mcp_life *l, bool *fallback, struct err *e)
{
	int64_t now = clock_mono_ms();
	int rc;

	*fallback = false;
	if (l->legacy && !l->begun)
		return await_endpoint(l, now, e);
	if (wait_fd(mcp_watches_bell(l->opt->watches)->fd, POLLIN, 1, NULL, NULL) == OK)
		mcp_hearer_watch(&l->hear);
	rc = mcp_session_tick(&l->hear.session, now, mcp_calls_idle(l->h->calls), &l->hear.out,
			      e);
	if (rc == OK)
		rc = pump(l, fallback, e);
	if (rc < 0)
		return rc;
	mcp_hearer_tick(&l->hear, clock_mono_ms());
	if (!l->ready_ms && l->hear.session.phase == MCP_PHASE_READY)
		l->ready_ms = clock_mono_ms();
	mcp_work_open(l);
	set_wake(l);
	return mcp_http_is_lost(l->h) ? err_set(e, E_IO, "it forgot our session") : OK;
}
