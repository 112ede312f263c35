/*
 * Messages of a server.  Nothing is decided here about the protocol: the session does that.
 */
#include "mcp/hearer.h"

#include "os/clock.h"
#include "os/log.h"

#define OUT_MAX ((size_t)1 << 20)
#define LEVEL_CHARS 20
#define ERROR_MAX ((size_t)1 << 20)

void mcp_hearer_init(struct mcp_hearer *h, const struct mcp_link_opt *opt, const str *secrets,
		     size_t secrets_n)
{
	*h = (struct mcp_hearer){ .opt = opt };
	mcp_noise_init(&h->logs, "mcp.log", opt->label);
	h->logs.secrets = secrets;
	h->logs.secrets_n = secrets_n;
	mcp_hearer_anew(h);
}

void mcp_hearer_done(struct mcp_hearer *h)
{
	mcp_session_done(&h->session);
	mcp_notices_done(&h->notices);
	arena_free(&h->out_arena);
}

void mcp_hearer_anew(struct mcp_hearer *h)
{
	mcp_hearer_done(h);
	mcp_session_init(&h->session, &h->opt->session);
	h->out = buf_in(&h->out_arena, OUT_MAX);
}

void mcp_hearer_begin(struct mcp_hearer *h)
{
	mcp_session_begin(&h->session, clock_mono_ms(), &h->out);
}

static void took_tools(struct mcp_hearer *h, const struct mcp_event *ev)
{
	struct mcp_listing *listing = &h->session.pages.listing;

	if (ev->text.n)
		mcp_hearer_remark(h, ev->text);
	if (h->sift)
		h->sift(h->arg, listing);
	h->was_ready = true;
	mcp_calls_speak(h->opt->calls, &h->session);
	h->opt->on_tools(h->opt->arg, &h->session, listing);
	mcp_pages_done(&h->session.pages);
}

/* Whoever made the call answers it; where nobody can, the server hears so at once. */
static void took_question(struct mcp_hearer *h, struct mcp_event *ev, int64_t call,
			  struct arena *line)
{
	const char *why;

	ev->id = call;
	if (!mcp_calls_question(h->opt->calls, ev, line, &why))
		mcp_rpc_refuse(&h->out, ev->request, MCP_INVALID_REQUEST, str_of(why));
}

int mcp_hearer_take(struct mcp_hearer *h, const struct mcp_msg *m, int64_t call,
		    struct arena *line, struct err *e)
{
	int64_t now = clock_mono_ms();
	struct mcp_event ev;
	int rc = mcp_session_take(&h->session, m, now, line, &h->out, &ev, e);

	if (rc < 0)
		return rc;
	switch (ev.kind) {
	case MCP_EVENT_TOOLS:
		took_tools(h, &ev);
		break;
	case MCP_EVENT_ANSWER:
		mcp_calls_answer(h->opt->calls, &ev, line);
		break;
	case MCP_EVENT_PROGRESS:
		mcp_calls_progress(h->opt->calls, &ev);
		break;
	case MCP_EVENT_LOG:
		mcp_noise_line(&h->logs,
			       ev.level.n ? str_sub(ev.level, 0, LEVEL_CHARS) : S("info"),
			       ev.text, now);
		break;
	case MCP_EVENT_QUESTION:
		took_question(h, &ev, call, line);
		break;
	case MCP_EVENT_WITHDRAWN:
		mcp_calls_withdraw(h->opt->calls, ev.request);
		break;
	case MCP_EVENT_NOTICE:
		mcp_notices_add(&h->notices, ev.method, ev.params, now);
		break;
	case MCP_EVENT_ODD:
		mcp_hearer_remark(h, ev.text);
		break;
	case MCP_EVENT_NONE:
		break;
	}
	if (h->out.full)
		return err_set(e, E_LIMIT, "it asks more than it reads the answers of");
	return OK;
}

int mcp_hearer_fail(struct mcp_hearer *h, int64_t id, str error, struct err *e)
{
	struct arena line = { 0 };
	struct buf b = buf_in(&line, ERROR_MAX);
	struct mcp_msg m;
	int rc;

	buf_fmt(&b, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":", (long long)id);
	buf_add(&b, error);
	buf_add(&b, S("}"));
	mcp_rpc_read(&m, &line, buf_str(&b));
	rc = mcp_hearer_take(h, &m, 0, &line, e);
	arena_free(&line);
	return rc;
}

str mcp_hearer_send(struct mcp_hearer *h, struct arena *batch)
{
	str lines = buf_str(&h->out);

	if (!lines.n)
		return S("");
	*batch = h->out_arena;
	h->out_arena = (struct arena){ 0 };
	h->out = buf_in(&h->out_arena, OUT_MAX);
	return lines;
}

void mcp_hearer_tick(struct mcp_hearer *h, int64_t now_ms)
{
	struct mcp_notices due;

	if (!mcp_notices_take(&h->notices, now_ms, &due))
		return;
	for (const struct mcp_notice *n = due.first; n; n = n->next)
		h->opt->on_notice(h->opt->arg, n->method, n->params);
	mcp_notices_done(&due);
}

int64_t mcp_hearer_due(const struct mcp_hearer *h, bool idle)
{
	int64_t due = mcp_session_due(&h->session, idle);

	return h->notices.due_ms && h->notices.due_ms < due ? h->notices.due_ms : due;
}

void mcp_hearer_watch(struct mcp_hearer *h)
{
	SCOPED(arena_free) struct arena a = { 0 };
	str *uris;
	size_t n;

	bell_hear(mcp_watches_bell(h->opt->watches));
	n = mcp_watches_copy(h->opt->watches, &a, &uris);
	mcp_session_watch(&h->session, uris, n, &h->out);
}

void mcp_hearer_remark(const struct mcp_hearer *h, str text)
{
	SCOPED(arena_free) struct arena a = { 0 };

	log_warn("mcp.tools", "server=%.*s note=%.*s", STRF(h->opt->label),
		 STRF(log_q(&a, text)));
}
