/*
 * From the host's catalogue to tool specs, and from a call to the host's.  Hints of a server
 * count only when the manifest trusts it.
 */
#include "tools/mcp_source.h"

#include "base/buf.h"

#define AGAIN_MAX 16 /* times that a call is made again without a person */
#define ANSWERS_MAX (4u << 20)

static void list(const struct tool_source *self, struct arena *a,
		 void (*add)(void *arg, const struct tool_spec *spec), void *arg)
{
	struct mcp_catalog catalog = { 0 };

	mcp_host_catalog(self->arg, a, &catalog);
	for (size_t i = 0; i < catalog.n; i++) {
		const struct mcp_tool *t = &catalog.tools[i];
		const struct tool_spec spec = {
			.name = t->name,
			.title = t->title,
			.icon = t->icon,
			.description = t->description,
			.schema = t->schema,
			.print = t->print,
			.server = t->server,
			.tool = t->tool,
			.destructive = t->destructive || !t->trusted,
			.safe = t->trusted && (t->read_only || t->idempotent),
			.source = self,
		};
		add(arg, &spec);
	}
}

struct relay {
	const struct tool_ctx *ctx;
	size_t asked;
};

static void on_progress(void *arg, double done, double total, str message)
{
	const struct relay *r = arg;

	r->ctx->on_progress(r->ctx->arg, r->ctx->call_id, done, total, message);
}

static int on_question(void *arg, const struct mcp_question *q, struct arena *a,
		       struct mcp_answer *out, const struct cancel *c, struct err *e)
{
	struct relay *r = arg;
	struct mcp_question nth = *q;

	nth.before = r->asked++;
	return r->ctx->on_question(r->ctx->arg, r->ctx->call_id, &nth, a, out, c, e);
}

/* --- a call that needs input (stateless era) -------------------------------------------- */

/* What is asked of a person where a call can be made again is left for later; the rest is
 * answered now.  *later: something was left. */
static int answer_all(const struct tool_ctx *ctx, const struct mcp_result *r,
		      struct tool_ask *asks, struct arena *a, bool *later, str *why,
		      const struct cancel *c, struct err *e)
{
	for (size_t i = 0; i < r->questions_n; i++) {
		struct mcp_answer out = { .result = S("{\"action\":\"cancel\"}") };
		int rc = OK;
		if (ctx && ctx->parks && asks[i].q.kind == MCP_ELICIT) {
			*later = true;
			continue;
		}
		if (ctx && ctx->on_question)
			rc = ctx->on_question(ctx->arg, ctx->call_id, &asks[i].q, a, &out, c,
					      e);
		else if (asks[i].q.kind != MCP_ELICIT)
			out = (struct mcp_answer){ .code = -1,
						   .message = S("it is not "
								"offered") };
		if (rc < 0)
			return rc;
		if (out.code) {
			*why = out.message;
			return OK;
		}
		asks[i].answer = out.result;
	}
	return OK;
}

/* False: they are too much. */
static bool answers_of(const struct tool_ask *asks, size_t n, struct arena *a, str *out)
{
	struct buf b = buf_in(a, ANSWERS_MAX);

	buf_addc(&b, '{');
	for (size_t i = 0; i < n; i++) {
		buf_add(&b, i ? S(",") : S(""));
		buf_json(&b, asks[i].q.key);
		buf_addc(&b, ':');
		buf_add(&b, asks[i].answer);
	}
	buf_addc(&b, '}');
	*out = buf_str(&b);
	return !b.full;
}

static int give_up(struct tool_result *out, struct arena *a, str why)
{
	*out = (struct tool_result){
		.text = arena_fmt(a,
				  "error: the tool asked for something that it was not given: "
				  "%.*s",
				  STRF(why)),
		.failed = true,
	};
	return OK;
}

/* Until the call is done, or waits for a person. */
static int call_on(const struct tool_source *self, struct mcp_call *mc,
		   const struct tool_ctx *ctx, struct mcp_result *r, struct arena *a,
		   struct tool_result *out, const struct cancel *c, struct err *e)
{
	size_t before = 0;

	for (int again = 0; again < AGAIN_MAX; again++) {
		struct tool_ask *asks = NEWN(a, struct tool_ask, r->questions_n + 1);
		bool later = false;
		str why = S("");

		for (size_t i = 0; i < r->questions_n; i++) {
			asks[i].q = r->questions[i];
			asks[i].q.before = before++;
		}
		int rc = answer_all(ctx, r, asks, a, &later, &why, c, e);
		if (rc < 0)
			return rc;
		if (why.n)
			return give_up(out, a, why);
		if (later) {
			*out = (struct tool_result){ .asks = asks,
						     .asks_n = r->questions_n,
						     .state = r->state };
			return OK;
		}
		mc->state = r->state;
		mc->answers = S("");
		if (r->questions_n && !answers_of(asks, r->questions_n, a, &mc->answers))
			return give_up(out, a, S("the answers are too long together"));
		*r = (struct mcp_result){ 0 };
		if ((rc = mcp_host_call(self->arg, mc, a, r, c, e)) < 0 || !r->needs_input)
			return rc;
	}
	return give_up(out, a, S("it never had enough"));
}

static int call(const struct tool_source *self, const struct tool_spec *spec, str args,
		const struct tool_ctx *ctx, struct arena *a, struct tool_result *out,
		const struct cancel *c, struct err *e)
{
	struct relay relay = { .ctx = ctx };
	const struct mcp_progress progress = { .fn = on_progress, .arg = &relay };
	struct mcp_result r = { 0 };
	struct mcp_call mc = {
		.server = spec->server,
		.tool = spec->tool,
		.args = args,
		.progress = ctx && ctx->on_progress ? &progress : NULL,
		.on_question = ctx && ctx->on_question ? on_question : NULL,
		.origin = ctx ? ctx->turn_id : S(""),
		.arg = &relay,
		.state = ctx ? ctx->state : S(""),
		.answers = ctx ? ctx->answers : S(""),
	};
	bool began = mc.state.n || mc.answers.n;
	int rc = mcp_host_call(self->arg, &mc, a, &r, c, e);

	/* Its server died in the middle of it: what only reads is asked for once more. */
	if (rc == E_IO && spec->safe && cancel_reason(c) == CANCEL_NONE)
		rc = mcp_host_call(self->arg, &mc, a, &r, c, e);
	if (rc == OK && r.needs_input) {
		*out = (struct tool_result){ 0 };
		rc = call_on(self, &mc, ctx, &r, a, out, c, e);
		if (rc < 0 || out->text.n || out->asks_n)
			return rc;
	}
	*out = (struct tool_result){
		.text = r.mismatch.n ? arena_fmt(a,
						 "%.*s\n[the result is not what the tool's "
						 "output schema promises: %.*s]",
						 STRF(r.text), STRF(r.mismatch))
				     : r.text,
		.failed = r.failed,
		/* A server that is not there was told nothing, unless the call began before. */
		.not_run = !began && (r.not_sent || rc == E_NOENT),
	};
	return rc;
}

void tools_mcp_source(struct tool_source *out, struct mcp_host *h)
{
	*out = (struct tool_source){
		.name = "mcp",
		.list = list,
		.call = call,
		.arg = h,
	};
}
