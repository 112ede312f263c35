/*
 * Two tool servers: what they were asked, and what they say.
 */
#include "stage_peer.h"

#include "base/buf.h"
#include "base/utf.h"
#include "mcp/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ASKED 48

/* A request that waits for its answer. */
struct asked {
	int who;
	int64_t id;
	char method[40];
	int64_t request; /* over HTTP: which */
};

struct peer peers[PEERS];

static struct {
	struct arena a; /* of a run */
	struct mcp_lines lines;
	struct stage_child *child;
	struct asked v[ASKED];
	size_t n;
	int64_t last_id; /* that was answered */
	int64_t streams[8]; /* GETs that are open */
	size_t streams_n;
} me;

static const char *const revisions[] = { "2024-11-05", "2025-03-26", "2025-06-18",
					 "2025-11-25", "1999-01-01", "" };

/* The child that is there, NULL none. */
static struct stage_child *living(void)
{
	struct stage_child *c = stage_children();

	while (c && c != me.child)
		c = c->next;
	return c && !c->over ? c : NULL;
}

/* --- what it is told --------------------------------------------------------------------- */

static void note(int who, int64_t id, const struct mcp_msg *m)
{
	struct peer *p = &peers[who];
	int64_t call = json_i64(json_get(m->params, "arguments"), "n", -1);

	must(str_eq(json_str(m->params, "name"), S("echo")) && call >= 0);
	/* No id is given twice, but where we said that we did nothing with it. */
	for (size_t i = 0; i < p->notes_n && i < PEER_IDS; i++) {
		struct peer_note *old = &p->notes[i];
		if (old->id != id || old->life != p->life)
			continue;
		must(old->again && old->call == call);
		old->again = false;
		return;
	}
	p->notes[p->notes_n++ % PEER_IDS] =
		(struct peer_note){ .id = id, .call = call, .life = p->life };
}

/* Every line we are sent is a whole message. */
static void hear(int who, str line, int64_t request)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct asked *q = &me.v[me.n];
	struct mcp_msg m;
	int64_t id;

	mcp_rpc_read(&m, &a, line);
	must(m.kind == MCP_REQUEST || m.kind == MCP_NOTICE || m.kind == MCP_ANSWER);
	if (m.kind != MCP_REQUEST)
		return;
	must(mcp_rpc_own_id(m.id, &id));
	if (str_eq(m.method, S("tools/call")))
		note(who, id, &m);
	if (me.n == ASKED)
		return;
	*q = (struct asked){ .who = who, .id = id, .request = request };
	(void)snprintf(q->method, sizeof q->method, "%.*s", STRF(m.method));
	me.n++;
}

void peer_read(void)
{
	struct stage_child *c = living();
	char bytes[4096];
	ssize_t n;

	while (c && (n = read(c->in, bytes, sizeof bytes)) > 0) {
		str rest = { bytes, (size_t)n };
		struct mcp_line line;
		while (mcp_lines_take(&me.lines, &rest, &line)) {
			must(!line.cut);
			hear(PEER_PIPE, line.text, 0);
			arena_free(&line.a);
		}
	}
}

static void on_child(void *arg, struct stage_child *c)
{
	size_t n = 0;

	(void)arg;
	me.child = c;
	c->hangs = stage_below(4) == 0;
	mcp_lines_done(&me.lines);
	mcp_lines_init(&me.lines, 1 << 20);
	for (size_t i = 0; i < me.n; i++)
		if (me.v[i].who != PEER_PIPE)
			me.v[n++] = me.v[i];
	me.n = n;
}

static void on_request(void *arg, struct stage_request *r)
{
	(void)arg;
	must(str_starts(r->req->url, S("http://mcp.test/")));
	if (!r->req->body.n) {
		if (me.streams_n < COUNT(me.streams))
			me.streams[me.streams_n++] = r->n;
		return;
	}
	if (str_eq(str_sub(r->req->body, 0, 1), S("{")))
		hear(PEER_WEB, str_trim(r->req->body), r->n);
	/* What asks nothing is taken at once. */
	if (!me.n || me.v[me.n - 1].request != r->n)
		stage_answer(r, stage_below(8) ? 202 : 200, S(""));
}

static struct stage_request *request_of(int64_t n)
{
	for (struct stage_request *r = stage_requests(); r; r = r->next)
		if (r->n == n && !r->ended)
			return r;
	return NULL;
}

/* --- what it says ------------------------------------------------------------------------ */

static void to_child(int fd, str bytes)
{
	while (fd >= 0 && bytes.n) {
		ssize_t n = write(fd, bytes.p, bytes.n);
		if (n <= 0) /* it is not read: the rest is lost, as a torn line */
			return;
		bytes = str_sub(bytes, (size_t)n, bytes.n);
	}
}

static void say_pipe(str message)
{
	struct stage_child *c = living();

	if (!c)
		return;
	to_child(c->out, message);
	to_child(c->out, S("\n"));
}

static void begin_stream(struct stage_request *r)
{
	const struct stage_header v[] = { { "content-type", S("text/event-stream") },
					  { "mcp-session-id", S("s1") } };

	if (!r->headed)
		stage_head(r, 200, v, 1 + stage_below(2));
}

static str event(str message)
{
	return arena_fmt(&me.a, "id: %u\ndata: %.*s\n\n", stage_byte(), STRF(message));
}

/* Over HTTP: in the answer itself, or in one of the streams. */
static void say_web(struct stage_request *r, str message, bool ends)
{
	const struct stage_header v[] = { { "content-type", S("application/json") },
					  { "mcp-session-id", S("s1") } };

	if (!r)
		return;
	if (ends && !r->headed && stage_below(2)) {
		stage_head(r, 200, v, 1 + stage_below(2));
		stage_data(r, message);
		stage_close(r);
		return;
	}
	begin_stream(r);
	stage_data(r, event(message));
	if (ends && stage_below(4))
		stage_close(r);
}

static void say(const struct asked *q, str message, bool ends)
{
	if (q->who == PEER_PIPE)
		say_pipe(message);
	else
		say_web(request_of(q->request), message, ends);
}

static str tools_of(unsigned manner, bool more)
{
	return arena_fmt(&me.a,
			 "{\"resultType\":\"complete\",\"tools\":[{\"name\":\"echo\","
			 "\"inputSchema\":{\"type\":\"object\"}%s}]%s}",
			 manner & 16 ? ",\"outputSchema\":{\"type\":\"object\"}" : "",
			 more ? ",\"nextCursor\":\"c\"" : "");
}

#define QUESTION                                                                               \
	"\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\","                     \
	"\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"            \
	"\"string\"}}}}"

static str call_result(int64_t id)
{
	str raw = stage_text(60);
	struct json *v;

	switch (stage_below(8)) {
	case 0:
		return arena_fmt(&me.a,
				 "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":"
				 "\"for-%lld.\"}]}",
				 (long long)id);
	case 1:
		return S("{\"resultType\":\"input_required\",\"requestState\":\"s\","
			 "\"inputRequests\":{\"k\":{" QUESTION "}}}");
	case 2:
		return S("{\"resultType\":\"task\",\"taskId\":\"t\",\"status\":\"working\","
			 "\"pollIntervalMs\":50}");
	case 3:
		return json_read(&v, &me.a, raw, NULL) == OK && utf_valid(raw) &&
				       !memchr(raw.p, '\n', raw.n)
			       ? arena_dup(&me.a, raw)
			       : S("{}");
	default:
		return arena_fmt(&me.a,
				 "{\"resultType\":\"complete\",\"content\":[{\"type\":"
				 "\"text\",\"text\":\"for-%lld.\"}]}",
				 (long long)id);
	}
}

static str task_result(void)
{
	static const char *const states[] = { "working", "input_required", "cancelled",
					      "failed", "completed" };

	return arena_fmt(&me.a,
			 "{\"taskId\":\"t\",\"status\":\"%s\",\"pollIntervalMs\":50,"
			 "\"inputRequests\":{\"k\":{" QUESTION
			 "}},\"result\":{\"content\":[]}}",
			 states[stage_below(COUNT(states))]);
}

/* "" : there is no such method here. */
static str result_of(const struct asked *q, int64_t id)
{
	unsigned manner = peers[q->who].manner;
	str method = str_of(q->method);

	if (str_eq(method, S("server/discover")))
		return manner & 1 ? S("{\"supportedVersions\":[\"2026-07-28\"],"
				      "\"capabilities\":{\"tools\":{\"listChanged\":true}}}")
				  : S("");
	if (str_eq(method, S("initialize")))
		return arena_fmt(&me.a,
				 "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{},"
				 "\"logging\":{}},\"serverInfo\":{\"name\":\"x\"}}",
				 revisions[(manner >> 1) % COUNT(revisions)]);
	if (str_eq(method, S("tools/list")))
		return tools_of(manner, manner & 32 && stage_below(2));
	if (str_eq(method, S("tools/call")))
		return call_result(id);
	if (str_starts(method, S("tasks/")))
		return task_result();
	return S("{}");
}

static str answer_to(const struct asked *q, int64_t id)
{
	str result = result_of(q, id);

	return result.n ? arena_fmt(&me.a, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%.*s}",
				    (long long)id, STRF(result))
			: arena_fmt(
				  &me.a,
				  "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-32601,"
				  "\"message\":\"no\"}}",
				  (long long)id);
}

static void over(size_t i)
{
	me.last_id = me.v[i].id;
	me.v[i] = me.v[--me.n];
}

/* Beside the answer. */
static str aside(const struct asked *q)
{
	static const char *const asks[] = {
		QUESTION,
		"\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[]}",
		"\"method\":\"roots/list\"",
		"\"method\":\"ping\"",
		"\"method\":\"no/such\"",
	};
	static const char *const tells[] = {
		"tools/list_changed",   "resources/list_changed", "cancelled", "message",
		"prompts/list_changed",
	};

	switch (stage_below(4)) {
	case 0:
		return arena_fmt(&me.a,
				 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
				 "\"params\":{\"progressToken\":%lld,\"progress\":%u}}",
				 (long long)q->id, stage_byte());
	case 1:
		return arena_fmt(&me.a, "{\"jsonrpc\":\"2.0\",\"id\":%u,%s}", stage_below(4),
				 asks[stage_below(COUNT(asks))]);
	case 2:
		return arena_fmt(&me.a,
				 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s\","
				 "\"params\":{\"requestId\":%u,\"level\":\"info\",\"data\":"
				 "\"d\"}}",
				 tells[stage_below(COUNT(tells))], stage_below(4));
	default:
		return arena_dup(&me.a, stage_text(200));
	}
}

/* It is said that nothing was done with it. */
static void note_again(int64_t id, int status)
{
	struct peer *p = &peers[PEER_WEB];

	for (size_t i = 0; i < p->notes_n && i < PEER_IDS; i++)
		if (p->notes[i].id == id && status >= 400 && status < 500)
			p->notes[i].again = true;
}

/* Something happens to what carries the messages, of request id. */
static void break_link(struct stage_request *r, int64_t id)
{
	static const int statuses[] = { 400, 401, 404, 405, 429, 500, 503, 301 };
	int status;

	if (r && !r->headed) {
		status = statuses[stage_below(COUNT(statuses))];
		note_again(id, status);
		stage_answer(r, status, stage_text(100));
	} else if (r && stage_below(2))
		stage_close(r);
	else if (r)
		stage_fail(r, E_IO, true);
	else if (living() && stage_below(2))
		stage_child_end(living(), 1);
	else if (living())
		to_child(living()->err, S("trouble\n"));
}

/* HTTP+SSE: where messages go; and what no message is. */
static void say_event(struct stage_request *r)
{
	begin_stream(r);
	stage_data(r, stage_below(4) ? S("event: endpoint\ndata: /messages?s=1\n\n")
				     : S("event: endpoint\ndata: http://other.test/\n\n"));
}

/* A line over every limit, which may be the answer to q. */
static void say_too_much(const struct asked *q)
{
	struct buf b = buf_in(&me.a, 1 << 16);

	buf_fmt(&b,
		"{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"content\":[{\"type\":"
		"\"text\",\"text\":\"",
		(long long)q->id);
	while (b.n < 25000)
		buf_add(&b, S("much too much "));
	buf_add(&b, S("\"}]}}"));
	say(q, buf_str(&b), false);
}

static struct stage_request *a_stream(void)
{
	struct stage_request *r = NULL;

	while (me.streams_n && !r) {
		size_t i = stage_below((unsigned)me.streams_n);
		r = request_of(me.streams[i]);
		if (!r)
			me.streams[i] = me.streams[--me.streams_n];
	}
	return r;
}

void peer_act(void)
{
	size_t i = me.n ? stage_below((unsigned)me.n) : 0;
	struct asked *q = &me.v[i];
	unsigned what = stage_below(16);
	struct stage_request *r;

	stage_on_request(on_request, NULL);
	stage_on_child(on_child, NULL);
	if (what == 15) {
		break_link(me.n && q->who == PEER_WEB ? request_of(q->request) : NULL,
			   me.n ? q->id : 0);
	} else if (what == 14 && (r = a_stream())) {
		unsigned how = stage_below(4);
		if (how == 0)
			break_link(r, 0);
		else if (how == 1)
			say_event(r);
		else
			say_web(r, me.n ? aside(q) : S("{}"), false);
	} else if (!me.n) {
		return;
	} else if (what < 9) {
		say(q, answer_to(q, q->id), true);
		over(i);
	} else if (what < 12) {
		say(q, aside(q), false);
	} else if (what == 12) { /* to nobody who asks now */
		say(q, answer_to(q, stage_below(2) ? me.last_id : q->id + 1), false);
	} else { /* a line that does not end where it should, or not soon enough */
		if (stage_below(4) == 0)
			say_too_much(q);
		else if (q->who == PEER_PIPE && living())
			to_child(living()->out, stage_text(200));
	}
}

void peer_behave(void)
{
	stage_on_request(on_request, NULL);
	stage_on_child(on_child, NULL);
	peer_read();
	for (int n = 0; me.n && n < 1000; n++) {
		say(&me.v[0], answer_to(&me.v[0], me.v[0].id), true);
		over(0);
		stage_settle();
		peer_read();
	}
}

void peer_begin(void)
{
	me.n = me.streams_n = 0;
	me.last_id = 0;
	me.child = NULL;
	for (int i = 0; i < PEERS; i++)
		peers[i] = (struct peer){ .manner = stage_byte() };
	mcp_lines_init(&me.lines, 1 << 20);
	stage_on_request(on_request, NULL);
	stage_on_child(on_child, NULL);
}

void peer_end(void)
{
	mcp_lines_done(&me.lines);
	arena_free(&me.a);
}
