/*
 * Requests and their answers.  What the messages mean is not decided here, and neither is what
 * becomes of a server that fails.
 */
#include "mcp/http_talk.h"

#include "base/date.h"
#include "base/utf.h"
#include "mcp/flood.h"
#include "mcp/result.h"
#include "os/clock.h"
#include "os/url.h"
#include "text/sse.h"

#include <stdio.h>
#include <string.h>

#define HEADERS_MAX 96
#define TRIES_MAX 4
#define PAUSE_MS 250
#define AFTER_MAX_MS 60000
#define RESUME_MS 1000
#define RESUME_MIN_MS 50
#define RESUMES_MAX 6 /* in a row that brought nothing */
#define HOLD_MS 40 /* at a time, in which a flood is not read */
#define LINGER_MS 30 /* the end of a stream keeps the connection warm */
#define WHY_MAX 160

enum body_kind { BODY_UNKNOWN, BODY_JSON, BODY_EVENTS };

/* One request in the making. */
struct exchange {
	const struct mcp_talk *t;
	struct arena *a; /* the caller's */
	struct arena tmp; /* of the transfer, until the next one */
	struct http_resp resp;
	enum body_kind kind;
	struct sse sse;
	struct buf json;
	bool listens; /* a stream of its own, and nothing else will do */
	bool answered; /* on_message() said so */
	bool heard; /* an event came in this transfer */
	int64_t began_ms, moved_ms; /* of the limits */
	struct mcp_auth_show shown;
	struct mcp_flood flood;
	const struct cancel *cancel;
};

/* ---- what comes ------------------------------------------------------------------------ */

static int hand_on(struct exchange *x, struct arena *line, const struct mcp_msg *m,
		   struct err *e)
{
	const struct mcp_ears *ears = &x->t->ears;
	int rc = ears->on_message(ears->arg, line, m, e);

	if (rc > 0)
		x->moved_ms = clock_mono_ms();
	x->answered |= rc == 2;
	return rc;
}

/* One JSON text: a message, or in one revision an array of them, each of which has to own its
 * memory. */
static int take_text(struct exchange *x, str text, struct err *e)
{
	struct arena line = { 0 };
	struct mcp_msg m;
	int rc = 0;

	mcp_rpc_read(&m, &line, arena_dup(&line, text));
	if (m.kind == MCP_BATCH) {
		for (const struct json *v = m.batch->child; v && rc >= 0; v = v->next) {
			SCOPED(arena_free) struct arena tmp = { 0 };
			struct buf b = buf_in(&tmp, 2 * x->t->wire->message_max);

			if (v->type != JSON_OBJECT)
				continue;
			json_write(&b, v);
			rc = take_text(x, buf_str(&b), e);
		}
	} else if (m.kind == MCP_DEEP) {
		rc = err_set(e, E_LIMIT,
			     "an answer is nested too deeply or of too many "
			     "parts");
	} else if (m.kind != MCP_FOREIGN) {
		rc = hand_on(x, &line, &m, e);
	}
	if (rc != 2)
		mcp_flood_note(&x->flood, MCP_FLOOD_UNASKED, text.n, clock_mono_ms());
	arena_free(&line);
	return rc;
}

static int on_event(void *arg, str name, str data, struct err *e)
{
	struct exchange *x = arg;
	int rc;

	x->heard = true;
	if (name.n && !str_is(name, "message"))
		return x->t->ears.on_event ? x->t->ears.on_event(x->t->ears.arg, name, data, e)
					   : OK;
	if (!str_trim(data).n)
		return OK;
	rc = take_text(x, data, e);
	return rc < 0 ? rc : OK;
}

static bool is_type(str type, const char *want)
{
	return str_ieq(str_trim(str_cut(&type, ';')), str_of(want));
}

/* What is it?  By its type, and where there is none by its first bytes. */
static int find_kind(struct exchange *x, str chunk, struct err *e)
{
	str type = http_header(&x->resp, "content-type"), head = str_trim(chunk);

	if (x->listens && !is_type(type, "text/event-stream"))
		return err_set(e, E_PROTO, "it answered with no stream of events");
	if (is_type(type, "text/event-stream"))
		x->kind = BODY_EVENTS;
	else if (is_type(type, "application/json"))
		x->kind = BODY_JSON;
	else if (!type.n && head.n)
		x->kind = head.p[0] == '{' || head.p[0] == '[' ? BODY_JSON : BODY_EVENTS;
	else if (head.n && x->t->asks)
		return err_set(e, E_PROTO,
			       "it answered with %.*s and not with JSON or a stream of events",
			       STRF(utf_head(type, 60)));
	return OK;
}

/* Who sends more than can be read beside all else waits for a while. */
static int hold_back(struct exchange *x, struct err *e)
{
	int64_t now = clock_mono_ms(), ms;

	if (!mcp_flood_over(&x->flood, now))
		return OK;
	ms = x->flood.until_ms - now;
	return wait_ms(ms < HOLD_MS ? ms : HOLD_MS, x->cancel, e);
}

static int sink(void *arg, str chunk, struct err *e)
{
	struct exchange *x = arg;
	int64_t before = x->moved_ms;
	int rc = hold_back(x, e);

	if (rc < 0)
		return rc;
	mcp_flood_note(&x->flood, MCP_FLOOD_BYTES, chunk.n, clock_mono_ms());
	if (x->kind == BODY_UNKNOWN && (rc = find_kind(x, chunk, e)) < 0)
		return rc;
	if (x->kind == BODY_JSON) {
		buf_add(&x->json, chunk);
		return x->json.full ? err_set(e, E_LIMIT, "its answer is over %zu bytes",
					      x->json.max)
				    : 1;
	}
	if (x->kind == BODY_EVENTS)
		rc = sse_feed(&x->sse, chunk, e);
	if (rc < 0)
		return rc;
	if (x->answered)
		return LINGER_MS;
	return x->moved_ms != before;
}

static void on_head(void *arg)
{
	struct exchange *x = arg;

	if (x->resp.status < 300)
		x->t->ears.on_open(x->t->ears.arg);
}

static int on_wake(void *arg, struct err *e)
{
	struct exchange *x = arg;
	int64_t began = clock_mono_ms(), took;
	int rc = x->t->ears.on_wake(x->t->ears.arg, e);

	took = clock_mono_ms() - began;
	x->began_ms += took;
	x->moved_ms += took;
	return rc;
}

/* ---- what goes ------------------------------------------------------------------------- */

static void add(struct http_header *v, size_t *n, str name, str value)
{
	if (*n < HEADERS_MAX)
		v[(*n)++] = (struct http_header){ name, value };
}

static bool has(const struct http_header *v, size_t n, str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_ieq(v[i].name, name))
			return true;
	return false;
}

static size_t make_headers(struct exchange *x, struct http_header *v, bool post, str last)
{
	const struct mcp_talk *t = x->t;
	size_t n = 0;

	if (post)
		add(v, &n, S("Content-Type"), S("application/json"));
	add(v, &n, S("Accept"),
	    post ? S("application/json, text/event-stream") : S("text/event-stream"));
	if (t->at->revision)
		add(v, &n, S("MCP-Protocol-Version"), str_of(t->at->revision));
	if (t->at->session.n)
		add(v, &n, S("Mcp-Session-Id"), t->at->session);
	if (last.n)
		add(v, &n, S("Last-Event-ID"), last);
	for (size_t i = 0; i < t->headers_n; i++)
		add(v, &n, t->headers[i].name, t->headers[i].value);
	for (size_t i = 0; i < x->shown.n; i++)
		add(v, &n, x->shown.v[i].name, x->shown.v[i].value);
	/* A token that was signed in for goes before one that stands in the manifest. */
	for (size_t i = 0; i < t->wire->headers_n; i++)
		if (!has(x->shown.v, x->shown.n, t->wire->headers[i].name))
			add(v, &n, t->wire->headers[i].name, t->wire->headers[i].value);
	return n;
}

/* What is left of a limit that began at from_ms, 0: no limit. */
static int left(int64_t limit_ms, int64_t from_ms, int64_t *out, struct err *e)
{
	int64_t ms = from_ms + limit_ms - clock_mono_ms();

	*out = 0;
	if (!limit_ms)
		return OK;
	if (ms <= 0)
		return err_set(e, E_TIMEOUT, "no answer within %lld ms", (long long)limit_ms);
	*out = ms;
	return OK;
}

/* One transfer, whatever comes of it. */
static int transfer(struct exchange *x, const char *method, str last, const struct cancel *c,
		    struct err *e)
{
	const struct mcp_talk *t = x->t;
	SCOPED(http_return) struct http *h = http_borrow(t->wire->pool);
	struct http_header headers[HEADERS_MAX];
	bool post = method[0] == 'P';
	struct http_req req = {
		.method = method,
		.url = t->at->url,
		.label = t->label,
		.headers = headers,
		.body = post ? t->body : (str){ 0 },
		.connect_ms = t->wire->connect_ms,
		.body_max = INT64_MAX,
		.sink = sink,
		.on_head = t->ears.on_open ? on_head : NULL,
		.on_wake = t->ears.on_wake ? on_wake : NULL,
		.wake = t->ears.wake,
		.wake_at_ms = t->ears.wake_at_ms,
		.arg = x,
	};
	int rc;

	arena_free(&x->tmp);
	x->cancel = c;
	x->kind = BODY_UNKNOWN;
	x->heard = false;
	x->resp = (struct http_resp){ 0 };
	x->sse = sse_in(&x->tmp, t->wire->message_max, on_event, x);
	x->json = buf_in(&x->tmp, t->wire->message_max);
	rc = mcp_auth_show(t->wire->auth, method, &x->tmp, &x->shown, c, e);
	if (rc < 0 || (rc = left(t->call_ms, x->moved_ms, &req.first_ms, e)) < 0 ||
	    (rc = left(t->max_ms, x->began_ms, &req.total_ms, e)) < 0)
		return rc;
	req.idle_ms = t->call_ms;
	req.headers_n = make_headers(x, headers, post, last);
	rc = http_do(h, &req, &x->tmp, &x->resp, c, e);
	if (rc == OK && x->kind == BODY_JSON && x->json.n)
		rc = take_text(x, buf_str(&x->json), e);
	else if (rc == OK && x->kind == BODY_EVENTS && !x->answered)
		rc = sse_end(&x->sse, e);
	return rc < 0 ? rc : OK;
}

/* ---- what it means --------------------------------------------------------------------- */

static bool has_word(str s, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= s.n; i++)
		if (str_ieq(str_sub(s, i, i + n), str_of(word)))
			return true;
	return false;
}

/* What the body of a refusal says, when it is a message. */
static str reason_of(struct arena *a, str body)
{
	struct json *v;

	if (json_read(&v, a, body, NULL) < 0)
		return (str){ 0 };
	str s = mcp_result_reason(json_get(v, "error"));
	return s.n ? s : json_str(v, "message");
}

static int redirected(struct exchange *x, struct err *e)
{
	str to = http_header(&x->resp, "location");
	struct url url;

	if (url_parse(&url, &x->tmp, x->t->at->url, to, NULL) < 0)
		url.host = S("nowhere");
	return err_set(
		e, E_PROTO,
		"it redirects to %.*s (status %d), and redirects are not followed: if that "
		"is right, put the new address into the manifest",
		STRF(utf_head(url.host, 80)), x->resp.status);
}

/* Statuses that say that nothing was done with the message. */
static bool turns_away(int status)
{
	static const int all[] = { 401, 403, 404, 405, 413, 415, 421, 429 };

	for (size_t i = 0; i < COUNT(all); i++)
		if (all[i] == status)
			return true;
	return false;
}

/* OK for a success; a refusal by its status, with the server's own reason. */
static int judge(struct exchange *x, struct mcp_told *out, struct err *e)
{
	int status = x->resp.status;
	str session = x->t->at->session;

	if (status >= 200 && status < 300)
		return OK;
	out->body = arena_dup(x->a, x->resp.body);
	out->lost = session.n &&
		    (status == 404 || (status == 400 && has_word(x->resp.body, "session")));
	out->not_run = turns_away(status) || out->lost;
	if (status >= 300 && status < 400)
		return redirected(x, e);
	str why = reason_of(&x->tmp, x->resp.body);
	return err_set(e, status < 500 ? E_PROTO : E_IO, "it refused with status %d%s%.*s",
		       status, why.n ? ": " : "", STRF(utf_head(why, WHY_MAX)));
}

/* Retry-After in ms; 0: it does not say. */
static int64_t retry_after(const struct http_resp *r)
{
	str s = http_header(r, "retry-after");
	int64_t n, at;

	if (str_i64(s, &n))
		return n > 0 && n < INT64_MAX / 1000 ? n * 1000 : 0;
	if (!date_parse_http(s, &at))
		return 0;
	at -= clock_now_ms();
	return at > 0 ? at : 0;
}

/* The message was provably not run, or may be run twice: how long until it is tried again?  -1:
 * never. */
static int64_t pause_before(const struct exchange *x, int rc, const struct mcp_told *told,
			    int tried)
{
	int status = x->resp.status;
	int64_t ms = (int64_t)PAUSE_MS << (tried - 1);

	if (tried >= TRIES_MAX)
		return -1;
	if (status == 429 || (status == 503 && !x->t->acts)) {
		int64_t after = retry_after(&x->resp);

		ms = after > ms ? after : ms;
		return ms <= AFTER_MAX_MS ? ms : -1;
	}
	return rc == E_IO && !status && told->not_run ? ms : -1;
}

/* Wait for ms, and do meanwhile what there is to do. */
static int rest(struct exchange *x, int64_t ms, const struct cancel *c, struct err *e)
{
	const struct mcp_ears *ears = &x->t->ears;
	int64_t until = clock_mono_ms() + ms, max = 0;
	int rc = left(x->t->max_ms, x->began_ms, &max, e);

	if (rc < 0)
		return rc;
	if (max && max < ms)
		return err_set(e, E_TIMEOUT, "no answer within %lld ms",
			       (long long)x->t->max_ms);
	for (;;) {
		rc = wait_fd(ears->on_wake && ears->wake ? ears->wake->fd : -1, POLLIN, until,
			     c, e);
		if (rc == E_TIMEOUT && cancel_reason(c) == CANCEL_NONE)
			return OK;
		if (rc < 0)
			return rc;
		bell_hear(ears->wake);
		if ((rc = on_wake(x, e)) < 0)
			return rc;
	}
}

/* One transfer after the other until the message was taken, or is given up. */
static int insist(struct exchange *x, const char *method, str last, struct mcp_told *out,
		  const struct cancel *c, struct err *e)
{
	bool challenged = false;
	int tried = 0;

	for (;;) {
		int64_t ms;
		int rc = transfer(x, method, last, c, e);

		tried++;
		out->status = x->resp.status;
		out->not_run = !x->resp.maybe_sent;
		if (rc == OK)
			rc = judge(x, out, e);
		if ((out->status == 401 || out->status == 403) && rc == E_PROTO) {
			rc = mcp_auth_challenge(x->t->wire->auth, &x->resp, &x->shown, c, e);
			if (rc == OK && !challenged) {
				challenged = true;
				continue;
			}
			return rc < 0 ? rc
				      : err_set(e, E_DENIED, "it refuses with status %d",
						out->status);
		}
		ms = rc < 0 ? pause_before(x, rc, out, tried) : -1;
		/* What cannot be tried again in time stays refused. */
		if (ms < 0 ||
		    (x->t->max_ms && x->began_ms + x->t->max_ms - clock_mono_ms() < ms))
			return rc;
		if ((rc = rest(x, ms, c, e)) < 0)
			return rc;
	}
}

static void begin(struct exchange *x, const struct mcp_talk *t, struct arena *a)
{
	*x = (struct exchange){ .t = t, .a = a };
	x->began_ms = x->moved_ms = clock_mono_ms();
}

static bool fits_header(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
			return false;
	return true;
}

/* The last event's id, "" when there is none or no header can carry it. */
static str last_event(struct exchange *x)
{
	str id = buf_str(&x->sse.last_id);

	return fits_header(id) ? id : S("");
}

/* The stream ended before the answer: it is taken up behind its last event. */
static int resume(struct exchange *x, int rc, struct mcp_told *out, const struct cancel *c,
		  struct err *e)
{
	str last = (str){ 0 };
	int64_t ms = RESUME_MS;

	for (int tries = 0; !x->answered; tries++) {
		struct mcp_told told = { 0 };

		if (last_event(x).n)
			last = arena_dup(x->a, last_event(x));
		if (x->sse.retry_ms >= 0)
			ms = x->sse.retry_ms > RESUME_MIN_MS ? x->sse.retry_ms : RESUME_MIN_MS;
		tries = x->heard ? 0 : tries;
		/* Only what breaks off can be taken up again. */
		if ((rc != OK && rc != E_IO) || !last.n || !x->t->at->resumes ||
		    tries >= RESUMES_MAX)
			break;
		if ((rc = rest(x, ms, c, e)) < 0)
			return rc;
		rc = insist(x, "GET", last, &told, c, e);
		out->lost |= told.lost;
		if (told.status >= 300)
			return err_set(e, E_IO,
				       "its stream ended before the answer and cannot be taken "
				       "up again (status %d)",
				       told.status);
	}
	if (x->answered || rc < 0)
		return x->answered ? OK : rc;
	if (x->kind == BODY_UNKNOWN && !last.n)
		return err_set(e, E_PROTO, "it took the request and gave no answer (status %d)",
			       out->status);
	return err_set(e, E_IO, "its stream ended before the answer");
}

/* An id that no header can carry is passed over where the request may have had an effect. */
static int keep_session(struct exchange *x, struct mcp_told *out, struct err *e)
{
	str id = http_header(&x->resp, "mcp-session-id");

	if (!fits_header(id))
		return x->t->acts
			       ? OK
			       : err_set(e, E_PROTO, "its session id has control characters");
	if (id.n <= MCP_SESSION_ID_MAX)
		out->session = arena_dup(x->a, id);
	return OK;
}

/* A refusal may be the answer all the same, and what speaks of a session then may be the tool.
 * That a session is not found (404) is no matter of one message. */
static void take_refusal(struct exchange *x, int rc, struct mcp_told *out)
{
	struct err ignored;

	if (rc != E_PROTO || !x->t->asks || out->status < 400 || !out->body.n ||
	    (out->lost && out->status == 404))
		return;
	(void)take_text(x, out->body, &ignored);
	if (x->answered)
		out->lost = false;
}

int mcp_talk_post(const struct mcp_talk *t, struct arena *a, struct mcp_told *out,
		  const struct cancel *c, struct err *e)
{
	struct exchange x;
	int rc;

	begin(&x, t, a);
	*out = (struct mcp_told){ .not_run = true };
	rc = insist(&x, "POST", (str){ 0 }, out, c, e);
	take_refusal(&x, rc, out);
	if (keep_session(&x, out, e) < 0) {
		arena_free(&x.tmp);
		return E_PROTO;
	}
	if (!x.answered &&
	    (rc == OK || (rc == E_IO && x.kind == BODY_EVENTS && out->status < 300))) {
		out->not_run = false;
		if (t->asks)
			rc = resume(&x, rc, out, c, e);
	}
	arena_free(&x.tmp);
	return x.answered ? OK : rc;
}

int mcp_talk_listen(const struct mcp_talk *t, struct arena *a, str *last, int64_t *retry_ms,
		    struct mcp_told *out, const struct cancel *c, struct err *e)
{
	struct exchange x;
	int rc;

	begin(&x, t, a);
	x.listens = true;
	*out = (struct mcp_told){ .not_run = true };
	rc = insist(&x, "GET", *last, out, c, e);
	out->no_stream =
		out->status && out->status < 300 && x.kind != BODY_EVENTS && rc == E_PROTO;
	if (last_event(&x).n)
		*last = arena_dup(a, last_event(&x));
	if (x.sse.retry_ms >= 0)
		*retry_ms = x.sse.retry_ms;
	arena_free(&x.tmp);
	return rc;
}

void mcp_talk_goodbye(const struct mcp_wire *wire, const struct mcp_place *at, int64_t ms)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct mcp_talk t = { .wire = wire, .at = at, .label = "goodbye", .max_ms = ms };
	struct exchange x;
	struct cancel own;

	if (cancel_init(&own, NULL, ms, NULL) < 0)
		return;
	begin(&x, &t, &a);
	(void)transfer(&x, "DELETE", (str){ 0 }, &own, NULL);
	arena_free(&x.tmp);
	cancel_done(&own);
}
