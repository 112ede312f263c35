/*
 * The server's thread over HTTP: a handshake, then rounds of work between which it reads the
 * stream on which the server speaks by itself, or waits for its bell where there is none.
 */
#include "mcp/http_work.h"

#include "os/clock.h"
#include "os/url.h"

#include <stdio.h>

#define DELETE_MS 1000
#define LISTEN_MS 1000
#define LISTEN_MIN_MS 100
#define LISTEN_MAX_MS 30000
#define DEAF_MAX 4 /* attempts at the stream in a row that found nobody */
#define AGAIN_MS 5000 /* a session of that age is begun anew without a pause */

/* ---- listening ------------------------------------------------------------------------- */

static int on_listen_wake(void *arg, struct err *e)
{
	struct mcp_life *l = arg;
	bool ignored;
	int rc = mcp_work_round(l, &ignored, e);

	l->work_failed = rc < 0;
	return rc;
}

static void on_open(void *arg)
{
	struct mcp_life *l = arg;

	l->listening = true;
	bell_ring(mcp_calls_bell(l->h->calls));
}

/* HTTP+SSE: where messages are to be sent; never to another host. */
static int on_event(void *arg, str name, str data, struct err *e)
{
	struct mcp_life *l = arg;
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
	mcp_hearer_begin(&l->hear);
	bell_ring(mcp_calls_bell(l->h->calls));
	return OK;
}

/* Read the stream until it ends, working meanwhile. */
static int listen_once(struct mcp_life *l, struct arena *a, str *last, int64_t *retry_ms,
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
		.ears = { .on_message = mcp_work_hear,
			  .on_event = on_event,
			  .on_open = on_open,
			  .on_wake = on_listen_wake,
			  .wake = mcp_calls_bell(l->h->calls),
			  .wake_at_ms = &l->wake_at_ms,
			  .arg = l },
	};
	l->asked = 0;
	l->work_failed = false;
	rc = mcp_talk_listen(&t, &tmp, &id, retry_ms, told, l->stop, e);
	if (!str_eq(id, *last)) {
		arena_free(a);
		*last = arena_dup(a, id);
	}
	return rc;
}

/* Wait for work for at most ms, 0: for ever. */
static int idle(struct mcp_life *l, int64_t ms, struct err *e)
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
		if ((rc = mcp_work_round(l, &ignored, e)) < 0 || l->listen.n)
			return rc;
		if (until && clock_mono_ms() >= until)
			return OK;
	}
}

/* There is no such stream for us, now or later; anything else may pass. */
static bool is_deaf(const struct mcp_told *told)
{
	return told->no_stream || told->status == 403 || told->status == 404 ||
	       told->status == 405 || told->status == 406 || told->status == 501;
}

/* Nobody is let in any more; 403 is about what was asked for. */
static bool is_shut_out(int rc, const struct mcp_told *told)
{
	return rc == E_DENIED && told->status != 403;
}

/* Ready: until it is dead or we are to stop. */
static int attend(struct mcp_life *l, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	int64_t pause = LISTEN_MS;
	int deaf_n = 0, rc = OK;
	str last = { 0 };

	while (rc == OK) {
		int64_t began = clock_mono_ms(), retry_ms = -1;
		struct mcp_told told = { 0 };

		if (l->deaf) {
			mcp_work_open(l);
			rc = idle(l, 0, e);
			continue;
		}
		rc = listen_once(l, &a, &last, &retry_ms, &told, e);
		if (told.lost)
			return err_set(e, E_IO, "it forgot our session");
		if (cancel_reason(l->stop) != CANCEL_NONE || mcp_http_is_lost(l->h))
			break;
		if (is_shut_out(rc, &told) || (rc < 0 && l->work_failed))
			break;
		l->deaf = is_deaf(&told);
		deaf_n = told.status ? 0 : deaf_n + 1;
		if (rc < 0 && !l->deaf && told.status && told.status < 300 && rc != E_IO)
			break;
		if (rc < 0 && deaf_n >= DEAF_MAX)
			break;
		pause = told.status < 300 && clock_mono_ms() - began > AGAIN_MS ? LISTEN_MS
										: pause * 2;
		pause = pause < LISTEN_MAX_MS ? pause : LISTEN_MAX_MS;
		if (retry_ms >= 0)
			pause = retry_ms > LISTEN_MIN_MS ? retry_ms : LISTEN_MIN_MS;
		rc = l->deaf ? OK : idle(l, pause, e);
	}
	return rc;
}

static int on_changes_wake(void *arg, struct err *e)
{
	struct mcp_life *l = arg;
	bool ignored;
	int rc = mcp_work_round(l, &ignored, e);

	l->work_failed = rc < 0;
	return rc == OK && l->listen.n ? err_set(e, E_BUSY, "another stream is wanted") : rc;
}

/* No handshake: the stream of changes, for as long as it lasts. */
static int hear_changes(struct mcp_life *l, struct err *e)
{
	SCOPED(arena_free) struct arena a = l->listen_arena;
	struct http_header mirror[MCP_MIRROR_MAX];
	struct mcp_place place;
	struct mcp_wire wire;
	struct mcp_told told;
	struct mcp_msg m;
	int64_t id = 0;
	int rc;

	l->listen_arena = (struct arena){ 0 };
	(void)mcp_http_where(l->h, &a, &place, &wire);
	mcp_rpc_read(&m, &a, l->listen);
	(void)mcp_rpc_own_id(m.id, &id);
	const struct mcp_talk t = {
		.wire = &wire,
		.at = &place,
		.label = "subscriptions/listen",
		.body = l->listen,
		.headers = mirror,
		.headers_n =
			mcp_http_mirror(l->h, &a, m.method, m.params, mirror, MCP_MIRROR_MAX),
		.asks = true,
		.ears = { .on_message = mcp_work_hear,
			  .on_wake = on_changes_wake,
			  .wake = mcp_calls_bell(l->h->calls),
			  .wake_at_ms = &l->wake_at_ms,
			  .arg = l },
	};
	l->listen = (str){ 0 };
	rc = mcp_talk_post(&t, &a, &told, l->stop, e);
	if (cancel_reason(l->stop) != CANCEL_NONE || is_shut_out(rc, &told))
		return rc;
	if (rc == OK || l->listen.n)
		return mcp_work_heard(l, e);
	if (l->work_failed)
		return rc;
	/* Refused, it is not asked for again; broken off, or too early, after a pause. */
	if (is_deaf(&told) || (told.status >= 400 && told.status < 500 && told.status != 408 &&
			       told.status != 429))
		return mcp_work_refused(l, id, told.body, e);
	return mcp_work_broken(l, id, e);
}

static int attend_stateless(struct mcp_life *l, struct err *e)
{
	bool ignored;
	int rc = OK;

	while (rc == OK) {
		if (!l->listen.n) {
			rc = idle(l, 0, e);
			continue;
		}
		rc = hear_changes(l, e);
		if (rc == OK)
			rc = mcp_work_round(l, &ignored, e);
	}
	return rc;
}

/* ---- a life ---------------------------------------------------------------------------- */

static struct mcp_life *life_new(struct arena *a, struct mcp_http *h, const struct cancel *stop)
{
	struct mcp_life *l = NEW(a, struct mcp_life);

	l->h = h;
	l->opt = h->opt;
	l->stop = stop;
	l->legacy = h->opt->server->http.transport == MCP_TRANSPORT_SSE;
	mcp_hearer_init(&l->hear, h->opt, h->secrets, h->secrets_n);
	l->hear.sift = mcp_work_sift;
	l->hear.arg = l;
	return l;
}

static void life_reset(struct mcp_life *l)
{
	mcp_hearer_done(&l->hear);
	arena_free(&l->place_arena);
	arena_free(&l->listen_arena);
}

/* From nothing to ready.  *fallback: it is no Streamable HTTP. */
static int shake_hands(struct mcp_life *l, bool *fallback, struct err *e)
{
	int rc;

	mcp_hearer_begin(&l->hear);
	do {
		if ((rc = mcp_work_round(l, fallback, e)) < 0)
			return rc;
		if (l->hear.session.phase == MCP_PHASE_READY)
			return OK;
		rc = wait_fd(mcp_calls_bell(l->h->calls)->fd, POLLIN, l->wake_at_ms, l->stop,
			     e);
		if (rc == OK)
			bell_hear(mcp_calls_bell(l->h->calls));
	} while (rc == OK || (rc == E_TIMEOUT && cancel_reason(l->stop) == CANCEL_NONE));
	return rc;
}

/* HTTP+SSE: all of it happens while the one stream is read. */
static int live_legacy(struct mcp_life *l, struct err *e)
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
static int live_once(struct mcp_life *l, bool *fallback, struct err *e)
{
	int rc;

	mcp_hearer_anew(&l->hear);
	l->place_arena = l->listen_arena = (struct arena){ 0 };
	l->listen = (str){ 0 };
	l->insisted = l->work_failed = false;
	l->place = (struct mcp_place){ .url = l->opt->server->http.url, .resumes = true };
	l->ready_ms = 0;
	l->deaf = l->listening = l->open = l->begun = *fallback = false;
	mcp_http_place(l->h, &l->place);
	/* What the session before asked is not answered to this one. */
	mcp_http_forget(l->h);
	mcp_calls_anew(l->h->calls);
	if ((rc = mcp_http_headers(l->h, e)) < 0)
		return rc;
	if (l->legacy)
		return live_legacy(l, e);
	rc = shake_hands(l, fallback, e);
	if (rc < 0)
		return rc;
	return l->hear.session.peer.stateless ? attend_stateless(l, e) : attend(l, e);
}

/* We are leaving: the server may forget us, too.  Whether it hears that does not matter. */
static void say_goodbye(struct mcp_life *l)
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
	struct mcp_life *l = life_new(&a, h, stop);
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
		if (cancel_reason(stop) != CANCEL_NONE)
			say_goodbye(l);
		life_reset(l);
	} while (again);
	(void)snprintf(out->why, sizeof(out->why), "%s",
		       rc == E_CANCELED ? "it was stopped" : e.msg);
	out->was_ready = l->hear.was_ready;
	/* What callers carry they carry on, unless everything ends. */
	if (rc == E_CANCELED || l->legacy)
		mcp_calls_broken(h->calls, NULL, out->why);
	return rc;
}
