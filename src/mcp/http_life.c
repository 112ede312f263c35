/*
 * The server's thread over HTTP: a handshake, then rounds of work between which it reads the
 * stream on which the server speaks by itself, or waits for its bell where there is none.
 *
 * Nothing is decided here about messages: the session does that.  What came to a caller and is
 * not its answer comes in over mcp_http_heard().
 */
#include "mcp/http_link.h"

#include "mcp/noise.h"
#include "mcp/notices.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/url.h"

#include <stdio.h>

#define CONTROL_MAX ((size_t)1 << 20)
#define SEND_MS 10000
#define DELETE_MS 1000
#define LISTEN_MS 1000
#define LISTEN_MIN_MS 100
#define LISTEN_MAX_MS 30000
#define DEAF_MAX 4 /* attempts at the stream in a row that found nobody */
#define AGAIN_MS 5000 /* a session of that age is begun anew without a pause */
#define INVALID_REQUEST (-32600)

struct life {
	struct mcp_http *h;
	const struct mcp_link_opt *opt;
	const struct cancel *stop;
	struct mcp_session session;
	struct mcp_notices notices;
	struct mcp_noise logs;
	struct arena control_arena;
	struct buf control; /* messages of the session that wait to be sent */
	struct mcp_place place;
	struct arena place_arena;
	int64_t asked; /* the request of ours that is under way */
	int64_t wake_at_ms;
	int64_t endpoint_until_ms;
	int64_t ready_ms; /* since when; 0: it is not */
	bool legacy; /* HTTP+SSE: answers come over the stream */
	bool begun; /* legacy: the stream named its endpoint */
	bool was_ready;
	bool deaf; /* there is no stream to listen to */
};

/* ---- messages -------------------------------------------------------------------------- */

static void remark(const struct life *l, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };

	log_warn("mcp.tools", "server=%.*s note=%.*s", STRF(l->opt->label),
		 STRF(log_q(&a, text)));
}

static void took_tools(struct life *l, const struct mcp_event *ev)
{
	if (ev->text.n)
		remark(l, ev->text);
	l->was_ready = true;
	mcp_calls_speak(l->h->calls, &l->session);
	l->opt->on_tools(l->opt->arg, &l->session, &l->session.pages.listing);
	mcp_pages_done(&l->session.pages);
}

/* Whoever made the call answers it; where nobody can, the server hears so at once. */
static void took_question(struct life *l, const struct mcp_event *ev, struct arena *line)
{
	const char *why;

	if (!mcp_calls_question(l->h->calls, ev, line, &why))
		mcp_rpc_refuse(&l->control, ev->request, INVALID_REQUEST, str_of(why));
}

static int take_message(struct life *l, struct mcp_heard *n, struct err *e)
{
	int64_t now = clock_mono_ms();
	struct mcp_event ev;
	int rc = mcp_session_take(&l->session, &n->m, now, &n->a, &l->control, &ev, e);

	if (rc < 0)
		return rc;
	switch (ev.kind) {
	case MCP_EVENT_TOOLS:
		took_tools(l, &ev);
		break;
	case MCP_EVENT_ANSWER:
		mcp_calls_answer(l->h->calls, &ev, &n->a);
		break;
	case MCP_EVENT_PROGRESS:
		mcp_calls_progress(l->h->calls, &ev);
		break;
	case MCP_EVENT_LOG:
		mcp_noise_line(&l->logs, ev.level.n ? str_sub(ev.level, 0, 20) : S("info"),
			       ev.text, now);
		break;
	case MCP_EVENT_QUESTION:
		ev.id = n->call;
		took_question(l, &ev, &n->a);
		break;
	case MCP_EVENT_WITHDRAWN:
		mcp_calls_withdraw(l->h->calls, ev.request);
		break;
	case MCP_EVENT_NOTICE:
		mcp_notices_add(&l->notices, ev.method, ev.params, now);
		break;
	case MCP_EVENT_ODD:
		remark(l, ev.text);
		break;
	case MCP_EVENT_NONE:
		break;
	}
	if (l->control.full)
		return err_set(e, E_LIMIT, "it asks more than it reads the answers of");
	return OK;
}

/* All that came meanwhile. */
static int take_heard(struct life *l, struct err *e)
{
	int rc = OK;

	for (struct mcp_heard *n = mcp_http_heard(l->h), *next; n; n = next) {
		struct arena a;

		next = n->next;
		if (rc == OK)
			rc = take_message(l, n, e);
		a = n->a;
		arena_free(&a);
	}
	return rc;
}

/* ---- sending --------------------------------------------------------------------------- */

static int on_message(void *arg, struct arena *line, const struct mcp_msg *m, struct err *e)
{
	struct life *l = arg;
	int64_t id;
	bool answer = l->asked && m->kind == MCP_ANSWER && mcp_rpc_own_id(m->id, &id) &&
		      id == l->asked;

	(void)e;
	mcp_http_hear(l->h, line, m, 0);
	return answer ? 2 : 0;
}

/* While a message is being sent. */
static int on_busy_wake(void *arg, struct err *e)
{
	return take_heard(arg, e);
}

static bool is_fallback(const struct life *l, const struct mcp_told *told)
{
	return !l->legacy && l->session.phase == MCP_PHASE_INITIALIZE && told->status >= 400 &&
	       told->status < 500 && told->status != 401 && told->status != 403 &&
	       told->status != 408 && told->status != 429 &&
	       l->opt->server->http.transport == MCP_TRANSPORT_AUTO;
}

/* What an answer said about where we are. */
static void take_place(struct life *l, const struct mcp_told *told)
{
	bool begins =
		told->session.n && l->session.phase <= MCP_PHASE_LIST && !l->place.session.n;

	if (begins)
		l->place.session = arena_dup(&l->place_arena, told->session);
	if (begins || l->place.revision != l->session.peer.revision) {
		l->place.revision = l->session.peer.revision;
		mcp_http_place(l->h, &l->place);
	}
}

/* Send one message and take what comes of it.  *fallback: it is no Streamable HTTP. */
static int send_text(struct life *l, str text, bool *fallback, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_place place;
	struct mcp_wire wire;
	struct mcp_told told;
	struct mcp_msg m;
	int64_t life = mcp_http_where(l->h, &a, &place, &wire);
	int rc;

	mcp_rpc_read(&m, &a, text);
	l->asked = 0;
	if (m.kind == MCP_REQUEST)
		(void)mcp_rpc_own_id(m.id, &l->asked);
	const struct mcp_talk t = {
		.wire = &wire,
		.at = &place,
		.label = m.method.n ? arena_cstr(&a, m.method) : "answer",
		.body = str_trim(text),
		.asks = l->asked && !l->legacy,
		.max_ms = l->asked ? l->opt->session.start_ms : SEND_MS,
		.ears = { .on_message = on_message,
			  .on_wake = on_busy_wake,
			  .wake = mcp_calls_bell(l->h->calls),
			  .arg = l },
	};
	rc = mcp_talk_post(&t, &a, &told, l->stop, e);
	l->asked = 0;
	if (rc < 0 && told.lost)
		mcp_http_lose(l->h, life);
	*fallback = rc < 0 && is_fallback(l, &told);
	if (rc == OK)
		rc = take_heard(l, e);
	if (rc == OK)
		take_place(l, &told);
	/* Once it is ready no single message decides: whether it lives, ping will tell. */
	if (rc < 0 && rc != E_DENIED && l->session.phase == MCP_PHASE_READY &&
	    cancel_reason(l->stop) == CANCEL_NONE)
		return OK;
	return rc;
}

/* Everything of the session and of callers that is not carried by them. */
static int pump(struct life *l, bool *fallback, struct err *e)
{
	int rc = take_heard(l, e);

	while (rc == OK && l->control.n) {
		struct arena batch = l->control_arena;
		str lines = buf_str(&l->control);

		l->control_arena = (struct arena){ 0 };
		l->control = buf_in(&l->control_arena, CONTROL_MAX);
		while (lines.n && rc == OK)
			rc = send_text(l, str_cut(&lines, '\n'), fallback, e);
		arena_free(&batch);
	}
	for (struct mcp_frame *f;
	     rc == OK && l->session.phase == MCP_PHASE_READY &&
	     (f = l->legacy ? mcp_calls_next(l->h->calls) : mcp_calls_notice(l->h->calls));) {
		bool ignored;

		if (f->id)
			mcp_calls_wrote(l->h->calls, f->id);
		rc = send_text(l, f->text, &ignored, e);
		mcp_frame_free(f);
	}
	return rc;
}

static void tell_notices(struct life *l, int64_t now)
{
	struct mcp_notices due;

	if (!mcp_notices_take(&l->notices, now, &due))
		return;
	for (const struct mcp_notice *n = due.first; n; n = n->next)
		l->opt->on_notice(l->opt->arg, n->method, n->params);
	mcp_notices_done(&due);
}

static void set_wake(struct life *l)
{
	int64_t due = mcp_session_due(&l->session, mcp_calls_idle(l->h->calls));

	if (l->notices.due_ms && l->notices.due_ms < due)
		due = l->notices.due_ms;
	l->wake_at_ms = due == INT64_MAX ? 0 : due;
}

/* HTTP+SSE: nothing can be said before the stream said where to. */
static int await_endpoint(struct life *l, int64_t now, struct err *e)
{
	l->wake_at_ms = l->endpoint_until_ms;
	if (now < l->endpoint_until_ms)
		return take_heard(l, e);
	return err_set(e, E_TIMEOUT, "its stream of events named no endpoint within %lld ms",
		       (long long)l->opt->session.start_ms);
}

/* One round of work. */
static int work(struct life *l, bool *fallback, struct err *e)
{
	int64_t now = clock_mono_ms();
	int rc;

	*fallback = false;
	if (l->legacy && !l->begun)
		return await_endpoint(l, now, e);
	rc = mcp_session_tick(&l->session, now, mcp_calls_idle(l->h->calls), &l->control, e);
	if (rc == OK)
		rc = pump(l, fallback, e);
	if (rc < 0)
		return rc;
	tell_notices(l, clock_mono_ms());
	if (!l->ready_ms && l->session.phase == MCP_PHASE_READY) {
		l->ready_ms = clock_mono_ms();
		if (!l->legacy)
			mcp_calls_carry(l->h->calls, &l->h->carrier);
	}
	set_wake(l);
	return mcp_http_is_lost(l->h) ? err_set(e, E_IO, "it forgot our session") : OK;
}

/* ---- listening ------------------------------------------------------------------------- */

static int on_listen_wake(void *arg, struct err *e)
{
	bool ignored;

	return work(arg, &ignored, e);
}

/* HTTP+SSE: where messages are to be sent; never to another host. */
static int on_event(void *arg, str name, str data, struct err *e)
{
	struct life *l = arg;
	SCOPED(arena_free) struct arena a = { 0 };
	struct url base, url;
	int rc;

	if (!l->legacy || l->begun || !str_is(name, "endpoint"))
		return OK;
	if ((rc = url_parse(&base, &a, S(""), l->place.url, e)) < 0 ||
	    (rc = url_parse(&url, &a, base.text, str_trim(data), e)) < 0)
		return err_wrap(e, E_PROTO, "its endpoint");
	if (!str_eq(url.host, base.host) || url.port != base.port || url.tls != base.tls)
		return err_set(e, E_PROTO, "it wants messages to be sent to another host");
	l->begun = true;
	l->place.url = arena_dup(&l->place_arena, url.text);
	mcp_http_place(l->h, &l->place);
	mcp_session_begin(&l->session, clock_mono_ms(), &l->control);
	bell_ring(mcp_calls_bell(l->h->calls));
	return OK;
}

/* Read the stream until it ends, working meanwhile. */
static int listen_once(struct life *l, struct arena *a, str *last, int64_t *retry_ms,
		       struct mcp_told *told, struct err *e)
{
	SCOPED(arena_free) struct arena tmp = { 0 };
	struct mcp_place place;
	struct mcp_wire wire;
	str id = *last;
	int rc;

	(void)mcp_http_where(l->h, &tmp, &place, &wire);
	const struct mcp_talk t = {
		.wire = &wire,
		.at = &place,
		.label = "event stream",
		.ears = { .on_message = on_message,
			  .on_event = on_event,
			  .on_wake = on_listen_wake,
			  .wake = mcp_calls_bell(l->h->calls),
			  .wake_at_ms = &l->wake_at_ms,
			  .arg = l },
	};
	l->asked = 0;
	rc = mcp_talk_listen(&t, &tmp, &id, retry_ms, told, l->stop, e);
	if (!str_eq(id, *last)) {
		arena_free(a);
		*last = arena_dup(a, id);
	}
	return rc;
}

/* Wait for work for at most ms, 0: for ever. */
static int idle(struct life *l, int64_t ms, struct err *e)
{
	int64_t until = ms ? clock_mono_ms() + ms : 0;
	bool ignored;

	for (;;) {
		int64_t at = l->wake_at_ms;
		int rc;

		if (until && (!at || until < at))
			at = until;
		rc = wait_fd(mcp_calls_bell(l->h->calls)->fd, POLLIN, at, l->stop, e);
		if (rc == OK)
			bell_hear(mcp_calls_bell(l->h->calls));
		else if (rc != E_TIMEOUT || cancel_reason(l->stop) != CANCEL_NONE)
			return rc;
		if ((rc = work(l, &ignored, e)) < 0)
			return rc;
		if (until && clock_mono_ms() >= until)
			return OK;
	}
}

/* Ready: until it is dead or we are to stop. */
static int attend(struct life *l, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t pause = LISTEN_MS;
	int deaf_n = 0, rc = OK;
	str last = { 0 };

	while (rc == OK) {
		int64_t began = clock_mono_ms(), retry_ms = -1;
		struct mcp_told told = { 0 };

		if (l->deaf) {
			rc = idle(l, 0, e);
			continue;
		}
		rc = listen_once(l, &a, &last, &retry_ms, &told, e);
		if (told.lost)
			return err_set(e, E_IO, "it forgot our session");
		if (cancel_reason(l->stop) != CANCEL_NONE || mcp_http_is_lost(l->h))
			break;
		if (rc == E_DENIED)
			break;
		l->deaf = told.status >= 300 || told.no_stream;
		deaf_n = told.status ? 0 : deaf_n + 1;
		/* What failed may be the work that was done meanwhile. */
		if (rc < 0 && !l->deaf && told.status && rc != E_IO)
			break;
		if (rc < 0 && deaf_n >= DEAF_MAX)
			break;
		pause = clock_mono_ms() - began > AGAIN_MS ? LISTEN_MS : pause * 2;
		pause = pause < LISTEN_MAX_MS ? pause : LISTEN_MAX_MS;
		if (retry_ms >= 0)
			pause = retry_ms > LISTEN_MIN_MS ? retry_ms : LISTEN_MIN_MS;
		rc = l->deaf ? OK : idle(l, pause, e);
	}
	return rc;
}

/* ---- a life ---------------------------------------------------------------------------- */

static struct life *life_new(struct arena *a, struct mcp_http *h, const struct cancel *stop)
{
	struct life *l = NEW(a, struct life);

	l->h = h;
	l->opt = h->opt;
	l->stop = stop;
	l->legacy = h->opt->server->http.transport == MCP_TRANSPORT_SSE;
	mcp_noise_init(&l->logs, "mcp.log", h->opt->label);
	l->logs.secrets = h->secrets;
	l->logs.secrets_n = h->secrets_n;
	return l;
}

static void life_reset(struct life *l)
{
	mcp_session_done(&l->session);
	mcp_notices_done(&l->notices);
	arena_free(&l->control_arena);
	arena_free(&l->place_arena);
}

/* From nothing to ready.  *fallback: it is no Streamable HTTP. */
static int shake_hands(struct life *l, bool *fallback, struct err *e)
{
	int rc;

	mcp_session_begin(&l->session, clock_mono_ms(), &l->control);
	do {
		if ((rc = work(l, fallback, e)) < 0)
			return rc;
		if (l->session.phase == MCP_PHASE_READY)
			return OK;
		rc = wait_fd(mcp_calls_bell(l->h->calls)->fd, POLLIN, l->wake_at_ms, l->stop,
			     e);
		if (rc == OK)
			bell_hear(mcp_calls_bell(l->h->calls));
	} while (rc == OK || (rc == E_TIMEOUT && cancel_reason(l->stop) == CANCEL_NONE));
	return rc;
}

/* HTTP+SSE: all of it happens while the one stream is read. */
static int live_legacy(struct life *l, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t retry_ms = -1;
	struct mcp_told told;
	str last = { 0 };
	int rc;

	l->wake_at_ms = l->endpoint_until_ms = clock_mono_ms() + l->opt->session.start_ms;
	rc = listen_once(l, &a, &last, &retry_ms, &told, e);
	return rc < 0 ? rc : err_set(e, E_IO, "it closed its stream of events");
}

/* One session. */
static int live_once(struct life *l, bool *fallback, struct err *e)
{
	int rc;

	l->session = (struct mcp_session){ 0 };
	mcp_session_init(&l->session, &l->opt->session);
	l->control_arena = l->place_arena = (struct arena){ 0 };
	l->notices = (struct mcp_notices){ 0 };
	l->control = buf_in(&l->control_arena, CONTROL_MAX);
	l->place = (struct mcp_place){ .url = l->opt->server->http.url, .resumes = true };
	l->ready_ms = 0;
	l->deaf = l->begun = *fallback = false;
	mcp_http_place(l->h, &l->place);
	if ((rc = mcp_http_headers(l->h, e)) < 0)
		return rc;
	if (l->legacy)
		return live_legacy(l, e);
	rc = shake_hands(l, fallback, e);
	return rc < 0 ? rc : attend(l, e);
}

/* We are leaving: the server may forget us, too.  Whether it hears that does not matter. */
static void say_goodbye(struct life *l)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_place place;
	struct mcp_wire wire;

	if (l->legacy || !l->place.session.n)
		return;
	(void)mcp_http_where(l->h, &a, &place, &wire);
	mcp_talk_goodbye(&wire, &place, DELETE_MS);
}

int mcp_http_live(struct mcp_http *h, const struct cancel *stop, struct mcp_ended *out)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct life *l = life_new(&a, h, stop);
	struct err e = { 0 };
	bool again, fallback;
	int rc;

	*out = (struct mcp_ended){ 0 };
	do {
		int64_t lived;

		rc = live_once(l, &fallback, &e);
		lived = l->ready_ms ? clock_mono_ms() - l->ready_ms : 0;
		again = cancel_reason(stop) == CANCEL_NONE &&
			(fallback || (mcp_http_is_lost(h) && lived >= AGAIN_MS));
		l->legacy |= fallback;
		mcp_calls_carry(h->calls, NULL);
		if (!again && rc == E_CANCELED)
			say_goodbye(l);
		life_reset(l);
	} while (again);
	(void)snprintf(out->why, sizeof(out->why), "%s",
		       rc == E_CANCELED ? "it was stopped" : e.msg);
	out->was_ready = l->was_ready;
	/* What callers carry they carry on, unless everything ends. */
	if (rc == E_CANCELED || l->legacy)
		mcp_calls_broken(h->calls, NULL, out->why);
	return rc;
}
