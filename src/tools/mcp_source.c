/*
 * From the host's catalogue to tool specs, and from a call to the host's.  Hints of a server
 * count only when the manifest trusts it.
 */
#include "tools/mcp_source.h"

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
			.description = t->description,
			.schema = t->schema,
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
};

static void on_progress(void *arg, double done, double total, str message)
{
	const struct relay *r = arg;

	r->ctx->on_progress(r->ctx->arg, r->ctx->call_id, done, total, message);
}

static int call(const struct tool_source *self, const struct tool_spec *spec, str args,
		const struct tool_ctx *ctx, struct arena *a, struct tool_result *out,
		const struct cancel *c, struct err *e)
{
	struct relay relay = { .ctx = ctx };
	const struct mcp_progress progress = { .fn = on_progress, .arg = &relay };
	struct mcp_result r = { 0 };
	bool wanted = ctx && ctx->on_progress;
	const struct mcp_call mc = { .server = spec->server,
				     .tool = spec->tool,
				     .args = args,
				     .progress = wanted ? &progress : NULL };
	int rc = mcp_host_call(self->arg, &mc, a, &r, c, e);

	/* Its server died in the middle of it: what only reads is asked for once more. */
	if (rc == E_IO && spec->safe && cancel_reason(c) == CANCEL_NONE)
		rc = mcp_host_call(self->arg, &mc, a, &r, c, e);
	*out = (struct tool_result){
		.text = r.text,
		.failed = r.failed,
		/* A server that is not there was told nothing. */
		.not_run = r.not_sent || rc == E_NOENT,
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
