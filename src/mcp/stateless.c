/*
 * What is sent to a server without a handshake, and how its first answer is judged.
 */
#include "mcp/stateless.h"

#include "base/utf.h"
#include "mcp/result.h"

#include <stdio.h>

#define REVISION MCP_STATELESS_REVISION
#define META MCP_STATELESS_META
#define TASKS META "tasks"
#define TEXT_MAX 8192
#define LISTEN_MAX ((size_t)2 << 20)
#define VERSIONS_MAX 8

/* The members of _meta, without braces.  Roots are deprecated in these revisions, and are
 * offered to servers of the older ones only; sampling, to those whose entry in the manifest
 * allows it. */
static void add_meta(struct buf *b, const struct mcp_session_opt *opt, bool answers)
{
	bool form = answers && opt->offer.form, url = answers && opt->offer.url;
	bool sampling = answers && opt->offer.sampling;

	buf_json_member(b, META "protocolVersion", S(REVISION));
	buf_json_key(b, META "clientInfo");
	buf_add(b, S("{\"name\":\"gantry\""));
	buf_json_member(b, "version", str_of(opt->version));
	buf_add(b, S("}"));
	buf_json_key(b, META "clientCapabilities");
	buf_add(b, S("{"));
	if (form || url)
		buf_fmt(b, "\"elicitation\":{%s%s%s},", form ? "\"form\":{}" : "",
			form && url ? "," : "", url ? "\"url\":{}" : "");
	if (sampling)
		buf_fmt(b, "\"sampling\":{%s},",
			opt->offer.sampling_tools ? "\"tools\":{}" : "");
	buf_add(b, S("\"extensions\":{\"" TASKS "\":{}}}"));
}

str mcp_stateless_meta(const struct mcp_session_opt *opt, struct arena *a)
{
	struct buf b = buf_in(a, TEXT_MAX);

	buf_add(&b, S("\"_meta\":{"));
	add_meta(&b, opt, false);
	buf_add(&b, S("}"));
	return buf_str(&b);
}

str mcp_stateless_more(const struct mcp_session_opt *opt, bool answers, struct arena *a)
{
	struct buf b = buf_in(a, TEXT_MAX);

	buf_add(&b, S(","));
	add_meta(&b, opt, answers);
	return buf_str(&b);
}

void mcp_stateless_discover(const struct mcp_session_opt *opt, int64_t id, struct buf *out)
{
	SCOPED(arena_free) struct arena a = { 0 };

	mcp_rpc_request(
		out, id, "server/discover",
		arena_cat(&a, arena_cat(&a, S("{"), mcp_stateless_meta(opt, &a)), S("}")));
}

/* Which of the versions of a list are known here? */
static enum mcp_verdict choose(const struct json *versions, struct err *e)
{
	SCOPED(arena_free) struct arena a = { 0 };
	struct buf names = buf_in(&a, 200);
	bool older = false;
	size_t n = 0;

	for (const struct json *v = json_at(versions, 0); v; v = v->next) {
		if (str_is(json_text(v), REVISION))
			return MCP_STATELESS;
		older |= mcp_session_revision(json_text(v)) != NULL;
		if (n++ < VERSIONS_MAX)
			buf_fmt(&names, "%s%.*s", n > 1 ? ", " : "",
				STRF(utf_head(json_text(v), 20)));
	}
	if (older || !n)
		return MCP_OLDER;
	(void)err_set(e, E_PROTO,
		      "the server speaks protocol revision %.*s, of which none is known here",
		      STRF(buf_str(&names)));
	return MCP_NEITHER;
}

static enum mcp_verdict judge_error(const struct json *error, struct err *e)
{
	const struct json *versions = json_get(json_get(error, "data"), "supported");

	switch (json_i64(error, "code", 0)) {
	case MCP_UNSUPPORTED_VERSION:
		/* Of what we asked for it speaks nothing, whatever its list says. */
		return choose(versions, e) == MCP_NEITHER ? MCP_NEITHER : MCP_OLDER;
	case MCP_MISSING_CAPABILITY:
	case MCP_HEADER_MISMATCH:
		(void)err_set(e, E_PROTO, "server/discover was refused: %.*s",
			      STRF(utf_head(mcp_result_reason(error), 150)));
		return MCP_NEITHER;
	default:
		return MCP_OLDER;
	}
}

enum mcp_verdict mcp_stateless_judge(const struct mcp_msg *m, struct mcp_peer *peer,
				     struct err *e)
{
	const struct json *versions = json_get(m->result, "supportedVersions");
	const struct json *caps = json_get(m->result, "capabilities");
	enum mcp_verdict verdict;

	if (m->error)
		return judge_error(m->error, e);
	/* Some servers answer anything at all with an empty result. */
	if (!json_is(versions, JSON_ARRAY) || !json_is(caps, JSON_OBJECT))
		return MCP_OLDER;
	if ((verdict = choose(versions, e)) != MCP_STATELESS)
		return verdict;
	mcp_session_read_peer(peer, json_get(json_get(m->result, "_meta"), META "serverInfo"),
			      caps);
	peer->revision = REVISION;
	peer->stateless = true;
	return MCP_STATELESS;
}

void mcp_stateless_listen(const struct mcp_session *s, int64_t id, struct buf *out)
{
	SCOPED(arena_free) struct arena a = { 0 };
	const struct mcp_peer *peer = &s->peer;
	struct buf b = buf_in(&a, LISTEN_MAX);

	buf_add(&b, S("{\"notifications\":{"));
	if (peer->tells.tools)
		buf_add(&b, S("\"toolsListChanged\":true"));
	if (peer->tells.prompts) {
		buf_json_key(&b, "promptsListChanged");
		buf_add(&b, S("true"));
	}
	if (peer->tells.resources) {
		buf_json_key(&b, "resourcesListChanged");
		buf_add(&b, S("true"));
	}
	for (size_t i = 0; i < s->watched_n; i++) {
		if (i == 0)
			buf_json_key(&b, "resourceSubscriptions");
		buf_add(&b, i == 0 ? S("[") : S(","));
		buf_json(&b, s->watched[i]);
	}
	buf_add(&b, s->watched_n ? S("]") : S(""));
	buf_add(&b, S("},"));
	buf_add(&b, mcp_stateless_meta(s->opt, &a));
	buf_add(&b, S("}"));
	mcp_rpc_request(out, id, "subscriptions/listen", buf_str(&b));
}
