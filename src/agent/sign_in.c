/*
 * Signing in from the chat.  The state between link and paste is in the files of mcp/auth, so a
 * restart in between costs nothing.
 */
#include "agent/sign_in.h"

#include "agent/internal.h"
#include "base/date.h"
#include "mcp/auth.h"
#include "text/text.h"

#define LIMIT_MS 10000
#define LIST_MAX 16384
#define NAME_SAID 40

/* The servers as the manifest names them now. */
static int servers(struct agent *ag, struct arena *a, struct mcp_manifest *out, struct err *e)
{
	struct snapshot *snap = agent_snapshot_get(ag);
	const struct mcp_cfg *m = &snap->cfg->mcp;
	int rc = OK;

	*out = (struct mcp_manifest){ 0 };
	if (m->manifest.n)
		rc = mcp_manifest_load(out, a, m->manifest.p, m->manifest_optional, e);
	agent_snapshot_put(ag, snap);
	return rc;
}

static int make(struct agent *ag, const struct mcp_server_cfg *s, struct mcp_auth **out,
		struct err *e)
{
	struct snapshot *snap = agent_snapshot_get(ag);
	int rc = mcp_auth_new(out, &(struct mcp_auth_opt){ s, snap->cfg, ag->opt.env }, e);

	agent_snapshot_put(ag, snap);
	return rc;
}

static bool behind_url(const struct agent *ag, const struct mcp_server_cfg *s)
{
	return s->http.url.n > 0 && ag->opt.env;
}

/* May it be said back?  A code or an address where the name should be may not. */
static bool is_plain(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z') ||
		      (s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-' || s.p[i] == '_' ||
		      s.p[i] == '.'))
			return false;
	return s.n > 0 && s.n <= NAME_SAID;
}

/* The first word; *rest is what follows it. */
static str word_cut(str *rest)
{
	str s = str_trim(*rest);
	size_t n = 0;

	while (n < s.n && s.p[n] != ' ' && !(s.p[n] >= '\t' && s.p[n] <= '\r'))
		n++;
	*rest = str_trim(str_sub(s, n, s.n));
	return str_sub(s, 0, n);
}

static int find(struct agent *ag, str server, struct mcp_auth **out, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct mcp_manifest m;
	int rc = servers(ag, &a, &m, e);

	for (size_t i = 0; i < m.n && rc == OK; i++) {
		const struct mcp_server_cfg *s = &m.servers[i];

		if (!str_eq(s->name, server))
			continue;
		if (behind_url(ag, s))
			return make(ag, s, out, e);
		if (s->auth_command.n || s->auth_args.n)
			return err_set(e, E_INVAL,
				       "server %.*s is signed in to at a terminal: gantry auth "
				       "%.*s",
				       STRF(server), STRF(server));
		return err_set(e, E_INVAL,
			       "server %.*s is run by a command: it signs in by itself, with "
			       "what its env and args say",
			       STRF(server));
	}
	if (rc < 0)
		return rc;
	return is_plain(server)
		       ? err_set(e, E_NOENT, "there is no tool server \"%.*s\"", STRF(server))
		       : err_set(e, E_NOENT,
				 "that does not begin with the name of a tool server; /auth "
				 "lists them");
}

static void list_one(struct agent *ag, const struct mcp_server_cfg *s, struct arena *a,
		     struct buf *b)
{
	struct mcp_auth_status st;
	struct mcp_auth *au;

	if (!behind_url(ag, s) || make(ag, s, &au, NULL) < 0)
		return;
	mcp_auth_status(au, a, &st);
	mcp_auth_free(au);
	buf_fmt(b, "%s%.*s: %s", b->n ? "\n" : "", STRF(s->name),
		st.token     ? "signed in"
		: st.pending ? "waiting for the address"
			     : "not signed in");
	if (st.scope.n)
		buf_fmt(b, ", for %.*s", STRF(text_line(a, st.scope, 100)));
	if (st.until_ms && !st.renewable)
		buf_fmt(b, ", until %.*s", STRF(date_rfc3339(a, st.until_ms)));
}

static str list(struct agent *ag, struct arena *a)
{
	struct buf b = buf_in(a, LIST_MAX);
	struct mcp_manifest m;
	struct err e = { 0 };

	if (servers(ag, a, &m, &e) < 0)
		return arena_fmt(a, "That did not work: %s", e.msg);
	for (size_t i = 0; i < m.n; i++)
		list_one(ag, &m.servers[i], a, &b);
	if (!b.n)
		return S("No tool server is behind a URL, so there is nothing to sign in to.");
	buf_add(&b, S("\n/auth SERVER signs in, /auth SERVER remove forgets it."));
	return buf_str(&b);
}

static int begin(struct mcp_auth *au, str server, bool device, struct arena *a, str *reply,
		 const struct cancel *c, struct err *e)
{
	struct mcp_auth_step step;
	int rc = mcp_auth_begin(au, device, a, &step, c, e);

	if (rc < 0)
		return rc;
	*reply = device ? arena_fmt(a,
				    "Open %.*s on any device, %s the code %.*s, then send "
				    "/auth %.*s wait",
				    STRF(step.link), step.whole ? "compare" : "type",
				    STRF(step.code), STRF(server))
			: arena_fmt(a,
				    "Open this and sign in:\n\n%.*s\n\nIt ends at an address "
				    "that begins with %.*s and that the browser cannot open. "
				    "Send me that address, whole; it is not kept.",
				    STRF(step.link), STRF(step.redirect));
	return OK;
}

static int look(struct mcp_auth *au, struct arena *a, str server, str *reply,
		const struct cancel *c, struct err *e)
{
	int64_t pause = 0;
	int rc = mcp_auth_poll(au, &pause, c, e);

	if (rc != E_BUSY)
		return rc;
	*reply = arena_fmt(a, "Nobody has typed the code yet. Then send /auth %.*s wait again.",
			   STRF(server));
	return OK;
}

static str done(struct arena *a, str server)
{
	return arena_fmt(a, "Signed in to %.*s. It is used within half a minute.",
			 STRF(server));
}

static int act(struct mcp_auth *au, str server, str rest, struct arena *a, str *reply,
	       const struct cancel *c, struct err *e)
{
	*reply = done(a, server);
	if (!rest.n || str_ieq(rest, S("device")))
		return begin(au, server, rest.n > 0, a, reply, c, e);
	if (str_ieq(rest, S("wait")))
		return look(au, a, server, reply, c, e);
	if (!str_ieq(rest, S("remove")))
		return mcp_auth_finish(au, rest, c, e);
	*reply = arena_fmt(a, "Forgot how to sign in to %.*s.", STRF(server));
	return mcp_auth_forget(au, c, e);
}

/* An own limit: the person who waits for the answer does so for no server. */
static str limited(struct mcp_auth *au, str server, str rest, struct arena *a,
		   const struct cancel *c)
{
	struct err e = { 0 };
	struct cancel own;
	str reply;
	int rc = cancel_init(&own, c, LIMIT_MS, &e);

	if (rc == OK) {
		rc = act(au, server, rest, a, &reply, &own, &e);
		cancel_done(&own);
	}
	mcp_auth_free(au);
	return rc == OK ? reply : arena_fmt(a, "That did not work: %s", e.msg);
}

str sign_in_command(struct agent *ag, str args, struct arena *a, const struct cancel *c)
{
	str rest = args, server = word_cut(&rest), reply;
	struct mcp_auth *au;
	struct err e = { 0 };

	if (!server.n)
		return list(ag, a);
	if (sign_in_paste(ag, args, a, &reply, c)) /* the name was left out */
		return reply;
	if (find(ag, server, &au, &e) < 0)
		return arena_fmt(a, "That did not work: %s", e.msg);
	return limited(au, server, rest, a, c);
}

/* The sign-in that waits for an address, *alike: none, but it may hold a code all the same. */
static struct mcp_auth *expected(struct agent *ag, str paste, struct arena *a, str *server,
				 bool *alike)
{
	struct mcp_manifest m;

	*alike = false;
	if (!str_starts(paste, S("http")) || str_has(paste, S(" ")) ||
	    str_has(paste, S("\n")) ||
	    !(str_has(paste, S("code=")) || str_has(paste, S("error="))) ||
	    servers(ag, a, &m, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < m.n; i++) {
		struct mcp_auth *au;

		if (!behind_url(ag, &m.servers[i]) || make(ag, &m.servers[i], &au, NULL) < 0)
			continue;
		enum mcp_auth_fit fit = mcp_auth_expects(au, paste);
		*server = m.servers[i].name;
		if (fit == MCP_AUTH_OURS)
			return au;
		*alike |= fit == MCP_AUTH_ALIKE;
		mcp_auth_free(au);
	}
	return NULL;
}

bool sign_in_expects(struct agent *ag, str message)
{
	SCOPED(arena_free) struct arena a = { 0 };
	bool alike;
	str server;
	struct mcp_auth *au = expected(ag, str_trim(message), &a, &server, &alike);

	mcp_auth_free(au);
	return au || alike;
}

bool sign_in_paste(struct agent *ag, str message, struct arena *a, str *reply,
		   const struct cancel *c)
{
	str paste = str_trim(message), server;
	bool alike;
	struct mcp_auth *au = expected(ag, paste, a, &server, &alike);

	if (au)
		*reply = limited(au, server, paste, a, c);
	else if (alike)
		*reply =
			S("That address belongs to no sign-in that is under way, so it was not "
			  "used; begin anew with /auth SERVER");
	return au || alike;
}
