/*
 * The rows about tool servers: each is started once, as the daemon would, and ended again.  A
 * server that keeps something open exclusively may refuse a second life beside the daemon's.
 */
#include "cli/doctor.h"

#include "mcp/host.h"
#include "os/clock.h"
#include "policy/policy.h"
#include "text/text.h"

#define TOKENS_WARN 20000
#define NAMES_MAX 5

static int64_t tokens_of(const struct mcp_tool *t)
{
	return text_tokens(t->name) + text_tokens(t->description) + text_tokens(t->schema);
}

static void say_server(struct doctor *d, const struct mcp_server_status *s,
		       const struct mcp_catalog *cat, int64_t began_at)
{
	int64_t tokens = 0, ms = s->since_ms - began_at;
	size_t n = 0;

	for (size_t i = 0; i < cat->n; i++)
		if (str_eq(cat->tools[i].server, s->name)) {
			tokens += tokens_of(&cat->tools[i]);
			n++;
		}
	if (s->state != MCP_READY)
		doctor_say(d, DOCTOR_FAIL,
			   "run its command by hand to see why; its lines stand in the log",
			   "%.*s: %.*s", STRF(s->name),
			   STRF(s->note.n ? s->note : S("it did not answer in time")));
	else
		doctor_say(d, n ? DOCTOR_OK : DOCTOR_WARN,
			   n ? NULL : "look at tools and exclude in the manifest",
			   "%.*s: %zu of %zu tools, about %lld tokens, ready in %lld ms%s%.*s",
			   STRF(s->name), n, s->listed, (long long)tokens,
			   (long long)(ms > 0 ? ms : 0), s->sandbox.n ? ", sandbox " : "",
			   STRF(s->sandbox));
}

static void say_total(struct doctor *d, const struct mcp_catalog *cat)
{
	int64_t tokens = 0, max = d->cfg->limits.tool_schema_max_tokens;

	for (size_t i = 0; i < cat->n; i++)
		tokens += tokens_of(&cat->tools[i]);
	if (max && tokens > max)
		doctor_say(d, DOCTOR_FAIL,
			   "publish fewer (tools and exclude in the manifest), or raise "
			   "TOOL_SCHEMA_MAX_TOKENS",
			   "all need about %lld tokens, the limit is %lld: gantry would not "
			   "start",
			   (long long)tokens, (long long)max);
	else if (tokens > TOKENS_WARN && !d->cfg->agent.dynamic_tools)
		doctor_say(d, DOCTOR_WARN,
			   "publish fewer (tools and exclude in the manifest), or set "
			   "agent.dynamic_tools",
			   "all need about %lld tokens of every request", (long long)tokens);
}

/* What says of itself that it may destroy, and is neither asked about nor denied. */
static bool unguarded(const struct policy_cfg *p, const struct mcp_tool *t)
{
	if (!t->destructive || !str_eq(p->destructive, S("allow")))
		return false;
	for (size_t i = 0; i < p->n; i++)
		if (p->rules[i].verdict != VERDICT_ALLOW && str_glob(p->rules[i].tool, t->name))
			return false;
	return true;
}

void doctor_destructive(struct doctor *d)
{
	struct buf b = buf_in(d->a, 1024);
	size_t n = 0;

	if (!d->catalog) {
		doctor_say(d, DOCTOR_SKIP, NULL, "no server's tools are known");
		return;
	}
	for (size_t i = 0; i < d->catalog->n; i++) {
		const struct mcp_tool *t = &d->catalog->tools[i];
		if (unguarded(&d->cfg->policy, t) && n++ < NAMES_MAX)
			buf_fmt(&b, "%s%.*s", b.n ? ", " : "", STRF(t->name));
	}
	if (!n)
		doctor_say(d, DOCTOR_OK, NULL, "no tool that may destroy runs unasked");
	else
		doctor_say(d, DOCTOR_WARN,
			   "a rule for them in policy.rules, or policy.destructive: ask",
			   "%zu tools that may destroy run unasked: %.*s%s", n,
			   STRF(buf_str(&b)), n > NAMES_MAX ? ", ..." : "");
}

static void look_at(struct doctor *d, struct mcp_host *h, int64_t began_at, struct err *e)
{
	struct mcp_catalog *cat = NEW(d->a, struct mcp_catalog);
	struct mcp_server_status *v;
	size_t n;
	int rc = mcp_host_ready(h, clock_mono_ms() + d->cfg->mcp.start_timeout_ms, d->c, e);

	/* A server that is late is told of like one that failed. */
	if (rc < 0 && cancel_reason(d->c) == CANCEL_USER)
		return;
	mcp_host_catalog(h, d->a, cat);
	mcp_host_status(h, d->a, &v, &n);
	for (size_t i = 0; i < n; i++)
		say_server(d, &v[i], cat, began_at);
	say_total(d, cat);
	d->catalog = cat;
}

void doctor_servers(struct doctor *d)
{
	const struct config *c = d->cfg;
	const struct mcp_host_opt opt = { .config = c,
					  .env = &d->cli->env,
					  .roots = c->agent.workspace };
	struct mcp_manifest m = { 0 };
	struct mcp_host *h = NULL;
	struct err e = { 0 };

	if (c->mcp.manifest.n &&
	    mcp_manifest_load(&m, d->a, c->mcp.manifest.p, c->mcp.manifest_optional, &e) < 0) {
		doctor_say(d, DOCTOR_FAIL, "correct the manifest, or set another", "%s", e.msg);
		return;
	}
	for (size_t i = 0; i < m.warnings.n; i++)
		doctor_say(d, DOCTOR_WARN, NULL, "%.*s", STRF(m.warnings.v[i]));
	if (!m.n) {
		doctor_say(d, DOCTOR_INFO, NULL, "the manifest %.*s names none",
			   STRF(c->mcp.manifest.n ? c->mcp.manifest : S("(none)")));
		return;
	}
	int64_t began_at = clock_now_ms();
	if (mcp_host_start(&h, &opt, &m, &e) < 0) {
		doctor_say(d, DOCTOR_FAIL, NULL, "%s", e.msg);
		return;
	}
	look_at(d, h, began_at, &e);
	mcp_host_stop(h);
}
